import { describe, expect, it } from "vitest";
import { problemOf } from "../src/lib/text/advice.ts";
import { ansiSpans } from "../src/lib/text/ansi.ts";
import { changedMiddle, parseDiff, sideBySide } from "../src/lib/text/diff.ts";
import { ago, clock, count, duration, money, relativePath, splitPath } from "../src/lib/text/format.ts";
import { describeUpdate, ruleChoices } from "../src/lib/text/suggestions.ts";
import { mcpParts, outcomeOf, proposedDiff, subjectOf, verbOf } from "../src/lib/text/tools.ts";
import type { PermissionUpdate, Request, Role, ToolCall } from "../src/lib/api/schema.ts";
import { byDanger, type Finding } from "../src/lib/text/trust.ts";
import { mentionAt, mentioned } from "../src/lib/text/mentions.ts";
import { splitRules } from "../src/lib/text/rules.ts";

describe("terminal output", () => {
  it("keeps colours and leaves the rest out", () => {
    expect(
      ansiSpans("\u001b[1;31mbad\u001b[0m ok \u001b[38;5;10mgreen\u001b[39m\u001b[2K\u001b]0;title\u0007!"),
    ).toEqual([
      { text: "bad", classes: "ansi-fg-1 ansi-bold" },
      { text: " ok ", classes: "" },
      { text: "green", classes: "ansi-fg-10" },
      { text: "!", classes: "" },
    ]);
  });
  it("overwrites lines as a progress bar does", () => {
    expect(ansiSpans("10%\r50%\r100%\nnext\r\n")).toEqual([{ text: "100%\nnext\n", classes: "" }]);
  });
  it("takes true colours to the nearest of sixteen", () => {
    expect(ansiSpans("\u001b[38;2;250;20;20mred")[0]?.classes).toBe("ansi-fg-9");
  });
});

describe("differences", () => {
  const unified =
    "--- a\n+++ b\n@@ -1,3 +1,4 @@ fn x\n same\n-old line\n+new line\n+more\n same\n@@ -10 +11 @@\n-- a\n+- b\n";
  it("have numbers", () => {
    const [first, second] = parseDiff(unified);
    expect(first?.heading).toBe("fn x");
    expect(first?.lines.map((line) => [line.kind, line.oldNumber, line.newNumber])).toEqual([
      ["context", 1, 1],
      ["removed", 2, null],
      ["added", null, 2],
      ["added", null, 3],
      ["context", 3, 4],
    ]);
    expect(second?.lines.map((line) => line.text)).toEqual(["- a", "- b"]);
  });
  it("stand side by side", () => {
    const pairs = sideBySide(parseDiff(unified)[0] ?? { heading: "", lines: [] });
    expect(pairs.map(({ left, right }) => [left?.text ?? null, right?.text ?? null])).toEqual([
      ["same", "same"],
      ["old line", "new line"],
      [null, "more"],
      ["same", "same"],
    ]);
  });
  it("know what changed in a line", () => {
    expect(changedMiddle("let a = 1;", "let a = 22;")).toEqual({ head: 8, tail: 1 });
    expect(changedMiddle("aaa", "aa")).toEqual({ head: 2, tail: 0 });
  });
});

describe("numbers for people", () => {
  it("are short", () => {
    expect([money(null), money(0.004), money(1.5), money(250)]).toEqual(["", "<$0.01", "$1.50", "$250"]);
    expect([count(999), count(1500), count(15_000), count(2_000_000)]).toEqual(["999", "1.5k", "15k", "2M"]);
    expect([duration(300), duration(4200), duration(75_000)]).toEqual(["300 ms", "4.2 s", "1 min 15 s"]);
    expect([clock(61), clock(3661), clock(-5)]).toEqual(["1:01", "1:01:01", "0:00"]);
    expect(ago(0, 120_000)).toBe("2 min");
  });
  it("shorten paths", () => {
    expect(relativePath("/a/b/c.rs", "/a/b")).toBe("c.rs");
    expect(relativePath("/a/bc/d", "/a/b")).toBe("/a/bc/d");
    expect(splitPath("src/main.rs")).toEqual({ folder: "src/", name: "main.rs" });
  });
});

describe("a tool call", () => {
  const call = (name: string, input: unknown, detail: unknown = { kind: "none" }) =>
    ({ name, input, detail, title: "", input_text: "" }) as unknown as ToolCall;
  it("is about what it names, in words", () => {
    const todos = [{ agent: null, items: [{ id: "2", text: "Run the tests", status: "pending" }] }];
    const update = call("TaskUpdate", { taskId: "2", status: "in_progress" });
    expect(subjectOf(update, null, todos)).toBe("Run the tests: in progress");
    expect(subjectOf(update, null)).toBe("2: in progress");
    const questions = [{ question: "Which one?" }, { question: "And when?" }];
    expect(subjectOf(call("AskUserQuestion", {}, { kind: "questions", questions }), null)).toBe("Which one? And when?");
  });
});

describe("rules that the CLI suggests", () => {
  const rule = {
    type: "addRules",
    destination: "localSettings",
    rules: [{ toolName: "Bash", ruleContent: "ls:*" }],
    behavior: "allow",
  } as const satisfies PermissionUpdate;
  const mode = { type: "setMode", mode: "acceptEdits", destination: "session" } as const;
  it("are told exactly", () => {
    expect(describeUpdate(rule)).toBe("Bash(ls:*)");
    expect(describeUpdate({ ...rule, rules: [{ toolName: "mcp__a__b" }] })).toBe("mcp__a__b (every call)");
    expect(describeUpdate({ ...rule, rules: [{ toolName: "Bash", ruleContent: "a\nb" }] })).toBe("Bash(a␊b)");
    expect(describeUpdate(mode)).toBe("Accept all edits");
    expect(describeUpdate({ type: "addDirectories", directories: ["/a", "/b"] })).toBe("Allow access to folder /a, /b");
    for (const other of [
      null,
      "x" as unknown as PermissionUpdate,
      { ...rule, behavior: "deny" },
      { ...rule, rules: [] },
      { type: "removeRules" },
    ])
      expect(describeUpdate(other)).toBe(null);
  });
  it("are offered to those who may keep them", () => {
    const choices = (role: Role) => ruleChoices([null, rule, mode], role).map(({ remember, file }) => [remember, file]);
    expect(choices("viewer")).toEqual([]);
    expect(choices("approver")).toEqual([]);
    expect(choices("driver")).toEqual([
      [{ suggestion: 1, destination: "session" }, null],
      [{ suggestion: 2, destination: "session" }, null],
    ]);
    expect(choices("admin")).toEqual([
      [{ suggestion: 1, destination: "session" }, null],
      [{ suggestion: 1, destination: "localSettings" }, ".claude/settings.local.json"],
      [{ suggestion: 2, destination: "session" }, null],
    ]);
  });
});

describe("what a call would write", () => {
  it("is a difference without an empty line at its end", () => {
    expect(proposedDiff({ content: "a\nb\n" })).toBe("@@ -1,0 +1,2 @@\n+a\n+b");
    expect(proposedDiff({ old_string: "a", new_string: "b\n\n" })).toBe("@@ -1,1 +1,2 @@\n-a\n+b\n+");
    expect(proposedDiff({ command: "ls" })).toBe("");
  });
});

describe("files that a message names", () => {
  it("are found at the caret", () => {
    expect(mentionAt("What is in @mil", 15)).toEqual({ from: 11, word: "mil" });
    expect(mentionAt("@", 1)).toEqual({ from: 0, word: "" });
    expect(mentionAt("mail me@example", 15)).toBeNull();
    expect(mentionAt("@a b", 4)).toBeNull();
  });
  it("are sent whatever mark follows, and not under a longer name", () => {
    const files = ["src/a.ts"];
    for (const text of ["@src/a.ts", "In @src/a.ts?", "(@src/a.ts)", "@src/a.ts\nand", "@src/a.ts. And", "“@src/a.ts”"])
      expect(mentioned(text, files), text).toEqual(files);
    for (const text of ["@src/a.tsx", "@src/a.ts.orig", "@src/a.ts/b", "x@src/a.ts", "src/a.ts", "@src/a.ts-old"])
      expect(mentioned(text, files), text).toEqual([]);
    expect(mentioned("@src/a.tsx @src/a.ts", files)).toEqual(files);
    expect(mentioned("@my notes.md, please", ["my notes.md"])).toEqual(["my notes.md"]);
  });
});

describe("rules for tools", () => {
  it("are separated by commas and lines, outside of parentheses", () => {
    expect(splitRules(" Read, Grep\nBash(git status:*) ,,Read\n")).toEqual(["Read", "Grep", "Bash(git status:*)"]);
    expect(splitRules("Bash(echo a, b), Read")).toEqual(["Bash(echo a, b)", "Read"]);
    expect(splitRules("Bash(echo\nRead, Grep")).toEqual(["Bash(echo", "Read", "Grep"]);
    expect(splitRules(" \n, ")).toEqual([]);
  });
});

describe("what became of a call", () => {
  const line = (name: string, state: ToolCall["state"], answer?: Request["state"], kind = "permission") => {
    const tool = { name, state, detail: { kind: "none" } } as ToolCall;
    const request = answer && ({ kind: { kind }, state: answer } as Request);
    return [verbOf(tool), outcomeOf(tool, request)].join(" · ");
  };
  it("is told in the past only if it ran", () => {
    expect(line("Bash", "running")).toBe("Running · ");
    expect(line("Bash", "waiting_for_permission", { state: "open" })).toBe("Run · needs your answer");
    expect(line("AskUserQuestion", "waiting_for_permission", { state: "open" })).toBe("Asking · needs your answer");
    expect(line("Bash", "succeeded", { state: "allowed", by: "anna" })).toBe("Ran · ");
    expect(line("Bash", "failed")).toBe("Ran · failed");
    expect(line("Write", "failed")).toBe("Write · failed");
    expect(line("Bash", "interrupted", { state: "allowed", by: "anna" })).toBe("Run · interrupted");
    expect(line("Bash", "unknown", { state: "allowed", by: "anna" })).toBe("Run · no result");
    expect(line("Bash", "unknown")).toBe("Run · no result");
  });
  it("is that it was not run, where nobody allowed it", () => {
    expect(line("Bash", "unknown", { state: "cancelled" })).toBe("Run · not run");
    expect(line("Bash", "unknown", { state: "open" })).toBe("Run · not run");
    for (const state of ["denied", "interrupted"] as const)
      expect(line("Write", state, { state: "cancelled" })).toBe("Write · not run");
    expect(line("AskUserQuestion", "denied", { state: "cancelled" }, "question")).toBe("Ask · not answered");
    expect(line("Write", "denied", { state: "expired" })).toBe("Write · not answered in time");
  });
  it("names who denied it, and nobody where a rule did", () => {
    expect(line("Write", "denied", { state: "denied", by: "anna" })).toBe("Write · denied by anna");
    expect(line("Write", "denied", { state: "denied" })).toBe("Write · denied");
    expect(line("Bash", "denied")).toBe("Run · denied");
  });
});

describe("a command in the background", () => {
  it("was started, and has not run", () => {
    const detail = { kind: "command", command: "make", background_task: "b1" };
    const tool = { name: "Bash", state: "succeeded", input: { command: "make" }, detail } as unknown as ToolCall;
    expect(verbOf(tool)).toBe("Started");
    expect(verbOf({ ...tool, detail: { ...detail, background_task: null } } as unknown as ToolCall)).toBe("Ran");
  });
});

describe("the name of an MCP tool", () => {
  it("has a server and a tool", () => {
    expect(mcpParts("mcp__shop__order")).toEqual({ server: "shop", tool: "order" });
    expect(mcpParts("mcp__shop__order__again")).toEqual({ server: "shop", tool: "order__again" });
    expect([mcpParts("Bash"), mcpParts("mcp__shop"), mcpParts("mcp____x")]).toEqual([null, null, null]);
  });
});

describe("an error", () => {
  it("is called by its name, by its status or by its words", () => {
    expect(problemOf(401, "anything")).toBe("Sign-in problem");
    expect(problemOf(null, "Invalid API key · Fix external API key")).toBe("Sign-in problem");
    expect(problemOf(null, "Reached maximum budget ($0.001)")).toBe("Cost limit reached");
    expect(problemOf(429, "")).toBe("Rate limit reached");
    expect(problemOf(529, "Overloaded")).toBe("The API is overloaded");
    expect(problemOf(null, "the CLI ended before it answered")).toBe(null);
    expect(problemOf(400, "prompt is too long")).toBe(null);
  });
});

describe("what a folder's settings do", () => {
  it("is listed with hooks and permission rules first", () => {
    const items = ["instructions", "environment", "permission", "mcp_server", "hook", "setting"].map(
      (kind) => ({ kind }) as Finding,
    );
    expect(byDanger(items).map(({ kind }) => kind)).toEqual([
      "hook",
      "permission",
      "mcp_server",
      "environment",
      "setting",
      "instructions",
    ]);
  });
});
