// What a session is called, and how the list is divided.

import type { SessionInfo, SessionStatus } from "../api/schema.ts";
import { splitPath } from "./format.ts";
import { isWorking } from "./status.ts";

/** Its name, the title it got from the CLI or its first message, or its folder. */
export function nameOf(info: SessionInfo): string {
  return info.name || info.title || splitPath(info.cwd).name;
}

export type Grouping = "time" | "project";

export interface Group {
  title: string;
  sessions: SessionInfo[];
}

/** Divides sessions, which are sorted, into groups. Those that need input come first in either case. */
export function groupSessions(sessions: readonly SessionInfo[], now: number, by: Grouping): Group[] {
  const groups = new Map<string, SessionInfo[]>();
  if (by === "time") for (const title of ORDER) groups.set(title, []);
  else groups.set(NEEDS_INPUT, []);
  for (const info of sessions) {
    const title = by === "time" || info.status === "waiting" ? timeGroup(info, now) : splitPath(info.cwd).name;
    const group = groups.get(title);
    if (group === undefined) groups.set(title, [info]);
    else group.push(info);
  }
  return [...groups].flatMap(([title, sessions]) => (sessions.length > 0 ? [{ title, sessions }] : []));
}

const NEEDS_INPUT = "Needs your answer";
const ORDER = [NEEDS_INPUT, "Pinned", "Running", "Today", "Last 7 days", "Older"];
const DAY_MS = 86_400_000;

function timeGroup(info: SessionInfo, now: number): string {
  if (info.status === "waiting") return NEEDS_INPUT;
  if (info.pinned) return "Pinned";
  if (isWorking(info) || info.status === "stopping") return "Running";
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  if (info.updated_at >= midnight) return "Today";
  return info.updated_at >= midnight - 6 * DAY_MS ? "Last 7 days" : "Older";
}

export type Filter = "all" | "waiting" | "working" | "failed" | "archived";

interface FilterAbout {
  title: string;
  /** What is said if there are none. */
  none: string;
  statuses?: readonly SessionStatus[];
}

/** What the list can be narrowed to. */
export const FILTERS: Record<Filter, FilterAbout> = {
  all: { title: "All sessions", none: "No sessions yet." },
  waiting: { title: NEEDS_INPUT, none: "Nothing needs your answer.", statuses: ["waiting"] },
  working: { title: "Running", none: "Nothing is running.", statuses: ["starting", "running", "stopping"] },
  failed: { title: "Failed or interrupted", none: "Nothing has failed.", statuses: ["failed", "interrupted"] },
  archived: { title: "Archived", none: "No archived sessions." },
};

export const fits = (info: SessionInfo, filter: Filter): boolean =>
  info.archived === (filter === "archived") && (FILTERS[filter].statuses?.includes(info.status) ?? true);
