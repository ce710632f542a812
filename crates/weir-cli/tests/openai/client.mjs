// Talks to the server as programs with OpenAI's client for Node do, and prints what came back.

import { createRequire } from "node:module";

const require = createRequire(`${process.env.CLIENTS}/node/`);
const { default: OpenAI } = require("openai");

const client = new OpenAI({ baseURL: process.env.BASE_URL, apiKey: process.env.TOKEN, maxRetries: 0 });
const script = (...steps) => "@@" + JSON.stringify(steps);
const result = {};

result.models = (await client.models.list()).data.map((model) => model.id);

const first = [{ role: "user", content: script({ text: "The first." }) }];
const { data: answer, response } = await client.chat.completions
  .create({ model: "default", messages: first })
  .withResponse();
result.first = answer.choices[0].message.content;
const second = [...first, answer.choices[0].message, { role: "user", content: script({ text: "The second." }) }];
const next = await client.chat.completions.create({ model: "default", messages: second }).withResponse();
result.second = next.data.choices[0].message.content;
result.same_session = response.headers.get("x-weir-session") === next.response.headers.get("x-weir-session");

const stream = await client.chat.completions.create({
  model: "default",
  messages: [{ role: "user", content: script({ text: "one two three four", wdelay: 0.05 }) }],
  stream: true,
  stream_options: { include_usage: true },
});
result.streamed = "";
for await (const chunk of stream) {
  result.streamed += chunk.choices[0]?.delta?.content ?? "";
  if (chunk.usage) result.streamed_usage = chunk.usage.total_tokens;
}

const reply = await client.responses.create({ model: "default", input: script({ text: "A response." }) });
result.response = reply.output_text;

const told = client.responses.stream(
  { model: "default", input: script({ tool: "Read", input: { file_path: "nothing.txt" } }, { text: "Read." }) },
  { headers: { "X-Weir-Tools": "reasoning" } },
);
result.response_reasoning = "";
told.on("response.reasoning_summary_text.delta", (event) => (result.response_reasoning += event.delta));
result.response_items = (await told.finalResponse()).output.map((item) => item.type);

try {
  await client.chat.completions.create({
    model: "default",
    messages: first,
    tools: [{ type: "function", function: { name: "f" } }],
  });
} catch (error) {
  result.refused = error.param;
}

const schema = {
  type: "object",
  properties: { name: { type: "string" } },
  required: ["name"],
  additionalProperties: false,
};
const person = await client.chat.completions.create({
  model: "default",
  messages: [{ role: "user", content: script({ tool: "StructuredOutput", input: { name: "Ann" } }, { text: "Done." }) }],
  response_format: { type: "json_schema", json_schema: { name: "person", strict: true, schema } },
});
result.parsed = JSON.parse(person.choices[0].message.content);

result.tried = 0;
const counting = (...call) => ((result.tried += 1), fetch(...call));
const eager = new OpenAI({ baseURL: process.env.BASE_URL, apiKey: process.env.TOKEN, maxRetries: 2, fetch: counting });
const crash = script({ text: "x", misbehave: { crash: { at: "mid", exit: 3 } } });
try {
  await eager.chat.completions.create({ model: "default", messages: [{ role: "user", content: crash }] });
} catch (error) {
  if (error.status !== 502) throw error;
}

const left = await client.chat.completions
  .create({
    model: "default",
    messages: [{ role: "user", content: script({ text: "word ".repeat(2000), wdelay: 0.1 }) }],
    stream: true,
  })
  .withResponse();
result.left = left.response.headers.get("x-weir-session");
for await (const chunk of left.data) {
  if (chunk.choices[0]?.delta?.content) break;
}
console.log(JSON.stringify(result));
