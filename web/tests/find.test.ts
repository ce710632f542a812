import { describe, expect, it } from "vitest";
import type { Entry } from "../src/lib/api/schema.ts";
import { findRows, rowOfEntry } from "../src/lib/view/find.ts";
import { layOut } from "../src/lib/view/rows.ts";

const entry = (id: number, body: Record<string, unknown>, more: Partial<Entry> = {}) =>
  ({ id, body, ...more }) as Entry;
const call = (id: number, name: string, input: Record<string, unknown>, more: Record<string, unknown> = {}) =>
  entry(id, {
    kind: "tool",
    id: `t${id}`,
    name,
    title: "",
    input,
    state: "succeeded",
    detail: { kind: "none" },
    ...more,
  });

const entries = [
  entry(1, { kind: "user", text: "Make the Search faster", source: "host", delivery: "answered" }),
  call(2, "Read", { file_path: "src/search.rs" }),
  call(3, "Bash", { command: "ls" }, { output: { text: "needle.txt" } }),
  call(4, "Grep", { pattern: "fn main" }),
  entry(5, { kind: "text", text: "It is **done**.", state: "complete" }),
  call(6, "Task", { description: "Look" }, { detail: { kind: "agent" } }),
  entry(7, { kind: "text", text: "Deep inside", state: "complete" }, { parent: "t6" }),
  entry(8, { kind: "notice", notice: { type: "info", level: "info", text: "A note" } }),
];
const layout = layOut(entries, [], new Set());
const find = (text: string) =>
  findRows(layout, (id) => entries.find((entry) => entry.id === id) ?? null, text).map(({ key }) => key);

describe("finding text", () => {
  it("looks at messages, calls, their output, sub-agents and notices, whatever the case", () => {
    expect(find("search")).toEqual(["e1", "r2"]);
    expect(find("NEEDLE")).toEqual(["r2"]);
    expect(find("done")).toEqual(["e5"]);
    expect(find("deep inside")).toEqual(["e6"]);
    expect(find("a note")).toEqual(["e8"]);
  });

  it("finds nothing for nothing", () => {
    expect(find("  ")).toEqual([]);
    expect(find("absent")).toEqual([]);
  });
});

describe("the row of an entry", () => {
  const row = (id: number, all = entries) => {
    const found = rowOfEntry(layOut(all, [], new Set()), (id) => all.find((entry) => entry.id === id) ?? null, id);
    return found === null ? null : [found.row.key, ...found.open];
  };

  it("is opened as far as needed", () => {
    expect(row(5)).toEqual(["e5"]);
    expect(row(3), "in a run of calls").toEqual(["r2", "r2"]);
    expect(row(7), "in a sub-agent").toEqual(["e6", "e6"]);
    expect(row(99)).toBe(null);
  });

  it("is found in agents of agents, and never looked for without end", () => {
    const inner = call(9, "Task", { description: "Deeper" }, { detail: { kind: "agent" } });
    const nested = [
      ...entries,
      { ...inner, parent: "t6" } as Entry,
      entry(10, { kind: "text", text: "Deepest", state: "complete" }, { parent: "t9" }),
      entry(11, { kind: "text", text: "Lost", state: "complete" }, { parent: "gone" }),
    ];
    expect(row(10, nested)).toEqual(["e6", "e9", "e6"]);
    expect(row(11, nested), "its call is not loaded").toEqual(["agone", "agone"]);
    const loop = [{ ...call(1, "Task", {}), parent: "t1" } as Entry];
    expect(row(1, loop)).not.toBe(undefined);
  });
});
