"""A call that was sent may have happened, unless the answer proves beyond doubt that the server refused it."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.answering import SENT, Answering, Reply, answering, error, events, message
from toolhub import ErrorKind, ToolError, ToolHub, testing
from toolhub.ledger import LedgerRow

PROGRESS = json.dumps(
    {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}
)
REFUSED = message(error=error(-32602))
TWICE = '{"jsonrpc": "2.0", "id": ID, "error": {"code": -32602, "message": "no"}, "error": {"code": -32602, "message": "no"}}'
OUTPUT = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}

# The effect may have happened: nobody else is asked to do it, and a run does not repeat it.
UNKNOWN: dict[str, Reply] = {
    "neither a result nor an error": Reply(message()),
    "an error that is null": Reply(message(error=None)),
    "a result and an error": Reply(message(error=error(-32602), result=SENT)),
    "an error and a result in a batch": Reply(f"[{REFUSED}, {message(result=SENT)}]"),
    "an error twice in a batch": Reply(f"[{REFUSED}, {REFUSED}]"),
    "an error after progress": events(PROGRESS, REFUSED),
    "an unknown method after progress": events(PROGRESS, message(error=error(-32601))),
    "an error after a question": events(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "roots/list"}), REFUSED
    ),
    "an error with the status 500": Reply(REFUSED, 500),
    "an unknown method with the status 500": Reply(message(error=error(-32601)), 500),
    "a code that is a text": Reply(message(error=error("-32602"))),
    "a code that is a fraction": Reply(message(error=error(-32602.0))),
    "an error without a message": Reply(message(error={"code": -32602})),
    "an error that is a text": Reply(message(error="-32602")),
    "an error without the id of the call": Reply(message(id=None, error=error(-32602))),
    "an error with the id as text": Reply(REFUSED.replace("ID", '"ID"')),
    "an error of another version": Reply(message(jsonrpc="1.0", error=error(-32602))),
    "an error with other members": Reply(message(error=error(-32602), sent=True)),
    "an error that occurs twice": Reply(TWICE),
    "a result with the status 429": Reply(message(result=SENT), 429),
    "a redirect to itself": Reply("", 307, {"location": "/mcp"}),
    "a permanent redirect to itself": Reply("", 308, {"location": "/mcp"}),
    "a redirect without an address": Reply("", 307),
    "a redirect to another origin": Reply("", 307, {"location": "http://127.0.0.1:1/mcp"}),
    "a redirect to a file": Reply("", 308, {"location": "file:///etc/passwd"}),
    **{
        f"isError: {value}": Reply(message(result={**SENT, "isError": value}))
        for value in ("true", "false", 1, 0, [], {})
    },
}
PROVEN: dict[str, Reply] = {
    "invalid parameters": Reply(REFUSED),
    "an unknown method": Reply(message(error=error(-32601))),
    "invalid parameters with data": Reply(message(error={**error(-32602), "data": {"to": "missing"}})),
    "invalid parameters with the status 400": Reply(REFUSED, 400),
    "an unknown method with the status 404": Reply(message(error=error(-32601)), 404),
    "invalid parameters as the first event": events(REFUSED),
    "the status 429": Reply("slow down", 429),
}


def called(
    path: Path, first: Answering, second: Answering, times: int = 1, **options: Any
) -> list[LedgerRow]:
    """The rows of a run that was started this often, with two servers that offer the tool."""
    rows: list[LedgerRow] = []
    for _ in range(times):
        with ToolHub(store=path / "store.db", strategies={"*": "fallback"}) as hub:
            hub.add_server("a", url=first.url, **options)
            hub.add_server("b", url=second.url)
            hub.connect_sync()
            hub.call("send_mail", {"to": "ann"}, run="monday")
            rows = hub.ledger("monday")
    return rows


@pytest.mark.parametrize("what", UNKNOWN)
def test_what_may_have_happened_happens_once(tmp_path: Path, what: str) -> None:
    with answering(UNKNOWN[what]) as first, answering() as second:
        rows = called(tmp_path, first, second, times=2)
        assert [(row.server, row.state) for row in rows] == [("a", "unknown")]
        assert (len(first.calls), len(second.calls)) == (1, 0)


@pytest.mark.parametrize("what", PROVEN)
def test_after_a_refusal_the_next_server_is_asked(tmp_path: Path, what: str) -> None:
    with answering(PROVEN[what]) as first, answering() as second:
        rows = called(tmp_path, first, second, retries=0)
        assert [(row.server, row.state, row.repeatable) for row in rows] == [
            ("a", "failed", True),
            ("b", "done", False),
        ]
        assert (len(first.calls), len(second.calls)) == (1, 1)


@pytest.mark.parametrize("what", PROVEN)
def test_a_replay_knows_what_was_proven(tmp_path: Path, what: str) -> None:
    """A call that did not happen may be repeated, so its error stays as retryable as it was."""
    errors: list[Any] = []
    with answering(PROVEN[what]) as server:
        for use in (testing.record, testing.replay):
            with ToolHub() as hub:
                hub.add_server("a", url=server.url, retries=0)
                hub.connect_sync()
                with use(tmp_path / "calls.ndjson"):
                    errors.append(hub.call("send_mail", {"to": "ann"}).meta["error"])
        assert len(server.calls) == 1
    recorded, replayed = errors
    assert recorded == replayed
    assert recorded["retryable"] is (PROVEN[what].status == 429)


def test_what_cannot_be_sent_goes_to_the_next_server(tmp_path: Path) -> None:
    with answering() as second:
        with answering() as first, ToolHub(store=tmp_path / "store.db") as hub:
            hub.add_server("a", url=first.url)
            hub.connect_sync()
        with ToolHub(store=tmp_path / "store.db", strategies={"*": "fallback"}) as hub:
            hub.add_server("a", url=first.url, retries=0)
            hub.add_server("b", url=second.url)
            hub.connect_sync(["b"])
            assert hub.call("send_mail", {"to": "ann"}, run="monday").success
            rows = [(row.server, row.state) for row in hub.ledger("monday")]
            assert rows == [("a", "not_sent"), ("b", "done")]
            assert (first.calls, second.calls) == ([], ["/mcp"])


@pytest.mark.parametrize(
    "reply",
    [
        Reply(message(error=error(-32602, "Output validation error"))),
        Reply(message(result={"content": [], "structuredContent": {"x": 1}})),
        Reply(message(result=SENT)),
    ],
    ids=["the server checks it", "it does not fit", "it is missing"],
)
def test_a_result_that_breaks_the_schema_of_the_tool_is_a_result(tmp_path: Path, reply: Reply) -> None:
    with answering(reply, outputSchema=OUTPUT) as first, answering(outputSchema=OUTPUT) as second:
        rows = called(tmp_path, first, second, times=2)
        assert [(row.server, row.state) for row in rows] == [("a", "unknown")]
        assert (len(first.calls), len(second.calls)) == (1, 0)


@pytest.mark.parametrize(
    "reply",
    [Reply(None), Reply(REFUSED), Reply("", 429), Reply("", 404), Reply("", 307, {"location": "/mcp"})],
    ids=["no answer", "invalid parameters", "429", "404", "a circle"],
)
def test_nothing_is_proven_after_a_redirect(tmp_path: Path, reply: Reply) -> None:
    moved = Reply("", 307, {"location": "/moved"})
    with answering(moved, reply) as first, answering() as second:
        (row,) = called(tmp_path, first, second)
        assert row.state == "unknown"
        assert (first.calls, second.calls) == (["/mcp", "/moved"], [])


def test_a_redirect_that_leads_to_the_answer_is_followed(tmp_path: Path) -> None:
    with (
        answering(Reply("", 308, {"location": "/moved"}), Reply(message(result=SENT))) as first,
        answering() as second,
    ):
        (row,) = called(tmp_path, first, second)
        assert (row.state, first.calls, second.calls) == ("done", ["/mcp", "/moved"], [])


def test_a_server_that_adds_a_slash_to_its_address_is_called_there_at_once(tmp_path: Path) -> None:
    """So that a call is sent once, and the refusal of its session still proves that it did not happen."""
    with answering() as server, ToolHub(store=tmp_path / "store.db") as hub:
        server.slash, server.session = True, ""
        hub.add_server("a", url=server.url)
        assert hub.call("send_mail", {"to": "ann"}, run="monday").success
        server.session = "forgotten"
        assert hub.call("send_mail", {"to": "bob"}, run="monday").success
        assert [row.state for row in hub.ledger("monday")] == ["done", "done"]
        assert (server.calls, server.sessions) == (["/mcp/"] * 2, 2)


def test_a_server_that_cannot_be_reached_any_more_may_have_acted_before(tmp_path: Path) -> None:
    """An idempotent tool is tried again; that the last try was not sent says nothing about the first one."""
    hints = {"annotations": {"idempotentHint": True, "readOnlyHint": False}}
    with answering() as second:
        with answering(Reply("", 503, {"connection": "close"}), **hints) as first:
            answer = first.next_reply

            def last() -> Reply:
                first.socket.close()
                return answer()

            first.next_reply = last  # type: ignore[method-assign]
            (row,) = called(tmp_path, first, second)
        assert (row.server, row.state, second.calls) == ("a", "unknown", [])


@settings(max_examples=150)
@given(
    version=st.sampled_from(["2.0", "2.0", "2.0", "1.0", 2.0, None, ...]),
    id=st.sampled_from(["ID", "ID", "ID", None, ...]),
    code=st.sampled_from(
        [-32602, -32601, -32602, -32601, -32603, -32000, "-32602", -32601.0, None, True, ...]
    ),
    text=st.sampled_from(["no", "no", "", 5, None, ...]),
    result=st.sampled_from([..., ..., ..., None, SENT, {}]),
    more=st.sampled_from([..., ..., ..., None, 1]),
    status=st.sampled_from([200, 200, 400, 404, 422, 500, 501]),
    before=st.sampled_from([(), (), (PROGRESS,)]),
)
def test_only_a_whole_and_lonely_refusal_is_a_proof(
    one: tuple[Answering, ToolHub],
    version: Any,
    id: Any,
    code: Any,
    text: Any,
    result: Any,
    more: Any,
    status: int,
    before: tuple[str, ...],
) -> None:
    server, hub = one
    given = {key: value for key, value in {"code": code, "message": text}.items() if value is not ...}
    answer = message(jsonrpc=version, id=id, error=given, result=result, more=more)
    reply = events(*before, answer) if before else Reply(answer)
    server.replies = [reply._replace(status=status)]
    (row,) = rows_of(hub)
    is_whole = (version, id, result, more) == ("2.0", "ID", ..., ...) and isinstance(text, str)
    proves = is_whole and type(code) is int and code in (-32601, -32602) and status < 500 and not before
    if before and status != 200:
        # The body of a refusal is not read as a stream.
        proves = False
    assert row.repeatable is proves, answer
    assert row.state in (("failed",) if proves else ("failed", "unknown", "done")), answer


def rows_of(hub: ToolHub, count: list[int] = [0]) -> list[LedgerRow]:  # noqa: B006
    count[0] += 1
    hub.call("send_mail", {"to": "ann"}, server="a", run=f"r{count[0]}")
    return hub.ledger(f"r{count[0]}")


@pytest.fixture(scope="module")
def one() -> Any:
    with answering() as server, ToolHub() as hub:
        hub.add_server("a", url=server.url)
        hub.connect_sync()
        yield server, hub


# Over stdio all calls share one stream. `SAYS` are the lines that the server prints before it refuses a call.
PROGRAM = """
import json, os, sys
def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    id, method = message.get("id"), message.get("method")
    if id is None or method is None:
        continue
    if method == "initialize":
        info = {"name": "bank", "version": "1"}
        version = message["params"]["protocolVersion"]
        say({"id": id, "result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}})
    elif method == "tools/list":
        say({"id": id, "result": {"tools": [{"name": "send_mail", "inputSchema": {"type": "object"}}]}})
    elif method == "tools/call":
        for said in json.loads(os.environ["SAYS"]):
            if said.get("params", {}).get("progressToken") == "ID":
                said["params"]["progressToken"] = id
            say(said)
        say({"id": id, "error": {"code": -32602, "message": "no"}})
    else:
        say({"id": id, "error": {"code": -32601, "message": "no"}})
"""


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ([], "failed"),
        ([{"id": 7, "method": "ping"}], "failed"),
        ([{"method": "notifications/tools/list_changed"}], "failed"),
        ([{"method": "notifications/resources/updated", "params": {"uri": "x:y"}}], "failed"),
        ([{"method": "notifications/progress", "params": {"progressToken": "ID", "progress": 1}}], "unknown"),
        ([{"method": "notifications/progress", "params": {"progressToken": "x", "progress": 1}}], "unknown"),
        ([{"method": "notifications/message", "params": {"level": "info", "data": "sent"}}], "unknown"),
        ([{"id": 7, "method": "roots/list"}], "unknown"),
        ([{"method": "notifications/of_its_own"}], "unknown"),
    ],
)
def test_what_a_program_says_before_its_refusal(tmp_path: Path, said: list[Any], state: str) -> None:
    with ToolHub(store=tmp_path / "store.db") as hub:
        env = {"SAYS": json.dumps(said)}
        hub.add_server("bank", command=sys.executable, args=["-c", PROGRAM], env=env)
        hub.connect_sync()
        hub.call("send_mail", {}, run="monday", progress=lambda _: None)
        (row,) = hub.ledger("monday")
        assert (row.state, row.repeatable) == (state, state == "failed")


class Raising:
    """A tool of the shape that orchestrators have."""

    name, description = "send_mail", "Send a mail"

    def __init__(self, sent: list[str], kind: ErrorKind) -> None:
        self.sent, self.kind = sent, kind

    def execute(self, input: Any) -> Any:
        self.sent.append("first")
        raise ToolError("the log is away", kind=self.kind, code=-32602, status=429)


@pytest.mark.parametrize("kind", list(ErrorKind))
@pytest.mark.parametrize("form", ["sync", "async", "object"])
def test_no_error_of_a_function_proves_that_it_did_nothing(
    tmp_path: Path, form: str, kind: ErrorKind
) -> None:
    sent: list[str] = []
    raising = Raising(sent, kind)

    def send_mail(to: str) -> None:
        raising.execute(to)

    async def send_later(to: str) -> None:
        raising.execute(to)

    first = {"sync": send_mail, "async": send_later, "object": raising}[form]
    for _ in range(2):
        with ToolHub(store=tmp_path / "store.db") as hub:
            hub.register(first, name="send_mail")
            hub.register(lambda to: sent.append("second"), name="send_mail", source="skills")
            result = hub.call("send_mail", {"to": "ann"}, run="monday")
            assert not result.success
            (row,) = hub.ledger("monday")
            assert row.source == "tools"
            assert row.state == ("unknown" if kind in ("timeout", "cancelled", "closed") else "failed")
    assert sent == ["first"]


@pytest.mark.parametrize("kind", list(ErrorKind))
def test_what_has_run_and_may_act_is_not_retryable(kind: ErrorKind) -> None:
    with ToolHub() as hub:
        hub.register(Raising([], kind), effects=True)
        assert hub.call("send_mail", {"to": "ann"}).meta["error"]["retryable"] is False
