// Entries of the audit log, in words.

const WORDS: Record<string, string> = {
  "POST /v1/tokens": "created a token",
  "DELETE /v1/tokens/{token}": "revoked a token",
  "POST /v1/sessions": "created a session",
  "PATCH /v1/sessions/{id}": "changed the session",
  "DELETE /v1/sessions/{id}": "deleted a session",
  "POST /v1/sessions/{id}/fork": "forked the session",
  "POST /v1/sessions/{id}/share": "shared the session",
  "POST /v1/sessions/{id}/messages": "sent a message",
  "PATCH /v1/sessions/{id}/messages/{message_id}": "changed a queued message",
  "DELETE /v1/sessions/{id}/messages/{message_id}": "cancelled a message",
  "POST /v1/sessions/{id}/interrupt": "interrupted a turn",
  "POST /v1/sessions/{id}/stop": "ended the process",
  "POST /v1/sessions/{id}/resume": "resumed the session",
  "POST /v1/sessions/{id}/tasks/{task_id}/stop": "stopped a task",
  "POST /v1/sessions/{id}/permissions/{request_id}": "answered a permission",
  "POST /v1/sessions/{id}/questions/{request_id}": "answered a question",
  "POST /v1/sessions/{id}/elicitations/{request_id}": "answered a form",
  "PUT /v1/sessions/{id}/model": "changed the model",
  "PUT /v1/sessions/{id}/effort": "changed the effort",
  "PUT /v1/sessions/{id}/permission-mode": "changed the permission mode",
  "POST /v1/sessions/{id}/changes/revert": "reverted a change",
  "POST /v1/sessions/{id}/changes/stage": "staged files",
  "POST /v1/sessions/{id}/changes/commit": "made a commit",
  "PUT /v1/folder/trust": "trusted a folder",
  "DELETE /v1/folder/trust": "revoked the trust in a folder",
  "POST /v1/past-sessions/{id}": "adopted a session",
  "POST /v1/worktrees": "made a worktree",
  "DELETE /v1/worktrees": "removed a worktree",
};

/** What was done; the route itself where there are no words for it. */
export function actionWords(action: string): string {
  const [method = "", path = ""] = action.split(" ");
  // The server may be below a base path.
  return WORDS[`${method} ${path.slice(Math.max(0, path.indexOf("/v1/")))}`] ?? action;
}
