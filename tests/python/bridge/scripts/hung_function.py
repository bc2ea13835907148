"""Gives a hub a function that never returns, waits for it until the timeout, and ends."""

import asyncio
import sys
import threading
from pathlib import Path
from typing import Any

import toolhub.hub._search as embedding
from toolhub import ToolHub

kind = sys.argv[1]
began = threading.Event()


def hangs(*_: Any) -> Any:
    began.set()
    while True:
        threading.Event().wait(3600)


async def one() -> str:
    return "one"


async def two() -> str:
    return "two"


async def given_up(awaitable: Any) -> None:
    task = asyncio.ensure_future(awaitable)
    while not began.is_set():
        await asyncio.sleep(0.001)
        assert not task.done(), task
    task.cancel()
    await asyncio.wait({task})


async def main() -> None:
    if kind == "approve":
        hub = ToolHub()
        hub.register(one, name="send_mail", effects=True)
        await given_up(hub.run('<tool_call>{"tool_name": "send_mail"}</tool_call>', approve=hangs))
    elif kind == "llm":
        hub = ToolHub(llm=hangs)
        for tool in (one, two):
            hub.register(tool, name="search_web", source="mcps", server=tool.__name__, read_only=True)
        await given_up(hub.execute("search_web", strategy="all"))
    elif kind == "embed":
        embedding._PATIENCE = 0.05
        hub = ToolHub(embed=hangs)
        hub.register(one, name="send_mail")
        hub.search("mail")
    elif kind == "token":
        hub = ToolHub()
        hub.add_server("remote", url="http://127.0.0.1:9/mcp", auth=hangs)
        await given_up(hub.connect())
    elif kind in ("elicitation", "sampling"):
        hub = ToolHub(elicitation=hangs) if kind == "elicitation" else ToolHub(sampling=hangs)
        server = Path(__file__).with_name("asking_server.py")
        hub.add_server("asking", command=sys.executable, args=[str(server)], allow_sampling=True)
        tool = "ask" if kind == "elicitation" else "think"
        await given_up(hub.execute(tool, server="asking"))
    print("given up", flush=True)


asyncio.run(main())
print("left the loop", flush=True)
