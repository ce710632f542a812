import { describe, expect, it } from "vitest";
import { matching } from "../src/lib/text/commands.ts";
import { actionWords } from "../src/lib/text/audit.ts";
import { Recall } from "../src/lib/text/recall.ts";

describe("slash commands", () => {
  const names = ["compact", "context", "cost", "code-review", "security-review", "mcp:shop"];
  it("are found by their beginning, by a word in them and by letters in order", () => {
    expect(matching("", names)).toEqual(names);
    expect(matching("co", names)).toEqual(["compact", "context", "cost", "code-review", "mcp:shop"]);
    expect(matching("REV", names)).toEqual(["code-review", "security-review"]);
    expect(matching("ctx", names)).toEqual(["context"]);
    expect(matching("shop", names)).toEqual(["mcp:shop"]);
    expect(matching("ost", names)).toEqual(["cost"]);
    expect(matching("xyz", names)).toEqual([]);
  });
});

describe("earlier messages", () => {
  const earlier = ["third", "second", "first"];
  it("come back one by one, and what was being typed after them", () => {
    const recall = new Recall();
    expect(recall.step(1, "half", earlier)).toBe("third");
    expect(recall.step(1, "third", earlier)).toBe("second");
    expect(recall.step(1, "second", earlier)).toBe("first");
    expect(recall.step(1, "first", earlier)).toBe(null);
    expect(recall.isShowing("first", earlier)).toBe(true);
    expect(recall.step(-1, "first", earlier)).toBe("second");
    expect(recall.step(-1, "second", earlier)).toBe("third");
    expect(recall.step(-1, "third", earlier)).toBe("half");
    expect(recall.step(-1, "half", earlier)).toBe(null);
  });
  it("that were changed are what is being typed", () => {
    const recall = new Recall();
    recall.step(1, "", earlier);
    expect(recall.isShowing("third, but other", earlier)).toBe(false);
    expect(recall.step(1, "third, but other", earlier)).toBe("third");
    expect(recall.step(-1, "third", earlier)).toBe("third, but other");
  });
});

describe("the audit log", () => {
  it("is in words, also below a base path", () => {
    expect(actionWords("POST /v1/tokens")).toBe("created a token");
    expect(actionWords("POST /weir/v1/sessions/{id}/messages")).toBe("sent a message");
    expect(actionWords("POST /v1/unheard-of")).toBe("POST /v1/unheard-of");
  });
});
