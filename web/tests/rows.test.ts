import { describe, expect, it } from "vitest";
import { Heights } from "../src/lib/view/heights.ts";
import { layOut } from "../src/lib/view/rows.ts";
import type { Agent, Entry, EntryBody, ToolCall } from "../src/lib/api/schema.ts";
import { runSummary } from "../src/lib/text/tools.ts";

const text = (id: number, more: Partial<Entry> = {}): Entry => ({
  id,
  body: { kind: "text", text: "x", state: "complete" },
  ...more,
});
const call = (id: number, tool: string, more: Partial<Entry> = {}): Entry => ({
  id,
  body: {
    kind: "tool",
    id: tool,
    name: "Task",
    title: "",
    state: "running",
    server: false,
    detail: { kind: "agent" },
  } as EntryBody,
  ...more,
});
const agent = (id: string, parent?: string): Agent =>
  ({ id, parent, entry: 1, description: "", background: false, state: "running", progress: {} }) as Agent;

describe("the rows of a conversation", () => {
  it("have sub-agents inside their calls", () => {
    const { rows, children } = layOut(
      [call(1, "a"), text(2, { parent: "a" }), call(3, "b", { parent: "a" }), text(4, { parent: "b" }), text(5)],
      [agent("a"), agent("b", "a")],
      new Set(),
    );
    expect(rows.map((row) => row.key)).toEqual(["e1", "e5"]);
    expect([...children]).toEqual([
      ["a", [2, 3]],
      ["b", [4]],
    ]);
  });

  it("show an agent whose call is not loaded once, where it is first heard of", () => {
    const { rows } = layOut(
      [text(7, { parent: "a" }), text(8), text(9, { parent: "b" }), text(10, { parent: "a" })],
      [agent("a"), agent("b", "a")],
      new Set(),
    );
    expect(rows.map((row) => row.key)).toEqual(["aa", "e8"]);
  });

  it("end turns, also the last one", () => {
    const { rows } = layOut([text(1, { turn: 1 }), text(2, { turn: 1 }), text(3, { turn: 2 })], [], new Set([1, 2]));
    expect(rows.map((row) => row.key)).toEqual(["e1", "e2", "t1", "e3", "t2"]);
  });
});

describe("a queued message", () => {
  const message = (id: number, turn?: number): Entry =>
    ({ id, turn, body: { kind: "user", text: "x", source: "host", delivery: "answered" } }) as Entry;
  const keys = (ended: number[], ...entries: Entry[]) => layOut(entries, [], new Set(ended)).rows.map((row) => row.key);

  it("stands with its reply, also if the turn before was interrupted", () => {
    const entries = [
      message(1, 1),
      text(2, { turn: 1 }),
      message(3, 2),
      message(4, 3),
      text(5, { turn: 1 }),
      text(6, { turn: 2 }),
      text(7, { turn: 3 }),
    ];
    expect(keys([1, 2, 3], ...entries)).toEqual(["e1", "e2", "e5", "t1", "e3", "e6", "t2", "e4", "e7", "t3"]);
  });

  it("stays where it was sent if it steered, or has no reply", () => {
    expect(keys([], message(1, 1), text(2, { turn: 1 }), message(3, 1), text(4, { turn: 1 }))).toEqual([
      "e1",
      "e2",
      "e3",
      "e4",
    ]);
    expect(keys([], message(1, 1), message(2), text(3, { turn: 1 }))).toEqual(["e2", "e1", "e3"]);
  });
});

describe("a run of calls", () => {
  const used = (id: number, name: string, more: Record<string, unknown> = {}): Entry =>
    ({
      id,
      body: { kind: "tool", id: `t${id}`, name, state: "succeeded", detail: { kind: "none" }, ...more },
    }) as Entry;
  const thought = (id: number): Entry => ({
    id,
    body: { kind: "thinking", text: "hm", state: "complete", redacted: false } as EntryBody,
  });
  const keys = (...entries: Entry[]) => layOut(entries, [], new Set()).rows.map((row) => row.key);

  it("is one row from three calls on, with the thinking between them", () => {
    expect(keys(used(1, "Read"), used(2, "Bash"))).toEqual(["e1", "e2"]);
    expect(keys(used(1, "Read"), used(2, "Bash"), used(3, "Grep"))).toEqual(["r1"]);
    expect(keys(thought(1), used(2, "Read"), thought(3), used(4, "Read"), used(5, "Read"), thought(6))).toEqual([
      "e1",
      "r2",
      "e6",
    ]);
  });

  it("ends at whatever a reader has to see", () => {
    const seen = [
      text(3),
      used(3, "Edit"),
      used(3, "Read", { state: "failed" }),
      used(3, "Bash", { state: "denied" }),
      used(3, "Bash", { state: "running" }),
      used(3, "Bash", { detail: { kind: "command", background_task: "b1" } }),
      used(3, "AskUserQuestion"),
      used(3, "mcp__shop__order"),
    ];
    for (const entry of seen)
      expect(keys(used(1, "Read"), used(2, "Read"), entry, used(4, "Read"), used(5, "Read"))).toEqual([
        "e1",
        "e2",
        "e3",
        "e4",
        "e5",
      ]);
  });

  it("of attempts to reach the API is its last one", () => {
    const retry = (id: number): Entry =>
      ({ id, body: { kind: "notice", notice: { type: "api_retry", attempt: id } } }) as Entry;
    expect(keys(retry(1), retry(2), retry(3), text(4), retry(5))).toEqual(["e3", "e4", "e5"]);
    // What they ended in says it all.
    const error = { ...text(6), body: { kind: "text", text: "Overloaded", state: "complete", error: {} } } as Entry;
    expect(keys(retry(4), retry(5), error)).toEqual(["e6"]);
  });

  it("says what it did", () => {
    const tools = [used(1, "Read"), used(2, "Read"), used(3, "Grep"), used(4, "Bash"), used(5, "TodoWrite")];
    const calls = tools.map(({ body }) => body as ToolCall);
    expect(runSummary(calls)).toBe("Read 2 files, searched once, ran 1 command, updated the todos");
    expect(runSummary(calls.slice(3, 4))).toBe("Ran 1 command");
  });
});

describe("turns that overlap", () => {
  it("end once, after their last entry", () => {
    const { rows } = layOut(
      [text(1, { turn: 1 }), text(2, { turn: 2 }), text(3, { turn: 1 }), text(4, { turn: 2 })],
      [],
      new Set([1, 2]),
    );
    expect(rows.map((row) => row.key)).toEqual(["e1", "e2", "e3", "t1", "e4", "t2"]);
  });
});

describe("heights", () => {
  it("agree with plain sums", () => {
    const heights = new Heights();
    const values = Array.from({ length: 1000 }, (_, at) => ((at * 7919) % 97) + 1);
    heights.reset([...values]);
    heights.set(500, 333);
    values[500] = 333;
    let sum = 0;
    values.forEach((value, at) => {
      expect(heights.before(at)).toBe(sum);
      expect(heights.at(sum)).toBe(at);
      expect(heights.at(sum + value - 0.5)).toBe(at);
      sum += value;
    });
    expect(heights.total()).toBe(sum);
    expect(heights.at(sum + 1000)).toBe(999);
  });

  it("are nothing without rows", () => {
    const heights = new Heights();
    heights.reset([]);
    expect([heights.total(), heights.at(10), heights.before(3)]).toEqual([0, 0, 0]);
  });
});
