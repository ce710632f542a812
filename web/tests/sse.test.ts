import { describe, expect, it } from "vitest";
import { EventParser } from "../src/lib/api/sse.ts";

const STREAM =
  'event: hello\nid: e:1\ndata: {"a":1}\n\n: a comment\n\ndata: one\ndata: two\r\n\r\nevent: bye\rdata:x\r\r';

describe("events of a stream", () => {
  it("are the same in whatever pieces they come", () => {
    const whole = new EventParser().push(`${STREAM}\n`);
    expect(whole).toEqual([
      { name: "hello", id: "e:1", data: '{"a":1}' },
      { name: "message", id: null, data: "one\ntwo" },
      { name: "bye", id: null, data: "x" },
    ]);
    for (const size of [1, 2, 3, 7]) {
      const parser = new EventParser();
      const events = [];
      const text = `${STREAM}\n`;
      for (let at = 0; at < text.length; at += size) events.push(...parser.push(text.slice(at, at + size)));
      expect(events).toEqual(whole);
    }
  });

  it("wait for their end", () => {
    const parser = new EventParser();
    expect(parser.push("data: half")).toEqual([]);
    expect(parser.push(" and half\n\n")).toEqual([{ name: "message", id: null, data: "half and half" }]);
  });
});
