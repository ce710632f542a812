// Setup and teardown shared by all test files.

import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { Visitors } from "./browser.ts";
import { type ServerOptions, WeirServer } from "./server.ts";

export interface Stage {
  /** The visitors of this test. */
  open(): Visitors;
  serve(options?: ServerOptions): Promise<WeirServer>;
}

/** A browser for the file; servers that end with their test. */
export function stage(): Stage {
  let visitors: Visitors | null = null;
  let servers: WeirServer[] = [];
  beforeAll(async () => {
    visitors = await Visitors.launch();
  });
  afterEach(async ({ task }) => {
    if (task.result?.state === "fail") await visitors?.picture(task.name);
    const faults = (await visitors?.leave()) ?? [];
    const ended = servers;
    servers = [];
    await Promise.all(ended.map((server) => server.close()));
    expect(faults, "errors on the console").toEqual([]);
  });
  afterAll(async () => {
    await visitors?.close();
  });
  return {
    open() {
      if (visitors === null) throw new Error("the browser has not started");
      return visitors;
    },
    async serve(options) {
      const server = await WeirServer.start(options);
      servers.push(server);
      return server;
    },
  };
}
