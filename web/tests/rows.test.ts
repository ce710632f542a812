import { describe, expect, it } from "vitest";
import { Heights } from "../src/lib/view/heights.ts";
import { layOut } from "../src/lib/view/rows.ts";
import type { Agent, Entry, EntryBody } from "../src/lib/api/schema.ts";

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
