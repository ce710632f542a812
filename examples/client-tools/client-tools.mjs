// Offers a JavaScript function to the agent of a Weir server, asks for it, and answers its calls.
//
//     WEIR_URL=http://127.0.0.1:4747 WEIR_TOKEN=weir_… node client-tools.mjs FOLDER "What is the weather in Oslo?"
//
// Needs nothing but Node 20. docs/client-tools.md says what goes over the wire.

import { randomUUID } from "node:crypto";

const url = process.env.WEIR_URL.replace(/\/$/, "");
const [folder, question] = process.argv.slice(2);

// Each tool: the function, and what the model is told of it.
const functions = { weather: ({ city }) => `Sunny in ${city}, 21 degrees.` };
const tools = [
  {
    name: "weather",
    description: "Tells the weather in a city.",
    input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
];

/** Sends JSON and gives the response, which is a stream where events are accepted. */
async function post(path, body, accept = "application/json") {
  const headers = {
    authorization: `Bearer ${process.env.WEIR_TOKEN}`,
    "content-type": "application/json",
    accept,
  };
  const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response;
}

/** The server-sent events of a response, one after another. */
async function* events(response) {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const bytes of response.body) {
    rest += decoder.decode(bytes, { stream: true });
    const blocks = rest.split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const lines = block.split("\n");
      const field = (name) =>
        lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2));
      yield { name: field("event")[0] ?? "message", data: JSON.parse(field("data").join("\n")) };
    }
  }
}

/** Calls the function that the model asked for, and gives back what it says. */
async function answer(session, call) {
  let text;
  let failed = false;
  try {
    text = String(await functions[call.name](call.input));
  } catch (error) {
    [text, failed] = [String(error), true];
  }
  const body = { content: [{ type: "text", text }], is_error: failed };
  await post(`/v1/sessions/${session}/tool-calls/${call.request_id}`, body);
}

const session = (await (await post("/v1/sessions", { cwd: folder, client_tools: { tools } })).json()).id;
const message = { client_id: randomUUID(), text: question };
const stream = await post(`/v1/sessions/${session}/messages`, message, "text/event-stream");
for await (const { name, data } of events(stream)) {
  if (name === "agent-text-delta") process.stdout.write(data.text);
  else if (name === "agent-tool-request" && data.state.state === "open") await answer(session, data);
  else if (name === "message") {
    process.stdout.write("\n");
    process.exitCode = data.state === "answered" ? 0 : 1;
  }
}
