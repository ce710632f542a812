import { defineConfig } from "vitest/config";

// A browser and a server for each test: one file after the other, with room for a slow machine.
export default defineConfig({
  test: {
    include: ["e2e/**/*.e2e.ts"],
    environment: "node",
    fileParallelism: false,
    testTimeout: 180_000,
    hookTimeout: 120_000,
    retry: 0,
  },
});
