"""Offers a Python function to the agent of a Weir server, asks for it, and answers its calls.

    WEIR_URL=http://127.0.0.1:4747 WEIR_TOKEN=weir_… python3 client_tools.py FOLDER "What is the weather in Oslo?"

Needs nothing but Python 3.9. docs/client-tools.md says what goes over the wire.
"""

import json
import os
import sys
import urllib.request
import uuid

URL = os.environ["WEIR_URL"].rstrip("/")
HEADERS = {"Authorization": "Bearer " + os.environ["WEIR_TOKEN"], "Content-Type": "application/json"}


def weather(city):
    return f"Sunny in {city}, 21 degrees."


# Each tool: the function, and what the model is told of it.
FUNCTIONS = {"weather": weather}
TOOLS = [
    {
        "name": "weather",
        "description": "Tells the weather in a city.",
        "input_schema": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    }
]


def post(path, body, accept="application/json"):
    """Sends JSON and gives the response, which is a stream where events are accepted."""
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), {**HEADERS, "Accept": accept})
    return urllib.request.urlopen(request)


def events(response):
    """The server-sent events of a response, one after another."""
    name, data = "message", []
    for line in response:
        line = line.decode().rstrip("\r\n")
        if line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].lstrip())
        elif not line and data:
            yield name, json.loads("\n".join(data))
            name, data = "message", []


def answer(session, call):
    """Calls the function that the model asked for, and gives back what it says."""
    try:
        text, failed = str(FUNCTIONS[call["name"]](**call["input"])), False
    except Exception as error:
        text, failed = f"{type(error).__name__}: {error}", True
    body = {"content": [{"type": "text", "text": text}], "is_error": failed}
    post(f"/v1/sessions/{session}/tool-calls/{call['request_id']}", body).close()


def main(folder, question):
    session = json.load(post("/v1/sessions", {"cwd": folder, "client_tools": {"tools": TOOLS}}))["id"]
    message = {"client_id": str(uuid.uuid4()), "text": question}
    stream = post(f"/v1/sessions/{session}/messages", message, accept="text/event-stream")
    for name, event in events(stream):
        if name == "agent-text-delta":
            print(event["text"], end="", flush=True)
        elif name == "agent-tool-request" and event["state"]["state"] == "open":
            answer(session, event)
        elif name == "message":
            print()
            return 0 if event["state"] == "answered" else 1
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
