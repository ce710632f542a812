// Types of the server's API: those of the OpenAPI document under the names that the page uses, and the events of its
// streams, which the document only describes in words.

import type { Change, MessageInfo, SessionInfo, View } from "./schema.ts";

export type {
  Accepted,
  FileDiff,
  FilePreview,
  Folder,
  Me,
  MessageInfo as QueuedMessage,
  MessageMode,
  MessageState,
  PermissionUpdate,
  Remember,
  Role,
  RuleDestination,
  SessionInfo,
  SessionStatus,
  SlashCommand,
  TranscriptPage,
  Image as Picture,
  AnswerElicitation as ElicitationAnswer,
  AnswerPermission as PermissionAnswer,
  CreateSession as NewSession,
  SendMessage as NewMessage,
} from "./schema.ts";

export type QuestionAnswer = { answers: Record<string, string | string[]> } | { decline: string };

export interface Problem {
  title: string;
  status: number;
  detail?: string;
  code?: string;
  answered_by?: string | null;
}

export interface LogLine {
  seq: number;
  at: number;
  kind: string;
  payload: unknown;
}

export interface Hello {
  resume: "fresh" | "ok" | "gap";
  epoch: string;
  seq: number;
  heartbeat_ms: number;
}

export interface Snapshot {
  view: View;
  session: SessionInfo;
  messages: MessageInfo[];
  seq: number;
}

export interface Changes {
  seq: number;
  changes: Change[];
}

export type ByeReason = "lag" | "shutdown" | "revoked" | "expired" | "deleted";
