// The rows of the transcript, in order. Entries of a sub-agent are inside the row of the call that started it, and a run
// of calls that only looked around or ran commands is one row.

import type { Agent, Entry } from "../api/schema.ts";
import { isRoutine } from "../text/tools.ts";

export type Row =
  | { key: string; kind: "entry"; entry: number }
  | { key: string; kind: "run"; entries: number[] }
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
  for (const entry of inReadingOrder(entries)) {
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
  return { rows: foldRuns(rows, entries, children), children };
}

/**
 * A message that was queued is in the log where it was sent, among the entries of the turn before. It is read together
 * with its reply, so it moves to the beginning of its own turn.
 */
function inReadingOrder(entries: readonly Entry[]): readonly Entry[] {
  const replies = new Map<number, number>();
  for (const { id, turn, parent, body } of entries)
    if (turn != null && parent == null && body.kind !== "user" && !replies.has(turn)) replies.set(turn, id);
  const moved = new Map<number, Entry[]>();
  const stays = (entry: Entry): boolean => {
    if (entry.body.kind !== "user" || entry.parent != null || entry.turn == null) return true;
    const reply = replies.get(entry.turn);
    return reply === undefined || reply < entry.id;
  };
  const ordered: Entry[] = [];
  for (const entry of entries) {
    if (!stays(entry)) {
      const reply = replies.get(entry.turn ?? 0) ?? 0;
      moved.set(reply, [...(moved.get(reply) ?? []), entry]);
      continue;
    }
    ordered.push(...(moved.get(entry.id) ?? []), entry);
  }
  return ordered;
}

/** Fewer calls than this are shown one by one. */
const SHORTEST_RUN = 3;

/** Joins runs of finished routine calls, with the thinking between them, and attempts to reach the API. */
function foldRuns(rows: Row[], entries: readonly Entry[], children: ReadonlyMap<string, number[]>): Row[] {
  const bodies = new Map(entries.map(({ id, body }) => [id, body] as const));
  const isRetry = (row: Row | undefined) => {
    const body = row?.kind === "entry" ? bodies.get(row.entry) : undefined;
    return body?.kind === "notice" && body.notice.type === "api_retry";
  };
  const folded: Row[] = [];
  let run: number[] = [];
  /** Thinking after the last call of the run: it joins the run if another call follows. */
  let pending: number[] = [];
  let calls = 0;
  const single = (entry: number): Row => ({ key: `e${entry}`, kind: "entry", entry });
  const end = () => {
    const [first] = run;
    if (calls >= SHORTEST_RUN && first !== undefined) folded.push({ key: `r${first}`, kind: "run", entries: run });
    else folded.push(...run.map(single));
    folded.push(...pending.map(single));
    run = [];
    pending = [];
    calls = 0;
  };
  for (const row of rows) {
    const body = row.kind === "entry" ? bodies.get(row.entry) : undefined;
    if (row.kind === "entry" && body?.kind === "tool" && isRoutine(body) && !children.has(body.id)) {
      run.push(...pending, row.entry);
      pending = [];
      calls += 1;
    } else if (row.kind === "entry" && body?.kind === "thinking" && body.state !== "streaming" && calls > 0) {
      pending.push(row.entry);
    } else {
      end();
      // Attempts count up in one line, which goes when the error that they ended in is told.
      const isError = body?.kind === "text" && body.error != null;
      if ((isRetry(row) || isError) && isRetry(folded.at(-1))) folded.pop();
      folded.push(row);
    }
  }
  end();
  return folded;
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
