// What a session is doing, in words and colour: the same in the list, above the transcript and in notifications.

import type { SessionInfo } from "../api/schema.ts";

export type Tone = "busy" | "warn" | "bad" | "ok" | "off";

export interface StatusWords {
  words: string;
  tone: Tone;
}

/** Whether a turn is running or about to. Background work is not a turn. */
export function isWorking(info: SessionInfo): boolean {
  return ["starting", "waiting"].includes(info.status) || (info.status === "running" && !info.background);
}

export function statusOf(info: SessionInfo, mayAnswer = true): StatusWords {
  switch (info.status) {
    case "waiting":
      return { words: mayAnswer ? "Needs your answer" : "Needs an answer", tone: "warn" };
    case "running":
      return info.background ? { words: "Running in the background", tone: "ok" } : { words: "Working", tone: "busy" };
    case "starting":
      return { words: "Starting", tone: "busy" };
    case "stopping":
      return { words: "Stopping", tone: "warn" };
    case "failed":
      return { words: "Failed", tone: "bad" };
    case "interrupted":
      return { words: "Interrupted by a restart", tone: "warn" };
    case "idle":
      return info.has_process ? { words: "Ready", tone: "ok" } : { words: "Stopped", tone: "off" };
  }
}
