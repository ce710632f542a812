// Requests to the unattended loop that runs in the server.

import type { Client } from "./client.ts";
import type { LoopReportForm, LoopTaskList, LoopTaskState } from "./schema.ts";

export async function loopTasks(client: Client, state: LoopTaskState | null, limit: number): Promise<LoopTaskList> {
  const query = new URLSearchParams({ limit: String(limit), ...(state === null ? {} : { state }) });
  return (await (await client.fetch(`v1/loop/tasks?${query}`)).json()) as LoopTaskList;
}

export async function loopReport(client: Client, form: LoopReportForm): Promise<Blob> {
  return (await client.fetch(`v1/loop/report?form=${form}`)).blob();
}

export function pauseLoop(client: Client, paused: boolean): Promise<Response> {
  return post(client, "v1/loop/pause", { paused });
}

export function skipTask(client: Client, task: string): Promise<Response> {
  return post(client, `v1/loop/tasks/${encodeURIComponent(task)}/skip`);
}

export function retryTask(client: Client, task: string): Promise<Response> {
  return post(client, `v1/loop/tasks/${encodeURIComponent(task)}/retry`);
}

export function answerLoop(client: Client, question: string, answers: string[]): Promise<Response> {
  return post(client, `v1/loop/questions/${encodeURIComponent(question)}`, { answers });
}

function post(client: Client, path: string, body?: unknown): Promise<Response> {
  if (body === undefined) return client.fetch(path, { method: "POST" });
  const headers = { "Content-Type": "application/json" };
  return client.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
}
