"""The calls of a message are made in its order: what may act runs alone, and not after a call that is not cleared up."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhub import ErrorKind, ToolError, ToolHub
from toolhub.permissions import Approval

SERVER = Path(__file__).parent / "listed_late.py"


def message(*calls: tuple[str, dict[str, Any]]) -> str:
    blocks = (json.dumps({"tool_name": name, "arguments": args}) for name, args in calls)
    return "".join(f"<tool_call>{block}</tool_call>" for block in blocks)


@pytest.mark.parametrize("tool", ["delete_file", "frobnicate"])
@pytest.mark.parametrize("is_listed", [True, False])
@pytest.mark.anyio
async def test_calls_of_a_server_run_in_order_whether_it_has_listed_its_tools_or_not(
    tmp_path: Path, tool: str, is_listed: bool
) -> None:
    log = tmp_path / "log"
    hub = ToolHub(
        {"mcpServers": {"files": {"command": sys.executable, "args": [str(SERVER), str(log), tool]}}}
    )
    if is_listed:
        await hub.connect()
    outcome = await hub.run(message(*[(tool, {"n": n}) for n in (1, 2, 3)]))
    await hub.aclose()
    assert [result.result for result in outcome.results] == ["1", "2", "3"]
    assert log.read_text().split("\n")[:-1] == ["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"]


@pytest.mark.anyio
async def test_a_read_of_a_server_that_has_not_listed_its_tools_does_not_overtake_a_write(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    args = [str(SERVER), str(log), "delete_file", "read_file"]
    hub = ToolHub({"mcpServers": {"files": {"command": sys.executable, "args": args}}})
    calls = [("delete_file", {"n": 1}), ("read_file", {"n": 2}), ("read_file", {"n": 3})]
    await hub.run(message(*calls))
    await hub.aclose()
    lines = log.read_text().split("\n")[:-1]
    assert lines[:2] == ["begin 1", "end 1"]
    assert set(lines[2:4]) == {"begin 2", "begin 3"}, "reads run together"


@pytest.mark.anyio
async def test_tools_of_unknown_effects_never_overlap() -> None:
    hub, inside, most = ToolHub(), 0, 0

    @hub.tool
    async def frobnicate(n: int) -> int:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0)
        inside -= 1
        return n

    assert hub.get("frobnicate").safety == "unknown"
    outcome = await hub.run(message(*[("frobnicate", {"n": n}) for n in range(5)]))
    assert [result.result for result in outcome.results] == [0, 1, 2, 3, 4]
    assert most == 1


def three_writes(**options: Any) -> tuple[list[int], Any]:
    hub, ran = ToolHub(), []

    @hub.tool(effects=True)
    async def write(n: int) -> int:
        ran.append(n)
        if n == 4:
            await asyncio.Event().wait()
        if n == 5:
            raise ToolError("the disk is full")
        return n

    @hub.tool(read_only=True)
    async def look(n: int) -> int:
        return n

    first = options.pop("first")
    calls = [("write", {"n": first}), ("look", {"n": 8}), ("write", {"n": 9})]
    return ran, hub.run_sync(message(*calls), **options)


def refuse_first(asked: Approval) -> bool:
    return asked.arguments["n"] == 9


@pytest.mark.parametrize(
    ("options", "kind", "why"),
    [
        ({"first": 1, "approve": "ask"}, "paused", "waits for a decision"),
        ({"first": 1, "approve": refuse_first}, "not_allowed", "was refused"),
        ({"first": 4, "timeout": 0.05}, "timeout", "may have run (outcome unknown)"),
    ],
)
def test_nothing_that_may_act_is_made_after_a_call_that_is_not_cleared_up(
    options: dict[str, Any], kind: str, why: str
) -> None:
    ran, outcome = three_writes(**options)
    first, read, second = outcome.results
    assert first.kind == kind
    assert read.result == 8, "what is harmless is still made"
    assert (second.kind, second.meta["error"]["outcome"]) == (ErrorKind.NOT_SENT, "not_sent")
    assert second.error == (
        f"Tool 'write' was not called: 'write', called earlier in the same message, {why}. "
        "Make the call again if it is still wanted."
    )
    assert second.error in outcome.messages[0]["content"]
    assert 9 not in ran


def test_a_call_that_has_failed_does_not_stop_the_next_one() -> None:
    ran, outcome = three_writes(first=5)
    assert [result.kind for result in outcome.results] == ["tool_error", None, None]
    assert ran == [5, 9]


def test_the_reason_is_told_in_chinese_too() -> None:
    hub = ToolHub(lang="zh")
    hub.register(lambda: 1, name="write", effects=True)
    outcome = hub.run_sync(message(("write", {}), ("write", {})), approve=lambda asked: False)
    expected = "未调用工具 'write'：同一条消息中先于它调用的 'write' 被拒绝。如果仍然需要，请再次调用。"
    assert outcome.results[1].error == expected


def test_nobody_is_asked_about_a_call_that_is_not_made() -> None:
    hub, asked = ToolHub(), []
    hub.register(lambda n: n, name="write", effects=True)

    def approve(approval: Approval) -> bool:
        asked.append(approval.arguments["n"])
        return False

    hub.run_sync(message(("write", {"n": 1}), ("write", {"n": 2})), approve=approve)
    assert asked == [1]


def test_the_deadline_bounds_the_wait_for_earlier_calls() -> None:
    hub, ran = ToolHub(), []

    @hub.tool(effects=True)
    async def write(n: int) -> None:
        ran.append(n)
        await asyncio.Event().wait()

    outcome = hub.run_sync(message(("write", {"n": 1}), ("write", {"n": 2})), deadline=0.1)
    first, second = outcome.results
    assert first.kind == "timeout"
    assert second.meta["error"]["outcome"] == "not_sent"
    assert ran == [1]


KINDS = st.sampled_from(["harmless", "acting", "unknown", "missing"])
ENDS = st.sampled_from(["done", "failed", "refused", "lost"])
CALLS = st.lists(st.tuples(KINDS, ENDS, st.integers(0, 5)), min_size=1, max_size=8)


@settings(max_examples=150, deadline=None)
@given(calls=CALLS, concurrency=st.integers(1, 8))
def test_any_message_is_made_in_its_order(calls: list[tuple[str, str, int]], concurrency: int) -> None:
    hub, log = ToolHub(), []

    async def body(n: int) -> int:
        _, end, turns = calls[n]
        log.append(("begin", n))
        for _ in range(turns):
            await asyncio.sleep(0)
        log.append(("end", n))
        match end:
            case "failed":
                raise ToolError("it failed")
            case "lost":
                raise ToolError("the line went dead", "closed")
        return n

    hub.register(body, name="harmless", read_only=True)
    hub.register(body, name="acting", effects=True)
    hub.register(body, name="unknown")

    async def approve(asked: Approval) -> bool:
        await asyncio.sleep(0)
        return calls[asked.arguments["n"]][1] != "refused"

    text = message(*[(kind, {"n": n}) for n, (kind, _, _) in enumerate(calls)])
    outcome = asyncio.run(hub.run(text, approve=approve, concurrency=concurrency))
    began = {n: log.index(("begin", n)) for what, n in log if what == "begin"}
    ended = {n: log.index(("end", n)) for what, n in log if what == "end"}
    stopped = False
    for n, (kind, end, _) in enumerate(calls):
        result = outcome.results[n]
        if kind == "missing":
            assert result.kind == "not_found"
            continue
        acts = kind != "harmless"
        if acts and stopped:
            assert (result.kind, n in began) == ("not_sent", False)
            continue
        if acts and end == "refused":
            assert (result.kind, n in began) == ("not_allowed", False)
            stopped = True
            continue
        assert result.success is (end not in ("failed", "lost"))
        # It began after everything before it that acts, and, if it acts itself, after all before it.
        for earlier in range(n):
            if earlier in ended and (acts or calls[earlier][0] != "harmless"):
                assert ended[earlier] < began[n]
        stopped = stopped or (acts and end == "lost")


def test_one_unknown_candidate_of_several_stops_later_effects_of_the_message(tmp_path: Path) -> None:
    made: list[str] = []

    async def main() -> None:
        async with ToolHub(store=tmp_path / "hub.db") as hub:

            async def hang(q: str) -> None:
                made.append("hang")
                await asyncio.Event().wait()

            async def quick(q: str) -> int:
                made.append("quick")
                return 2

            @hub.tool
            async def send_mail(to: str) -> None:
                made.append("mail")

            hub.register(hang, name="blip")
            hub.register(quick, name="blip", source="skills")
            calls = [
                '{"name": "blip", "arguments": {"q": "1"}}',
                '{"name": "send_mail", "arguments": {"to": "x"}}',
            ]
            message = "".join(f"<tool_call>{call}</tool_call>" for call in calls)
            merged, mail = (await hub.run(message, timeout=0.1, strategy="all")).results
            assert merged.success
            assert mail.kind == "not_sent"
            assert "blip" in str(mail.error)

    asyncio.run(main())
    assert sorted(made) == ["hang", "quick"]
