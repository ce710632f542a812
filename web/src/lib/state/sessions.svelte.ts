// All sessions that the token may see, live.

import type { Client } from "../api/client.ts";
import type { ServerEvent } from "../api/sse.ts";
import { EventStream, type LinkState } from "../api/stream.ts";
import type { RemovedEvent, SearchResult, SessionInfo, SessionsEvent } from "../api/schema.ts";

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
  link = $state<LinkState>("connecting");
  linkSince = $state(Date.now());
  /** Whether the server has older sessions than those in `all`. */
  hasOlder = $state(false);
  #cursor: string | null = null;
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

  /** Fetches the next older sessions. */
  async loadOlder(): Promise<void> {
    const cursor: Record<string, string> = this.#cursor === null ? {} : { cursor: this.#cursor };
    const page = await this.#client.sessions({ archived: "false", limit: String(PAGE), ...cursor });
    // What is known arrived on the stream and is newer.
    const known = new Set(this.all.map((info) => info.id));
    this.all = byAge([...this.all, ...page.sessions.filter((info) => !known.has(info.id) && !info.archived)]);
    this.#cursor = page.next_cursor ?? null;
    this.hasOlder = this.#cursor !== null;
  }

  async loadArchived(): Promise<void> {
    this.archived = byAge((await this.#client.sessions({ archived: "true", limit: "100" })).sessions);
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
      this.#cursor = null;
      this.hasOlder = sessions.length >= NEWEST;
      this.loaded = true;
      for (const info of sessions) {
        const old = before.get(info.id);
        if (old !== undefined && hasTurned(info, old)) this.#events.turned(info, old);
      }
    } else if (event.name === "session") this.put(JSON.parse(event.data) as SessionInfo);
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
