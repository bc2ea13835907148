"""Waits for a tool that swallows its cancellation; Ctrl-C comes from outside."""

import asyncio
import contextlib
import signal
import sys

from toolhub import ToolHub

# A shell starts background jobs with SIGINT ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

way, count, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3]
hub = ToolHub(limits={"cancel_grace": 0.05})
waiting = 0


def began() -> None:
    global waiting
    waiting += 1
    if waiting == count:
        print("began", flush=True)


async def swallows() -> str:
    began()
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        return "answered"
    return "never"


async def stubborn() -> str:
    began()
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)


for number in range(count):
    tool = {"swallows": swallows, "stubborn": stubborn}[kind]
    hub.register(tool, name="t", source="mcps", server=str(number), read_only=True)

if way == "await":
    print(asyncio.run(hub.execute("t", strategy="first")).result)
else:
    print(hub.call("t", strategy="first").result)
