import { describe, expect, it } from "vitest";
import { parseDiff } from "../src/lib/text/diff.ts";
import { reviewMessage, unifiedOf } from "../src/lib/text/review.ts";

describe("a review", () => {
  it("becomes a diff whose lines keep their numbers, whatever they look like", () => {
    const lines = [" one", "--- two", "+@@ -1 +1 @@", "\\ No newline at end of file"];
    const hunks = [
      { old_start: 7, new_start: 9, title: "fn a()", lines },
      { old_start: 20, new_start: 22, title: "", lines: ["-gone"] },
    ];
    const parsed = parseDiff(unifiedOf(hunks));
    expect(parsed.map((hunk) => hunk.heading)).toEqual(["fn a()", ""]);
    expect(parsed[0]?.lines.map((line) => [line.kind, line.oldNumber, line.newNumber, line.text])).toEqual([
      ["context", 7, 9, "one"],
      ["removed", 8, null, "-- two"],
      ["added", null, 10, "@@ -1 +1 @@"],
    ]);
    expect(parsed[1]?.lines.map((line) => line.oldNumber)).toEqual([20]);
  });

  it("puts all comments into one message, by file and line", () => {
    const comment = { path: "b.ts", line: 3, gone: false, code: "let x", text: " Why? " };
    expect(reviewMessage([comment])).toBe("A comment on the changes:\n\nb.ts, line 3:\n> let x\nWhy?");
    const others = [comment, { ...comment, path: "a.ts", line: 12, gone: true }, { ...comment, path: "a.ts" }];
    const message = reviewMessage(others);
    expect(message.startsWith("3 comments on the changes:\n\na.ts, line 3:")).toBe(true);
    expect(message.indexOf("a.ts, removed line 12:")).toBeLessThan(message.indexOf("b.ts, line 3:"));
  });
});
