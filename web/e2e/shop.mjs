// An MCP server for tests: its tool first asks the user for input. JSON-RPC, one message per line.

import { createInterface } from "node:readline";

const requestedSchema = {
  type: "object",
  required: ["size"],
  properties: {
    size: { type: "string", title: "Size", enum: ["s", "l"], enumNames: ["Small", "Large"] },
    count: { type: "integer", title: "Count", minimum: 1 },
  },
};
const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
let call = null;

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params, result, error } = JSON.parse(line);
  if (id === "ask" && method === undefined) {
    const text = `The shop heard ${JSON.stringify(result ?? error)}`;
    say({ id: call, result: { content: [{ type: "text", text }] } });
  } else if (method === "initialize") {
    const { protocolVersion } = params;
    say({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "shop", version: "1" } } });
  } else if (method === "tools/list") {
    say({ id, result: { tools: [{ name: "order", description: "Orders", inputSchema: { type: "object" } }] } });
  } else if (method === "tools/call") {
    call = id;
    say({ id: "ask", method: "elicitation/create", params: { message: "What should it be?", requestedSchema } });
  } else if (id !== undefined) {
    say({ id, result: {} });
  }
});
