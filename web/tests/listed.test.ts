// The list of sessions, with a server that has more of them than the stream begins with.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Client } from "../src/lib/api/client.ts";
import type { SessionInfo, SessionPage } from "../src/lib/api/schema.ts";
import { Sessions } from "../src/lib/state/sessions.svelte.ts";

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("document", { hidden: false });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Sessions from the newest to the oldest; every tenth has failed or was interrupted, every seventh is archived. */
const ALL = Array.from({ length: 700 }, (_, at) => {
  const status = at % 20 === 10 ? "interrupted" : at % 20 === 0 ? "failed" : "idle";
  return {
    id: `s${at}`,
    cwd: "/projects/oak",
    status,
    archived: at % 7 === 3,
    pinned: false,
    updated_at: 10_000 - at,
    newest_seq: 1,
  };
}) as unknown as SessionInfo[];

/** A server with pages, which notes what it was asked. */
function server(all = ALL) {
  const asked: string[] = [];
  const encoder = new TextEncoder();
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  class PagedClient extends Client {
    constructor() {
      super("token", "http://127.0.0.1/");
    }
    override fetch() {
      return Promise.resolve(
        new Response(new ReadableStream<Uint8Array>({ start: (made) => void (controller = made) })),
      );
    }
    override sessions(query: Record<string, string>): Promise<SessionPage> {
      asked.push(`${query["status"] ?? "any"} ${query["archived"]} from ${query["cursor"] ?? 0}`);
      const fitting = all.filter(
        ({ status, archived }) =>
          String(archived) === query["archived"] && (query["status"] === undefined || query["status"] === status),
      );
      const from = Number(query["cursor"] ?? 0);
      const end = from + Number(query["limit"]);
      return Promise.resolve({
        sessions: fitting.slice(from, end),
        next_cursor: end < fitting.length ? String(end) : null,
      });
    }
  }
  const sessions = new Sessions(new PagedClient(), {
    turned: () => undefined,
    linked: () => undefined,
    refused: () => undefined,
  });
  const begin = async () => {
    await vi.advanceTimersByTimeAsync(1);
    const newest = all.filter(({ archived }) => !archived).slice(0, 100);
    controller.enqueue(encoder.encode(`event: sessions\ndata: ${JSON.stringify({ sessions: newest })}\n\n`));
    await vi.advanceTimersByTimeAsync(1);
  };
  return { sessions, asked, begin };
}

describe("the list", () => {
  it("reaches all sessions, page by page", async () => {
    const { sessions, begin } = server();
    await begin();
    expect([sessions.shown.length, sessions.hasOlder]).toEqual([100, true]);
    while (sessions.hasOlder) await sessions.loadOlder();
    expect(sessions.shown.map(({ id }) => id)).toEqual(ALL.filter(({ archived }) => !archived).map(({ id }) => id));
    sessions.close();
  });

  it("asks the server for each status of a filter, and not again", async () => {
    const { sessions, asked, begin } = server();
    await begin();
    await sessions.narrow("failed");
    expect(asked.splice(0)).toEqual(["failed false from 0", "interrupted false from 0"]);
    const wanted = ALL.filter(({ status, archived }) => status !== "idle" && !archived);
    expect(sessions.shown.map(({ id }) => id)).toEqual(wanted.map(({ id }) => id));
    expect(sessions.hasOlder).toBe(false);
    await sessions.narrow("all");
    await sessions.narrow("failed");
    expect(asked).toEqual([]);
    sessions.close();
  });

  it("reaches the whole archive", async () => {
    const { sessions, asked, begin } = server(ALL.map((info) => ({ ...info, archived: true })));
    await begin();
    await sessions.narrow("archived");
    while (sessions.hasOlder) await sessions.loadOlder();
    expect(sessions.shown).toHaveLength(700);
    expect(asked).toEqual(["0", "200", "400", "600"].map((from) => `any true from ${from}`));
    sessions.close();
  });

  it("asks again when the stream has begun again, because it only has the newest", async () => {
    const { sessions, asked, begin } = server();
    await begin();
    await sessions.narrow("failed");
    asked.splice(0);
    await begin();
    expect(asked).toEqual(["failed false from 0", "interrupted false from 0"]);
    expect(sessions.shown).toHaveLength(ALL.filter(({ status, archived }) => status !== "idle" && !archived).length);
    sessions.close();
  });
});
