// Messages on their way to the server. A message is kept until the server has confirmed it; the client id makes a retry
// harmless.

import { type Client, OfflineError, RequestError } from "../api/client.ts";
import type { Image, MessageMode, SendMessage, SlashCommand } from "../api/schema.ts";
import { memoryShelf, openShelf, type Shelf } from "./keep.ts";

export interface Outgoing {
  clientId: string;
  session: string;
  text: string;
  images: Image[];
  mode: MessageMode;
  /** Files of the session's folder whose content is sent with the text. */
  files?: string[];
  /** The slash command in the text, if the server allows it. */
  command?: SlashCommand;
  at: number;
  state: "waiting" | "sending" | "accepted" | "refused";
  why: string | null;
  messageId: string | null;
}

const RETRY_MS = 3000;
/** Statuses of temporary failures: the server is busy, restarting, or its disk is full. */
const RETRIED = [408, 425, 429, 500, 502, 503, 504, 507];

export class Outbox {
  items = $state.raw<Outgoing[]>([]);
  readonly #client: Client;
  #shelf: Shelf<Outgoing> = memoryShelf<Outgoing>();
  #busy = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(client: Client) {
    this.#client = client;
    void this.#open();
  }

  of(session: string): Outgoing[] {
    return this.items.filter((item) => item.session === session);
  }

  /** Adds a message. It is stored before the first attempt. */
  async send(
    session: string,
    text: string,
    images: Image[],
    mode: MessageMode,
    more: { command?: SlashCommand; files?: string[] } = {},
  ): Promise<void> {
    const item: Outgoing = {
      ...more,
      clientId: crypto.randomUUID(),
      session,
      text,
      images,
      mode,
      at: Date.now(),
      state: "waiting",
      why: null,
      messageId: null,
    };
    this.items = [...this.items, item];
    await this.#shelf.put(item.clientId, item).catch(() => undefined);
    await this.flush();
  }

  /** Sends all waiting messages, in order per session. */
  async flush(): Promise<void> {
    const sessions = new Set(this.items.filter((item) => item.state === "waiting").map((item) => item.session));
    await Promise.all([...sessions].map((session) => this.#flushSession(session)));
  }

  async discard(clientId: string): Promise<void> {
    this.items = this.items.filter((item) => item.clientId !== clientId);
    await this.#shelf.remove(clientId).catch(() => undefined);
  }

  retry(clientId: string): void {
    this.#change(clientId, { state: "waiting", why: null });
    void this.flush();
  }

  async #open(): Promise<void> {
    const shelf = await openShelf<Outgoing>("outbox");
    for (const item of this.items) await shelf.put(item.clientId, item).catch(() => undefined);
    const kept = await shelf.all().catch(() => []);
    const known = new Set(this.items.map((item) => item.clientId));
    const found = kept
      .filter((item) => !known.has(item.clientId))
      .map((item) => (item.state === "refused" ? item : { ...item, state: "waiting" as const }));
    this.#shelf = shelf;
    this.items = [...found, ...this.items].sort((a, b) => a.at - b.at);
    await this.flush();
  }

  async #flushSession(session: string): Promise<void> {
    if (this.#busy.has(session)) return;
    this.#busy.add(session);
    try {
      for (;;) {
        const item = this.items.find((item) => item.session === session && item.state === "waiting");
        if (item === undefined) return;
        if (!(await this.#try(item))) return;
      }
    } finally {
      this.#busy.delete(session);
    }
  }

  async #try(item: Outgoing): Promise<boolean> {
    this.#change(item.clientId, { state: "sending" });
    const content = item.command ? { command: item.command } : { text: item.text };
    const message: SendMessage = { client_id: item.clientId, mode: item.mode, ...content };
    if (item.files && item.files.length > 0) message.files = item.files;
    if (item.images.length > 0) message.images = item.images.map(({ media_type, data }) => ({ media_type, data }));
    try {
      const accepted = await this.#client.send(item.session, message);
      this.#change(item.clientId, { state: "accepted", messageId: accepted.message_id });
      await this.#shelf.remove(item.clientId).catch(() => undefined);
      // It stays visible until the session shows it, but not forever if that never happens.
      setTimeout(() => void this.discard(item.clientId), 5000);
      return true;
    } catch (error) {
      const again = error instanceof OfflineError || (error instanceof RequestError && RETRIED.includes(error.status));
      const said = error instanceof Error ? error.message : String(error);
      // The page itself shows that the server cannot be reached.
      const why = error instanceof OfflineError ? null : said;
      this.#change(item.clientId, again ? { state: "waiting", why } : { state: "refused", why });
      if (!again) {
        const refused = this.items.find((other) => other.clientId === item.clientId);
        if (refused) await this.#shelf.put(item.clientId, refused).catch(() => undefined);
        return true;
      }
      this.#later();
      return false;
    }
  }

  #later(): void {
    if (this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.flush();
    }, RETRY_MS);
  }

  #change(clientId: string, change: Partial<Outgoing>): void {
    this.items = this.items.map((item) => (item.clientId === clientId ? { ...item, ...change } : item));
  }
}
