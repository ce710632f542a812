// The view of a conversation, as the server describes it.

export type {
  Agent, AgentState, BackgroundTask, BlockState, Change, CodeBlock, Entry, EntryBody, FileChange, HookRun, Notice, Output,
  Question, Request, RequestKind, RequestState, TextEntry, ThinkingEntry, Todo, TodoList, ToolCall, ToolDetail, Turn,
  UserEntry, View,
} from "../api/schema.ts";
