import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { hasHidden, reveal, revealCommand, revealText } from "../src/lib/text/reveal.ts";

const cases = JSON.parse(readFileSync(new URL("./reveal.json", import.meta.url), "utf8")) as [
  string,
  string,
  string | null,
][];

describe("what cannot be seen", () => {
  it("is shown as terminals and chats show it", () => {
    for (const [text, shown, command] of cases) {
      expect(revealText(text)).toBe(shown);
      if (command !== null)
        expect(
          revealCommand(text)
            .pieces.map((piece) => piece.text)
            .join(""),
        ).toBe(command);
    }
  });

  it("is told apart from the text, and counted", () => {
    expect(reveal("a\u202eb")).toEqual([
      { text: "a", mark: false },
      { text: "⟨U+202E⟩", mark: true },
      { text: "b", mark: false },
    ]);
    const { lines, hidden } = revealCommand("one\u200b\n\n\n\n\ntwo\n");
    expect([lines, hidden]).toEqual([6, 1]);
    expect(hasHidden("plain\n\ttext")).toBe(false);
  });

  it("is not everything: whole alphabets stay as they are", () => {
    let hidden = 0;
    for (let code = 0; code < 0xd800; code += 1) if (hasHidden(String.fromCodePoint(code))) hidden += 1;
    // As many as in reveal.rs.
    expect(hidden).toBe(132);
  });
});
