"""Works with `weir acp` as an editor with the Python SDK does, and prints what came back."""

import asyncio
import json
import os
from collections import Counter

from acp import PROTOCOL_VERSION, RequestError, spawn_agent_process, text_block
from acp.schema import AllowedOutcome, RequestPermissionResponse


def script(*steps):
    return "@@" + json.dumps(steps)


class Editor:
    def __init__(self):
        self.updates = Counter()
        self.asked = []
        self.said = ""
        self.spoke = asyncio.Event()

    def on_connect(self, agent):
        pass

    async def request_permission(self, session_id, tool_call, options, **_):
        self.asked.append(tool_call.kind)
        option = next(option for option in options if option.kind == "allow_once")
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=option.option_id))

    async def session_update(self, session_id, update, **_):
        self.updates[update.session_update] += 1
        if update.session_update == "agent_message_chunk":
            self.said += update.content.text
            self.spoke.set()


async def main():
    editor = Editor()
    arguments = ["acp", "--data-dir", os.environ["DATA"], "--root", os.getcwd()]
    result = {}
    async with spawn_agent_process(editor, os.environ["WEIR"], *arguments, env=dict(os.environ)) as (agent, _):
        hello = await agent.initialize(protocol_version=PROTOCOL_VERSION)
        result["agent"] = hello.agent_info.name
        session = (await agent.new_session(cwd=os.getcwd(), mcp_servers=[])).session_id

        async def ask(text):
            editor.said = ""
            editor.spoke.clear()
            ended = await agent.prompt(session_id=session, prompt=[text_block(text)])
            return [ended.stop_reason, editor.said]

        write = {"tool": "Write", "input": {"file_path": f"{os.getcwd()}/from-python.txt", "content": "x\n"}}
        result["wrote"] = await ask(script({"text": "I write. ", **write}, {"text": "Done."}))
        slow = asyncio.ensure_future(ask(script({"text": "one two three", "wdelay": 30})))
        await asyncio.sleep(0)
        await editor.spoke.wait()
        await agent.cancel(session_id=session)
        result["cancelled"] = (await slow)[0]
        result["again"] = await ask(script({"text": "Again."}))
        listed = await agent.list_sessions()
        result["listed"] = any(one.session_id == session for one in listed.sessions)
        try:
            await agent.prompt(session_id="nobody", prompt=[text_block("x")])
            result["unknown"] = "answered"
        except RequestError as error:
            result["unknown"] = error.code
        loaded = Editor()
        async with spawn_agent_process(loaded, os.environ["WEIR"], *arguments, env=dict(os.environ)) as (second, _):
            await second.initialize(protocol_version=PROTOCOL_VERSION)
            await second.load_session(cwd=os.getcwd(), session_id=session, mcp_servers=[])
            result["loaded"] = loaded.said
    result["updates"] = dict(editor.updates)
    result["asked"] = editor.asked
    print(json.dumps(result))


asyncio.run(main())
