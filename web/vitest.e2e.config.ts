import { defineConfig } from "vitest/config";

// A browser for each file and a server for each test: two files at a time, because they wait more than they compute,
// with room for a slow machine.
export default defineConfig({
  test: {
    include: ["e2e/**/*.e2e.ts"],
    environment: "node",
    maxWorkers: 2,
    testTimeout: 180_000,
    hookTimeout: 120_000,
    retry: 0,
  },
});
