"""Canaries: each names a detail of CPython that the fast bridge leans on, when a new version changes it.

When one fails, `TOOLHUB_SAFE_BRIDGE=1` avoids the detail until the bridge is adapted.
"""

from __future__ import annotations

import asyncio
import asyncio.tasks
import contextvars
import ctypes
import os
import subprocess
import sys
from typing import Any

import pytest

from toolhub import _core

ADVICE = (
    "; the bridge (src/python/drivers/awaiting.rs) has to be adapted, until then TOOLHUB_SAFE_BRIDGE=1 helps"
)

AWAITABLES = [_core.Execution, _core.BridgeFuture]


def am_send(cls: type) -> int:
    """The address in a class's slot `tp_as_async->am_send`: the 9th word after the head of an object (which is larger
    without a GIL), then the 4th of the table."""
    word = ctypes.sizeof(ctypes.c_void_p)
    table = ctypes.c_void_p.from_address(id(cls) + object.__basicsize__ + 8 * word).value
    assert table, f"PyTypeObject.tp_as_async has moved{ADVICE}"
    return ctypes.c_void_p.from_address(table + 3 * word).value or 0


def test_am_send_is_the_fourth_async_slot() -> None:
    async def coroutine() -> None: ...

    made = coroutine()
    assert am_send(type(made)), f"coroutines have no am_send{ADVICE}"
    made.close()
    for cls in AWAITABLES:
        assert am_send(cls), f"am_send of {cls.__name__} was not filled{ADVICE}"


def test_the_safe_bridge_leaves_am_send_empty() -> None:
    before = _core.use_safe_bridge(True)
    try:
        assert [am_send(cls) for cls in AWAITABLES] == [0, 0]
    finally:
        _core.use_safe_bridge(before)
    assert all(am_send(cls) for cls in AWAITABLES)


class _Marked:
    """Awaits a future the way the bridge does: marks it and yields it."""

    def __init__(self, future: asyncio.Future[Any]) -> None:
        self.future = future

    def __await__(self) -> Any:
        self.future._asyncio_future_blocking = True  # type: ignore[attr-defined]
        yield self.future
        return self.future.result()


def test_asyncio_future_blocking_marks_what_await_yields() -> None:
    async def scene() -> None:
        future = asyncio.get_running_loop().create_future()
        message = f"Future._asyncio_future_blocking works in another way{ADVICE}"
        assert future._asyncio_future_blocking is False, message  # type: ignore[attr-defined]
        assert next(future.__await__()) is future, message
        assert future._asyncio_future_blocking is True, message  # type: ignore[attr-defined]
        asyncio.get_running_loop().call_soon(future.set_result, 5)
        assert await _Marked(future) == 5, message

    asyncio.run(scene())


def test_current_tasks_agrees_with_current_task() -> None:
    """From Python 3.14 on the table may be gone or empty; then the bridge asks `current_task`."""

    async def scene() -> None:
        table: Any = getattr(asyncio.tasks, "_current_tasks", {})
        running = table.get(asyncio.get_running_loop())
        message = f"asyncio.tasks._current_tasks is not the table of running tasks{ADVICE}"
        assert running is None or running is asyncio.current_task(), message

    asyncio.run(scene())


def test_must_cancel_is_set_until_the_cancellation_is_delivered() -> None:
    async def scene() -> None:
        task: Any = asyncio.current_task()
        message = f"Task._must_cancel does not show a cancellation that is still to come{ADVICE}"
        assert task._must_cancel is False, message
        task.cancel()
        assert task._must_cancel is True, message
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(0)
        assert task._must_cancel is False, message
        task.uncancel()

    asyncio.run(scene())


def test_task_factory_is_an_attribute_of_the_loop() -> None:
    loop: Any = asyncio.new_event_loop()
    message = f"BaseEventLoop._task_factory is not where the loop keeps its task factory{ADVICE}"
    try:
        assert loop._task_factory is None, message

        def factory(loop: Any, coroutine: Any, **options: Any) -> Any:
            return asyncio.Task(coroutine, loop=loop, **options)

        loop.set_task_factory(factory)
        assert loop._task_factory is factory, message
    finally:
        loop.close()


def test_a_task_made_directly_is_like_one_of_create_task() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")

    async def work() -> str:
        return variable.get()

    async def scene() -> None:
        loop = asyncio.get_running_loop()
        variable.set("set")
        direct = asyncio.tasks.Task(work(), loop=loop, name="named")
        usual = loop.create_task(work(), name="named")
        message = f"asyncio.tasks.Task(…) does not do what loop.create_task(…) does{ADVICE}"
        assert {direct, usual} <= asyncio.all_tasks(), message
        assert type(direct) is type(usual), message
        assert direct.get_name() == usual.get_name() == "named", message
        assert await asyncio.gather(direct, usual) == ["set", "set"], message

    asyncio.run(scene())


@pytest.mark.parametrize(("value", "safe"), [("1", True), ("0", False), ("", False), (None, False)])
def test_the_environment_chooses_the_bridge(value: str | None, safe: bool) -> None:
    environment = {name: text for name, text in os.environ.items() if name != "TOOLHUB_SAFE_BRIDGE"}
    if value is not None:
        environment["TOOLHUB_SAFE_BRIDGE"] = value
    code = f"from toolhub import _core; assert _core.use_safe_bridge(False) is {safe}"
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
