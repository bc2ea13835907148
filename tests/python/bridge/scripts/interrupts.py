"""Waits in a call until it is interrupted, and prints what happens meanwhile."""

import asyncio
import os
import signal
import sys
import threading
from typing import Any

from bridge.kit import offer
from toolhub import ToolHub

# The parent process may have switched interrupts off.
signal.signal(signal.SIGINT, signal.default_int_handler)

hub = ToolHub(limits={"cancel_grace": 60})


def say(word: str) -> None:
    os.write(1, f"{word}\n".encode())  # in one piece, whatever other threads say


async def waits() -> None:
    say("ready")
    try:
        await asyncio.get_running_loop().create_future()
    except asyncio.CancelledError:
        say("cancelled")
        raise
    finally:
        await asyncio.sleep(0)
        say("cleaned")


async def never_cleans_up() -> None:
    say("ready")
    while True:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            say("stubborn")


async def interrupts_its_cancellation() -> None:
    """Sends the second Ctrl-C while the first one is being handled."""
    loop = asyncio.get_running_loop()
    hand_over = loop.call_soon_threadsafe

    def interrupted(*args: Any, **options: Any) -> asyncio.Handle:
        handle = hand_over(*args, **options)
        if threading.current_thread() is threading.main_thread():
            signal.raise_signal(signal.SIGINT)
        return handle

    loop.call_soon_threadsafe = interrupted
    await never_cleans_up()


def blocks() -> None:
    say("ready")
    threading.Event().wait()


for function in (waits, never_cleans_up, interrupts_its_cancellation, blocks):
    hub.register(function)
offer(hub, "race", waits, blocks)


def wait(name: str, how: str) -> None:
    if how == "call":
        hub.call(name, strategy="first")
    elif how == "asyncio_run":
        asyncio.run(hub.execute(name, strategy="first"))
    elif how == "call_inside_a_loop":

        async def cell() -> None:
            hub.call(name, strategy="first")

        asyncio.new_event_loop().run_until_complete(cell())


try:
    wait(*sys.argv[1:])
except KeyboardInterrupt:
    say("interrupted")
    raise
say("not interrupted")
