"""Sharing: one execution for identical concurrent calls, and answers that are kept for a while."""

import asyncio
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.tools import Run, Scripted, turns
from toolhub import ErrorKind, ToolHub, _core

SERVER = Path(__file__).parents[1] / "mcp" / "faults" / "stdio_server.py"


class Held:
    """An async tool that counts its runs and answers when it is released."""

    def __init__(self, answer: Callable[[], Any] = lambda: ["answer"]) -> None:
        self.runs = 0
        self.answer = answer
        self.go = asyncio.Event()

    async def __call__(self, n: int = 0) -> Any:
        self.runs += 1
        await self.go.wait()
        return self.answer()


def test_identical_concurrent_calls_share_one_execution(run: Run) -> None:
    async def scene() -> None:
        hub, tool = ToolHub(), Held()
        hub.register(tool, name="t", read_only=True)
        calls = [asyncio.create_task(hub.execute("t", {"n": 1}, single_flight=True)) for _ in range(10)]
        await turns()
        assert tool.runs == 1
        tool.go.set()
        results = await asyncio.gather(*calls)
        assert [result.result for result in results] == [["answer"]] * 10
        assert tool.runs == 1
        results[0].result.append("changed")
        assert all(result.result == ["answer"] for result in results[1:])
        assert (await hub.execute("t", {"n": 1}, single_flight=True)).success
        assert tool.runs == 2  # only calls at the same time share

    run(scene())


def test_those_who_shared_an_execution_share_no_part_of_their_results(run: Run) -> None:
    async def scene() -> None:
        hub, tool = ToolHub(), Held()
        hub.register(tool, name="t", read_only=True)
        calls = [asyncio.create_task(hub.execute("t", single_flight=True)) for _ in range(3)]
        await turns()
        tool.go.set()
        for call in calls:
            result = await call
            assert (result.result, len(result.meta["attempts"])) == (["answer"], 1)
            result.result.clear()
            result.meta["attempts"].clear()

    run(scene())


def test_calls_that_differ_do_not_share(run: Run) -> None:
    async def scene() -> None:
        hub, tool = ToolHub(), Held()
        hub.register(tool, name="t", read_only=True)
        hub.register(tool, name="u", read_only=True)
        calls = [
            hub.execute("t", {"n": 1}, single_flight=True),
            hub.execute("t", {"n": 2}, single_flight=True),
            hub.execute("u", {"n": 1}, single_flight=True),
            hub.execute("t", {"n": 1}, single_flight=True, source="tools"),
            hub.execute("t", {"n": 1}),
        ]
        running = [asyncio.create_task(call) for call in calls]
        await turns()
        assert tool.runs == 5
        tool.go.set()
        await asyncio.gather(*running)

    run(scene())


def test_the_order_of_the_arguments_does_not_matter(run: Run) -> None:
    async def scene() -> None:
        hub, runs, go = ToolHub(), [], asyncio.Event()

        async def tool(a: int, b: int) -> int:
            runs.append((a, b))
            await go.wait()
            return a + b

        hub.register(tool, read_only=True)
        calls = [{"a": 1, "b": 2}, {"b": 2, "a": 1}]
        running = [asyncio.create_task(hub.execute("tool", args, single_flight=True)) for args in calls]
        await turns()
        go.set()
        assert [result.result for result in await asyncio.gather(*running)] == [3, 3]
        assert runs == [(1, 2)]

    run(scene())


def test_a_failure_is_shared_too(run: Run) -> None:
    async def scene() -> None:
        def fail() -> None:
            raise OSError("disk")

        hub, tool = ToolHub(), Held(fail)
        hub.register(tool, name="t", read_only=True)
        calls = [asyncio.create_task(hub.execute("t", single_flight=True)) for _ in range(3)]
        await turns()
        tool.go.set()
        results = await asyncio.gather(*calls)
        assert [result.kind for result in results] == [ErrorKind.TOOL_ERROR] * 3
        assert all(isinstance(result.exception, OSError) for result in results)
        assert tool.runs == 1

    run(scene())


def test_when_the_leader_is_cancelled_another_takes_over(run: Run) -> None:
    async def scene() -> None:
        hub, tool = ToolHub(), Held()
        hub.register(tool, name="t", read_only=True)
        calls = [asyncio.create_task(hub.execute("t", single_flight=True)) for _ in range(4)]
        await turns()
        assert tool.runs == 1
        calls[0].cancel()
        await asyncio.wait({calls[0]})
        assert calls[0].cancelled()
        # The next one hears of it over a thread of the runtime.
        while tool.runs < 2:
            await asyncio.sleep(0)
        tool.go.set()
        assert [(await call).result for call in calls[1:]] == [["answer"]] * 3
        assert tool.runs == 2

    run(scene())


def test_a_follower_that_is_cancelled_disturbs_no_other(run: Run) -> None:
    async def scene() -> None:
        hub, tool = ToolHub(), Held()
        hub.register(tool, name="t", read_only=True)
        calls = [asyncio.create_task(hub.execute("t", single_flight=True)) for _ in range(3)]
        await turns()
        calls[1].cancel()
        with pytest.raises(asyncio.CancelledError):
            await calls[1]
        tool.go.set()
        assert (await calls[0]).success
        assert (await calls[2]).success
        assert tool.runs == 1

    run(scene())


def test_a_follower_has_its_own_deadline(run: Run) -> None:
    async def scene() -> None:
        hub, tool = ToolHub(), Held()
        hub.register(tool, name="t", read_only=True)
        calls = [asyncio.create_task(hub.execute("t", single_flight=True, deadline=0.01)) for _ in range(3)]
        results = await asyncio.gather(*calls)
        assert [result.kind for result in results] == [ErrorKind.TIMEOUT] * 3

    run(scene())


def test_the_next_leader_within_a_deadline_answers(run: Run) -> None:
    async def scene() -> None:
        hub, tool = ToolHub(), Held()
        hub.register(tool, name="t", read_only=True)
        calls = [asyncio.create_task(hub.execute("t", single_flight=True, deadline=60)) for _ in range(2)]
        await turns()
        calls[0].cancel()
        await turns()
        tool.go.set()
        assert (await calls[1]).result == ["answer"]
        assert tool.runs == 2

    run(scene())


@pytest.mark.parametrize(
    ("ttl", "sentence"),
    [
        (float("nan"), "cache_ttl must be a number of seconds, 0 or more, got nan"),
        (-1, "cache_ttl must be a number of seconds, 0 or more, got -1"),
        ("60", "cache_ttl must be a number of seconds, got the text '60'; write cache_ttl=60"),
    ],
)
def test_a_time_to_live_that_is_none_is_refused(run: Run, ttl: Any, sentence: str) -> None:
    hub = ToolHub()
    hub.register(lambda: "answer", name="lookup")
    with pytest.raises((TypeError, ValueError), match=f"^{sentence}$"):
        run(hub.execute("lookup", cache_ttl=ttl))


def test_a_name_that_acts_is_kept_on_the_users_word() -> None:
    hub = ToolHub()

    @hub.tool(read_only=True)
    def add(a: int, b: float = 0) -> float:
        return a + b

    @hub.tool
    def add_note(a: int) -> int:
        return a

    for name, kept in (("add", True), ("add_note", False)):
        hub.call(name, {"a": 1}, cache_ttl=60)
        assert hub.call(name, {"a": 1}, cache_ttl=60).meta["cached"] is kept


def test_calls_from_several_loops_share_one_execution() -> None:
    hub, begun, go = ToolHub(), threading.Event(), threading.Event()
    runs: list[int] = []

    def tool() -> str:
        runs.append(1)
        begun.set()
        go.wait(30)
        return "answer"

    hub.register(tool, read_only=True)
    results: list[Any] = []

    def call() -> None:
        results.append(asyncio.run(hub.execute("tool", single_flight=True)).result)

    leader = threading.Thread(target=call)
    leader.start()
    assert begun.wait(30)

    async def follow() -> None:
        following = [asyncio.create_task(hub.execute("tool", single_flight=True)) for _ in range(3)]
        await turns()
        go.set()
        results.extend([result.result for result in await asyncio.gather(*following)])

    asyncio.run(follow())
    leader.join(30)
    assert results == ["answer"] * 4
    assert runs == [1]


EFFECTS = [
    ("send_mail", {}),
    ("lookup", {"effects": True}),
    ("lookup", {"read_only": False}),
    ("lookup", {"annotations": {"destructiveHint": True}}),
    ("lookup", {"annotations": {"readOnlyHint": False}}),
]


@pytest.mark.parametrize(("name", "options"), EFFECTS)
def test_tools_with_effects_never_share(run: Run, name: str, options: dict[str, Any]) -> None:
    async def scene() -> None:
        hub, tool = ToolHub(), Held()
        hub.register(tool, name=name, **options)
        calls = [asyncio.create_task(hub.execute(name, single_flight=True, cache_ttl=60)) for _ in range(3)]
        await turns()
        assert tool.runs == 3
        tool.go.set()
        results = await asyncio.gather(*calls)
        results.append(await hub.execute(name, cache_ttl=60))
        assert tool.runs == 4
        assert not any(result.meta["cached"] for result in results)

    run(scene())


def test_one_candidate_with_effects_is_enough_not_to_share(run: Run) -> None:
    hub, tool = ToolHub(), Scripted("a")
    hub.register(tool, name="lookup")
    hub.register(lambda: "b", name="lookup", source="skills", effects=True)
    for _ in range(3):
        assert not run(hub.execute("lookup", cache_ttl=60)).meta["cached"]
    assert tool.runs == 3


def test_an_answer_is_kept_and_says_so() -> None:
    hub, tool = ToolHub(), Scripted("first", "second")
    hub.register(tool, name="t", read_only=True)
    fresh = hub.call("t", cache_ttl=1000)
    kept = hub.call("t", cache_ttl=1000)
    assert (fresh.meta["cached"], kept.meta["cached"]) == (False, True)
    assert (fresh.result, kept.result, tool.runs) == ("first", "first", 1)
    assert {**kept.meta, "cached": False} == fresh.meta
    assert hub.call("t").result == "second"  # who does not ask for it does not get it
    assert hub.stats("t")["t"][0]["calls"] == 2


def test_an_answer_whose_time_is_over_is_not_used() -> None:
    hub, tool = ToolHub(), Scripted(1, 2)
    hub.register(tool, name="t", read_only=True)
    assert [hub.call("t", cache_ttl=1e-9).result for _ in range(2)] == [1, 2]


def test_failures_are_not_kept() -> None:
    hub, tool = ToolHub(), Scripted(OSError("x"), {"success": None}, {"success": False}, "fine")
    hub.register(tool, name="t", read_only=True)
    assert [hub.call("t", cache_ttl=1000).success for _ in range(5)] == [False, False, False, True, True]
    assert tool.runs == 4


def test_changing_a_result_does_not_change_what_is_kept() -> None:
    hub = ToolHub()
    hub.register(lambda: {"rows": [1]}, name="t", read_only=True)
    for _ in range(3):
        result = hub.call("t", cache_ttl=1000)
        assert result.result == {"rows": [1]}
        result.result["rows"].append(2)
        result["success"] = False
        result.meta["tool"] = "else"
    assert hub.call("t", cache_ttl=1000).success
    assert hub.call("t", cache_ttl=1000).meta["tool"] == "t"


def test_changing_the_lists_in_meta_does_not_change_what_is_kept() -> None:
    hub = ToolHub()
    hub.register(lambda: 1, name="t", read_only=True)
    for _ in range(3):
        meta = hub.call("t", cache_ttl=1000).meta
        assert meta["sources"] == ["tools"]
        assert len(meta["attempts"]) == 1
        meta["sources"].append("else")
        meta["attempts"].clear()


def test_a_value_that_cannot_be_copied_is_kept_as_it_is() -> None:
    hub, lock = ToolHub(), threading.Lock()
    hub.register(lambda: lock, name="t", read_only=True)
    assert all(hub.call("t", cache_ttl=1000).result is lock for _ in range(2))


def test_arguments_that_cannot_be_compared_are_not_shared() -> None:
    hub, runs = ToolHub(), []
    hub.register(lambda v: runs.append(v) or "ok", name="t", read_only=True)
    for _ in range(2):
        assert hub.call("t", {"v": object()}, cache_ttl=1000, single_flight=True).success
    assert len(runs) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [({1: "x"}, {"1": "x"}), ((1, 2), [1, 2]), (1, True), (None, "null"), ({None: 1}, {"null": 1})],
    ids=repr,
)
def test_arguments_of_different_types_do_not_share_an_answer(one: Any, other: Any) -> None:
    hub = ToolHub()
    hub.register(lambda v: repr(v), name="t", read_only=True)
    assert hub.call("t", {"v": one}, cache_ttl=1000).result == repr(one)
    assert hub.call("t", {"v": other}, cache_ttl=1000).result == repr(other)


def test_spellings_of_a_number_share_an_answer_and_those_of_a_text_do_not() -> None:
    hub = ToolHub()
    hub.register(lambda v: repr(v), name="t", read_only=True)
    assert hub.call("t", {"v": 1}, cache_ttl=1000).result == "1"
    assert hub.call("t", {"v": 1.0}, cache_ttl=1000).meta["cached"]
    assert hub.call("t", {"v": "caf\u00e9"}, cache_ttl=1000).success
    assert not hub.call("t", {"v": "cafe\u0301"}, cache_ttl=1000).meta.get("cached")


def test_a_removed_tool_answers_no_more() -> None:
    hub = ToolHub()
    hub.register(lambda: 1, name="t", read_only=True)
    assert hub.call("t", cache_ttl=1000).success
    hub.unregister("t")
    assert hub.call("t", cache_ttl=1000).kind is ErrorKind.NOT_FOUND


def test_a_replaced_tool_answers_for_itself() -> None:
    hub = ToolHub()
    hub.register(lambda: "old", name="t", read_only=True)
    assert hub.call("t", cache_ttl=1000).result == "old"
    hub.register(lambda: "new", name="t", read_only=True, replace=True)
    assert hub.call("t", cache_ttl=1000).result == "new"


def test_a_cached_answer_and_a_shared_flight_go_together(run: Run) -> None:
    async def scene() -> None:
        hub, tool = ToolHub(), Held()
        hub.register(tool, name="t", read_only=True)
        options: dict[str, Any] = {"single_flight": True, "cache_ttl": 1000}
        calls = [asyncio.create_task(hub.execute("t", **options)) for _ in range(3)]
        await turns()
        tool.go.set()
        assert all(await asyncio.gather(*calls))
        assert (await hub.execute("t", **options)).meta["cached"]
        assert tool.runs == 1

    run(scene())


def test_calls_by_capability_can_be_shared_and_kept_too(run: Run) -> None:
    hub, tool = ToolHub(), Scripted("a", "b")
    hub.register(tool, name="t", capabilities=["x"], read_only=True)
    for _ in range(2):
        assert run(hub.execute_by_capability("x", cache_ttl=1000, single_flight=True)).result == "a"


def test_the_kept_answers_are_bounded() -> None:
    hub = ToolHub()

    async def give(n: int) -> int:
        return n

    hub.register(give, name="t", read_only=True)
    hub.call_many([("t", {"n": n}) for n in range(1100)], cache_ttl=1000)
    assert hub.call("t", {"n": 1099}, cache_ttl=1000).meta["cached"]
    assert not hub.call("t", {"n": 0}, cache_ttl=1000).meta["cached"]


def test_a_shared_call_passes_progress_and_meta_on(run: Run, tmp_path: Path) -> None:
    """Both reach the server, whether the call leads or is not shared at all."""

    async def scene() -> None:
        async with ToolHub() as hub:
            hub.add_server("lab", command=sys.executable, args=[str(SERVER)], effects=False)
            await hub.connect()
            updates: list[dict[str, Any]] = []
            result = await hub.execute(
                "progress_forever",
                timeout=1.0,
                single_flight=True,
                cache_ttl=60,
                progress=updates.append,
                meta={"tenant": 1},
            )
            assert result.kind is ErrorKind.TIMEOUT
            assert updates

    run(scene())


@pytest.mark.parametrize("options", [{}, {"single_flight": True}, {"cache_ttl": 60}], ids=str)
def test_meta_reaches_the_server(run: Run, options: dict[str, Any]) -> None:
    """With sharing, without, and for a tool that may not be shared."""
    mirror = str(Path(__file__).parents[1] / "mcp/servers/mirror.py")

    async def scene() -> None:
        async with ToolHub() as hub:
            for id, effects in [("harmless", False), ("acts", True)]:
                env = {"SCHEMA": '{"type": "object"}'}
                hub.add_server(id, command=sys.executable, args=[mirror], env=env, effects=effects)
                result = await hub.execute("mirror", server=id, meta={"tenant/id": 7}, **options)
                assert result.meta["server_meta"]["mirror/request"]["tenant/id"] == 7, result

    run(scene())


def test_a_call_says_how_old_an_answer_may_be(run: Run) -> None:
    async def scene() -> None:
        hub, answers = ToolHub(), iter(range(3))
        hub.register(lambda: next(answers), name="get_next", read_only=True)
        first = await hub.execute("get_next", {}, cache_ttl=60)
        again = await hub.execute("get_next", {}, cache_ttl=60)
        fresh = await hub.execute("get_next", {}, cache_ttl=0)
        assert [first.result, again.result, fresh.result] == [0, 0, 1]

    run(scene())


def test_a_shared_call_leaves_nothing_behind(run: Run) -> None:
    async def scene() -> None:
        hub = ToolHub()
        hub.register(lambda: 1, name="get_one", read_only=True)
        for options in ({"cache_ttl": 60}, {"cache_ttl": 60}, {"single_flight": True}):
            assert (await hub.execute("get_one", {}, **options)).success
        assert _core.current_bridge().pending_mail == 0

    run(scene())
