import { BaseSequencer, type TestSpecification } from "vitest/node";
import { defineConfig } from "vitest/config";

// The files that take longest, so that the last one does not run alone.
const FIRST = [
  "looks-wide-work",
  "looks-wide-around",
  "looks-phone-work",
  "looks-phone-around",
  "control",
  "standing",
  "cards",
  "presses",
  "real",
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const found = FIRST.findIndex((name) => moduleId.endsWith(`/${name}.e2e.ts`));
      return found < 0 ? FIRST.length : found;
    };
    return [...files].sort((a, b) => place(a) - place(b) || a.moduleId.localeCompare(b.moduleId));
  }
}

// A browser for each file and a server for each test: three files at a time, because they wait more than they compute,
// with room for a slow machine.
export default defineConfig({
  test: {
    include: ["e2e/**/*.e2e.ts"],
    environment: "node",
    maxWorkers: 3,
    testTimeout: 180_000,
    hookTimeout: 120_000,
    retry: 0,
    sequence: { sequencer: LongestFirst },
  },
});
