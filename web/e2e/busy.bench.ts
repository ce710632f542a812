// How busy the page is while an agent writes: 50 pieces of Markdown a second, in an already long session.
//
// `npm run bench` prints it; WEIR_BIN names the program, which should be a release build.

import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { describe, it } from "vitest";
import { conversation, linkTo, said } from "./browser.ts";
import { script, until } from "./server.ts";
import { stage } from "./setup.ts";

const { serve, open } = stage();
const SECONDS = 15;

/** A CLI that only writes, at a steady pace. Its first turn is instant, to create a history. */
const CLI = `#!/usr/bin/env node
if (process.argv.includes("--version")) { console.log("2.1.325 (Claude Code)"); process.exit(0); }
const say = (line) => process.stdout.write(JSON.stringify(line) + "\\n");
const session_id = "6492f1a6-8f20-4999-a476-fc84fb36debb";
const event = (event) => say({ type: "stream_event", event, session_id, parent_tool_use_id: null, uuid: crypto.randomUUID() });
const WORDS = "The parser reads each line once and keeps what it may need later, which is why a long answer costs no more than a short one. ".split(" ");
const PARTS = [() => "\\n\\n## A heading\\n\\n", () => "\\n\\n- first\\n- second with \\x60code\\x60\\n\\n", () => "\\n\\n\\x60\\x60\\x60ts\\nconst a = 1;\\n\\x60\\x60\\x60\\n\\n", () => "\\n\\n"];
const whole = (id, text) => say({ type: "assistant", session_id, message: { id, type: "message", role: "assistant", model: "m", content: [{ type: "text", text }] } });
let turn = 0;
async function play(uuid) {
  turn += 1;
  say({ type: "system", subtype: "init", session_id, model: "m", tools: [], cwd: process.cwd(), permissionMode: "default", uuid: crypto.randomUUID() });
  if (turn === 1) for (let n = 0; n < 150; n += 1) whole("past_" + n, WORDS.join(" ").repeat(3) + "\\n\\n- one\\n- two");
  else {
    const id = "msg_" + turn;
    event({ type: "message_start", message: { id, type: "message", role: "assistant", content: [], model: "m" } });
    event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } });
    let text = "";
    for (let n = 0; n < ${SECONDS + 5} * 50; n += 1) {
      const piece = n % 60 === 59 ? PARTS[Math.floor(n / 60) % PARTS.length]() : WORDS[n % WORDS.length] + " ";
      text += piece;
      event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: piece } });
      await new Promise((done) => setTimeout(done, 20));
    }
    whole(id, text);
    event({ type: "content_block_stop", index: 0 });
    event({ type: "message_stop" });
  }
  say({ type: "result", subtype: "success", is_error: false, result: "", num_turns: 1, session_id, total_cost_usd: 0, usage: {}, modelUsage: {}, permission_denials: [], user_message_uuids: [uuid], duration_ms: 1, duration_api_ms: 1 });
}
require("node:readline").createInterface({ input: process.stdin }).on("line", (text) => {
  const line = JSON.parse(text);
  if (line.type === "control_request") say({ type: "control_response", response: { subtype: "success", request_id: line.request_id, response: {} } });
  else if (line.type === "user") void play(line.uuid);
}).on("close", () => process.exit(0));
`;

describe("the page", () => {
  it("is busy for this part of the time", async () => {
    const server = await serve();
    const claude = join(server.folder, "claude");
    writeFileSync(claude, CLI);
    chmodSync(claude, 0o755);
    const { id } = await server.session();
    await server.say(id, "the past");
    await server.settled(id);
    const page = await open().visit(server, linkTo(server, id));
    await conversation(page)
      .getByText("first", { exact: false })
      .first()
      .waitFor({ state: "attached" })
      .catch(() => undefined);
    const devtools = await page.context().newCDPSession(page);
    await devtools.send("Performance.enable", { timeDomain: "timeTicks" });
    const metrics = async () => {
      const { metrics } = await devtools.send("Performance.getMetrics");
      return Object.fromEntries(metrics.map(({ name, value }) => [name, value])) as Record<string, number>;
    };
    await server.say(id, "go");
    await until("it writes", async () => (await server.info(id)).status === "running");
    await after(2000);
    const before = await metrics();
    await after(SECONDS * 1000);
    const now = await metrics();
    const spent = (name: string) => (now[name] ?? 0) - (before[name] ?? 0);
    const elapsed = spent("Timestamp");
    const share = (name: string) => `${((100 * spent(name)) / elapsed).toFixed(1)} %`;
    const rows = ["TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration"].map(
      (name) => `| ${name} | ${share(name)} |`,
    );
    const counts = `layouts a second: ${(spent("LayoutCount") / elapsed).toFixed(0)}, styles: ${(spent("RecalcStyleCount") / elapsed).toFixed(0)}`;
    console.log(["", "| the main thread at 50 pieces/s | of the time |", "|---|---:|", ...rows, counts].join("\n"));
    await server.api("POST", `v1/sessions/${id}/stop`);
  });

  it("opens a session of 5,000 entries in this time", async () => {
    const server = await serve();
    const { id } = await server.session();
    await server.say(id, script({ text: "That was all.", misbehave: { messages: 5000 } }));
    await server.settled(id);
    const times: number[] = [];
    for (let run = 0; run < 5; run += 1) {
      const page = await open().visit(server, "about:blank");
      const begun = performance.now();
      await page.goto(linkTo(server, id));
      await said(page, "That was all.").waitFor();
      times.push(performance.now() - begun);
      await page.context().close();
    }
    times.sort((a, b) => a - b);
    const shown = times.map((time) => `${Math.round(time)} ms`);
    console.log(
      `\nfirst load with 5,000 entries until the last one is shown: median ${shown[2]}, of ${shown.join(", ")}`,
    );
  });
});
