"""What all tests share: nothing may leak, and no test waits for a slow machine."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Iterator
from typing import Any, TypeVar

import pytest
from hypothesis import settings

T = TypeVar("T")

# No deadline: the machine may be busy. The same examples on every machine, so that a newcomer's first run is that of CI;
# `make fuzz` looks for new ones.
settings.register_profile("toolhub", deadline=None, print_blob=True, derandomize=True)
settings.register_profile("fuzz", settings.get_profile("toolhub"), derandomize=False)
settings.load_profile("toolhub")
# The files of whoever runs the tests are not theirs.
os.environ["TOOLHUB_CONFIG"] = os.environ["TOOLHUB_STORE"] = ""
# A shell without job control starts what is in the background with these signals ignored, and programs inherit that.
for number, handler in (("SIGINT", signal.default_int_handler), ("SIGQUIT", signal.SIG_DFL)):
    if hasattr(signal, number) and signal.getsignal(getattr(signal, number)) is signal.SIG_IGN:
        signal.signal(getattr(signal, number), handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays: to look for garbage meanwhile costs a sixth of the time and finds little."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Let full garbage collections, of which tests for leaks make many, pass over what all tests share."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def anyio_backend() -> str:
    """Tests marked `anyio` run on asyncio; the hub knows no other loop."""
    return "asyncio"


class _Complaints(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        # asyncio's debug mode also warns of slow callbacks: that is the machine, not a leak.
        if record.levelno >= logging.ERROR:
            self.messages.append(record.getMessage())


@pytest.fixture(autouse=True)
def asyncio_complaints() -> Iterator[list[str]]:
    """Fails a test after which asyncio complains: a task destroyed while pending, an error never retrieved.

    A test that provokes such a complaint asks for this fixture and clears the list.
    """
    handler = _Complaints()
    logger = logging.getLogger("asyncio")
    logger.addHandler(handler)
    try:
        yield handler.messages
        gc.collect(1)  # the complaint comes when the object goes; a full collection for each test is slow
    finally:
        logger.removeHandler(handler)
    if handler.messages:
        pytest.fail("asyncio complained:\n" + "\n".join(handler.messages), pytrace=False)


@pytest.fixture
def run() -> Callable[[Coroutine[Any, Any, T]], T]:
    """`run(coroutine)` is `asyncio.run`, and fails when the coroutine leaves a task behind.

    `asyncio.run` alone would cancel such a task without a word.
    """

    async def watched(coroutine: Coroutine[Any, Any, T]) -> T:
        try:
            return await coroutine
        finally:
            left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            assert not left, f"tasks left behind: {left}"

    def run(coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run(watched(coroutine))

    return run


def toolhub_threads() -> set[threading.Thread]:
    """The living Python threads that are ours, by their name `toolhub-…`."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("toolhub-")}


@pytest.fixture
def no_new_threads() -> Iterator[None]:
    """Fails when the test leaves a thread of ours behind.

    To be asked for: a pool that outlives a test is lawful.
    """
    before = toolhub_threads()
    yield
    limit = time.monotonic() + 10
    while (left := toolhub_threads() - before) and time.monotonic() < limit:
        left.pop().join(0.1)  # a thread that was asked to stop may take a moment
    assert not left, f"threads left behind: {sorted(thread.name for thread in left)}"
