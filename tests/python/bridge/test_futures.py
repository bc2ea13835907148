"""Rust futures and streams as awaitables and async iterators, shown on the chat client."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Iterator
from typing import Any

import pytest

from bridge.kit import World, turns
from llm.fake_openai import FakeOpenAI, Status
from toolhub import ToolError, _core

HELLO = [{"role": "user", "content": "Hello?"}]


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(answer="one two three") as server:
        yield server


def client(server: FakeOpenAI, timeout: float = 60.0) -> _core.ChatClient:
    return _core.ChatClient(
        "m", {"base_url": server.base_url, "api_key": "", "timeout": timeout, "max_retries": 0}
    )


async def arrived(server: FakeOpenAI, count: int = 1) -> None:
    """Wait until the server has that many requests."""
    while len(server.requests) < count:
        await asyncio.sleep(0.001)


def hung_up(server: FakeOpenAI) -> bool:
    return server.disconnected.wait(30)


# Futures.


def test_a_future_gives_its_value_or_raises(world: World, server: FakeOpenAI) -> None:
    server.enqueue("ok", Status(400, "too long"))

    async def scene() -> None:
        answer: Any = await client(server).chat(HELLO)
        assert answer["text"] == "one two three"
        with pytest.raises(ToolError, match="too long") as caught:
            await client(server).chat(HELLO)
        assert (caught.value.kind, caught.value.status) == ("http", 400)

    world.run(scene())


def test_many_futures_are_awaited_side_by_side(world: World, server: FakeOpenAI) -> None:
    async def ask() -> Any:
        return await client(server).chat(HELLO)

    async def scene() -> None:
        answers: list[Any] = await asyncio.gather(*(ask() for _ in range(20)))
        assert [answer["text"] for answer in answers] == ["one two three"] * 20

    world.run(scene())


def test_nothing_is_sent_before_the_first_step(world: World, server: FakeOpenAI) -> None:
    async def scene() -> None:
        unawaited = client(server).chat(HELLO)
        await client(server).chat(HELLO)
        unawaited.close()
        with pytest.raises(RuntimeError, match="awaited already"):
            await unawaited

    world.run(scene())
    assert len(server.requests) == 1


def test_a_future_is_awaited_once(world: World, server: FakeOpenAI) -> None:
    async def scene() -> None:
        asked = client(server).chat(HELLO)
        await asked
        with pytest.raises(RuntimeError, match="awaited already"):
            await asked

    world.run(scene())


def test_cancelling_the_await_drops_the_future_first(world: World, server: FakeOpenAI) -> None:
    server.enqueue("hang")

    async def ask() -> Any:
        return await client(server).chat(HELLO)

    async def scene() -> None:
        asking = asyncio.create_task(ask())
        await arrived(server)
        asking.cancel("enough")
        with pytest.raises(asyncio.CancelledError, match="enough"):
            await asking

    world.run(scene())
    assert hung_up(server)


def test_a_timeout_of_asyncio_ends_it(world: World, server: FakeOpenAI) -> None:
    server.enqueue("hang")

    async def scene() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await client(server).chat(HELLO)

    world.run(scene())
    assert hung_up(server)


def test_a_second_cancellation_returns_at_once(world: World, server: FakeOpenAI) -> None:
    server.enqueue("hang")

    async def scene() -> None:
        asking = client(server).chat(HELLO)
        asking.send(None)
        await arrived(server)
        # The first one may have to wait for a runtime thread to release the future.
        with contextlib.suppress(asyncio.CancelledError):
            asking.throw(asyncio.CancelledError("first"))
        with pytest.raises(asyncio.CancelledError, match="second"):
            asking.throw(asyncio.CancelledError("second"))
        await turns()

    world.run(scene())
    assert hung_up(server)


def test_closing_the_awaitable_drops_the_future(world: World, server: FakeOpenAI) -> None:
    server.enqueue("hang")

    async def scene() -> None:
        asking = client(server).chat(HELLO)
        asking.send(None)
        await arrived(server)
        asking.close()

    world.run(scene())
    assert hung_up(server)


def test_a_future_goes_with_its_loop(server: FakeOpenAI) -> None:
    server.enqueue("hang")
    loop = asyncio.new_event_loop()

    async def ask() -> None:
        await client(server).chat(HELLO)

    asking = loop.create_task(ask())
    loop.run_until_complete(arrived(server))
    loop.close()
    # As text: the task itself is what is to be collected.
    asking._log_destroy_pending = False  # type: ignore[attr-defined]
    del asking, loop
    gc.collect()
    assert hung_up(server)


# Streams.


def test_a_stream_gives_its_items_in_order(world: World, server: FakeOpenAI) -> None:
    async def scene() -> None:
        stream = client(server).stream(HELLO)
        assert not server.requests
        assert [text async for text in stream] == ["one ", "two ", "three"]
        assert [text async for text in stream] == []

    world.run(scene())


def test_an_error_ends_a_stream(world: World, server: FakeOpenAI) -> None:
    server.enqueue("error_in_stream")

    async def scene() -> None:
        stream = client(server).stream(HELLO)
        assert await anext(stream) == "one "
        with pytest.raises(ToolError, match="crashed"):
            await anext(stream)
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    world.run(scene())


def test_a_cancelled_item_is_not_lost(world: World, server: FakeOpenAI) -> None:
    server.enqueue("stepped_stream")

    async def scene() -> None:
        stream = client(server).stream(HELLO)
        server.steps.release()
        texts = [await anext(stream)]
        waiting = asyncio.create_task(_next(stream))
        await turns()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        server.steps.release(2)
        texts += [text async for text in stream]
        assert texts == ["one ", "two ", "three"]

    world.run(scene())


def test_cancelling_the_opening_of_a_stream_leaves_no_connection(world: World, server: FakeOpenAI) -> None:
    server.enqueue("hang")

    async def scene() -> None:
        stream = client(server).stream(HELLO)
        opening = asyncio.create_task(_next(stream))
        await arrived(server)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        stream.close()

    world.run(scene())
    assert hung_up(server)


def test_a_slow_reader_slows_the_source_and_closing_ends_it(world: World, server: FakeOpenAI) -> None:
    server.enqueue("endless_stream")

    async def scene() -> None:
        stream = client(server).stream(HELLO)
        assert len(await anext(stream)) == 10_000
        stream.close()
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    world.run(scene())
    assert hung_up(server)
    # What the buffers of two sockets and one body hold, not what the server could have sent.
    assert server.sent < 10_000


def test_a_stream_that_is_collected_is_closed(world: World, server: FakeOpenAI) -> None:
    server.enqueue("slow_stream")

    async def scene() -> None:
        assert await anext(client(server).stream(HELLO)) == "one "

    world.run(scene())
    assert hung_up(server)


async def _next(stream: Any) -> Any:
    return await anext(stream)
