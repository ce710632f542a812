import { describe, expect, it } from "vitest";
import type { SessionInfo } from "../src/lib/api/schema.ts";
import { type Filter, fits, groupSessions, nameOf } from "../src/lib/text/sessions.ts";

const NOW = new Date(2026, 5, 15, 12).getTime();
const HOUR = 3_600_000;
const session = (id: string, more: Partial<SessionInfo> = {}) =>
  ({
    id,
    name: null,
    title: null,
    cwd: "/home/anna/shop",
    status: "idle",
    pinned: false,
    updated_at: NOW,
    ...more,
  }) as SessionInfo;
const titles = (groups: ReturnType<typeof groupSessions>) =>
  groups.map(({ title, sessions }) => `${title}: ${sessions.map(({ id }) => id).join(" ")}`);

describe("the list of sessions", () => {
  const all = [
    session("now"),
    session("works", { status: "running" }),
    session("kept", { pinned: true, updated_at: NOW - 900 * HOUR }),
    session("asks", { status: "waiting", pinned: true, cwd: "/home/anna/other" }),
    session("midnight", { updated_at: NOW - 12 * HOUR }),
    session("yesterday", { updated_at: NOW - 13 * HOUR }),
    session("week", { updated_at: NOW - 156 * HOUR, cwd: "/home/anna/other" }),
    session("old", { updated_at: NOW - 157 * HOUR }),
  ];

  it("is divided by what needs a person, what runs, and age", () => {
    expect(titles(groupSessions(all, NOW, "time"))).toEqual([
      "Needs your answer: asks",
      "Pinned: kept",
      "Running: works",
      "Today: now midnight",
      "Last 7 days: yesterday week",
      "Older: old",
    ]);
  });

  it("is divided by project, after what needs a person", () => {
    expect(titles(groupSessions(all, NOW, "project"))).toEqual([
      "Needs your answer: asks",
      "shop: now works kept midnight yesterday old",
      "other: week",
    ]);
  });

  it("shows the name, the title or the folder", () => {
    expect(nameOf(session("a"))).toBe("shop");
    expect(nameOf(session("a", { title: "Speed up the search" }))).toBe("Speed up the search");
    expect(nameOf(session("a", { title: "Speed up the search", name: "Search" }))).toBe("Search");
  });
});

describe("a filter", () => {
  const all = [
    session("rests"),
    session("asks", { status: "waiting" }),
    session("starts", { status: "starting" }),
    session("works", { status: "running" }),
    session("serves", { status: "running", background: true }),
    session("broke", { status: "failed" }),
    session("cut", { status: "interrupted" }),
    session("away", { status: "failed", archived: true }),
  ].map((info) => ({ ...info, archived: info.archived ?? false }));
  const shown = (filter: Filter) => all.filter((info) => fits(info, filter)).map(({ id }) => id);

  it("lets through what it is called after, and nothing archived but the archive", () => {
    expect(shown("all")).toEqual(["rests", "asks", "starts", "works", "serves", "broke", "cut"]);
    expect(shown("waiting")).toEqual(["asks"]);
    expect(shown("working")).toEqual(["starts", "works", "serves"]);
    expect(shown("failed")).toEqual(["broke", "cut"]);
    expect(shown("archived")).toEqual(["away"]);
  });
});
