"""Ends the interpreter while work is in flight, in the way that the first argument names."""

import asyncio
import atexit
import inspect
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator


def call_too_late() -> None:
    """Runs after toolhub's own end, because it was registered before toolhub was imported."""
    if "hub" in globals():
        try:
            hub.call("quick")
        except RuntimeError as error:
            print(f"too late: {error}")


if sys.argv[1] == "a_call_at_exit":
    atexit.register(call_too_late)

from bridge.kit import Blocked, Hanging, in_thread, offer, quick  # noqa: E402
from toolhub import ToolHub  # noqa: E402

hub = ToolHub()
hanging, blocked, begun = Hanging(), Blocked(), threading.Event()


async def cleans_up() -> None:
    begun.set()
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        await asyncio.sleep(0)
        print("cleaned up", flush=True)


async def busy() -> None:
    """Never gives its loop back, but lets other threads run, again and again."""
    begun.set()
    while True:
        time.sleep(0.0005)  # noqa: ASYNC251


async def blocks_its_loop() -> None:
    begun.set()
    threading.Event().wait()


def busy_in_thread() -> None:
    begun.set()
    while True:
        time.sleep(0.0005)


for function in (quick, in_thread, cleans_up, busy, blocks_its_loop, busy_in_thread):
    hub.register(function)
hub.register(hanging, name="hanging")
hub.register(blocked, name="blocked")
offer(hub, "race", hanging, blocked, cleans_up)


def aside(work: Callable[[], Any], count: int = 1) -> None:
    for _ in range(count):
        threading.Thread(target=work, daemon=True).start()


async def async_in_flight() -> None:
    asyncio.create_task(hub.execute("hanging"))
    await hanging.began.wait()


async def sync_blocked() -> None:
    asyncio.create_task(hub.execute("blocked"))
    await blocked.has_begun()


async def sync_running() -> None:
    asyncio.create_task(hub.execute("busy_in_thread"))
    await asyncio.to_thread(begun.wait)


async def race_in_flight() -> None:
    asyncio.create_task(hub.execute("race", strategy="first"))
    await hanging.began.wait()
    await blocked.has_begun()


async def sys_exit_in_a_loop() -> None:
    await race_in_flight()
    sys.exit(3)


async def an_error_in_a_loop() -> None:
    await race_in_flight()
    raise LookupError("on purpose")


def a_loop_that_is_just_left() -> None:
    loop = asyncio.new_event_loop()
    loop.run_until_complete(race_in_flight())


def background_call() -> None:
    aside(lambda: hub.call("cleans_up"))
    begun.wait()


def background_race() -> None:
    aside(lambda: hub.call("race", strategy="first"))
    begun.wait()


def background_sync() -> None:
    aside(lambda: hub.call("blocked"))
    blocked.began.acquire()


def background_blocked() -> None:
    aside(lambda: hub.call("blocks_its_loop"))
    begun.wait()


def background_busy() -> None:
    aside(lambda: hub.call("busy"))
    begun.wait()


def many_background_calls() -> None:
    def work() -> None:
        while True:
            hub.call("quick")
            hub.call("in_thread")
            begun.set()

    aside(work, 4)
    begun.wait()


def many_loops() -> None:
    async def work() -> None:
        while True:
            await hub.execute("quick")
            await hub.execute("in_thread")
            await hub.execute("race", strategy="first", timeout=0.0001)
            begun.set()

    hub.unregister("race")
    offer(hub, "race", hanging, quick)
    aside(lambda: asyncio.run(work()), 4)
    begun.wait()


def a_busy_loop() -> None:
    aside(lambda: asyncio.run(hub.execute("busy")))
    begun.wait()


def invoked() -> Any:
    """Busy before there is anything to await."""
    busy_in_thread()


def in_an_invocation() -> None:
    if sys.version_info >= (3, 12):
        inspect.markcoroutinefunction(invoked)
    else:
        invoked._is_coroutine = asyncio.coroutines._is_coroutine  # type: ignore[attr-defined]
    hub.register(invoked)
    aside(lambda: asyncio.run(hub.execute("invoked")))
    begun.wait()


def in_a_listener() -> None:
    hub.on_event(lambda event: busy_in_thread() if event["type"] == "started" else None)
    aside(lambda: asyncio.run(hub.execute("quick")))
    begun.wait()


def in_a_progress_callback() -> None:
    with tempfile.NamedTemporaryFile() as mark:
        mark.write(b"\0")
        mark.flush()
        server = Path(__file__).with_name("chatty_server.py")
        hub.add_server("s", command=sys.executable, args=[str(server), mark.name])
        aside(lambda: asyncio.run(hub.execute("step", server="s", progress=lambda _: busy_in_thread())))
        begun.wait()


def many_validators() -> None:
    """Validators that let other threads run; pydantic's own frames cannot be unwound, so the exit waits for them."""

    def check(value: int) -> int:
        time.sleep(0.0005)
        begun.set()
        return value

    async def checked(value: Annotated[int, AfterValidator(check)]) -> int:
        return value

    async def work() -> None:
        while True:
            await hub.execute("checked", {"value": "1"})

    hub.register(checked)
    aside(lambda: asyncio.run(work()), 4)
    begun.wait()


def a_call_at_exit() -> None:
    assert hub.call("quick").success


mode = globals()[sys.argv[1]]
if inspect.iscoroutinefunction(mode):
    asyncio.run(mode())
else:
    mode()
