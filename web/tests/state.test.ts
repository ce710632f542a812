import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Client, OfflineError, RequestError } from "../src/lib/api/client.ts";
import type { Change, Entry, SendMessage } from "../src/lib/api/schema.ts";
import { Conversation } from "../src/lib/state/conversation.svelte.ts";
import { MessageDraft } from "../src/lib/state/drafts.ts";
import { Outbox } from "../src/lib/state/outbox.svelte.ts";
import { emptyView } from "../src/lib/view/apply.ts";

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("document", { hidden: true });
  vi.stubGlobal("cancelAnimationFrame", () => undefined);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

class FakeClient extends Client {
  sent: SendMessage[] = [];
  next: (() => Promise<never>) | null = null;
  constructor() {
    super("token", "http://127.0.0.1/");
  }
  override async send(_: string, message: SendMessage) {
    if (this.next !== null) return this.next();
    this.sent.push(message);
    return { message_id: `m-${message.client_id}`, state: "queued" as const, duplicate: false };
  }
}

describe("the outbox", () => {
  it("keeps the order, also over a time without a server, and never changes a client id", async () => {
    const client = new FakeClient();
    const outbox = new Outbox(client);
    client.next = () => Promise.reject(new OfflineError());
    await outbox.send("s", "one", [], "queue");
    await outbox.send("s", "two", [], "steer");
    expect(outbox.items.map((item) => item.state)).toEqual(["waiting", "waiting"]);
    const ids = outbox.items.map((item) => item.clientId);
    client.next = null;
    await vi.advanceTimersByTimeAsync(3100);
    expect(client.sent.map(({ text, client_id, mode }) => [text, client_id, mode])).toEqual([
      ["one", ids[0], "queue"],
      ["two", ids[1], "steer"],
    ]);
    await vi.advanceTimersByTimeAsync(6000);
    expect(outbox.items).toEqual([]);
  });

  it("says why a message was refused, keeps it, and goes on with the next", async () => {
    const client = new FakeClient();
    const outbox = new Outbox(client);
    client.next = () =>
      Promise.reject(
        new RequestError({ type: "about:blank", title: "No", status: 413, detail: "Too long.", code: "large" }),
      );
    await outbox.send("s", "long", [], "queue");
    expect(outbox.items.map((item) => [item.state, item.why])).toEqual([["refused", "Too long."]]);
    client.next = null;
    await outbox.send("s", "short", [], "queue");
    expect(client.sent.map(({ text }) => text)).toEqual(["short"]);
    outbox.retry(outbox.items[0]?.clientId ?? "");
    await vi.advanceTimersByTimeAsync(10);
    expect(client.sent.map(({ text }) => text)).toEqual(["short", "long"]);
  });
});

describe("a message that is being written", () => {
  const storage = () => {
    const values = new Map<string, string>();
    return {
      getItem: (key: string) => values.get(key) ?? null,
      setItem: (key: string, value: string) => void values.set(key, value),
      removeItem: (key: string) => void values.delete(key),
    };
  };
  /** A tab of one browser. Each use of it is a load of the page. */
  function browser() {
    vi.stubGlobal("localStorage", storage());
    return () => {
      const own = storage();
      return (session = "s") => {
        vi.stubGlobal("sessionStorage", own);
        return new MessageDraft(session);
      };
    };
  }

  it("survives a reload, also when another tab sends its own", () => {
    const tab = browser();
    const [one, two] = [tab(), tab()];
    const first = one();
    const second = two();
    first.keep("from one", []);
    second.keep("from two", ["a.ts"]);
    expect([one().text, two().text, two().files]).toEqual(["from one", "from two", ["a.ts"]]);
    // One sends.
    one().keep("", []);
    expect(two().text).toBe("from two");
  });

  it("is taken up by a new tab, also where the tabs before were closed", () => {
    const tab = browser();
    tab()().keep("from one", []);
    tab()("other").keep("elsewhere", []);
    const later = tab();
    const draft = later();
    expect(draft.text).toBe("from one");
    draft.keep("from one", []);
    draft.keep("", []);
    expect([later().text, tab()().text]).toEqual(["", ""]);
  });

  it("stays with a tab whose text another one took up and sent", () => {
    const tab = browser();
    const one = tab();
    one().keep("from one", []);
    tab()().keep("", []);
    expect(one().text).toBe("from one");
  });

  it("is nothing where the browser keeps nothing", () => {
    vi.stubGlobal("localStorage", undefined);
    vi.stubGlobal("sessionStorage", undefined);
    const draft = new MessageDraft("s");
    draft.keep("text", []);
    expect(draft.text).toBe("");
  });
});

describe("a conversation", () => {
  const entry = (id: number): Entry => ({ id, body: { kind: "text", text: `text ${id}`, state: "complete" } });
  const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => entry(from + at));
  const session = { id: "s", status: "idle" } as never;

  /** A server of which the test says what it sends. */
  function stream() {
    const encoder = new TextEncoder();
    let controller!: ReadableStreamDefaultController<Uint8Array>;
    class StreamClient extends Client {
      constructor() {
        super("token", "http://127.0.0.1/");
      }
      override fetch() {
        return Promise.resolve(
          new Response(new ReadableStream<Uint8Array>({ start: (made) => void (controller = made) })),
        );
      }
      override transcript(_: string, before: number, limit: number) {
        const entries = range(Math.max(1, before - limit), before - 1).reverse();
        return Promise.resolve({ entries, next_before: null, seq: 1 });
      }
    }
    const conversation = new Conversation(new StreamClient(), "s", {
      answered: () => undefined,
      session: () => undefined,
    });
    conversation.open();
    const send = async (name: string, data: unknown) => {
      await vi.advanceTimersByTimeAsync(1);
      controller.enqueue(encoder.encode(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`));
      await vi.advanceTimersByTimeAsync(300);
    };
    const snapshot = (from: number, to: number) =>
      send("snapshot", {
        view: { ...emptyView(), entries: range(from, to), dropped_entries: from - 1 },
        session,
        messages: [],
        seq: 1,
      });
    const hello = (resume: string, epoch: string) => send("hello", { resume, epoch, seq: 1, heartbeat_ms: 60_000 });
    const change = (...changes: Change[]) => send("changes", { seq: 2, changes });
    return { conversation, hello, snapshot, change };
  }

  it("keeps what drops out of the server's window, and fetches what lies before", async () => {
    const { conversation, snapshot, change } = stream();
    await snapshot(301, 500);
    expect([conversation.firstEntry, conversation.hasOlder]).toEqual([301, true]);
    await change(
      { change: "entry_added", ...entry(501) },
      { change: "dropped", first_entry: 401, first_turn: 1, keep_turns: [], keep_agents: [], most: 10 },
    );
    expect([conversation.firstEntry, conversation.entryCount]).toEqual([301, 201]);
    expect(conversation.entry(350)?.id).toBe(350);
    await conversation.loadOlder();
    expect([conversation.firstEntry, conversation.hasOlder]).toEqual([1, false]);
    expect(conversation.layout.rows).toHaveLength(501);
    conversation.pause();
  });

  it("keeps older entries over a new snapshot that joins, and lets them go where something is missing", async () => {
    const { conversation, snapshot } = stream();
    await snapshot(101, 300);
    await snapshot(151, 350);
    expect([conversation.firstEntry, conversation.entryCount]).toEqual([101, 250]);
    await snapshot(901, 1000);
    expect([conversation.firstEntry, conversation.entryCount]).toEqual([901, 100]);
    conversation.pause();
  });

  it("forgets what belongs to another log", async () => {
    const { conversation, hello, snapshot } = stream();
    await hello("fresh", "one");
    await snapshot(101, 300);
    await hello("ok", "one");
    await snapshot(201, 400);
    expect(conversation.firstEntry).toBe(101);
    await hello("gap", "two");
    await snapshot(301, 500);
    expect([conversation.firstEntry, conversation.entryCount]).toEqual([301, 200]);
    conversation.pause();
  });
});
