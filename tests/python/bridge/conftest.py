"""The bridge's tests run on every kind of event loop that is there."""

import asyncio
import sys
from collections.abc import Iterator

import pytest

from bridge.kit import World, pool_at_rest
from toolhub import _core


def _uvloop() -> World:
    uvloop = pytest.importorskip("uvloop")
    return World("uvloop", uvloop.new_event_loop)


def _eager() -> World:
    if sys.version_info < (3, 12):
        pytest.skip("eager tasks came with Python 3.12")
    return World("eager", eager=True)


_WORLDS = {
    "asyncio": lambda: World("asyncio"),
    "uvloop": _uvloop,
    "traced": lambda: World("traced", traced=True),
    "eager": _eager,
    "safe": lambda: World("safe", safe=True),
}


@pytest.fixture(params=list(_WORLDS))
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Each kind of loop in turn: asyncio, uvloop, asyncio under a trace function, with eager tasks, and the safe bridge."""
    world = _WORLDS[request.param]()
    before = _core.use_safe_bridge(world.safe)
    try:
        yield world
        world.check()
    finally:
        _core.use_safe_bridge(before)


@pytest.fixture
def pool() -> Iterator[None]:
    """The pool is at rest before and after the test."""
    pool_at_rest()
    yield
    pool_at_rest()


@pytest.fixture
def plain_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """A loop to be driven by hand."""
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()
