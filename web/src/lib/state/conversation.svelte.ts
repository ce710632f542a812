// One session as this page knows it: the server's bounded view, older entries that were loaded, and the connection.
//
// ChangesEvent are applied as they arrive and shown a few times a second. Components read through getters that depend on a
// version, so new text costs one comparison per visible row and a repaint of one.

import { SvelteSet } from "svelte/reactivity";
import type { Client } from "../api/client.ts";
import type { ServerEvent } from "../api/sse.ts";
import { EventStream, type LinkState } from "../api/stream.ts";
import type {
  Agent,
  ByeEvent,
  ByeReason,
  Change,
  ChangesEvent,
  Entry,
  HelloEvent,
  MessageInfo,
  MessagesEvent,
  Request,
  SessionInfo,
  SnapshotEvent,
  Turn,
  View,
} from "../api/schema.ts";
import { isWorking } from "../text/status.ts";
import { apply, emptyView, placeOf } from "../view/apply.ts";
import { type Layout, layOut } from "../view/rows.ts";

/** Entries per page of older ones. */
const PAGE = 400;
/** Minimum pause between redraws of growing text: smooth, and leaves time for the reader's input. */
const PAUSE_MS = 50;
/** A page that is slow to draw is drawn less often, so that drawing takes at most one part in this many. */
const SHARE = 10;
const MAX_PAUSE_MS = 400;
/** ChangesEvent that affect which rows there are, not only the content of one. */
const STRUCTURAL = new Set<Change["change"]>([
  "entry_added",
  "entry_replaced",
  "turn_added",
  "turn_replaced",
  "agent",
  "dropped",
  "block_ended",
  "text_replaced",
  // Calls that have ended are folded.
  "tool_state",
  "tool_ended",
]);

export interface Events {
  answered(request: Request): void;
  session(info: SessionInfo): void;
}

export class Conversation {
  readonly id: string;
  info = $state.raw<SessionInfo | null>(null);
  messages = $state.raw<MessageInfo[]>([]);
  link = $state<LinkState>("connecting");
  linkSince = $state(Date.now());
  refused = $state<string | null>(null);
  bye = $state<ByeReason | null>(null);
  loaded = $state(false);
  loadingOlder = $state(false);
  /** Whether the process is being ended. */
  stopping = $state(false);
  /** The toast that says so. */
  stoppedToast: number | null = null;
  /** A text for the composer: one that was not sent. */
  returned = $state<string | null>(null);
  /** An entry to be shown as soon as it is there, from the address. */
  wanted = $state<number | null>(null);
  seq = $state(0);
  /** Counts redraws; readers of the view depend on it. */
  version = $state(0);
  layout = $state.raw<Layout>({ rows: [], children: new Map() });

  /** Rows that the reader has expanded. */
  readonly opened = new SvelteSet<string>();

  readonly #client: Client;
  readonly #events: Events;
  #stream: EventStream | null = null;
  #view: View = emptyView();
  #older: Entry[] = [];
  #epoch: string | null = null;
  #stale = false;
  #shown = 0;
  /** How long the last redraw took, including the browser's own work. */
  #took = 0;
  #frame: number | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(client: Client, id: string, events: Events) {
    this.#client = client;
    this.id = id;
    this.#events = events;
  }

  open(): void {
    if (this.#stream !== null) return;
    // The connection counts as late only from now on, however long the page was hidden.
    this.linkSince = Date.now();
    this.#stream = new EventStream(this.#client, `v1/sessions/${encodeURIComponent(this.id)}/events?format=view`, {
      event: (event) => this.#take(event),
      state: (state, why) => {
        const was = this.link;
        this.link = state;
        if ((state === "open") !== (was === "open")) this.linkSince = Date.now();
        this.refused = state === "refused" ? why : null;
      },
    });
  }

  /** Closes the connection but keeps the data. */
  pause(): void {
    this.#stream?.close();
    this.#stream = null;
  }

  wake(): void {
    if (this.#stream === null) this.open();
    else this.#stream.wake();
  }

  /** The view as shown. */
  get view(): View {
    void this.version;
    return this.#view;
  }

  entry(id: number): Entry | null {
    void this.version;
    const place = placeOf(this.#view, id);
    if (place !== null) return this.#view.entries[place] ?? null;
    const first = this.#older[0];
    return first === undefined ? null : (this.#older[id - first.id] ?? null);
  }

  turn(id: number): Turn | null {
    void this.version;
    return this.#view.turns.findLast((turn) => turn.id === id) ?? null;
  }

  agent(id: string): Agent | null {
    void this.version;
    return this.#view.agents.findLast((agent) => agent.id === id) ?? null;
  }

  /** Whether a turn is running or about to. Background work is not a turn. */
  get inTurn(): boolean {
    return this.info !== null && isWorking(this.info);
  }

  /** Whether the line above the composer says what the session is doing. */
  get isTold(): boolean {
    const { status, waiting_for: needs } = this.info ?? {};
    return status === "running" || status === "starting" || needs?.process === true || needs?.budget === true;
  }

  /** Requests for a person. Calls of client tools are answered by a program. */
  get openRequests(): Request[] {
    void this.version;
    return this.#view.requests.filter(
      (request) => request.state.state === "open" && request.kind.kind !== "client_tool",
    );
  }

  get firstEntry(): number {
    void this.version;
    return this.#older[0]?.id ?? this.#view.entries[0]?.id ?? 1;
  }

  get entryCount(): number {
    void this.version;
    return this.#older.length + this.#view.entries.length;
  }

  get hasOlder(): boolean {
    return this.loaded && this.firstEntry > 1;
  }

  async loadOlder(): Promise<void> {
    if (this.loadingOlder || !this.hasOlder) return;
    this.loadingOlder = true;
    try {
      const before = this.firstEntry;
      const page = await this.#client.transcript(this.id, before, PAGE);
      const entries = page.entries.filter((entry) => entry.id < before).sort((a, b) => a.id - b.id);
      // Only use the page if it fits without a gap, whatever arrived in between.
      if (entries.length > 0 && this.firstEntry === before) this.#older = [...entries, ...this.#older];
      this.#stale = true;
      this.#show();
    } finally {
      this.loadingOlder = false;
    }
  }

  #take(event: ServerEvent): void {
    switch (event.name) {
      case "snapshot":
        return this.#takeSnapshot(JSON.parse(event.data) as SnapshotEvent);
      case "changes":
        return this.#takeChanges(JSON.parse(event.data) as ChangesEvent);
      case "session":
        this.info = JSON.parse(event.data) as SessionInfo;
        this.#events.session(this.info);
        return;
      case "messages":
        this.messages = (JSON.parse(event.data) as MessagesEvent).messages;
        return;
      case "bye":
        this.bye = (JSON.parse(event.data) as ByeEvent).reason;
        return;
      case "hello":
        return this.#takeHello(JSON.parse(event.data) as HelloEvent);
    }
  }

  #takeHello({ resume, epoch }: HelloEvent): void {
    this.bye = null;
    // Another log: its numbers are unrelated to the known ones.
    if (resume === "gap" || (this.#epoch !== null && this.#epoch !== epoch)) {
      this.#older = [];
      this.#view = emptyView();
    }
    this.#epoch = epoch;
  }

  #takeSnapshot(snapshot: SnapshotEvent): void {
    const before = this.#view;
    const first = snapshot.view.entries[0]?.id ?? 1;
    // Entries that left the server's window stay, as long as nothing is missing in between.
    const known = [...this.#older, ...before.entries].filter((entry) => entry.id < first);
    const last = known.at(-1)?.id ?? null;
    this.#older = last !== null && last === first - 1 ? known : [];
    this.#view = { ...emptyView(), ...snapshot.view };
    this.info = snapshot.session;
    this.messages = snapshot.messages;
    this.seq = snapshot.seq;
    this.loaded = true;
    this.#stale = true;
    this.#tellAnswered(before.requests);
    this.#events.session(snapshot.session);
    this.#show();
  }

  #takeChanges({ seq, changes }: ChangesEvent): void {
    for (const change of changes) {
      if (change.change === "dropped") this.#keepDropped(change.first_entry);
      if (change.change === "request") this.#tellIfAnswered(change);
      apply(this.#view, change);
      if (STRUCTURAL.has(change.change)) this.#stale = true;
    }
    this.seq = Math.max(this.seq, seq);
    this.#schedule();
  }

  #keepDropped(first: number): void {
    for (const entry of this.#view.entries) {
      if (entry.id >= first) break;
      this.#older.push(entry);
    }
  }

  #tellAnswered(before: Request[]): void {
    const open = new Set(before.filter((request) => request.state.state === "open").map((request) => request.id));
    for (const request of this.#view.requests) {
      if (open.has(request.id) && request.state.state !== "open") this.#events.answered(request);
    }
  }

  #tellIfAnswered(request: Request): void {
    const before = this.#view.requests.findLast((other) => other.id === request.id);
    if (before?.state.state === "open" && request.state.state !== "open") this.#events.answered(request);
  }

  #schedule(): void {
    if (this.#frame !== null || this.#timer !== null) return;
    // A hidden page gets no animation frames, but its title and notifications must stay current.
    if (document.hidden) {
      this.#timer = setTimeout(() => this.#show(), 250);
      return;
    }
    const pause = Math.min(MAX_PAUSE_MS, Math.max(PAUSE_MS, this.#took * SHARE));
    const wait = this.#shown + pause - performance.now();
    const frame = () => {
      this.#timer = null;
      this.#frame = requestAnimationFrame(() => this.#show());
    };
    if (wait <= 0) frame();
    else this.#timer = setTimeout(frame, wait);
  }

  #show(): void {
    if (this.#frame !== null) cancelAnimationFrame(this.#frame);
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#frame = null;
    this.#timer = null;
    this.#shown = performance.now();
    if (this.#stale) {
      this.#stale = false;
      const ended = new Set(this.#view.turns.filter((turn) => turn.state !== "running").map((turn) => turn.id));
      this.layout = layOut(
        this.#older.length === 0 ? this.#view.entries : [...this.#older, ...this.#view.entries],
        this.#view.agents,
        ended,
      );
    }
    this.version += 1;
    afterDrawing((ended) => (this.#took = ended - this.#shown));
  }
}

/** Calls back when the browser has painted the change. Call it in a frame; one at a time is enough. */
const afterDrawing = (() => {
  const channel = new MessageChannel();
  let waiting: ((ended: number) => void)[] = [];
  channel.port1.onmessage = () => {
    const all = waiting;
    waiting = [];
    for (const call of all) call(performance.now());
  };
  return (call: (ended: number) => void) => {
    waiting.push(call);
    if (waiting.length === 1) channel.port2.postMessage(null);
  };
})();
