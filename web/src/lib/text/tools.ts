// What a tool call is about, in words, and which view fits it.

import type { Request, TodoList, ToolCall } from "../api/schema.ts";
import { plural, relativePath, sentence } from "./format.ts";

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

const VERBS: Record<string, [plain: string, running: string, done: string]> = {
  Bash: ["Run", "Running", "Ran"],
  Read: ["Read", "Reading", "Read"],
  Write: ["Write", "Writing", "Wrote"],
  Edit: ["Edit", "Editing", "Edited"],
  MultiEdit: ["Edit", "Editing", "Edited"],
  NotebookEdit: ["Edit", "Editing", "Edited"],
  Grep: ["Search", "Searching", "Searched"],
  Glob: ["Find", "Finding", "Found"],
  LS: ["List", "Listing", "Listed"],
  WebFetch: ["Fetch", "Fetching", "Fetched"],
  WebSearch: ["Search the web", "Searching the web", "Searched the web"],
  Task: ["Agent", "Agent", "Agent"],
  Agent: ["Agent", "Agent", "Agent"],
  TodoWrite: ["Update todos", "Updating todos", "Updated todos"],
  TaskCreate: ["Add a todo", "Adding a todo", "Added a todo"],
  TaskUpdate: ["Update todo", "Updating todo", "Updated todo"],
  TaskList: ["Look at the todos", "Looking at the todos", "Looked at the todos"],
  BashOutput: ["Look at output", "Looking at output", "Looked at output"],
  KillShell: ["End a command", "Ending a command", "Ended a command"],
  AskUserQuestion: ["Ask", "Asking", "Asked"],
  EnterPlanMode: ["Start to plan", "Starting to plan", "Started to plan"],
  ExitPlanMode: ["Propose a plan", "Proposing a plan", "Proposed a plan"],
};

/** The server and the tool that a name of an MCP tool consists of. */
export function mcpParts(name: string): { server: string; tool: string } | null {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(name) ?? [];
  return server === undefined || tool === undefined ? null : { server, tool };
}

/** Past tense only for what happened: a failed command did run, a file that could not be written was not written. */
export function verbOf(tool: ToolCall): string {
  const verbs = VERBS[tool.name];
  // The call is over as soon as the command runs.
  if (tool.state === "succeeded" && tool.detail.kind === "command" && tool.detail.background_task) return "Started";
  const done = tool.state === "succeeded" || (tool.state === "failed" && tool.name === "Bash");
  // What waits for permission has not begun. A question or a plan has: it waits for its answer.
  const hasBegun = tool.state !== "waiting_for_permission" || ["questions", "plan"].includes(shapeOf(tool));
  if (verbs) return verbs[isGoing(tool) && hasBegun ? 1 : done ? 2 : 0];
  const mcp = mcpParts(tool.name);
  if (mcp) return `${mcp.server}: ${mcp.tool}`;
  return tool.name || "Tool";
}

/** How a call ended if it did not simply succeed, and who decided it. */
export function outcomeOf(tool: ToolCall, request: Request | undefined, mayAnswer = true): string {
  switch (tool.state) {
    case "pending":
    case "running":
    case "succeeded":
      return "";
    case "waiting_for_permission":
      return mayAnswer ? "needs your answer" : "needs an answer";
    case "failed":
      return "failed";
  }
  const state = request?.state;
  const unanswered = request?.kind.kind === "permission" ? "not run" : "not answered";
  if (state?.state === "denied") return state.by ? `denied by ${state.by}` : "denied";
  if (state?.state === "expired") return "not answered in time";
  // It was waiting for an answer when the turn or the process ended.
  if (state?.state === "cancelled" || state?.state === "open") return unanswered;
  return { denied: "denied", interrupted: "interrupted", unknown: "no result" }[tool.state];
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

/** A diff of what a call would write, if the CLI has not sent the old content. Empty if it writes nothing. */
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

/** Whether a call has ended as expected and changed nothing that has to be seen: these are folded. */
export function isRoutine(tool: ToolCall): boolean {
  if (tool.state !== "succeeded") return false;
  if (tool.detail.kind === "command" && tool.detail.background_task) return false;
  return ["terminal", "file", "hits", "todos"].includes(shapeOf(tool));
}

/** What a run of routine calls did: `Read 6 files, ran 3 commands`. */
export function runSummary(tools: ToolCall[]): string {
  const of = (shape: ToolShape) => tools.filter((tool) => shapeOf(tool) === shape);
  const files = new Set(of("file").map((tool) => text(inputOf(tool), "file_path") || tool.id)).size;
  const commands = of("terminal").length;
  const searches = of("hits").length;
  const parts = [
    files > 0 ? `read ${plural(files, "file")}` : "",
    searches > 0 ? `searched ${searches === 1 ? "once" : `${searches} times`}` : "",
    commands > 0 ? `ran ${plural(commands, "command")}` : "",
    of("todos").length > 0 ? "updated the todos" : "",
  ].filter(Boolean);
  return sentence(parts.join(", "));
}
