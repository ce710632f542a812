import { defineConfig } from "vitest/config";

// Screenshots of every state, for people to look at: nothing is judged here.
export default defineConfig({
  test: {
    include: ["e2e/**/*.gallery.ts"],
    environment: "node",
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 120_000,
  },
});
