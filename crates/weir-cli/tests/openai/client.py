"""Talks to the server as programs with OpenAI's client for Python do, and prints what came back."""

import json
import os

import openai

client = openai.OpenAI(base_url=os.environ["BASE_URL"], api_key=os.environ["TOKEN"], max_retries=0)
result = {}


def script(*steps):
    return "@@" + json.dumps(list(steps))


def ask(messages, **more):
    raw = client.chat.completions.with_raw_response.create(model="default", messages=messages, **more)
    return raw.headers["x-weir-session"], raw.parse()


result["models"] = [model.id for model in client.models.list()]

# One answer, and the next one in the same session because the client sends the same history.
first = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": script({"text": "The first."})}]
session, answer = ask(first)
result["first"] = answer.choices[0].message.content
result["usage"] = answer.usage.total_tokens
second = first + [
    {"role": "assistant", "content": answer.choices[0].message.content},
    {"role": "user", "content": script({"text": "The second."})},
]
same, answer = ask(second)
result["second"] = answer.choices[0].message.content
result["same_session"] = session == same
other, _ = ask(first)
result["other_session"] = session != other

# A stream, with usage in its last chunk.
chunks, usage = [], None
stream = client.chat.completions.create(
    model="default",
    messages=[{"role": "user", "content": script({"text": "one two three four", "wdelay": 0.05})}],
    stream=True,
    stream_options={"include_usage": True},
)
for chunk in stream:
    if chunk.choices and chunk.choices[0].delta.content:
        chunks.append(chunk.choices[0].delta.content)
    if chunk.usage:
        usage = chunk.usage.total_tokens
result["streamed"] = "".join(chunks)
result["pieces"] = len(chunks)
result["streamed_usage"] = usage

# A picture.
picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
parts = [
    {"type": "text", "text": script({"text": "I see."})},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64," + picture}},
]
result["picture"] = ask([{"role": "user", "content": parts}])[1].choices[0].message.content

# Tools as reasoning, if requested.
stream = client.chat.completions.create(
    model="default",
    messages=[{"role": "user", "content": script({"tool": "Read", "input": {"file_path": "nothing.txt"}}, {"text": "Read."})}],
    stream=True,
    extra_headers={"X-Weir-Tools": "reasoning"},
)
reasoning, text = "", ""
for chunk in stream:
    delta = chunk.choices[0].delta
    reasoning += getattr(delta, "reasoning_content", None) or ""
    text += delta.content or ""
result["reasoning"], result["after_tool"] = reasoning, text

whole = ask(
    [{"role": "user", "content": script({"tool": "Read", "input": {"file_path": "nothing.txt"}}, {"text": "Read."})}],
    extra_headers={"X-Weir-Tools": "reasoning"},
)[1].choices[0].message
result["whole_reasoning"], result["whole_after_tool"] = getattr(whole, "reasoning_content", None), whole.content

# The other API, complete and streamed.
response = client.responses.create(model="default", input=script({"text": "A response."}))
result["response"] = response.output_text
following = client.responses.create(
    model="default", input=script({"text": "Another."}), previous_response_id=response.id
)
result["following"] = following.output_text
events, text = [], ""
with client.responses.stream(model="default", input=script({"text": "Piece by piece."})) as stream:
    for event in stream:
        events.append(event.type)
    text = stream.get_final_response().output_text
result["response_streamed"] = text
result["last_event"] = events[-1]

# Tools as reasoning there too; all items of a response can be sent back.
question = {"role": "user", "content": script({"tool": "Read", "input": {"file_path": "nothing.txt"}}, {"text": "Read."})}
told, text = "", ""
tools = {"X-Weir-Tools": "reasoning"}
with client.responses.stream(model="default", input=[question], extra_headers=tools) as stream:
    for event in stream:
        if event.type == "response.reasoning_summary_text.delta":
            told += event.delta
    final = stream.get_final_response()
result["response_reasoning"], result["response_after_tool"] = told, final.output_text
result["response_items"] = [item.type for item in final.output]
raw = client.responses.with_raw_response.create(model="default", input=[question], extra_headers=tools)
session, whole = raw.headers["x-weir-session"], raw.parse()
result["whole_response_reasoning"] = whole.output[0].summary[0].text
history = [question] + [item.model_dump(exclude_none=True) for item in whole.output]
again = {"role": "user", "content": script({"text": "Again."})}
raw = client.responses.with_raw_response.create(model="default", input=history + [again])
result["response_same_session"] = raw.headers["x-weir-session"] == session
hidden = client.responses.create(model="default", input=[question])
result["hidden_items"] = [item.type for item in hidden.output]

# Tuning parameters are ignored, and the server says so.
raw = client.chat.completions.with_raw_response.create(model="default", messages=first, temperature=0.1)
result["ignored"] = raw.headers["x-weir-ignored"]

# An answer in the client's own format.
schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"], "additionalProperties": False}
form = {"type": "json_schema", "json_schema": {"name": "person", "strict": True, "schema": schema}}
person = script({"tool": "StructuredOutput", "input": {"name": "Ann"}}, {"text": "Done."})
parsed = ask([{"role": "user", "content": person}], response_format=form)[1].choices[0].message.content
result["parsed"] = json.loads(parsed)

# Errors as the client knows them.
try:
    ask([{"role": "user", "content": "x"}], tools=[{"type": "function", "function": {"name": "f"}}])
except openai.BadRequestError as error:
    result["refused"] = error.param
try:
    openai.OpenAI(base_url=os.environ["BASE_URL"], api_key="wrong", max_retries=0).models.list()
except openai.AuthenticationError as error:
    result["unauthorized"] = error.code
try:
    ask([{"role": "user", "content": script({"status": 400, "etype": "invalid_request_error", "msg": "too long"})}])
except openai.APIStatusError as error:
    result["failed"] = error.status_code

# A client with automatic retries does not retry if that would repeat the work.
tries = []
eager = openai.OpenAI(
    base_url=os.environ["BASE_URL"],
    api_key=os.environ["TOKEN"],
    max_retries=2,
    http_client=openai.DefaultHttpxClient(event_hooks={"request": [lambda request: tries.append(request.url.path)]}),
)
try:
    crash = script({"text": "x", "misbehave": {"crash": {"at": "mid", "exit": 3}}})
    eager.chat.completions.create(model="default", messages=[{"role": "user", "content": crash}])
except openai.InternalServerError:
    result["tried"] = len(tries)

# Disconnecting ends the turn.
raw = client.chat.completions.with_raw_response.create(
    model="default",
    messages=[{"role": "user", "content": script({"text": "word " * 2000, "wdelay": 0.1})}],
    stream=True,
)
result["left"] = raw.headers["x-weir-session"]
stream = raw.parse()
for chunk in stream:
    if chunk.choices and chunk.choices[0].delta.content:
        break
stream.close()
client.close()
print(json.dumps(result))
