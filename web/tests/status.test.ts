import { describe, expect, it } from "vitest";
import type { SessionInfo } from "../src/lib/api/schema.ts";
import { isWorking, statusOf } from "../src/lib/text/status.ts";

const session = (more: Partial<SessionInfo>) => ({ status: "idle", has_process: false, ...more }) as SessionInfo;

describe("what a session is doing", () => {
  it("is said in words and colour", () => {
    const words = (more: Partial<SessionInfo>, mayAnswer = true) => {
      const { words, tone } = statusOf(session(more), mayAnswer);
      return `${words} (${tone})`;
    };
    expect(words({ status: "waiting" })).toBe("Needs your answer (warn)");
    expect(words({ status: "waiting" }, false)).toBe("Needs an answer (warn)");
    expect(words({ status: "running" })).toBe("Working (busy)");
    expect(words({ status: "running", background: true })).toBe("Running in the background (ok)");
    expect(words({ has_process: true })).toBe("Ready (ok)");
    expect(words({})).toBe("Stopped (off)");
    expect(words({ status: "failed" })).toBe("Failed (bad)");
    expect(words({ status: "interrupted" })).toBe("Interrupted by a restart (warn)");
  });

  it("is work while a turn runs, and not what runs in the background", () => {
    expect(isWorking(session({ status: "starting" }))).toBe(true);
    expect(isWorking(session({ status: "waiting" }))).toBe(true);
    expect(isWorking(session({ status: "running" }))).toBe(true);
    expect(isWorking(session({ status: "running", background: true }))).toBe(false);
    expect(isWorking(session({ status: "failed" }))).toBe(false);
  });
});
