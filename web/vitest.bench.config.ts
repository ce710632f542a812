import { defineConfig } from "vitest/config";

// Measurements: they print numbers and judge nothing, because a loaded machine would judge for them.
export default defineConfig({
  test: {
    include: ["e2e/**/*.bench.ts"],
    environment: "node",
    fileParallelism: false,
    testTimeout: 180_000,
    hookTimeout: 120_000,
  },
});
