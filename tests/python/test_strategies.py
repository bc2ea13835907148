"""Strategies: how several candidates of one name or capability are used."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from support.tools import Endless, Run, Scripted, offer, tried, turns
from toolhub import Strategy, ToolError, ToolHub

BROKEN = OSError("broken")


@pytest.fixture
def hub() -> ToolHub:
    return ToolHub(seed=7)


def offered(hub: ToolHub, name: str, count: int, **options: Any) -> list[Scripted]:
    """This number of candidates of one name, all succeeding."""
    tools = [Scripted(f"answer {n}") for n in range(count)]
    for n, tool in enumerate(tools):
        hub.register(tool, name=name, source="mcps", server=f"s{n}", **options)
    return tools


def test_one_candidate_is_simply_called(hub: ToolHub) -> None:
    (tool,) = offered(hub, "lookup", 1)
    result = hub.call("lookup")
    assert (result.result, tool.runs) == ("answer 0", 1)
    assert len(result.meta["attempts"]) == 1


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("lookup", {"effects": True}),
        ("lookup", {"annotations": {"destructiveHint": True}}),
        ("lookup", {"annotations": {"readOnlyHint": False}}),
        ("lookup", {"read_only": False}),
        ("send_mail", {}),
        ("deleteUser", {}),
        ("发送邮件", {}),
        ("lookup", {"effects": True, "capabilities": ["search"]}),
        ("lookup", {"effects": True, "capabilities": ["calculate"]}),
    ],
)
@pytest.mark.parametrize("count", [2, 3, 5])
def test_a_tool_with_effects_is_tried_one_by_one(
    hub: ToolHub, name: str, options: dict[str, Any], count: int
) -> None:
    tools = offered(hub, name, count, **options)
    result = hub.call(name)
    assert result.meta["strategy"] == "fallback"
    assert "effects" in result.meta["rule"]
    assert [tool.runs for tool in tools] == [1] + [0] * (count - 1)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("send_mail", {"effects": False}),
        ("send_mail", {"read_only": True}),
        ("send_mail", {"annotations": {"readOnlyHint": True}}),
        ("get_updates", {}),
        ("lookup", {"annotations": {"destructiveHint": False}}),
    ],
)
def test_a_declaration_comes_before_the_guess_from_the_name(
    hub: ToolHub, name: str, options: dict[str, Any]
) -> None:
    offered(hub, name, 2, **options)
    assert not hub.get(name).effects
    assert hub.call(name).meta["strategy"] == "all"


def test_one_candidate_with_effects_makes_the_whole_name_careful(hub: ToolHub) -> None:
    hub.register(lambda: 1, name="lookup")
    hub.register(lambda: 2, name="lookup", source="skills", effects=True)
    assert hub.call("lookup").meta["strategy"] == "fallback"


@pytest.mark.parametrize(
    ("capabilities", "count", "strategy"),
    [
        (["calculate"], 2, "first"),
        (["time"], 2, "first"),
        (["calculate"], 4, "first"),
        (["search"], 2, "all"),
        (["search"], 4, "all"),
        (["extract"], 4, "all"),
        ([], 2, "all"),
        ([], 3, "first"),
        (["weather"], 5, "first"),
    ],
)
def test_auto_by_name(hub: ToolHub, capabilities: list[str], count: int, strategy: str) -> None:
    offered(hub, "lookup", count, capabilities=capabilities)
    result = hub.call("lookup")
    assert result.meta["strategy"] == strategy
    assert result.meta["rule"]
    assert hub.call("lookup", strategy=Strategy.AUTO).meta["strategy"] == strategy


@pytest.mark.parametrize(
    ("capability", "count", "strategy"),
    [
        ("calculate", 2, "all"),
        ("time", 2, "all"),
        ("search", 2, "all"),
        ("weather", 2, "all"),
        ("calculate", 3, "first"),
        ("time", 4, "first"),
        ("search", 3, "all"),
        ("weather", 3, "first"),
    ],
)
def test_auto_by_capability_looks_at_two_candidates_first(
    hub: ToolHub, capability: str, count: int, strategy: str
) -> None:
    for n in range(count):
        hub.register(lambda n=n: n, name=f"lookup_{n}", capabilities=[capability])
    assert hub.call_by_capability(capability).meta["strategy"] == strategy


def test_auto_by_capability_is_careful_with_effects(hub: ToolHub) -> None:
    tools = [Scripted(n) for n in range(2)]
    for n, tool in enumerate(tools):
        hub.register(tool, name=f"t{n}", capabilities=["email"], effects=True)
    assert hub.call_by_capability("email").meta["strategy"] == "fallback"
    assert sum(tool.runs for tool in tools) == 1


@pytest.mark.parametrize("strategy", ["first", "all", Strategy.FIRST, Strategy.ALL])
def test_declared_effects_never_run_twice_at_once_whatever_is_asked(hub: ToolHub, strategy: str) -> None:
    tools = offered(hub, "lookup", 3, effects=True)
    result = hub.call("lookup", strategy=strategy)
    assert result.meta["strategy"] == "fallback"
    assert sum(tool.runs for tool in tools) == 1


@pytest.mark.parametrize("strategy", ["first", "all"])
def test_a_guess_from_the_name_gives_way_to_the_users_word_about_the_tool(
    hub: ToolHub, strategy: str
) -> None:
    tools = offered(hub, "send_greeting", 2)
    assert hub.call("send_greeting", strategy=strategy).meta["strategy"] == "fallback"
    assert sum(tool.runs for tool in tools) == 1
    offered(hub, "post_office", 2, read_only=True)
    assert hub.call("post_office", strategy="all").meta["source_count"] == 2


@pytest.mark.parametrize("strategy", ["auto", "first", "all", "fallback"])
@pytest.mark.parametrize(
    "failure",
    [
        OSError("perhaps sent"),
        {"success": None},
        {"success": False, "error": "perhaps sent"},
        ToolError("lost", kind="closed"),
        ToolError("another server is away", kind="connect"),
        SystemExit(1),
    ],
    ids=["raises", "success none", "success false", "closed", "connect", "exit"],
)
def test_after_a_failure_that_may_have_had_effects_no_other_is_tried(
    hub: ToolHub, strategy: str, failure: Any
) -> None:
    first, second = Scripted(failure), Scripted("sent twice")
    for server, tool in [("a", first), ("b", second)]:
        hub.register(tool, name="lookup", source="mcps", server=server, effects=True)
    result = hub.call("lookup", strategy=strategy)
    assert not result.success
    assert (first.runs, second.runs) == (1, 0)


def test_after_a_time_out_of_a_tool_with_effects_no_other_is_tried(run: Run) -> None:
    hub, slow, second = ToolHub(timeout=0.01), Endless(), Scripted("sent twice")
    for server, tool in [("a", slow), ("b", second)]:
        hub.register(tool, name="send", source="mcps", server=server)
    result = run(hub.execute("send"))
    assert (result.kind, slow.began, second.runs) == ("timeout", 1, 0)


@pytest.mark.parametrize(
    "word",
    [
        {"effects": True, "idempotent": True},
        {"annotations": {"destructiveHint": True, "idempotentHint": True}},
    ],
)
@pytest.mark.parametrize("failure", [BROKEN, {"success": False}])
def test_an_idempotent_tool_is_not_followed_by_another_provider(
    hub: ToolHub, word: dict[str, Any], failure: Any
) -> None:
    tools = [Scripted(failure), Scripted("sent")]
    for server, tool in zip("ab", tools, strict=True):
        hub.register(tool, name="send", source="mcps", server=server, **word)
    assert not hub.call("send").success
    assert [tool.runs for tool in tools] == [1, 0]


def test_a_failed_candidate_without_effects_does_not_hold_the_next_one_back(hub: ToolHub) -> None:
    reads, sends = Scripted(BROKEN), Scripted("sent")
    hub.register(reads, name="reads", capabilities=["email"], read_only=True, priority=0)
    hub.register(sends, name="sends", capabilities=["email"], effects=True, priority=1)
    result = hub.call_by_capability("email")
    assert (reads.runs, sends.runs) == (1, 1)
    assert result.result == "sent"


def test_the_order_is_priority_then_registration(hub: ToolHub) -> None:
    for n, (source, priority) in enumerate(
        [("mcps", None), ("skills", None), ("tools", None), ("mcps", -1), ("mcps", 1)]
    ):
        hub.register(
            Scripted(BROKEN), name="t", source=source, server=f"{n}", priority=priority, read_only=True
        )
    assert tried(hub.call("t", strategy="fallback")) == ["3", "2", "1", "4", "0"]


def test_the_last_successful_candidate_comes_first(hub: ToolHub) -> None:
    offer(hub, "t", a=Scripted(BROKEN, "a"), b=Scripted("b", "b", BROKEN, "b"), c=Scripted("c"))
    assert tried(hub.call("t", strategy="fallback")) == ["a", "b"]
    assert tried(hub.call("t", strategy="fallback")) == ["b"]
    assert tried(hub.call("t", strategy="fallback")) == ["b", "c"]  # a has failed before, so c comes first
    assert tried(hub.call("t", strategy="fallback")) == ["c"]


def test_health_orders_candidates_of_one_priority(hub: ToolHub) -> None:
    broken = [Scripted(BROKEN) for _ in range(4)]
    offer(hub, "t", a=broken[0], b=broken[1], c=broken[2])
    for server in "aab":
        hub.call("t", server=server)
    assert tried(hub.call("t", strategy="fallback")) == ["c", "b", "a"]
    hub.register(broken[3], name="t", source="skills")
    hub.call("t", source="skills")
    assert tried(hub.call("t", strategy="fallback"))[0] == "skills"  # priority comes before health


def test_by_capability_the_order_is_priority_then_a_seeded_shuffle() -> None:
    def order(seed: int | None) -> list[str]:
        hub = ToolHub(seed=seed, limits={"breaker_threshold": 0})
        for n in range(6):
            hub.register(Scripted(BROKEN), name=f"t{n}", capabilities=["x"], priority=n // 3)
        result = hub.call_by_capability("x", strategy="fallback")
        return [row["tool"] for row in result.meta["attempts"]]

    orders = {seed: order(seed) for seed in range(20)}
    assert all(order(seed) == known for seed, known in orders.items())
    assert all({*known[:3]} == {"t0", "t1", "t2"} for known in orders.values())
    assert len({tuple(known[:3]) for known in orders.values()}) > 1
    assert sorted(order(None)) == sorted(orders[0])


def test_the_first_success_wins_and_a_failure_does_not_end_the_race(hub: ToolHub, run: Run) -> None:
    async def broken() -> None:
        raise BROKEN

    async def quick() -> str:
        await turns()
        return "quick"

    offer(hub, "t", broken=broken, slow=Endless(), quick=quick)
    result = run(hub.execute("t", strategy="first"))
    assert (result.result, result.meta["server"], result.meta["strategy"]) == ("quick", "quick", "first")
    assert {row["server"]: row.get("kind") for row in result.meta["attempts"]} == {
        "broken": "tool_error",
        "slow": "cancelled",
        "quick": None,
    }


def test_losers_are_cancelled_and_their_clean_up_is_awaited(hub: ToolHub, run: Run) -> None:
    async def scene() -> None:
        cleaned: list[str] = []
        begun = asyncio.Event()

        async def loser() -> None:
            try:
                begun.set()
                await asyncio.Event().wait()
            finally:
                await turns(5)  # a clean-up that takes a while
                cleaned.append("loser")

        async def winner() -> str:
            await begun.wait()
            return "won"

        offer(hub, "t", loser=loser, other=loser, winner=winner)
        result = await hub.execute("t", strategy="first")
        assert (result.result, cleaned) == ("won", ["loser", "loser"])

    run(scene())


class Batch:
    """Candidates that fail; notes at each start who was inside."""

    def __init__(self) -> None:
        self.inside: list[int] = []
        self.starts: list[list[int]] = []

    def member(self, n: int) -> Callable[[], Any]:
        async def fails() -> None:
            self.inside.append(n)
            self.starts.append(list(self.inside))
            await turns()
            self.inside.remove(n)
            raise BROKEN

        return fails


@pytest.mark.parametrize("strategy", ["first", "all"])
@pytest.mark.parametrize("size", [None, 2, 4])
def test_a_batch_starts_together_and_the_rest_is_tried_one_by_one(
    hub: ToolHub, run: Run, strategy: str, size: int | None
) -> None:
    async def scene() -> None:
        batch, together = Batch(), size or 3
        offer(hub, "t", **{f"s{n}": batch.member(n) for n in range(6)})
        result = await hub.execute("t", strategy=strategy, max_parallel=size)
        assert not result.success
        assert tried(result) == [f"s{n}" for n in range(6)]
        assert batch.starts == [list(range(n + 1)) for n in range(together)] + [
            [n] for n in range(together, 6)
        ]

    run(scene())


def test_the_size_of_the_batch_is_an_option_of_the_hub_too(run: Run) -> None:
    hub, slow = ToolHub(max_parallel=1), [Endless(), Endless()]
    offer(hub, "t", a=Scripted("a"), b=slow[0], c=slow[1])
    assert tried(run(hub.execute("t", strategy="all"))) == ["a"]
    assert [tool.began for tool in slow] == [0, 0]


def test_fallback_ends_with_the_first_success(hub: ToolHub) -> None:
    tools = [Scripted(BROKEN), Scripted({"success": False}), Scripted("third"), Scripted("fourth")]
    offer(hub, "t", **{f"s{n}": tool for n, tool in enumerate(tools)})
    result = hub.call("t", strategy="fallback")
    assert (result.result, tried(result)) == ("third", ["s0", "s1", "s2"])
    assert [tool.runs for tool in tools] == [1, 1, 1, 0]


def test_a_hedge_starts_only_when_the_first_has_not_answered_by_then(hub: ToolHub, run: Run) -> None:
    offer(hub, "quick", a=Scripted("a"), b=Scripted("b"))
    assert tried(run(hub.execute("quick", strategy="first", hedge_after=1000))) == ["a"]
    slow = Endless()
    offer(hub, "slow", a=slow, b=Scripted("b"))
    result = run(hub.execute("slow", strategy="first", hedge_after=0.01))
    assert (result.result, slow.cleaned) == ("b", 1)
    offer(hub, "broken", a=Scripted(BROKEN), b=Scripted("b"), c=Scripted("c"))
    assert tried(run(hub.execute("broken", strategy="first", hedge_after=1000))) == ["a", "b"]


def test_all_keeps_the_successes_and_labels_them(hub: ToolHub) -> None:
    hub.register(lambda: "one", name="t")
    hub.register(lambda: {"two": 2}, name="t", source="mcps", server="brave", read_only=True)
    hub.register(lambda: {"success": False}, name="t", source="skills")
    result = hub.call("t", strategy="all")
    assert result.result == '[tools] one\n\n[mcps:brave] {"two": 2}'
    meta = result.meta
    assert (meta["synthesized"], meta["synthesis_method"]) == (True, "simple_merge")
    assert (meta["source_count"], meta["sources"]) == (2, ["tools", "mcps"])
    assert [row["ok"] for row in meta["attempts"]] == [True, False, True]


def test_all_with_one_success_gives_it_as_it_is(hub: ToolHub) -> None:
    value = {"rows": [1, 2]}
    offer(hub, "t", a=Scripted(BROKEN), b=Scripted(value))
    result = hub.call("t", strategy="all")
    assert result.result is value
    assert (result.meta["synthesized"], result.meta["source_count"]) == (False, 1)


def test_the_same_answer_is_merged_to_one_and_says_so(hub: ToolHub) -> None:
    hub.register(lambda: "It is 5 pm", name="t")
    hub.register(lambda: "It is 5 pm", name="t", source="skills")
    assert hub.call("t", strategy="all").result == "[tools, skills] (same answer from 2) It is 5 pm"


@pytest.mark.parametrize(
    ("one", "other"), [(5, -5), ("1.5", "15"), ("C", "C++"), ("😀", "🎉"), ("a b", "ab"), ([1, 23], [12, 3])]
)
def test_answers_that_differ_in_meaning_are_not_merged(hub: ToolHub, one: Any, other: Any) -> None:
    hub.register(lambda: one, name="t")
    hub.register(lambda: other, name="t", source="skills")
    merged = hub.call("t", strategy="all").result
    assert "same answer" not in merged
    assert f"[tools] {one}" in merged
    assert f"[skills] {other}" in merged


def test_each_part_of_a_merge_is_at_most_300_characters(hub: ToolHub) -> None:
    hub.register(lambda: "é" * 1000, name="t")
    hub.register(lambda: "short", name="t", source="skills")
    first, _ = hub.call("t", strategy="all").result.split("\n\n")
    shown = first.removeprefix("[tools] ")
    assert 200 < len(shown) <= 300
    assert "of 1,000 characters cut" in shown


def test_merging_the_same_answers_again_gives_the_same_text(hub: ToolHub) -> None:
    hub.register(lambda: "one", name="t", read_only=True)
    hub.register(lambda: "two", name="t", source="skills", read_only=True)
    assert {hub.call("t", strategy="all").result for _ in range(4)} == {"[tools] one\n\n[skills] two"}


def test_all_asks_three_of_many(hub: ToolHub) -> None:
    tools = offered(hub, "t", 5, read_only=True)
    result = hub.call("t", strategy="all")
    assert [tool.runs for tool in tools] == [1, 1, 1, 0, 0]
    assert result.meta["source_count"] == 3


def test_no_success_gives_the_first_error_and_all_of_them_in_meta(hub: ToolHub) -> None:
    offer(
        hub,
        "t",
        a=Scripted(OSError("first")),
        b=Scripted(ToolError("second", kind="auth")),
        c=Scripted({"success": False}),
    )
    result = hub.call("t", strategy="all")
    assert "first" in str(result.error)
    assert result.kind == "tool_error"
    assert [(row["server"], row["kind"]) for row in result.meta["errors"]] == [
        ("a", "tool_error"),
        ("b", "auth"),
        ("c", "tool_error"),
    ]


@pytest.mark.parametrize("strategy", ["auto", "first", "all", "fallback"])
def test_a_candidate_whose_schema_refuses_is_never_started_and_is_listed(hub: ToolHub, strategy: str) -> None:
    strict = Scripted("never")
    hub.register(strict, name="t", parameters={"properties": {"q": {"type": "integer"}}})
    hub.register(lambda q: f"found {q}", name="t", source="skills")
    result = hub.call("t", {"q": "cats"}, strategy=strategy)
    assert result.result == "found cats"
    (skipped,) = result.meta["skipped"]
    assert (skipped["source"], skipped["kind"]) == ("tools", "invalid_arguments")
    assert "q: expected an integer" in skipped["error"]
    assert tried(result) == ["skills"]
    assert strict.runs == 0
    assert hub.stats("t")["t"][0]["calls"] == 0


def test_a_skipped_candidate_frees_its_place_in_the_batch(hub: ToolHub) -> None:
    for n in range(6):
        hub.register(lambda a=0, n=n: n, name=f"fits{n}", capabilities=["x"], priority=n)
        hub.register(lambda b: b, name=f"refuses{n}", capabilities=["x"], priority=n)
    result = hub.call_by_capability("x", {"a": 1}, strategy="all")
    assert result.meta["source_count"] == 3
    assert all(row["tool"].startswith("refuses") for row in result.meta["skipped"])


def test_when_everybody_refuses_the_arguments_the_error_names_them(hub: ToolHub) -> None:
    for source in ("tools", "skills"):
        hub.register(lambda city: city, name="t", source=source)
    result = hub.call("t", {"town": "Rome"})
    assert result.kind == "invalid_arguments"
    assert "city" in str(result.error)
    assert result.meta["attempts"] == []
    assert len(result.meta["skipped"]) == 2
    assert result.meta["error"]["outcome"] == "not_sent"


def test_a_candidate_that_keeps_failing_is_rested_and_comes_last(run: Run) -> None:
    hub, bad = ToolHub(limits={"breaker_threshold": 2, "breaker_rest": 1000}), Scripted(BROKEN)
    offer(hub, "t", bad=bad, a=Scripted("a"), b=Scripted(BROKEN), c=Scripted(BROKEN))
    for _ in range(2):
        hub.call("t", server="bad")
    assert hub.stats("t")["t"][0]["breaker"] == "resting"
    assert tried(hub.call("t", strategy="fallback")) == ["a"]
    assert "bad" not in tried(hub.call("t", strategy="all", max_parallel=10))
    assert bad.runs == 2
    hub.unregister("t", server="a")
    assert tried(hub.call("t", strategy="fallback"))[-1] == "bad"  # better than nothing
    assert bad.runs == 3


def test_a_rested_candidate_is_probed_once_at_a_time_and_comes_back(run: Run) -> None:
    async def scene() -> None:
        hub = ToolHub(limits={"breaker_threshold": 1, "breaker_rest": 0})
        begun, go, fails = asyncio.Event(), asyncio.Event(), itertools.chain([True], itertools.repeat(False))

        async def recovers() -> str:
            if next(fails):
                raise BROKEN
            begun.set()
            await go.wait()
            return "back"

        def state() -> str:
            return hub.stats("t")["t"][0]["breaker"]

        offer(hub, "t", shaky=recovers, sound=Scripted("sound"))
        await hub.execute("t", server="shaky")
        assert state() == "half_open"
        probe = asyncio.create_task(hub.execute("t", server="shaky"))
        await begun.wait()
        assert state() == "resting"
        assert tried(await hub.execute("t", strategy="all")) == ["sound"]
        go.set()
        assert (await probe).result == "back"
        assert state() == "closed"

    run(scene())


@pytest.mark.parametrize("kind", ["invalid_arguments", "not_allowed", "overloaded", "not_found"])
def test_failures_that_are_the_callers_doing_rest_no_candidate(kind: str) -> None:
    hub = ToolHub(limits={"breaker_threshold": 1, "breaker_rest": 1000})
    hub.register(Scripted(ToolError("no", kind=kind)), name="t")
    hub.call("t")
    assert hub.stats("t")["t"][0]["breaker"] == "closed"


def test_a_threshold_of_zero_turns_the_breaker_off() -> None:
    hub = ToolHub(limits={"breaker_threshold": 0})
    hub.register(Scripted(BROKEN), name="t")
    for _ in range(20):
        hub.call("t")
    assert hub.stats("t")["t"][0]["breaker"] == "closed"
