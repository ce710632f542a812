// All sessions that the token may see, live.

import type { Client } from "../api/client.ts";
import type { ServerEvent } from "../api/sse.ts";
import { EventStream, type LinkState } from "../api/stream.ts";
import type { LoopView, RemovedEvent, SearchResult, SessionInfo, SessionsEvent } from "../api/schema.ts";
import { type Filter, FILTERS, fits } from "../text/sessions.ts";

/** How many sessions the stream starts with. */
const NEWEST = 100;
/** How many are fetched at a time; the first page contains the newest ones again. */
const PAGE = 200;

export interface SessionEvents {
  /** A session has changed its state. */
  turned(info: SessionInfo, before: SessionInfo): void;
  linked(): void;
  refused(why: string | null, status: number | undefined): void;
}

export class Sessions {
  all = $state.raw<SessionInfo[]>([]);
  archived = $state.raw<SessionInfo[]>([]);
  loaded = $state(false);
  /** The loop that runs in the server, if there is one. */
  loop = $state.raw<LoopView | null>(null);
  link = $state<LinkState>("connecting");
  linkSince = $state(Date.now());
  /** Whether the first page of a filter is on its way. */
  loadingOlder = $state(false);
  /** What the list is narrowed to. */
  filter = $state<Filter>("all");
  /** Where the next page of each of a filter's queries begins, null after the last one; none before the first one. */
  #cursors = $state.raw<Partial<Record<Filter, (string | null)[]>>>({});
  /** Whether the stream began with all that there are. */
  #hasAll = $state(true);
  readonly #client: Client;
  readonly #events: SessionEvents;
  readonly #stream: EventStream;

  constructor(client: Client, events: SessionEvents) {
    this.#client = client;
    this.#events = events;
    this.#stream = new EventStream(client, "v1/events", {
      event: (event) => this.#take(event),
      state: (state, why, status) => {
        const was = this.link;
        this.link = state;
        if ((state === "open") !== (was === "open")) this.linkSince = Date.now();
        if (state === "open" && was !== "open") events.linked();
        if (state === "refused") events.refused(why, status);
      },
    });
  }

  wake(): void {
    this.#stream.wake();
  }

  close(): void {
    this.#stream.close();
  }

  find(id: string): SessionInfo | null {
    return this.all.find((info) => info.id === id) ?? this.archived.find((info) => info.id === id) ?? null;
  }

  /** Sessions that need attention. */
  get waiting(): SessionInfo[] {
    return this.all.filter((info) => info.status === "waiting");
  }

  put(info: SessionInfo): void {
    const before = this.find(info.id);
    // Two streams tell of a session; what the slower one says may be over already.
    if (before !== null && info.newest_seq < before.newest_seq) return;
    const rest = this.all.filter((other) => other.id !== info.id);
    this.archived = this.archived.filter((other) => other.id !== info.id);
    if (info.archived) {
      this.all = rest;
      this.archived = byAge([info, ...this.archived]);
    } else this.all = byAge([info, ...rest]);
    if (before !== null && hasTurned(info, before)) this.#events.turned(info, before);
  }

  drop(id: string): void {
    this.all = this.all.filter((info) => info.id !== id);
    this.archived = this.archived.filter((info) => info.id !== id);
  }

  /** Those that the filter lets through. */
  get shown(): SessionInfo[] {
    return (this.filter === "archived" ? this.archived : this.all).filter((info) => fits(info, this.filter));
  }

  /** Whether the server has more of them. */
  get hasOlder(): boolean {
    const next = this.#cursors[this.filter];
    return next === undefined ? !this.#hasAll : next.some((cursor) => cursor !== null);
  }

  /** Narrows the list. The server is asked, because it has older sessions than this page. */
  async narrow(filter: Filter): Promise<void> {
    this.filter = filter;
    if (filter === "all" || this.#cursors[filter] !== undefined) return;
    this.loadingOlder = true;
    await this.loadOlder().finally(() => (this.loadingOlder = false));
  }

  /** Fetches the next older sessions. */
  async loadOlder(): Promise<void> {
    const { filter } = this;
    const next = this.#cursors[filter];
    const archived = String(filter === "archived");
    const statuses = FILTERS[filter].statuses ?? [null];
    const pages = await Promise.all(
      statuses.map((status, at) => {
        const cursor = next?.[at];
        if (cursor === null) return null;
        const more = { ...(status === null ? {} : { status }), ...(cursor === undefined ? {} : { cursor }) };
        return this.#client.sessions({ archived, limit: String(PAGE), ...more });
      }),
    );
    this.#cursors = { ...this.#cursors, [filter]: pages.map((page) => page?.next_cursor ?? null) };
    // What is known arrived on the stream and is newer.
    const known = new Set([...this.all, ...this.archived].map((info) => info.id));
    const older = pages.flatMap((page) => page?.sessions ?? []).filter((info) => !known.has(info.id));
    this.all = byAge([...this.all, ...older.filter((info) => !info.archived)]);
    this.archived = byAge([...this.archived, ...older.filter((info) => info.archived)]);
  }

  /** Searches on the server, which knows more than the newest hundred: names and folders, and what was said. */
  async search(text: string): Promise<SearchResult[]> {
    const [said, named] = await Promise.all([
      this.#client.search(text).then(({ results }) => results),
      this.#client.sessions({ search: text, limit: "50" }).then(({ sessions }) => sessions),
    ]);
    const known = new Set(said.map(({ session }) => session.id));
    const rest = named.filter((session) => !known.has(session.id));
    return [...said, ...rest.map((session) => ({ session, at: session.updated_at, snippet: [] }))];
  }

  #take(event: ServerEvent): void {
    if (event.name === "sessions") {
      const { sessions } = JSON.parse(event.data) as SessionsEvent;
      const before = new Map(this.all.map((info) => [info.id, info]));
      this.all = byAge(sessions.filter((info) => !info.archived));
      this.#cursors = {};
      this.#hasAll = sessions.length < NEWEST;
      this.loaded = true;
      // Older ones that the filter had found are fetched again; if that fails, the newest are shown.
      this.narrow(this.filter).catch(() => undefined);
      for (const info of sessions) {
        const old = before.get(info.id);
        if (old !== undefined && hasTurned(info, old)) this.#events.turned(info, old);
      }
    } else if (event.name === "session") this.put(JSON.parse(event.data) as SessionInfo);
    else if (event.name === "loop") this.loop = JSON.parse(event.data) as LoopView;
    else if (event.name === "removed") this.drop((JSON.parse(event.data) as RemovedEvent).id);
  }
}

function hasTurned(info: SessionInfo, before: SessionInfo): boolean {
  return info.status !== before.status || info.background !== before.background;
}

/** Pinned sessions first, then the newest. */
export function byAge(sessions: SessionInfo[]): SessionInfo[] {
  return [...sessions].sort(
    (a, b) => Number(b.pinned) - Number(a.pinned) || b.updated_at - a.updated_at || (a.id < b.id ? 1 : -1),
  );
}
