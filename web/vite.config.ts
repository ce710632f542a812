import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// Addresses are relative, so that the page works below any base path.
export default defineConfig({
  base: "./",
  plugins: [svelte()],
  build: {
    // Inside the crate that embeds it, so that a package of the crate has it, too.
    outDir: "../crates/weir-server/page/dist",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
