// The rows of the transcript, in order. Entries of a sub-agent are inside the row of the call that started it.

import type { Agent, Entry } from "../api/schema.ts";

export type Row =
  | { key: string; kind: "entry"; entry: number }
  | { key: string; kind: "orphans"; agent: string }
  | { key: string; kind: "turn"; turn: number };

export interface Layout {
  rows: Row[];
  /** The entries of each sub-agent, by the call that started it. */
  children: Map<string, number[]>;
}

/** Lays out entries. A sub-agent whose call is not loaded gets a row of its own where it first appears. */
export function layOut(entries: readonly Entry[], agents: readonly Agent[], ended: ReadonlySet<number>): Layout {
  const rows: Row[] = [];
  const children = new Map<string, number[]>();
  const calls = new Set<string>();
  const orphans = new Set<string>();
  const parents = new Map(agents.map((agent) => [agent.id, agent.parent ?? null] as const));
  const last = lastOfTurns(entries);
  for (const entry of entries) {
    if (entry.body.kind === "tool") calls.add(entry.body.id);
    const parent = entry.parent ?? null;
    if (parent === null) {
      if (isShown(entry)) rows.push({ key: `e${entry.id}`, kind: "entry", entry: entry.id });
      const turn = entry.turn ?? null;
      if (turn !== null && ended.has(turn) && last.get(turn) === entry.id)
        rows.push({ key: `t${turn}`, kind: "turn", turn });
      continue;
    }
    const list = children.get(parent);
    if (list === undefined) children.set(parent, [entry.id]);
    else list.push(entry.id);
    const top = topOf(parent, calls, parents);
    if (!calls.has(top) && !orphans.has(top)) {
      orphans.add(top);
      rows.push({ key: `a${top}`, kind: "orphans", agent: top });
    }
  }
  return { rows, children };
}

/** Turns overlap: a message queued for the next turn may be among the entries of this one. */
function lastOfTurns(entries: readonly Entry[]): Map<number, number> {
  const last = new Map<number, number>();
  for (const entry of entries) if (entry.turn != null && entry.parent == null) last.set(entry.turn, entry.id);
  return last;
}

function topOf(agent: string, calls: ReadonlySet<string>, parents: ReadonlyMap<string, string | null>): string {
  let id = agent;
  for (let depth = 0; depth < 64 && !calls.has(id); depth += 1) {
    const parent = parents.get(id);
    if (parent == null) break;
    id = parent;
  }
  return id;
}

/** Some entries are for the raw view only. */
function isShown(entry: Entry): boolean {
  switch (entry.body.kind) {
    // Queued messages are listed above the composer, where they can be cancelled.
    case "user":
      return entry.body.source !== "host" || entry.body.delivery !== "queued";
    case "hook":
      return entry.body.outcome === "error" || entry.body.output != null;
    case "thinking":
      return entry.body.text !== "" || entry.body.state === "streaming" || entry.body.redacted;
    case "text":
      return entry.body.text !== "" || entry.body.state === "streaming";
    default:
      return true;
  }
}
