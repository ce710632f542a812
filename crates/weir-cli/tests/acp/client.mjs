// Works with `weir acp` as an editor with the TypeScript SDK does, and prints what came back.

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.env.CLIENTS}/node/`);
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const acp = await load("@agentclientprotocol/sdk");

const script = (...steps) => "@@" + JSON.stringify(steps);
const text = (text) => [{ type: "text", text }];
const result = { updates: {}, asked: [] };
let said = "";

// Over HTTP with a token, or as a process on standard input and output.
let stream;
let agent;
if (process.env.SERVER) {
  const { createHttpStream } = await load("@agentclientprotocol/sdk/experimental/http-client");
  stream = createHttpStream(`${process.env.SERVER}/acp`, { headers: { Authorization: `Bearer ${process.env.TOKEN}` } });
} else {
  agent = spawn(process.env.WEIR, ["acp", "--data-dir", process.env.DATA, "--root", process.cwd()], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
}

await acp
  .client({ name: "test" })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    result.asked.push(params.toolCall.kind);
    const option = params.options.find((option) => option.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    const update = params.update;
    result.updates[update.sessionUpdate] = (result.updates[update.sessionUpdate] ?? 0) + 1;
    if (update.sessionUpdate === "agent_message_chunk") said += update.content.text;
  })
  .connectWith(stream, async (editor) => {
    const hello = await editor.request(acp.methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
    result.agent = hello.agentInfo.name;
    const { sessionId } = await editor.request(acp.methods.agent.session.new, { cwd: process.cwd(), mcpServers: [] });
    const ask = async (prompt) => {
      said = "";
      const ended = await editor.request(acp.methods.agent.session.prompt, { sessionId, prompt });
      return [ended.stopReason, said];
    };
    const write = { tool: "Write", input: { file_path: `${process.cwd()}/from-node.txt`, content: "x\n" } };
    result.wrote = await ask(text(script({ text: "I write. ", ...write }, { text: "Done." })));
    const slow = ask(text(script({ text: "one two three", wdelay: 30 })));
    while (said === "") await new Promise((resolve) => setImmediate(resolve));
    await editor.notify(acp.methods.agent.session.cancel, { sessionId });
    result.cancelled = (await slow)[0];
    result.again = await ask(text(script({ text: "Again." })));
    const listed = await editor.request(acp.methods.agent.session.list, {});
    result.listed = listed.sessions.some((session) => session.sessionId === sessionId);
    result.unknown = await editor
      .request(acp.methods.agent.session.prompt, { sessionId: "nobody", prompt: text("x") })
      .then(() => "answered", (error) => error.code);
    await editor.request(acp.methods.agent.session.close, { sessionId });
  });
agent?.stdin.end();
console.log(JSON.stringify(result));
