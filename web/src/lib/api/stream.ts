// An event stream that reconnects by itself. It does not know what the events mean.

import { type Client, OfflineError, RequestError } from "./client.ts";
import type { HelloEvent } from "./schema.ts";
import { EventParser, type ServerEvent } from "./sse.ts";

export type LinkState = "connecting" | "open" | "waiting" | "refused" | "closed";

export interface StreamHandlers {
  event(event: ServerEvent): void;
  /** `status` is set if the server refused the stream. */
  state(state: LinkState, why: string | null, status?: number): void;
}

const DELAYS = [250, 500, 1000, 2000, 4000, 8000];
/** In heartbeats (15 s by default): a stream that is silent for longer is dead, whatever TCP thinks. */
const MAX_SILENCE = 2.5;
/** In heartbeats: silence after which a connection is dropped when the page wakes up. */
const MAX_SILENCE_ON_WAKE = 1.3;

export class EventStream {
  readonly #client: Client;
  readonly #path: string;
  readonly #handlers: StreamHandlers;
  #cursor: string | null = null;
  #heartbeat = 15_000;
  #tries = 0;
  #heard = Date.now();
  #abort: AbortController | null = null;
  #retry: ReturnType<typeof setTimeout> | null = null;
  #watchdog: ReturnType<typeof setTimeout> | null = null;
  #closed = false;

  constructor(client: Client, path: string, handlers: StreamHandlers) {
    this.#client = client;
    this.#path = path;
    this.#handlers = handlers;
    void this.#run();
  }

  /** Retries at once if it is waiting: the network is back, or the page is visible again. */
  wake(): void {
    if (this.#closed) return;
    if (this.#retry === null) {
      // A machine that slept has missed heartbeats without noticing that the connection is gone.
      if (Date.now() - this.#heard > this.#heartbeat * MAX_SILENCE_ON_WAKE) this.#abort?.abort();
      return;
    }
    clearTimeout(this.#retry);
    this.#retry = null;
    this.#tries = 0;
    void this.#run();
  }

  close(): void {
    this.#closed = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
    if (this.#watchdog !== null) clearTimeout(this.#watchdog);
    this.#abort?.abort();
    this.#handlers.state("closed", null);
  }

  async #run(): Promise<void> {
    const abort = new AbortController();
    this.#abort = abort;
    this.#handlers.state("connecting", null);
    this.#watch(abort);
    let why: string | null = null;
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (this.#cursor !== null) headers["Last-Event-ID"] = this.#cursor;
      const response = await this.#client.fetch(this.#path, { headers, signal: abort.signal });
      if (response.body === null) throw new OfflineError();
      await this.#read(response.body, abort);
    } catch (error) {
      if (this.#closed) return;
      why = error instanceof Error ? error.message : String(error);
      if (error instanceof RequestError && [401, 403, 404].includes(error.status)) {
        this.#closed = true;
        if (this.#watchdog !== null) clearTimeout(this.#watchdog);
        this.#handlers.state("refused", why, error.status);
        return;
      }
    }
    if (this.#watchdog !== null) clearTimeout(this.#watchdog);
    if (this.#closed) return;
    const delay = DELAYS[Math.min(this.#tries, DELAYS.length - 1)] ?? 8000;
    this.#tries += 1;
    this.#handlers.state("waiting", why);
    this.#retry = setTimeout(
      () => {
        this.#retry = null;
        void this.#run();
      },
      delay * (0.75 + Math.random() / 2),
    );
  }

  async #read(body: ReadableStream<Uint8Array>, abort: AbortController): Promise<void> {
    const parser = new EventParser();
    const decoder = new TextDecoder();
    const reader = body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || this.#closed) return;
      this.#watch(abort);
      for (const event of parser.push(decoder.decode(value, { stream: true }))) {
        if (event.id !== null) this.#cursor = event.id;
        if (event.name === "hello") {
          this.#tries = 0;
          this.#heartbeat = heartbeatOf(event.data) ?? this.#heartbeat;
          this.#handlers.state("open", null);
        }
        this.#handlers.event(event);
        if (this.#closed) return;
      }
    }
  }

  #watch(abort: AbortController): void {
    this.#heard = Date.now();
    if (this.#watchdog !== null) clearTimeout(this.#watchdog);
    this.#watchdog = setTimeout(() => abort.abort(), this.#heartbeat * MAX_SILENCE);
  }
}

function heartbeatOf(data: string): number | null {
  try {
    const hello = JSON.parse(data) as Partial<HelloEvent>;
    return typeof hello.heartbeat_ms === "number" && hello.heartbeat_ms > 0 ? hello.heartbeat_ms : null;
  } catch {
    return null;
  }
}
