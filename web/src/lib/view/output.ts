// What sub-agents and background tasks have said and printed so far, as far as it is loaded.

import type { Agent, Entry, View } from "../api/schema.ts";
import type { Layout } from "./rows.ts";
import { inputOf, text } from "../text/tools.ts";

/** What is needed of a session. */
export interface Known {
  readonly view: View;
  readonly layout: Layout;
  entry(id: number): Entry | null;
}

export interface Call {
  entry: number;
  at: number | null;
  output: string;
}

/** The call that became a background task. */
export function backgroundCall(known: Known, task: string): Call | null {
  const found = known.view.entries.findLast(
    ({ body }) => body.kind === "tool" && body.detail.kind === "command" && body.detail.background_task === task,
  );
  if (found?.body.kind !== "tool") return null;
  return { entry: found.id, at: found.body.started_at ?? found.at ?? null, output: found.body.output?.text ?? "" };
}

/** What a task has printed: the newest look at its output, or else what its call returned. */
export function callOutput(known: Known, call: Call, task: string): string {
  const look = known.view.entries.findLast(({ body }) => {
    if (body.kind !== "tool" || body.state !== "succeeded") return false;
    const input = inputOf(body);
    return [text(input, "bash_id"), text(input, "task_id"), text(input, "shell_id")].includes(task);
  });
  return (look?.body.kind === "tool" ? look.body.output?.text : undefined) ?? call.output;
}

/** What an agent has reported: its summary, or else the last text that it wrote. */
export function saidBy(known: Known, agent: Agent): string {
  if (agent.summary) return agent.summary.trim();
  for (const id of [...(known.layout.children.get(agent.id) ?? [])].reverse()) {
    const body = known.entry(id)?.body;
    if (body?.kind === "text" && body.text.trim() !== "") return body.text.trim();
  }
  return "";
}
