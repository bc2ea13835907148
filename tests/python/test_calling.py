"""Calling: async methods, their blocking twins, options, many calls at once, tools that call the hub."""

import asyncio
import contextvars
import subprocess
import sys
import threading
from typing import Any

import pytest

from support.tools import Crowd, Endless, Run, Scripted, offer, tried, turns
from toolhub import ErrorKind, ToolError, ToolHub, ToolResult


@pytest.fixture
def hub() -> ToolHub:
    return ToolHub()


def test_execute_and_its_blocking_twin_give_the_same(hub: ToolHub, run: Run) -> None:
    @hub.tool
    async def greet(who: str) -> str:
        return f"Hello {who}"

    awaited = run(hub.execute("greet", {"who": "world"}))
    blocking = hub.call("greet", {"who": "world"})
    assert isinstance(awaited, ToolResult)
    assert isinstance(blocking, ToolResult)
    assert awaited.result == blocking.result == "Hello world"


def test_a_call_by_capability_finds_tools_of_any_name(hub: ToolHub, run: Run) -> None:
    hub.register(lambda city: f"sun in {city}", name="sky", capabilities=["weather"])
    result = run(hub.execute_by_capability("Weather", {"city": "Rome"}))
    assert (result.result, result.meta["tool"]) == ("sun in Rome", "sky")
    assert hub.call_by_capability("weather", "Rome").result == "sun in Rome"


def test_the_blocking_twin_works_inside_a_running_loop(hub: ToolHub, run: Run) -> None:
    @hub.tool
    async def loop_of_the_tool() -> int:
        return id(asyncio.get_running_loop())

    async def notebook() -> None:
        assert hub.call("loop_of_the_tool").result != id(asyncio.get_running_loop())
        assert (await hub.execute("loop_of_the_tool")).result == id(asyncio.get_running_loop())

    run(notebook())


def test_a_bare_value_goes_to_the_one_required_argument(hub: ToolHub) -> None:
    @hub.tool
    def search(query: str, limit: int = 3) -> list[Any]:
        return [query, limit]

    assert hub.call("search", "cats").result == ["cats", 3]
    assert hub.call("search", {"query": "cats", "limit": 1}).result == ["cats", 1]

    @hub.tool
    def total(numbers: list[int]) -> int:
        return sum(numbers)

    assert hub.call("total", [1, 2, 3]).result == 6

    @hub.tool
    def move(x: int, y: int) -> str:
        return "moved"

    refused = hub.call("move", 5)
    assert refused.kind == ErrorKind.INVALID_ARGUMENTS
    assert "expected named arguments (x, y), got int" in str(refused.error)


def test_calls_carry_context_variables_into_sync_and_async_tools(hub: ToolHub, run: Run) -> None:
    user = contextvars.ContextVar("user", default="nobody")
    hub.register(lambda: user.get(), name="sync_user")

    @hub.tool
    async def async_user() -> str:
        return user.get()

    async def caller(name: str) -> list[Any]:
        user.set(name)
        await turns(3)
        return [(await hub.execute("sync_user")).result, (await hub.execute("async_user")).result]

    async def scene() -> None:
        assert await asyncio.gather(caller("ann"), caller("bob")) == [["ann", "ann"], ["bob", "bob"]]

    run(scene())


def test_the_time_limit_of_the_call_the_tool_and_the_hub_come_in_this_order(run: Run) -> None:
    hub = ToolHub(timeout=0.01)
    endless = Endless()
    hub.register(endless, name="plain")
    hub.register(endless, name="patient", timeout=1000)
    for name, options, seconds in [("plain", {}, "0.01"), ("patient", {"timeout": 0.02}, "0.02")]:
        result = run(hub.execute(name, **options))
        assert result.kind == ErrorKind.TIMEOUT
        assert f"timed out after {seconds} s" in str(result.error)
    assert (endless.began, endless.cleaned) == (2, 2)

    async def scene() -> None:
        go = asyncio.Event()

        async def waits() -> str:
            await go.wait()
            return "in time"

        hub.register(waits, timeout=1000)
        impatient = await hub.execute("plain")
        patient = asyncio.create_task(hub.execute("waits"))
        await hub.execute("plain")
        assert impatient.kind == ErrorKind.TIMEOUT
        assert not patient.done()
        go.set()
        assert (await patient).result == "in time"

    run(scene())


def test_the_deadline_is_for_the_whole_call(run: Run) -> None:
    hub = ToolHub()
    endless = [Endless() for _ in range(3)]
    offer(hub, "tool", **{f"s{n}": tool for n, tool in enumerate(endless)})
    result = run(hub.execute("tool", strategy="fallback", deadline=0.01))
    assert result.kind == ErrorKind.TIMEOUT
    assert "deadline of 0.01 s" in str(result.error)
    assert result.meta["error"]["outcome"] == "unknown"
    assert [tool.began for tool in endless] == [1, 0, 0]
    assert endless[0].cleaned == 1


def test_a_timed_out_candidate_gives_way_to_the_next(run: Run) -> None:
    hub, slow = ToolHub(), Endless()
    hub.register(slow, name="tool", source="mcps", server="slow", timeout=0.01, read_only=True)
    offer(hub, "tool", quick=Scripted("done"))
    result = run(hub.execute("tool", strategy="fallback"))
    assert (result.result, tried(result)) == ("done", ["slow", "quick"])
    assert slow.cleaned == 1
    assert result.meta["errors"][0]["kind"] == "timeout"


def test_a_sync_tool_that_blocks_is_left_behind_when_its_time_is_over(run: Run) -> None:
    hub, release = ToolHub(timeout=0.01), threading.Event()
    hub.register(lambda: release.wait(30), name="blocks")
    hub.register(lambda: "fine", name="other", timeout=30)
    try:
        assert run(hub.execute("blocks")).kind == ErrorKind.TIMEOUT
        assert run(hub.execute("other")).result == "fine"
    finally:
        release.set()


def test_cancelling_the_await_cancels_the_tool_before_it_returns(hub: ToolHub, run: Run) -> None:
    async def scene() -> None:
        one, two, three = Endless(), Endless(), Endless()
        hub.register(one, name="alone")
        offer(hub, "race", two=two, three=three)
        for name, tools in [("alone", [one]), ("race", [two, three])]:
            call = asyncio.create_task(hub.execute(name, strategy="first"))
            await turns()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert [(tool.began, tool.cleaned) for tool in tools] == [(1, 1)] * len(tools)

    run(scene())


def test_source_and_server_narrow_the_candidates_of_a_call(hub: ToolHub) -> None:
    for source, server in [("tools", None), ("skills", None), ("mcps", "a"), ("mcps", "b")]:
        tool = lambda where=f"{source} {server}": where  # noqa: E731
        hub.register(tool, name="tool", source=source, server=server, read_only=True)
    assert hub.call("tool", source="skills").result == "skills None"
    assert hub.call("tool", server="b").result == "mcps b"
    assert sorted(tried(hub.call("tool", source="mcps"))) == ["a", "b"]
    missing = hub.call("tool", server="c")
    assert missing.kind == ErrorKind.NOT_FOUND
    assert "server 'c'" in str(missing.error)
    assert "mcps:a" in str(missing.error)


def test_wrong_options_are_programming_errors_that_raise(hub: ToolHub, run: Run) -> None:
    hub.register(lambda: 1, name="tool")
    for options in (
        {"strategy": "fastest"},
        {"timeout": -1},
        {"hedge_after": -1},
        {"max_parallel": 0},
        {"source": "elsewhere"},
    ):
        (word,) = options
        with pytest.raises(ValueError, match=word):
            run(hub.execute("tool", **options))
        with pytest.raises(ValueError, match=word):
            run(hub.execute_by_capability("x", **options))
    with pytest.raises(TypeError):
        run(hub.execute(5))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        run(hub.execute("tool", timeout="soon"))  # type: ignore[arg-type]
    assert hub.call("tool").result == 1


@pytest.mark.parametrize("option", ["timeout", "deadline", "hedge_after"])
def test_a_time_that_is_no_number_is_refused(hub: ToolHub, run: Run, option: str) -> None:
    hub.register(lambda: 1, name="tool")
    with pytest.raises(ValueError, match=option):
        run(hub.execute("tool", **{option: float("nan")}))


def test_wrong_options_of_the_hub_are_refused() -> None:
    for options in (
        {"timeout": -1},
        {"max_parallel": 0},
        {"limits": {"cancel_grace": -1}},
        {"limits": {"breaker_rest": -1}},
        {"limits": {"hub": 0}},
    ):
        with pytest.raises(ValueError, match=r"timeout|max_parallel|grace|breaker_rest|limit"):
            ToolHub(**options)  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match="no key 'elsewhere'; its keys are hub, tools, skills, mcps, cancel_grace"
    ):
        ToolHub(limits={"elsewhere": 3})  # type: ignore[typeddict-unknown-key]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"max_parallel": -1}, "max_parallel must be at least 1, got -1"),
        (
            {"max_parallel": "3"},
            "max_parallel must be a whole number, got the text '3'; write max_parallel=3",
        ),
        ({"limits": {"max_waiting": -1}}, "max_waiting must be at least 0, got -1"),
        ({"limits": {"breaker_threshold": 2.5}}, "breaker_threshold must be a whole number, got float"),
        ({"limits": {"hub": -1}}, "the limit for 'hub' must be at least 1, got -1"),
        ({"limits": {"mcps": None}}, "the limit for 'mcps' must be a whole number, got NoneType"),
    ],
)
def test_a_count_that_is_none_is_refused_in_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{sentence}$"):
        ToolHub(**options)


@pytest.mark.parametrize(
    ("size", "sentence"),
    [(-1, "at least 1, got -1"), ("3", "a whole number, got the text '3'; write max_parallel=3")],
)
def test_the_size_of_a_batch_is_refused_in_one_sentence(
    hub: ToolHub, run: Run, size: Any, sentence: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^max_parallel must be {sentence}$"):
        run(hub.execute("tool", max_parallel=size))


def test_execute_many_keeps_the_order_and_every_kind_of_end(hub: ToolHub, run: Run) -> None:
    async def scene() -> None:
        @hub.tool
        async def later(n: int) -> int:
            await turns(10 - n)
            return n

        calls: list[Any] = [("later", {"n": n}) for n in range(10)]
        calls += ["missing", ("later", {"n": "x"}), ("later", 3)]
        results = await hub.execute_many(calls, concurrency=5)
        assert [result.result for result in results[:10]] == list(range(10))
        assert [result.kind for result in results[10:]] == ["not_found", "invalid_arguments", None]
        assert results[-1].result == 3
        assert await hub.execute_many([]) == []

    run(scene())


@pytest.mark.parametrize("concurrency", [1, 3, 50])
def test_execute_many_never_runs_more_than_allowed_at_once(hub: ToolHub, run: Run, concurrency: int) -> None:
    async def scene() -> Crowd:
        crowd = Crowd()
        hub.register(crowd, name="crowd")
        results = await hub.execute_many([("crowd", {"n": n}) for n in range(20)], concurrency=concurrency)
        assert [result.result for result in results] == list(range(20))
        return crowd

    assert run(scene()).most == min(concurrency, 20)


def test_options_of_execute_many_hold_for_each_call(hub: ToolHub) -> None:
    offer(hub, "tool", a=Scripted("a"), b=Scripted("b"))
    assert [result.result for result in hub.call_many([("tool", {})] * 2, server="b")] == ["b", "b"]
    with pytest.raises(ValueError, match="concurrency must be at least 1"):
        hub.call_many(["tool"], concurrency=0)


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_programming_error_in_execute_many_is_raised_as_itself(
    hub: ToolHub, run: Run, concurrency: int
) -> None:
    hub.register(lambda: 1, name="tool")
    with pytest.raises(ValueError, match="strategy must be"):
        run(hub.execute_many(["tool"] * 3, concurrency, strategy="fastest"))


def test_cancelling_execute_many_cancels_every_call(hub: ToolHub, run: Run) -> None:
    async def scene() -> None:
        endless = Endless()
        hub.register(endless, name="endless")
        many = asyncio.create_task(hub.execute_many(["endless"] * 10, concurrency=4))
        await turns()
        many.cancel()
        with pytest.raises(asyncio.CancelledError):
            await many
        assert (endless.began, endless.cleaned) == (4, 4)

    run(scene())


def test_an_async_tool_may_call_the_hub(hub: ToolHub, run: Run) -> None:
    @hub.tool
    async def factorial(n: int) -> int:
        return 1 if n < 2 else n * (await hub.execute("factorial", {"n": n - 1})).unwrap()

    assert run(hub.execute("factorial", {"n": 20})).result == 2432902008176640000


def test_a_sync_tool_may_call_the_hub(hub: ToolHub, run: Run) -> None:
    @hub.tool
    async def double(n: int) -> int:
        return 2 * n

    @hub.tool
    def eight(n: int) -> int:
        return hub.call("double", hub.call("double", hub.call("double", n).unwrap()).unwrap()).unwrap()

    assert run(hub.execute("eight", 3)).result == 24
    assert hub.call("eight", 3).result == 24


def test_a_blocking_call_inside_an_async_tool_does_not_wait_for_itself(hub: ToolHub) -> None:
    hub.register(lambda: 1, name="one")

    @hub.tool
    async def impatient() -> Any:
        return hub.call("one").result

    assert hub.call("impatient").result == 1
    assert hub.call("one").result == 1


def test_a_tool_may_register_and_remove_tools_while_it_runs(hub: ToolHub, run: Run) -> None:
    @hub.tool
    async def teach(name: str) -> str:
        hub.register(lambda: f"I am {name}", name=name)
        hub.unregister("teach")
        return (await hub.execute(name)).unwrap()

    assert run(hub.execute("teach", "newborn")).result == "I am newborn"
    assert [tool.name for tool in hub.tools()] == ["newborn"]


def test_a_closed_hub_refuses_calls_and_closing_twice_is_fine(run: Run) -> None:
    with ToolHub() as hub:
        hub.register(lambda: 1, name="tool", capabilities=["x"])
        assert hub.call("tool").success
    hub.close()
    assert hub.call("tool").kind == ErrorKind.CLOSED
    assert hub.call_by_capability("x").kind == ErrorKind.CLOSED
    assert hub.call_many(["tool"])[0].kind == ErrorKind.CLOSED
    assert len(hub) == 0
    with pytest.raises(ToolError, match="The hub is closed"):
        hub.register(lambda: 1, name="tool")
    assert len(hub) == 0

    async def scene() -> None:
        async with ToolHub() as hub:
            hub.register(lambda: 1, name="tool")
        assert (await hub.execute("tool")).kind == ErrorKind.CLOSED
        await hub.aclose()

    run(scene())


def test_an_empty_hub_is_true_and_tells_what_it_is(hub: ToolHub) -> None:
    assert bool(hub)
    assert repr(hub) == "<ToolHub with 0 tools>"
    hub.close()
    assert "closed" in repr(hub)


ONE_IDLE_WORKER = """
import threading
from toolhub import ToolHub

hub, second_began = ToolHub(timeout=20), threading.Event()

def first(text: str) -> str:
    return "met" if second_began.wait(20) else "alone"

def second(text: str) -> str:
    second_began.set()
    return "met"

hub.register(lambda: 1, name="warm_up")
hub.register(first, name="tool", read_only=True)
schema = {"properties": {"text": {"pattern": "x$"}}}
hub.register(second, name="tool", source="skills", read_only=True, parameters=schema)
hub.call("warm_up")
# The second tool's arguments take long to check: by then the one idle thread has taken the first tool.
result = hub.call("tool", {"text": "y" * 20_000_000 + "x"}, strategy="all")
assert [row["ok"] for row in result.meta["attempts"]] == [True, True], result.meta["attempts"]
assert result.meta["sources"] == ["tools", "skills"], result
"""


def test_two_sync_tools_run_at_once_also_when_one_thread_is_idle() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ONE_IDLE_WORKER], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
