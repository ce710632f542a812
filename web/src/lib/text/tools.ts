// What a tool call is about, in words, and which view fits it.

import type { TodoList, ToolCall } from "../view/types.ts";
import { relativePath } from "./format.ts";

export type ToolShape = "terminal" | "diff" | "file" | "hits" | "questions" | "plan" | "agent" | "todos" | "plain";

export type Input = Record<string, unknown>;

export function inputOf(tool: ToolCall): Input {
  if (typeof tool.input === "object" && tool.input !== null && !Array.isArray(tool.input)) return tool.input as Input;
  return {};
}

export function text(input: Input, key: string): string {
  const value = input[key];
  return typeof value === "string" ? value : "";
}

export function shapeOf(tool: ToolCall): ToolShape {
  switch (tool.detail.kind) {
    case "command":
      return "terminal";
    case "file_read":
      return "file";
    case "file_changed":
      return "diff";
    case "questions":
      return "questions";
    case "plan":
      return "plan";
    case "agent":
      return "agent";
    case "todos":
      return "todos";
  }
  switch (tool.name) {
    case "Bash":
    case "BashOutput":
    case "KillShell":
      return "terminal";
    case "Edit":
    case "MultiEdit":
    case "Write":
    case "NotebookEdit":
      return "diff";
    case "Read":
      return "file";
    case "Grep":
    case "Glob":
    case "LS":
    case "WebSearch":
      return "hits";
    case "AskUserQuestion":
      return "questions";
    case "ExitPlanMode":
      return "plan";
    case "Task":
    case "Agent":
      return "agent";
    case "TodoWrite":
      return "todos";
  }
  return "plain";
}

const VERBS: Record<string, [running: string, done: string]> = {
  Bash: ["Running", "Ran"],
  Read: ["Reading", "Read"],
  Write: ["Writing", "Wrote"],
  Edit: ["Editing", "Edited"],
  MultiEdit: ["Editing", "Edited"],
  NotebookEdit: ["Editing", "Edited"],
  Grep: ["Searching", "Searched"],
  Glob: ["Finding", "Found"],
  LS: ["Listing", "Listed"],
  WebFetch: ["Fetching", "Fetched"],
  WebSearch: ["Searching the web", "Searched the web"],
  Task: ["Agent", "Agent"],
  Agent: ["Agent", "Agent"],
  TodoWrite: ["Updating todos", "Updated todos"],
  TaskCreate: ["Adding a todo", "Added a todo"],
  TaskUpdate: ["Updating todo", "Updated todo"],
  TaskList: ["Looking at the todos", "Looked at the todos"],
  BashOutput: ["Looking at output", "Looked at output"],
  KillShell: ["Ending a command", "Ended a command"],
  AskUserQuestion: ["Asking", "Asked"],
  EnterPlanMode: ["Starting to plan", "Started to plan"],
  ExitPlanMode: ["Proposing a plan", "Proposed a plan"],
};

export function verbOf(tool: ToolCall): string {
  const verbs = VERBS[tool.name];
  const going = tool.state === "pending" || tool.state === "running" || tool.state === "waiting_for_permission";
  if (verbs) return verbs[going || tool.state === "denied" ? 0 : 1];
  const mcp = /^mcp__(.+?)__(.+)$/.exec(tool.name);
  if (mcp) return `${mcp[1]}: ${mcp[2]}`;
  return tool.name || "Tool";
}

/** The object of the verb: the command, the file, the pattern. */
export function subjectOf(tool: ToolCall, cwd: string | null | undefined, todos: TodoList[] = []): string {
  const input = inputOf(tool);
  const path = text(input, "file_path") || text(input, "notebook_path");
  if (path) return relativePath(path, cwd);
  if (tool.name === "Bash" && text(input, "command")) return text(input, "command");
  if (tool.name === "Grep" || tool.name === "Glob") {
    const where = text(input, "path");
    return text(input, "pattern") + (where ? ` in ${relativePath(where, cwd)}` : "");
  }
  if (tool.name === "TodoWrite" || tool.name === "ExitPlanMode") return "";
  if (tool.name === "TaskUpdate") {
    const id = text(input, "taskId");
    const todo = todos.flatMap((list) => list.items).find((item) => item.id === id);
    return [todo?.text ?? id, text(input, "status").replace("_", " ")].filter(Boolean).join(": ");
  }
  if (tool.detail.kind === "questions") return tool.detail.questions.map(({ question }) => question).join(" ");
  if (tool.title) return tool.title;
  if (tool.input_text) return "…";
  const first = Object.values(input).find((value) => typeof value === "string");
  return typeof first === "string" ? first : "";
}

/** A diff of what a call would write, for where the CLI has not said what it was before. Empty where it writes nothing. */
export function proposedDiff(input: Input): string {
  const lines = (value: string, sign: string) =>
    value === ""
      ? []
      : value
          .replace(/\n$/, "")
          .split("\n")
          .map((line) => sign + line);
  const removed = lines(text(input, "old_string"), "-");
  const added = lines(text(input, "new_string") || text(input, "content"), "+");
  if (removed.length + added.length === 0) return "";
  return `@@ -1,${removed.length} +1,${added.length} @@\n${[...removed, ...added].join("\n")}`;
}

export function isGoing(tool: ToolCall): boolean {
  return tool.state === "pending" || tool.state === "running" || tool.state === "waiting_for_permission";
}
