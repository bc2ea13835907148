"""Errors: every kind, reached through the hub; what the error contains, and that enum and core agree."""

import asyncio
import pickle
from typing import Any

import pytest

import toolhub
from support.tools import Endless, Run, Scripted, offer
from toolhub import ErrorKind, Strategy, ToolError, ToolHub, ToolResult, _core


def raised(kind: str) -> ToolResult:
    hub = ToolHub()
    hub.register(Scripted(ToolError("it went wrong", kind=kind)), name="t", read_only=True)
    return hub.call("t")


def not_found() -> ToolResult:
    return ToolHub().call("nobody")


def no_capability() -> ToolResult:
    return ToolHub().call_by_capability("nothing")


def invalid_arguments() -> ToolResult:
    hub = ToolHub()
    hub.register(lambda city: city, name="t")
    return hub.call("t", {"town": "Rome"})


def timeout() -> ToolResult:
    hub = ToolHub(timeout=0.01)
    hub.register(Endless(), name="t")
    return hub.call("t")


def deadline() -> ToolResult:
    hub = ToolHub()
    hub.register(Endless(), name="t")
    return hub.call("t", deadline=0.01)


def overloaded() -> ToolResult:
    async def scene() -> ToolResult:
        hub, begun, go = ToolHub(limits={"hub": 1, "max_waiting": 0}), asyncio.Event(), asyncio.Event()

        async def busy() -> int:
            begun.set()
            await go.wait()
            return 1

        hub.register(busy, name="t")
        first = asyncio.create_task(hub.execute("t"))
        await begun.wait()
        second = await hub.execute("t")
        go.set()
        assert (await first).success
        return second

    return asyncio.run(scene())


def closed() -> ToolResult:
    hub = ToolHub()
    hub.close()
    return hub.call("t")


def tool_error() -> ToolResult:
    hub = ToolHub()
    hub.register(Scripted(OSError("disk full")), name="t")
    return hub.call("t")


def cancelled() -> ToolResult:
    """A loser of a race: the call itself is a success, the kind of the loser is in its attempt."""

    async def scene() -> ToolResult:
        hub = ToolHub()
        offer(hub, "t", slow=Endless(), quick=Scripted("won"))
        result = await hub.execute("t", strategy="first")
        (row,) = [row for row in result.meta["attempts"] if not row["ok"]]
        return ToolResult(success=False, error=row["error"], _meta={"error": {"kind": row["kind"]}})

    return asyncio.run(scene())


def paused() -> ToolResult:
    hub = ToolHub()
    hub.register(lambda: 1, name="t")
    return hub.run_sync('<tool_call>{"name": "t", "arguments": {}}</tool_call>', approve="ask").results[0]


def not_sent() -> ToolResult:
    hub = ToolHub()
    hub.register(lambda: 1, name="t")
    call = '<tool_call>{"name": "t", "arguments": {}}</tool_call>'
    return hub.run_sync(call + call, approve="ask").results[1]


def proposed() -> ToolResult:
    hub = ToolHub()
    hub.register(lambda: None, name="send_it")
    return hub.run_sync('I will not send {"name": "send_it", "arguments": {}} now.').results[0]


HAPPENS = {
    ErrorKind.NOT_FOUND: [not_found],
    ErrorKind.NO_CAPABILITY: [no_capability],
    ErrorKind.INVALID_ARGUMENTS: [invalid_arguments],
    ErrorKind.TIMEOUT: [timeout, deadline],
    ErrorKind.CANCELLED: [cancelled],
    ErrorKind.OVERLOADED: [overloaded],
    ErrorKind.PAUSED: [paused],
    ErrorKind.NOT_SENT: [not_sent],
    ErrorKind.PROPOSED: [proposed],
    ErrorKind.CLOSED: [closed],
    ErrorKind.TOOL_ERROR: [tool_error],
}


CLASSES: dict[ErrorKind, type[ToolError]] = {
    ErrorKind.NOT_FOUND: toolhub.ToolNotFound,
    ErrorKind.NO_CAPABILITY: toolhub.ToolNotFound,
    ErrorKind.INVALID_ARGUMENTS: toolhub.InvalidArguments,
    ErrorKind.TIMEOUT: toolhub.ToolTimeout,
    ErrorKind.CANCELLED: toolhub.ToolCancelled,
    ErrorKind.CONNECT: toolhub.ConnectionFailed,
    ErrorKind.PAUSED: toolhub.ToolPaused,
    ErrorKind.NOT_SENT: toolhub.ToolPaused,
    ErrorKind.CLOSED: toolhub.ConnectionFailed,
    ErrorKind.AUTH: toolhub.AuthenticationFailed,
    ErrorKind.HTTP: toolhub.ServerError,
    ErrorKind.RPC: toolhub.ServerError,
    ErrorKind.PROTOCOL: toolhub.ServerError,
    ErrorKind.LIMIT: toolhub.LimitExceeded,
    ErrorKind.TOOL_ERROR: toolhub.ToolFailed,
    ErrorKind.NOT_ALLOWED: toolhub.NotAllowed,
    ErrorKind.PROPOSED: toolhub.NotAllowed,
    ErrorKind.OVERLOADED: toolhub.ToolOverloaded,
}


@pytest.mark.parametrize("kind", ErrorKind)
def test_every_kind_has_one_class(kind: ErrorKind) -> None:
    error = ToolError("it went wrong", kind, status=503)
    assert type(error) is CLASSES[kind]
    assert (error.kind, str(error), error.status) == (kind, "it went wrong", 503)
    twin = pickle.loads(pickle.dumps(error))
    assert (type(twin), twin.kind, twin.status) == (type(error), kind, 503)
    assert type(error)("x", kind).kind is kind


@pytest.mark.parametrize("given", list(dict.fromkeys(CLASSES.values())))
def test_a_class_has_a_default_kind_and_refuses_kinds_of_others(given: type[ToolError]) -> None:
    assert CLASSES[given("it went wrong").kind] is given
    other = next(kind for kind in ErrorKind if CLASSES[kind] is not given)
    with pytest.raises(ValueError, match=f"the kind of {given.__name__} must be"):
        given("it went wrong", other)


def test_families_are_caught_together() -> None:
    assert issubclass(toolhub.ConnectionFailed, toolhub.ServerError)
    assert issubclass(toolhub.AuthenticationFailed, toolhub.ServerError)
    assert type(ToolError("no kind given")) is toolhub.ToolFailed


@pytest.mark.parametrize("kind", ErrorKind)
def test_every_kind_can_be_reached_through_the_hub(kind: ErrorKind) -> None:
    for happen in HAPPENS.get(kind, []):
        result = happen()
        assert result.kind is kind
        assert not result.success
        assert result.error
        with pytest.raises(CLASSES[kind]) as caught:
            result.unwrap()
        assert caught.value.kind is kind
    result = raised(kind)
    assert type(result.exception) is CLASSES[kind]
    assert result.kind is kind
    assert "it went wrong" in str(result.error)


def test_the_enum_is_the_table_of_the_core() -> None:
    assert [name for name, _, _ in _core.error_kinds()] == [kind.value for kind in ErrorKind]
    for name, retryable, outcome in _core.error_kinds():
        details = raised(name).meta["error"]
        # A tool that raises it was called, whatever the kind says elsewhere.
        known = "failed" if outcome == "not_sent" else outcome
        assert (details["retryable"], details["outcome"]) == (retryable, known)
    assert [strategy.value for strategy in Strategy] == ["auto", "first", "all", "fallback"]


@pytest.mark.parametrize("kind", ErrorKind)
def test_the_outcome_says_whether_it_may_have_run(kind: ErrorKind) -> None:
    outcome = raised(kind).meta["error"]["outcome"]
    assert outcome == ("unknown" if kind in ("timeout", "cancelled", "closed") else "failed")


def test_members_are_strings_that_code_can_switch_on() -> None:
    match timeout().kind:
        case "timeout":
            pass
        case other:
            pytest.fail(f"{other!r} is not 'timeout'")
    assert ErrorKind("auth") is ErrorKind.AUTH
    assert f"{ErrorKind.AUTH}" == "auth"
    with pytest.raises(ValueError, match="nonsense"):
        ToolError("x", kind="nonsense")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("serach_web", "search_web"),
        ("web_search", "search_web"),
        ("Search_Web", "search_web"),
        ("searchweb", "search_web"),
        ("get_wether", "get_weather"),
    ],
)
def test_a_name_that_no_tool_has_suggests_near_names(asked: str, expected: str) -> None:
    hub = ToolHub()
    for name in ("search_web", "get_weather", "calculate", "zip_files"):
        hub.register(lambda: 1, name=name)
    result = hub.call(asked)
    assert result.kind is ErrorKind.NOT_FOUND
    assert result.meta["error"]["suggestions"][0] == expected
    assert f"Did you mean '{expected}'" in str(result.error)


def test_there_are_no_suggestions_when_nothing_is_near() -> None:
    hub = ToolHub()
    assert "No tool is registered yet" in str(hub.call("x").error)
    hub.register(lambda: 1, name="search_web")
    result = hub.call("quaternion")
    assert "suggestions" not in result.meta["error"]
    assert result.error == "There is no tool named 'quaternion'."


def test_suggestions_follow_the_registry() -> None:
    hub = ToolHub()
    hub.register(lambda: 1, name="search_web")
    assert hub.call("search_wep").meta["error"]["suggestions"] == ["search_web"]
    hub.unregister("search_web")
    hub.register(lambda: 1, name="search_wet")
    assert hub.call("search_wep").meta["error"]["suggestions"] == ["search_wet"]


def test_an_unknown_capability_lists_the_known_ones() -> None:
    hub = ToolHub()
    hub.register(lambda: 1, name="t", capabilities=["weather", "time"])
    result = hub.call_by_capability("tides")
    assert "'tides'" in str(result.error)
    assert "time, weather" in str(result.error)


def test_invalid_arguments_name_the_argument_and_what_was_expected() -> None:
    hub = ToolHub()

    @hub.tool
    def forecast(city: str, days: int = 1) -> str:
        return "sun"

    for args, words in [
        ({"days": 2}, ["city", "missing"]),
        ({"city": "Rome", "days": "many"}, ["days", "integer", "'many'"]),
        ({"city": "Rome", "dayz": 2}, ["dayz", "days"]),
        ({"city": ["Rome"]}, ["city", "string"]),
    ]:
        result = hub.call("forecast", args)
        assert result.kind is ErrorKind.INVALID_ARGUMENTS
        assert all(word in str(result.error) for word in ["'forecast'", *words])
        assert result.meta["error"]["outcome"] == "not_sent"


def test_the_first_error_of_all_decides_the_kind() -> None:
    hub = ToolHub()
    offer(hub, "t", a=Scripted(ToolError("x", kind="auth")), b=Scripted(ToolError("y", kind="http")))
    assert hub.call("t", strategy="fallback").kind is ErrorKind.AUTH


def test_a_subclass_of_tool_error_carries_its_kind_too() -> None:
    class Refused(ToolError):
        def __init__(self) -> None:
            super().__init__("the key was refused", kind=ErrorKind.AUTH)

    hub = ToolHub()
    hub.register(Scripted(Refused()), name="t")
    result = hub.call("t")
    assert result.kind is ErrorKind.AUTH
    assert isinstance(result.exception, Refused)


def test_long_and_unreadable_messages_stay_readable() -> None:
    class Unreadable(Exception):
        def __str__(self) -> str:
            raise ValueError("no")

    hub = ToolHub()
    hub.register(Scripted(OSError("é" * 100_000)), name="long")
    hub.register(Scripted(Unreadable()), name="unreadable")
    hub.register(Scripted(OSError()), name="silent")
    hub.register(Scripted(OSError("\ud800")), name="surrogate")
    assert len(str(hub.call("long").error)) < 1100
    assert "Unreadable" in str(hub.call("unreadable").error)
    assert hub.call("silent").error == "Tool 'silent' raised OSError."
    assert "OSError" in str(hub.call("surrogate").error)


def test_a_tool_may_unwrap_the_result_of_another_and_the_cause_is_kept() -> None:
    hub = ToolHub()
    hub.register(Scripted(ToolError("no key", kind="auth")), name="inner")

    @hub.tool
    async def outer() -> Any:
        return (await hub.execute("inner")).unwrap()

    result = hub.call("outer")
    assert result.kind is ErrorKind.AUTH
    assert isinstance(result.exception, ToolError)
    assert isinstance(result.exception.__cause__, ToolError)


def test_a_cancellation_that_the_tool_made_up_itself_is_the_tools_failure(run: Run) -> None:
    async def gives_up() -> None:
        raise asyncio.CancelledError

    hub = ToolHub()
    hub.register(gives_up, name="alone")
    offer(hub, "race", a=gives_up, b=gives_up)
    kinds = {run(hub.execute(name, strategy="first")).kind for name in ("alone", "race")}
    assert len(kinds) == 1
    assert None not in kinds


@pytest.mark.parametrize(
    ("options", "retryable"),
    [({"read_only": True}, True), ({"idempotent": True}, True), ({"effects": True}, False), ({}, False)],
)
@pytest.mark.anyio
@pytest.mark.parametrize("limit", ["timeout", "deadline"])
async def test_what_may_have_run_is_retryable_only_if_a_second_run_does_no_harm(
    options: dict[str, bool], retryable: bool, limit: str
) -> None:
    hub = ToolHub()
    hub.register(Endless(), name="t", **options)
    # Long enough to begin on a busy machine.
    error = (await hub.execute("t", **{limit: 0.2})).meta["error"]
    assert (error["kind"], error["outcome"], error["retryable"]) == ("timeout", "unknown", retryable)


@pytest.mark.parametrize("given", ["\x1b[31mred\x1b[0m\r\nsecond\tline", "red\n\n second\u202e line"])
def test_the_error_of_a_tool_s_own_result_is_one_clean_line(given: str) -> None:
    hub = ToolHub()

    class Own:
        name, description = "own", "Fails."

        def execute(self, input: object) -> dict[str, object]:
            return {"success": False, "error": given, "code": 5}

    hub.register(Own())
    hub.register(lambda: {"success": False, "error": given}, name="function")
    for result in (hub.call("own", "x"), hub.call("function")):
        assert (result.error, result["error"], result.text) == ("red second line",) * 3
        assert result.meta["error"]["message"] == "red second line"
        assert [attempt["error"] for attempt in result.meta["errors"]] == ["red second line"]
    assert hub.call("own", "x")["code"] == 5
