import { describe, expect, it } from "vitest";
import type { Entry } from "../src/lib/api/schema.ts";
import { findRows } from "../src/lib/view/find.ts";
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
