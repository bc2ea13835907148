"""Events: every decision is an event, in order, and nothing that listens can break a call."""

import asyncio
import json
import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub
from toolhub.events import Event

pytestmark = pytest.mark.anyio

ONCE = Path(__file__).parent / "once.py"
SERVER = Path(__file__).parents[2] / "mcp" / "faults" / "stdio_server.py"


class Heard(list[Event]):
    def types(self) -> list[str]:
        return [event.type for event in self]

    def of(self, type: str) -> list[Event]:
        return [event for event in self if event.type == type]


@pytest.fixture
def hub() -> ToolHub:
    return ToolHub(limits={"cancel_grace": 0.2})


@pytest.fixture
def heard(hub: ToolHub) -> Heard:
    heard = Heard()
    hub.on_event(heard.append)
    return heard


async def quick(x: int) -> int:
    return x


async def failing(x: int) -> int:
    raise ValueError("no luck")


async def test_a_call_starts_and_finishes(hub: ToolHub, heard: Heard) -> None:
    hub.register(quick)
    assert (await hub.execute("quick", {"x": 1})).success
    started, finished = heard
    assert (started.type, started.tool, started.source, started.attempt) == ("started", "quick", "tools", 0)
    assert (finished.type, finished.success, finished.source) == ("finished", True, "tools")
    assert finished.duration_ms >= 0
    assert started.call_id == finished.call_id
    assert started.time <= finished.time


async def test_two_calls_have_two_ids(hub: ToolHub, heard: Heard) -> None:
    hub.register(quick)
    await asyncio.gather(*[hub.execute("quick", {"x": n}) for n in range(20)])
    by_call: dict[str, list[str]] = {}
    for event in heard:
        by_call.setdefault(event.call_id, []).append(event.type)
    assert list(by_call.values()) == [["started", "finished"]] * 20


async def test_the_losers_of_a_race_are_cancelled(hub: ToolHub, heard: Heard) -> None:
    async def hanging(x: int) -> int:
        await asyncio.Event().wait()
        return x

    hub.register(hanging, name="race", priority=1)
    hub.register(quick, name="race", priority=2, source="skills")
    assert (await hub.execute("race", {"x": 1}, strategy="first")).success
    assert heard.types().count("started") == 2
    (cancelled,) = heard.of("cancelled")
    assert (cancelled.source, cancelled.kind) == ("tools", "cancelled")
    assert heard[-1].type == "finished"
    assert heard[-1].source == "skills"


async def test_the_event_of_a_failed_candidate_precedes_the_start_of_the_next(
    hub: ToolHub, heard: Heard
) -> None:
    hub.register(failing, name="t", priority=1)
    hub.register(quick, name="t", priority=2, source="skills")
    assert (await hub.execute("t", {"x": 1}, strategy="fallback")).success
    assert heard.types() == ["started", "failed", "started", "finished"]
    assert heard[1].kind == "tool_error"
    assert "no luck" in heard[1].error


@pytest.mark.parametrize(
    ("name", "args", "kind"), [("missing", {}, "not_found"), ("quick", {"x": "?"}, "invalid_arguments")]
)
async def test_what_never_ran_has_not_started(
    hub: ToolHub, heard: Heard, name: str, args: Any, kind: str
) -> None:
    hub.register(quick)
    assert (await hub.execute(name, args)).kind == kind
    assert "started" not in heard.types()
    assert (heard[-1].type, heard[-1].success, heard[-1].kind) == ("finished", False, kind)


async def test_a_caller_that_is_cancelled(hub: ToolHub, heard: Heard) -> None:
    begun = asyncio.Event()

    async def hanging() -> None:
        begun.set()
        await asyncio.Event().wait()

    hub.register(hanging)
    call = asyncio.ensure_future(hub.execute("hanging"))
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert heard[0].type == "started"
    assert (heard[-1].type, heard[-1].kind) == ("finished", "cancelled")


async def test_by_capability_and_from_the_cache(hub: ToolHub, heard: Heard) -> None:
    hub.register(quick, capabilities=["fast"], read_only=True)
    await hub.execute_by_capability("fast", {"x": 1})
    assert heard.types() == ["started", "finished"]
    for _ in range(2):
        assert (await hub.execute("quick", {"x": 1}, cache_ttl=60)).success
    assert heard.types() == ["started", "finished"] * 2 + ["finished"]


async def test_an_answer_of_a_model_has_the_id_of_its_call(hub: ToolHub, heard: Heard) -> None:
    for server in ("a", "b"):
        hub.register(quick, source="mcps", server=server, read_only=True)
    for call in (
        hub.execute("quick", {"x": 1}, strategy="all", llm=lambda prompt: "one"),
        hub.dispatch(
            {"id": "m1", "name": "quick", "args": {"x": 1}}, strategy="all", llm=lambda prompt: "one"
        ),
    ):
        heard.clear()
        assert (await call).result == "one"
        (synthesised,) = heard.of("synthesised")
        assert (synthesised.tool, synthesised.method) == ("quick", "llm")
        assert {event.call_id for event in heard} == {synthesised.call_id}
        assert synthesised.call_id is not None


async def test_every_cut_is_an_event(hub: ToolHub, heard: Heard) -> None:
    hub.register(lambda: "words " * 400, name="essay")
    result = await hub.dispatch({"id": "m1", "name": "essay"})
    shown = hub.format(result, 300)
    (cut,) = heard.of("truncated")
    assert (cut.call_id, cut.tool, cut.shown, cut.total) == ("m1", "essay", len(shown), 2400)
    assert cut.handle == result.meta["handle"]
    hub.format(await hub.execute("quick"), 300)
    assert len(heard.of("truncated")) == 1


async def test_a_call_that_is_tried_again(hub: ToolHub, heard: Heard, tmp_path: Path) -> None:
    async with hub:
        args = [str(ONCE), str(tmp_path / "called")]
        hub.add_server("once", command=sys.executable, args=args)
        assert (await hub.connect()).connected == ["once"]
        assert (await hub.execute("peek")).result == "seen"
    (retried,) = heard.of("retried")
    assert (retried.tool, retried.source, retried.server, retried.tries) == ("peek", "mcps", "once", 1)
    assert "exited with code 3" in retried.error
    assert retried.call_id == heard.of("finished")[0].call_id


async def test_servers_connect(hub: ToolHub, heard: Heard) -> None:
    async with hub:
        hub.add_server("lab", command=sys.executable, args=[str(SERVER)], env={"FAULT": "ok"})
        hub.add_server("gone", command=sys.executable, args=["-c", "raise SystemExit(3)"])
        await hub.connect()
        async with asyncio.timeout(20):
            while not (heard.of("connected") and heard.of("connect_failed")):
                await asyncio.sleep(0.01)
    assert {event.server for event in heard.of("connecting")} == {"lab", "gone"}
    (connected,) = heard.of("connected")
    assert connected.server == "lab"
    assert connected.duration_ms > 0
    assert connected.era in ("modern", "legacy")
    assert "code 3" in heard.of("connect_failed")[0].error


async def test_a_listener_that_fails_breaks_nothing(
    hub: ToolHub, heard: Heard, caplog: pytest.LogCaptureFixture
) -> None:
    def bad(event: Event) -> None:
        raise RuntimeError("listener trouble")

    async def not_plain(event: Event) -> None:
        pass

    hub.register(quick)
    hub.on_event(bad)
    hub.on_event(lambda event: not_plain(event))
    with pytest.raises(TypeError, match="must be a plain function"):
        hub.on_event(not_plain)
    assert (await hub.execute("quick", {"x": 1})).success
    assert heard.types() == ["started", "finished"]
    assert "listener trouble" in caplog.text
    assert "must be a plain function" in caplog.text


async def test_unsubscribing(hub: ToolHub) -> None:
    heard: list[Event] = []
    first, second = hub.on_event(heard.append), hub.on_event(heard.append)
    hub.register(quick)
    await hub.execute("quick", {"x": 1})
    assert len(heard) == 4
    first()
    first()
    await hub.execute("quick", {"x": 1})
    assert len(heard) == 6
    second()
    await hub.execute("quick", {"x": 1})
    assert len(heard) == 6


def test_a_listener_must_be_callable(hub: ToolHub) -> None:
    with pytest.raises(TypeError, match="a listener must be callable, got int"):
        hub.on_event(3)  # type: ignore[arg-type]


async def test_the_log_has_a_line_each_and_values_only_for_debugging(
    hub: ToolHub, caplog: pytest.LogCaptureFixture
) -> None:
    @hub.tool
    async def login(user: str, password: str) -> dict[str, str]:
        return {"token": "t0ps3cret", "user": user}

    with caplog.at_level(logging.INFO, "toolhub"):
        await hub.execute("login", {"user": "grace", "password": "hunter2"})
    lines = [record.getMessage() for record in caplog.records if record.name == "toolhub.execute"]
    assert [line.split()[0] for line in lines] == ["started", "finished"]
    assert "grace" not in caplog.text
    with caplog.at_level(logging.DEBUG, "toolhub"):
        await hub.execute("login", {"user": "grace", "password": "hunter2"})
    assert "grace" in caplog.text
    assert "hunter2" not in caplog.text
    assert "t0ps3cret" not in caplog.text


async def test_a_refusal_that_quotes_arguments_is_for_debugging_too(
    hub: ToolHub, caplog: pytest.LogCaptureFixture
) -> None:
    heard = Heard()
    hub.on_event(heard.append)
    hub.register(quick)
    broken = "<tool_call>{from_the_model!}</tool_call>"
    with caplog.at_level(logging.INFO, "toolhub"):
        await hub.execute("quick", {"x": "from_the_user"})
        await hub.run(broken)
    assert "kind=invalid_arguments" in caplog.text
    assert "from_the" not in caplog.text
    assert not any("from_the" in str(event) for event in heard)
    assert heard.of("finished")[0].error.endswith("got '***' (string).")
    heard.clear()
    with caplog.at_level(logging.DEBUG, "toolhub"):
        await hub.execute("quick", {"x": "from_the_user"})
        await hub.run(broken)
    assert "got 'from_the_user'" in caplog.text
    assert "got 'from_the_user'" in heard.of("finished")[0].error
    assert "from_the_model" in caplog.text


async def test_without_listeners_no_event_is_built(hub: ToolHub, caplog: pytest.LogCaptureFixture) -> None:
    hub.register(quick)
    with caplog.at_level(logging.WARNING, "toolhub"):
        await hub.execute("quick", {"x": 1})
    assert caplog.records == []


def test_an_event_is_a_dict_with_attributes() -> None:
    event = Event(type="started", tool="add", server="math", call_id=None, attempt=0)
    assert event["tool"] == event.tool == "add"
    assert str(event) == "started add on math: attempt=0"
    with pytest.raises(AttributeError, match="an event of type 'started' has no 'nonsense'"):
        _ = event.nonsense


SECRET = [
    "password",
    "dbPwd",
    "X-Api-Key",
    "session_id",
    "Set-Cookie",
    "jwt",
    "basic_auth",
    "connection_string",
    "sid",
    "pin",
    "pin_code",
    "pass_word",
    "passWord",
    "private",
    "verification_code",
    "contraseña",
    "密码",
    "认证",
    "认证信息",
    "身份验证",
]
SHOWN = [
    "monkey",
    "author",
    "token_count",
    "max_tokens",
    "keyword",
    "compass_code",
    "public_key",
    "status_code",
    "is_private",
    "spin",
    "认识",
]


@pytest.mark.parametrize("name", SECRET + SHOWN)
async def test_a_log_and_a_refusal_hide_what_is_named_like_a_secret(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    hub = ToolHub()
    hub.register(lambda **_: 1, name="t", parameters={"properties": {name: {"type": "string"}}})
    hub.register(lambda **_: 1, name="strict", parameters={"properties": {name: {"enum": ["a"]}}})
    with caplog.at_level(logging.DEBUG, "toolhub"):
        assert (await hub.execute("t", {"deep": [{name: "hush-123"}], name: "hush-123"})).success
        refused = await hub.execute("strict", {name: "hush-123"})
    assert refused.kind == "invalid_arguments"
    assert ("hush-123" in caplog.text, "hush-123" in str(refused.error)) == ((name in SHOWN,) * 2)


@pytest.mark.parametrize(
    "argument",
    [
        ["Authorization: Bearer hush-123"],
        [{"name": "Authorization", "value": "Bearer hush-123"}],
        "https://grace:hush-123@host/x",
        "https://host/x?page=2&token=hush-123",
        ["curl", "--password=hush-123"],
        ["curl", "--token", "hush-123"],
        "curl -H 'X-Api-Key: hush-123' https://host",
    ],
)
async def test_a_log_hides_secrets_inside_of_texts(argument: Any, caplog: pytest.LogCaptureFixture) -> None:
    hub = ToolHub()
    hub.register(lambda **_: 1, name="t", parameters={"properties": {"plain": {}}})
    with caplog.at_level(logging.DEBUG, "toolhub"):
        assert (await hub.execute("t", {"plain": argument})).success
    assert "plain" in caplog.text
    assert "hush-123" not in caplog.text


def _quotes(text: str, login: dict[str, Any], number: int, extra: str) -> str:
    raise ValueError(f"cannot use {text!r}, {login}, {number} or {extra}")


QUOTED = {
    "text": "a note of the user",
    "login": {"password": "hunter2"},
    "number": 4711,
    "extra": "line one\nline two is it",
}


@pytest.mark.parametrize("level", [logging.WARNING, logging.INFO, logging.DEBUG])
async def test_an_error_that_quotes_arguments_shows_no_value_of_them(
    hub: ToolHub, heard: Heard, level: int, caplog: pytest.LogCaptureFixture
) -> None:
    hub.register(_quotes, name="quotes")
    with caplog.at_level(level, "toolhub"):
        result = await hub.execute("quotes", QUOTED)
        await hub.execute("quotes", json.dumps(QUOTED))
        call = json.dumps({"name": "quotes", "arguments": QUOTED})
        await hub.run(f"<tool_call>{call}</tool_call>")
    assert "hunter2" in str(result.error), "the caller gets the error as it is"
    shown = [caplog.text, *map(str, heard)]
    assert not any("hunter2" in text for text in shown)
    for value in ("a note of the user", "4711", "line one", "line two"):
        assert any(value in text for text in shown) == (level == logging.DEBUG), value
    assert all("cannot use" in event.error for event in heard.of("failed"))


# Commands, line ends and marks; and letters without a shape, which Python takes for printable ones.
EVIL = [
    "\x1b]0;title\x07\x1b[31mevil\x1b[0m\r\nERROR:root:forged\u202e\u200b",
    "for\u3164\u115fg\uffa0ed\u034f",
]


@pytest.mark.parametrize("evil", EVIL, ids=["commands", "fillers"])
async def test_names_and_errors_are_cleaned_before_logs_events_and_explanations(
    hub: ToolHub, heard: Heard, caplog: pytest.LogCaptureFixture, evil: str
) -> None:
    def breaks() -> None:
        raise RuntimeError(evil)

    hub.register(breaks, name=f"b {evil}")
    hub.register(breaks, name="breaks")
    with caplog.at_level(logging.DEBUG, "toolhub"):
        await hub.execute("breaks")
        await hub.execute(f"b {evil}")
        await hub.execute(f"missing {evil}")
        await hub.dispatch({"id": evil, "name": "breaks", "arguments": {}, "source": evil})
        await hub.dispatch({"id": evil, "name": evil, "arguments": {evil: evil}})
        call = json.dumps({"id": evil, "name": evil, "arguments": {}})
        await hub.run(f"<tool_call>{call}</tool_call>")
        await hub.run(f"<tool_call>{call}</tool_call>", allowed=["nothing"])
    shown = [record.getMessage() for record in caplog.records] + [
        str(value) for event in heard for value in event.values()
    ]
    for name in ("breaks", f"b {evil}", f"missing {evil}"):
        explained = hub.explain(name).text
        assert not any(line.startswith("ERROR") for line in explained.splitlines())
        shown += explained.splitlines()
    shown.append(hub.explain({"name": "breaks", "source": evil}).text)
    assert any("forged" in text for text in shown)
    for text in shown:
        assert not any(c in text for c in "\x1b\x07\r\u202e\u200b\u3164\u115f\uffa0\u034f"), text
        assert not any(line.startswith("ERROR") for line in text.splitlines()), text


async def test_the_reason_of_a_denial_is_one_line(hub: ToolHub) -> None:
    hub.register(lambda: 1, name="send_mail")
    waiting = await hub.execute("send_mail", {}, approve="ask")
    hub.deny(str(waiting.paused), "no:\r\n\x1b[31mnot \u202enow\n")
    denied = await hub.execute("send_mail", {}, approve="ask")
    assert denied.error == "Tool 'send_mail' was not called: it was not approved: no: not now."


async def test_a_long_name_is_short_in_a_log(
    hub: ToolHub, heard: Heard, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "toolhub"):
        await hub.execute("x" * 1_000_000)
    assert len(caplog.text) < 1_000
    assert all(len(str(event)) < 1_000 for event in heard)


@pytest.mark.parametrize("how", ["call", "execute", "run"])
@pytest.mark.parametrize("event", ["started", "finished"])
def test_ctrl_c_inside_a_listener_is_raised(how: str, event: str) -> None:
    hub = ToolHub()

    @hub.tool(read_only=True)
    async def answer() -> int:
        return 42

    def listener(heard: Any) -> None:
        if heard.type == event:
            raise KeyboardInterrupt

    hub.on_event(listener)
    text = '<tool_call>{"name": "answer", "arguments": {}}</tool_call>'
    calls = {
        "call": lambda: hub.call("answer"),
        "execute": lambda: asyncio.run(hub.execute("answer")),
        "run": lambda: asyncio.run(hub.run(text)),
    }
    with pytest.raises(KeyboardInterrupt):
        calls[how]()


def two_deletions(hub: ToolHub) -> dict[str, Any]:
    text = '<tool_call>{"name": "do_delete", "arguments": {}}</tool_call>' * 2
    calls = ["do_delete", "do_delete"]
    return {
        "run_sync": lambda: hub.run_sync(text),
        "run": lambda: asyncio.run(hub.run(text)),
        "call_many": lambda: hub.call_many(calls, concurrency=1),
        "execute_many": lambda: asyncio.run(hub.execute_many(calls, concurrency=1)),
    }


WAYS = ["run_sync", "run", "call_many", "execute_many"]


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize(("event", "runs"), [("started", 0), ("finished", 1)])
@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit])
def test_nothing_starts_after_an_interrupt_in_a_listener(
    how: str, event: str, runs: int, raised: type[BaseException]
) -> None:
    hub = ToolHub()
    ran: list[int] = []
    hub.register(lambda: ran.append(1), name="do_delete")

    def listener(heard: Any) -> None:
        if heard.type == event:
            raise raised

    hub.on_event(listener)
    with pytest.raises(raised):
        two_deletions(hub)[how]()
    assert len(ran) == runs


@pytest.mark.parametrize("how", WAYS)
def test_ctrl_c_while_a_listener_runs_leaves_at_most_the_call_that_started(how: str) -> None:
    """The listener itself goes on: the signal reaches the main thread, or the task as a cancellation."""
    hub, seen = ToolHub(), threading.Event()
    ran: list[int] = []
    hub.register(lambda: ran.append(1), name="do_delete")
    is_sync = how in ("run_sync", "call_many")

    def on_signal(*_: Any) -> None:
        seen.set()
        raise KeyboardInterrupt

    def listener(heard: Any) -> None:
        if heard.type == "started" and not seen.is_set():
            os.kill(os.getpid(), signal.SIGINT)
            if is_sync:
                assert seen.wait(30)
            else:
                seen.set()

    hub.on_event(listener)
    before = signal.signal(signal.SIGINT, on_signal if is_sync else signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            two_deletions(hub)[how]()
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(ran) <= 1
