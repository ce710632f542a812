// What the server promises over HTTP. The view inside of it is in ../view/types.ts.

import type { Change, Entry, View } from "../view/types.ts";

export type SessionStatus = "idle" | "starting" | "running" | "waiting" | "stopping" | "failed" | "interrupted";

export interface SessionInfo {
  id: string;
  key: string | null;
  name: string | null;
  cwd: string;
  model: string | null;
  permission_mode: string | null;
  status: SessionStatus;
  waiting_for: { permissions: number; questions: number };
  has_process: boolean;
  queued: number;
  cost_usd: number | null;
  max_cost_usd: number | null;
  created_at: number;
  updated_at: number;
  archived: boolean;
  parent: { id: string; seq: number } | null;
  cli_session_id: string | null;
  origin: string;
  newest_seq: number;
  last_error: string | null;
}

export interface NewSession {
  cwd: string;
  name?: string;
  model?: string;
  permission_mode?: string;
  max_cost_usd?: number;
  append_system_prompt?: string;
}

export interface Picture {
  media_type: string;
  data: string;
}

export type MessageMode = "queue" | "steer";
export type MessageState = "queued" | "sent" | "started" | "answered" | "cancelled" | "indeterminate" | "held";

export interface NewMessage {
  client_id: string;
  text: string;
  images?: Picture[];
  mode?: MessageMode;
}

export interface Accepted {
  message_id: string;
  state: MessageState;
  duplicate: boolean;
}

export interface QueuedMessage {
  message_id: string;
  client_id: string | null;
  text: string;
  images: number | unknown[];
  state: MessageState;
  mode: MessageMode;
  by: string | null;
  at: number;
}

export type Role = "viewer" | "approver" | "driver" | "admin";

export interface Me {
  name: string;
  role: Role;
  session: string | null;
  expires_at: number | null;
  version: string;
  roots: string[];
  permission_modes: string[];
  models: string[];
  demo: boolean;
}

export interface FileDiff {
  path: string;
  kind: string;
  additions: number;
  deletions: number;
  unified: string;
}

export interface TranscriptPage {
  entries: Entry[];
  next_before: number | null;
  seq: number;
}

export interface LogLine {
  seq: number;
  at: number;
  kind: string;
  payload: unknown;
}

export interface PermissionAnswer {
  behavior: "allow" | "deny";
  message?: string;
  updated_input?: unknown;
  updated_permissions?: unknown[];
  interrupt?: boolean;
}

export type QuestionAnswer = { answers: Record<string, string | string[]> } | { decline: string };

export interface Problem {
  title: string;
  status: number;
  detail?: string;
  code?: string;
  answered_by?: string | null;
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
  messages: QueuedMessage[];
  seq: number;
}

export interface Changes {
  seq: number;
  changes: Change[];
}

export type ByeReason = "lag" | "shutdown" | "revoked" | "expired" | "deleted";
