"""`approve=`: the same on every way to call a tool, and only `True` approves."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhub import ErrorKind, ToolHub, ToolResult
from toolhub.agents import ChatLoop, ExecutionAgent
from toolhub.permissions import Approval, Permissions

CALL = '<tool_call>{"name": "wipe", "arguments": {"disk": "c"}}</tool_call>'
REQUEST = {"tool_name": "wipe", "arguments": {"disk": "c"}}
STEP = {"id": 1, "description": "wipe", "tool_type": "wipe", "arguments": {"disk": "c"}}


@pytest.fixture
def hub() -> ToolHub:
    hub = ToolHub()
    ran: list[str] = []
    hub.ran = ran  # type: ignore[attr-defined]

    @hub.tool(effects=True, capabilities=["wipe"])
    def wipe(disk: str) -> str:
        ran.append(disk)
        return "wiped"

    @hub.tool(read_only=True, capabilities=["look"])
    def look(disk: str) -> str:
        return "full"

    return hub


WAYS: dict[str, Callable[[ToolHub, Any], Any]] = {
    "execute": lambda hub, approve: hub.execute("wipe", {"disk": "c"}, approve=approve),
    "call": lambda hub, approve: hub.call("wipe", {"disk": "c"}, approve=approve),
    "execute_by_capability": lambda hub, approve: hub.execute_by_capability(
        "wipe", {"disk": "c"}, approve=approve
    ),
    "call_by_capability": lambda hub, approve: hub.call_by_capability("wipe", {"disk": "c"}, approve=approve),
    "execute_many": lambda hub, approve: hub.execute_many([("wipe", {"disk": "c"})], approve=approve),
    "call_many": lambda hub, approve: hub.call_many([("wipe", {"disk": "c"})], approve=approve),
    "dispatch": lambda hub, approve: hub.dispatch(REQUEST, approve=approve),
    "dispatch_sync": lambda hub, approve: hub.dispatch_sync(REQUEST, approve=approve),
    "run": lambda hub, approve: hub.run(CALL, approve=approve),
    "run_sync": lambda hub, approve: hub.run_sync(CALL, approve=approve),
}


def made(way: str, hub: ToolHub, approve: Any) -> ToolResult:
    got = WAYS[way](hub, approve)
    if asyncio.iscoroutine(got):
        got = asyncio.run(got)
    got = getattr(got, "results", got)
    return got[0] if isinstance(got, list) else got


async def later_yes(call: Approval) -> bool:
    await asyncio.sleep(0)
    return True


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_call_asks(hub: ToolHub, way: str) -> None:
    asked: list[tuple[str, Any]] = []

    def no(call: Approval) -> bool:
        asked.append((call.name, call.arguments))
        return False

    refused = made(way, hub, no)
    assert refused.error == "Tool 'wipe' was not called: it was not approved."
    assert (refused.kind, refused.meta["error"]["outcome"]) == (ErrorKind.NOT_ALLOWED, "not_sent")
    assert asked == [("wipe", {"disk": "c"})]
    waiting = made(way, hub, "ask")
    assert waiting.kind is ErrorKind.PAUSED
    assert hub.ran == []  # type: ignore[attr-defined]
    hub.approve(str(waiting.paused))
    assert made(way, hub, "ask").result == "wiped"
    assert made(way, hub, later_yes).result == "wiped"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("answer", [1, "yes", "True", object(), [True], 0, ""])
def test_what_is_not_a_bool_is_a_mistake_and_never_an_approval(hub: ToolHub, way: str, answer: Any) -> None:
    result = made(way, hub, lambda call: answer)
    kind = type(answer).__name__
    assert result.error == f"Tool 'wipe' was not called: approve must answer True, False or None, got {kind}."
    assert hub.ran == []  # type: ignore[attr-defined]


def test_harmless_calls_are_not_asked_about(hub: ToolHub) -> None:
    def never(call: Approval) -> bool:
        raise AssertionError

    assert hub.call("look", {"disk": "c"}, approve=never).result == "full"
    assert hub.call_by_capability("look", {"disk": "c"}, approve="ask").result == "full"


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([True], "wiped"),
        ([None, True], "wiped"),
        ([None, None, True], "wiped"),
        ([True, False], "wiped"),
        ([False, True], "not_allowed"),
        ([None, False, True], "not_allowed"),
        ([None], "not_allowed"),
        ([None, None], "not_allowed"),
        (["ask"], "paused"),
        ([None, "ask", False], "paused"),
        ([True, "ask"], "wiped"),
        ([False, "ask"], "not_allowed"),
    ],
)
def test_in_a_list_the_first_answer_counts_and_the_end_refuses(
    hub: ToolHub, answers: list[Any], expected: str
) -> None:
    def approver(answer: Any) -> Any:
        return answer if answer == "ask" else lambda call: answer

    result = hub.call("wipe", {"disk": "c"}, approve=[approver(answer) for answer in answers])
    assert (result.kind or result.result) == expected


ANSWERS = st.lists(st.sampled_from([True, False, None, "ask", 1]), min_size=1, max_size=5)


@given(ANSWERS)
def test_any_list_is_decided_by_its_first_answer(answers: list[Any]) -> None:
    hub, asked = ToolHub(), []
    hub.register(lambda: "wiped", name="wipe", effects=True)

    def approver(at: int, answer: Any) -> Any:
        def answered(call: Approval) -> Any:
            asked.append(at)
            return answer

        return answer if answer == "ask" else answered

    result = hub.call("wipe", {}, approve=[approver(at, answer) for at, answer in enumerate(answers)])
    first = next((at for at, answer in enumerate(answers) if answer is not None), len(answers))
    decided = answers[first] if first < len(answers) else False
    match decided:
        case True if decided is True:
            assert result.result == "wiped"
        case "ask":
            assert result.kind is ErrorKind.PAUSED
        case _:
            assert result.kind is ErrorKind.NOT_ALLOWED
    assert asked == [at for at in range(min(first + 1, len(answers))) if answers[at] != "ask"]


@pytest.mark.parametrize("wrong", ["yes", [], [1], 5, ["ask", None]])
@pytest.mark.parametrize("way", WAYS)
def test_an_approver_must_be_a_function_or_ask(hub: ToolHub, way: str, wrong: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="approve must be"):
        made(way, hub, wrong)


@pytest.mark.parametrize("way", ["call", "call_by_capability", "call_many", "dispatch_sync", "run_sync"])
def test_the_deadline_bounds_the_wait_for_approvers(hub: ToolHub, way: str) -> None:
    release = threading.Event()

    def hangs(call: Approval) -> bool:
        return release.wait(60)

    ways: dict[str, Callable[[], Any]] = {
        "call": lambda: hub.call("wipe", {"disk": "c"}, approve=hangs, deadline=0.1),
        "call_by_capability": lambda: hub.call_by_capability(
            "wipe", {"disk": "c"}, approve=hangs, deadline=0.1
        ),
        "call_many": lambda: hub.call_many([("wipe", {"disk": "c"})], approve=hangs, deadline=0.1)[0],
        "dispatch_sync": lambda: hub.dispatch_sync(REQUEST, approve=hangs, deadline=0.1),
        "run_sync": lambda: hub.run_sync(CALL, approve=hangs, deadline=0.1).results[0],
    }
    try:
        result = ways[way]()
    finally:
        release.set()
    assert (result.kind, result.meta["error"]["outcome"]) == (ErrorKind.TIMEOUT, "not_sent")
    assert hub.ran == []  # type: ignore[attr-defined]


def test_many_calls_are_asked_about_one_at_a_time(hub: ToolHub) -> None:
    inside, most = 0, 0

    async def one_by_one(call: Approval) -> bool:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0)
        inside -= 1
        return True

    results = hub.call_many([("wipe", {"disk": str(n)}) for n in range(8)], approve=one_by_one)
    assert [result.result for result in results] == ["wiped"] * 8
    assert most == 1


def test_explain_tells_whether_and_by_whom_a_call_is_asked_about(hub: ToolHub) -> None:
    def check_disk(call: Approval) -> None: ...

    def line(*args: Any, **options: Any) -> str:
        (found,) = [
            row for row in hub.explain(*args, **options).text.split("\n") if row.startswith("Approval")
        ]
        return found

    assert line("look", approve="ask") == "Approval: not needed; every candidate is known to be harmless."
    assert line("wipe") == "Approval: only if the call has `approve`; tools is not known to be harmless."
    asked = "Approval: asks check_disk, then 'ask'; tools is not known to be harmless."
    assert line(REQUEST, approve=[check_disk, "ask"]) == asked
    assert line("wipe", {"disk": "c"}, approve=[check_disk, "ask"]) == asked


def test_an_agent_inside_another_cannot_approve_for_it(hub: ToolHub) -> None:
    outer = ChatLoop(hub, lambda prompt: "", approve=lambda call: False)
    inner = outer.sub_agent({"name": "inner"}, approve=[lambda call: None, lambda call: True])
    agent = ExecutionAgent(hub, view=inner.view)
    assert agent.execute_step_sync(STEP).error == "Tool 'wipe' was not called: it was not approved."
    assert ExecutionAgent(hub, approve=[lambda call: None, lambda call: True]).execute_step_sync(STEP).success
    assert len(hub.ran) == 1  # type: ignore[attr-defined]


def test_permissions_may_be_given_in_place_of_a_function(hub: ToolHub) -> None:
    only_look = Permissions(["look"], lambda call: True)
    assert hub.call("wipe", {"disk": "c"}, approve=only_look).kind is ErrorKind.NOT_ALLOWED
    assert hub.call("look", {"disk": "c"}, approve=only_look).result == "full"
