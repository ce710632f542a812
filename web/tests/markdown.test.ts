import { describe, expect, it } from "vitest";
import { isAllowed } from "../src/lib/markdown/attributes.ts";
import { GrowingMarkdown } from "../src/lib/markdown/blocks.ts";

const TEXT = [
  "# Title",
  "",
  "A paragraph with **bold**,",
  "on two lines.",
  "",
  "- one",
  "",
  "- two",
  "  - nested",
  "",
  "```rust",
  "fn main() {}",
  "",
  "// a blank line before",
  "```",
  "",
  "| a | b |",
  "|---|---|",
  "| 1 | 2 |",
  "",
  "> quoted",
  "",
  "The end, see [x].",
  "",
  "[x]: https://example.org",
].join("\n");

describe("markdown that grows", () => {
  it("ends as the whole text reads, in whatever pieces it came", () => {
    const whole = new GrowingMarkdown((html) => html).update(TEXT, true);
    for (const size of [1, 5, 17]) {
      const growing = new GrowingMarkdown((html) => html);
      for (let end = size; end < TEXT.length; end += size) growing.update(TEXT.slice(0, end), false);
      expect(growing.update(TEXT, true)).toEqual(whole);
    }
    expect(whole.filter((block) => block.kind === "code")).toEqual([
      { kind: "code", language: "rust", text: "fn main() {}\n\n// a blank line before" },
    ]);
  });

  it("does not parse again what is closed", () => {
    let renders = 0;
    const growing = new GrowingMarkdown((html) => {
      renders += 1;
      return html;
    });
    let text = "";
    for (let at = 0; at < 200; at += 1) {
      text += `Paragraph ${at}.\n\n`;
      growing.update(text, false);
    }
    // Each update renders the open blocks and the one that closes.
    expect(renders).toBeLessThan(200 * 4);
  });

  it("keeps the blocks before the last as they are", () => {
    const growing = new GrowingMarkdown((html) => html);
    const before = growing.update("One.\n\nTwo.\n\nThree.\n\nFo", false);
    const after = growing.update("One.\n\nTwo.\n\nThree.\n\nFour **bo", false);
    expect(after[0]).toBe(before[0]);
    expect(after[1]).toBe(before[1]);
  });

  it("starts over when the text is another", () => {
    const growing = new GrowingMarkdown((html) => html);
    growing.update("One.\n\nTwo.\n\nThree.\n\nFour.", false);
    expect(growing.update("Other.", false)).toHaveLength(1);
  });

  it("has no pictures and no markup of others", () => {
    const [block] = new GrowingMarkdown((html) => html).update(
      'a ![x](https://e.org/y.png) <img src=x onerror="1"> b',
      true,
    );
    expect(block?.kind === "html" ? block.html : "").not.toMatch(/<img/);
  });
});

describe("attributes", () => {
  it("are allowed by tag, with values that do nothing", () => {
    for (const [tag, name, value] of [
      ["OL", "start", "3"],
      ["TD", "align", "right"],
      ["TH", "align", "center"],
      ["INPUT", "type", "checkbox"],
      ["INPUT", "checked", ""],
      ["A", "href", "https://example.org"],
    ] as const)
      expect(isAllowed(tag, name, value), `${tag} ${name} ${value}`).toBe(true);
    for (const [tag, name, value] of [
      ["OL", "start", "javascript:alert(1)"],
      ["OL", "type", "a"],
      ["TD", "align", "right;x"],
      ["P", "align", "right"],
      ["INPUT", "type", "password"],
      ["INPUT", "type", "image"],
      ["INPUT", "src", "https://example.org"],
      ["INPUT", "form", "f"],
      ["A", "href", "javascript:alert(1)"],
      ["A", "href", "//example.org"],
      ["A", "target", "_self"],
      ["constructor", "name", "x"],
    ] as const)
      expect(isAllowed(tag, name, value), `${tag} ${name} ${value}`).toBe(false);
  });
});
