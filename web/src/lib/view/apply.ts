// Applies changes to a view: the same steps as `View::apply` in weir-transcript, tested against its fixtures.
//
// The view itself is changed in place. Its contents are replaced, never mutated, so that a component can tell by the
// identity of an entry whether it must redraw.

import type { BlockState, Change, Entry, EntryBody, View } from "../api/schema.ts";

export function emptyView(): View {
  return {
    session: { tools: [], mcp_servers: [], slash_commands: [], skills: [], plugins: [], forked: false },
    status: { state: "starting" },
    entries: [],
    turns: [],
    agents: [],
    tasks: [],
    requests: [],
    todos: [],
    files: [],
    cost: { models: [], resets: 0 },
    usages: [],
    rate_limit: null,
    oddities: { unknown_types: 0, mismatches: 0, not_json: 0, oversize: 0, blocks: 0 },
    dropped_entries: 0,
  };
}

/** Applies one change. A change that does not fit (an unknown number, a newer server) is skipped. */
export function apply(view: View, change: Change): void {
  switch (change.change) {
    case "text_appended":
      return alterText(view, change.entry, (text) => text + change.text);
    case "text_replaced":
      return alterText(view, change.entry, () => change.text);
    case "input_appended":
      return alter(view, change.entry, (body) =>
        body.kind === "tool" ? { ...body, input_text: (body.input_text ?? "") + change.json } : body,
      );
    case "block_ended":
      return alter(view, change.entry, (body) => endBlock(body, change.state, change.code));
    case "entry_added":
      view.entries.push(without(change));
      return;
    case "entry_replaced": {
      const place = placeOf(view, change.id);
      if (place !== null) view.entries[place] = without(change);
      return;
    }
    case "tool_state":
      return alter(view, change.entry, (body) => (body.kind === "tool" ? { ...body, state: change.state } : body));
    case "tool_ended":
      return alter(view, change.entry, (body) =>
        body.kind === "tool"
          ? {
              ...body,
              state: change.state,
              output: change.output,
              duration_ms: change.duration_ms ?? undefined,
              structured: change.structured ?? undefined,
              detail: change.detail ?? body.detail,
            }
          : body,
      );
    case "turn_added":
      view.turns.push(without(change));
      return;
    case "turn_replaced": {
      const place = view.turns.findLastIndex((turn) => turn.id === change.id);
      if (place >= 0) view.turns[place] = without(change);
      return;
    }
    case "session":
      view.session = without(change);
      return;
    case "status":
      view.status = change.status;
      return;
    case "agent":
      return upsert(view.agents, without(change), (agent) => agent.id === change.id);
    case "request":
      return upsert(view.requests, without(change), (request) => request.id === change.id);
    case "todos":
      return upsert(view.todos, without(change), (list) => (list.agent ?? null) === (change.agent ?? null));
    case "tasks":
      view.tasks = change.tasks;
      return;
    case "file_changed":
      view.files.push(without(change));
      return;
    case "cost":
      view.cost = without(change);
      return;
    case "message_used":
      return upsert(view.usages, without(change), (usage) => usage.message === change.message);
    case "rate_limit":
      view.rate_limit = without(change);
      return;
    case "oddities":
      view.oddities = without(change);
      return;
    case "dropped":
      return drop(view, change);
  }
}

/** Index of an entry in `entries`: numbers have no gaps, so no search is needed. */
export function placeOf(view: View, entry: number): number | null {
  const first = view.entries[0];
  if (first === undefined) return null;
  const place = entry - first.id;
  return place >= 0 && place < view.entries.length ? place : null;
}

function without<T extends { change: string }>(change: T): Omit<T, "change"> {
  const { change: _, ...rest } = change;
  return rest;
}

function alter(view: View, id: number, step: (body: EntryBody) => EntryBody): void {
  const place = placeOf(view, id);
  const entry = place === null ? undefined : view.entries[place];
  if (place === null || entry === undefined) return;
  const body = step(entry.body);
  if (body !== entry.body) view.entries[place] = { ...entry, body };
}

function alterText(view: View, id: number, step: (text: string) => string): void {
  alter(view, id, (body) =>
    body.kind === "text" || body.kind === "thinking" ? { ...body, text: step(body.text) } : body,
  );
}

function endBlock(
  body: EntryBody,
  state: BlockState,
  code: Extract<Change, { change: "block_ended" }>["code"],
): EntryBody {
  if (body.kind === "text") return { ...body, state, code: code.length > 0 ? code : undefined };
  if (body.kind === "thinking") return { ...body, state };
  return body;
}

function upsert<T>(list: T[], value: T, isIt: (place: T) => boolean): void {
  const place = list.findLastIndex(isIt);
  if (place >= 0) list[place] = value;
  else list.push(value);
}

function drop(view: View, change: Extract<Change, { change: "dropped" }>): void {
  const { first_entry: first, first_turn: firstTurn, keep_turns: turns, keep_agents: agents, most } = change;
  view.turns = view.turns.filter((turn) => turn.id >= firstTurn || turns.includes(turn.id));
  let gone = 0;
  while (gone < view.entries.length && (view.entries[gone] as Entry).id < first) gone += 1;
  view.entries.splice(0, gone);
  view.dropped_entries += gone;
  view.agents = view.agents.filter((agent) => agent.entry >= first || agents.includes(agent.id));
  view.requests = view.requests.filter((request) => request.entry >= first || request.state.state === "open");
  const kept = new Set(view.agents.map((agent) => agent.id));
  view.todos = view.todos.filter((list) => list.agent == null || kept.has(list.agent));
  view.files = view.files.filter((file) => file.entry >= first);
  view.usages = view.usages.filter((usage) => usage.entry >= first);
  // The other lists are bounded too: only the newest are kept.
  view.agents = newest(view.agents, most);
  view.requests = newest(view.requests, most);
  view.files = newest(view.files, most);
  view.usages = newest(view.usages, most);
}

function newest<T>(list: T[], most: number): T[] {
  return list.length > most ? list.slice(list.length - most) : list;
}
