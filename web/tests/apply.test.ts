import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { apply, emptyView } from "../src/lib/view/apply.ts";
import type { Change, View } from "../src/lib/api/schema.ts";

const folder = new URL("./fixtures/", import.meta.url);
const names = readdirSync(folder).filter((name) => name.endsWith(".json"));

describe("the changes of the fold lead to its view", () => {
  it("has fixtures with every kind of change", () => {
    const kinds = new Set<string>();
    for (const name of names) for (const change of read(name).changes) kinds.add(change.change);
    for (const kind of [
      "session",
      "status",
      "entry_added",
      "entry_replaced",
      "text_appended",
      "block_ended",
      "input_appended",
      "tool_state",
      "tool_ended",
      "turn_added",
      "turn_replaced",
      "agent",
      "tasks",
      "request",
      "todos",
      "file_changed",
      "cost",
      "message_used",
      "dropped",
      "text_replaced",
      "rate_limit",
      "oddities",
    ]) {
      expect(kinds, `no fixture has ${kind}`).toContain(kind);
    }
  });

  it.each(names)("%s", (name) => {
    const { changes, view } = read(name);
    const built = emptyView();
    for (const change of changes) apply(built, change);
    expect(built).toEqual(view);
  });

  it("does not change what a component was given", () => {
    const { changes } = read("partial-tool.json");
    const built = emptyView();
    for (const change of changes) {
      const before = built.entries.map((entry) => [entry, JSON.stringify(entry)] as const);
      apply(built, change);
      for (const [entry, json] of before) expect(JSON.stringify(entry)).toBe(json);
    }
  });

  it("passes over what does not fit", () => {
    const built = emptyView();
    apply(built, { change: "text_appended", entry: 7, text: "x" });
    apply(built, { change: "from_a_newer_server" } as unknown as Change);
    expect(built).toEqual(emptyView());
  });
});

function read(name: string): { changes: Change[]; view: View } {
  return JSON.parse(readFileSync(new URL(name, folder), "utf8")) as { changes: Change[]; view: View };
}
