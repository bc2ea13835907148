"""Equal calls of a run: a program that is started again meets each of them again, and none has its effect twice.

Each call is one of several equal ones. Some are not made at first: proposed, refused, paused, too late, or refused by their
server. Whatever became of a call, the program's next equal call is another one.
"""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolhub import ToolHub
from toolhub.agents import ChatLoop
from toolhub.result import ToolResult

CALL = '<tool_call>{"name": "send_mail", "arguments": {"to": "ann"}}</tool_call>'


class Mailer(ThreadingHTTPServer):
    """An MCP server that sends mails, or says that it is too busy."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Requests)
        self.url = f"http://127.0.0.1:{self.server_port}/mcp"
        self.is_busy = False
        self.sent: list[str] = []


class Requests(BaseHTTPRequestHandler):
    server: Mailer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.reply(405)

    do_DELETE = do_GET

    def reply(self, status: int, body: dict[str, Any] | None = None) -> None:
        text = b"" if body is None else json.dumps({"jsonrpc": "2.0", **body}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in request:
            return self.reply(202)
        result: dict[str, Any]
        match request["method"]:
            case "initialize":
                info = {"name": "mailer", "version": "1"}
                result = {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": info,
                }
            case "tools/list":
                schema = {"type": "object", "properties": {"to": {"type": "string"}}}
                result = {"tools": [{"name": "send_mail", "description": "Send", "inputSchema": schema}]}
            case "tools/call" if self.server.is_busy:
                return self.reply(429)
            case "tools/call":
                self.server.sent.append(request["params"]["arguments"]["to"])
                result = {"content": [{"type": "text", "text": "sent"}]}
            case _:
                return self.reply(400, {"id": request["id"], "error": {"code": -32601, "message": "no"}})
        self.reply(200, {"id": request["id"], "result": result})


@pytest.fixture(scope="module")
def mailer() -> Iterator[Mailer]:
    with Mailer() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def opened(store: Path, mailer: Mailer) -> ToolHub:
    hub = ToolHub(store=store, limits={"breaker_threshold": 1_000})
    hub.add_server("mailer", url=mailer.url, retries=0)
    return hub


def outcome(hub: ToolHub, mailer: Mailer, wanted: str) -> ToolResult:
    """One of the equal calls, which ends so unless the run has its result."""
    args: tuple[str, dict[str, str]] = ("send_mail", {"to": "ann"})
    match wanted:
        case "proposed":
            return hub.run_sync(CALL + " Shall I do this?", run="r").results[0]
        case "refused":
            return hub.call(*args, run="r", approve=lambda _: False)
        case "paused":
            return hub.call(*args, run="r", approve="ask")
        case "not_sent":
            return hub.call(*args, run="r", deadline=0)
        case "not_allowed":
            return hub.run_sync(CALL, run="r", allowed=["get_*"]).results[0]
        case "busy":
            mailer.is_busy = True
            try:
                return hub.call(*args, run="r")
            finally:
                mailer.is_busy = False
        case _:
            return hub.call(*args, run="r")


OUTCOMES = ("proposed", "refused", "paused", "not_sent", "not_allowed", "busy", "sent")
KINDS = {"not_sent": "timeout", "refused": "not_allowed", "busy": "http"}


@settings(max_examples=40)
@example(program=["refused", "sent"], ends=[2])
@given(
    program=st.lists(st.sampled_from(OUTCOMES), min_size=2, max_size=5),
    ends=st.lists(st.integers(1, 5), min_size=1, max_size=3),
)
def test_no_effect_is_made_twice_whatever_was_not_made_before(
    mailer: Mailer, program: list[str], ends: list[int]
) -> None:
    mailer.sent.clear()
    with TemporaryDirectory() as folder:
        # Lives that end after so many calls, and one that reaches the end.
        for end in (*ends, len(program)):
            results: list[ToolResult] = []
            with opened(Path(folder) / "hub.db", mailer) as hub:
                results += [outcome(hub, mailer, wanted) for wanted in program[:end]]
            told = ["sent" if one.success else str(one.kind) for one in results]
            assert told == [KINDS.get(wanted, wanted) for wanted in program[:end]]
        assert len(mailer.sent) == program.count("sent")


@settings(max_examples=40)
@example(lives=[["busy", "sent"], ["sent", "sent"], ["sent", "sent"]])
@given(lives=st.lists(st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=4), min_size=1, max_size=4))
def test_a_program_that_tries_until_it_is_sent_sends_once(mailer: Mailer, lives: list[list[str]]) -> None:
    """The world is another one in each life: what failed would work now. The program makes its call until it has succeeded."""
    mailer.sent.clear()
    with TemporaryDirectory() as folder:
        for tries in lives:
            with opened(Path(folder) / "hub.db", mailer) as hub:
                for wanted in tries:
                    if outcome(hub, mailer, wanted).success:
                        break
            assert len(mailer.sent) <= 1


@pytest.mark.parametrize("first", OUTCOMES[:-1])
def test_a_call_that_was_not_made_is_made_by_the_next_life(
    tmp_path: Path, mailer: Mailer, first: str
) -> None:
    mailer.sent.clear()
    with opened(tmp_path / "hub.db", mailer) as hub:
        assert not outcome(hub, mailer, first).success
    for _ in range(2):
        with opened(tmp_path / "hub.db", mailer) as hub:
            assert outcome(hub, mailer, "sent").success
    assert mailer.sent == ["ann"]


def test_a_loop_whose_answers_are_kept_elsewhere_sends_once(tmp_path: Path) -> None:
    sent: list[str] = []
    for _ in range(3):
        answers = iter([CALL + " Shall I do this?", CALL, "It is sent."])
        with ToolHub(store=tmp_path / "hub.db") as hub:

            @hub.tool
            def send_mail(to: str) -> None:
                sent.append(to)

            loop = ChatLoop(hub, lambda _, answers=answers: next(answers), run="r")
            assert asyncio.run(loop.answer("Write to ann")).text == "It is sent."
    assert len(sent) == 1


def test_equal_calls_at_once_keep_their_results(tmp_path: Path) -> None:
    sent: list[str] = []

    async def life() -> list[str]:
        refused = asyncio.Event()

        async def refuse(_: Any) -> bool:
            await refused.wait()
            return False

        async with ToolHub(store=tmp_path / "hub.db") as hub:

            @hub.tool
            async def send_mail(to: str) -> str:
                sent.append(to)
                return "sent"

            waiting = asyncio.create_task(hub.execute("send_mail", {"to": "ann"}, run="r", approve=refuse))
            await asyncio.sleep(0)
            second = await hub.execute("send_mail", {"to": "ann"}, run="r")
            refused.set()
            results = [await waiting, second, await hub.execute("send_mail", {"to": "ann"}, run="r")]
        return ["sent" if result.success else str(result.kind) for result in results]

    for _ in range(3):
        assert asyncio.run(life()) == ["not_allowed", "sent", "sent"]
    assert sent == ["ann", "ann"]


def test_a_question_that_was_answered_is_replayed_as_the_call_that_was_made(
    tmp_path: Path, mailer: Mailer
) -> None:
    mailer.sent.clear()
    with opened(tmp_path / "store.db", mailer) as hub:
        paused = outcome(hub, mailer, "paused").paused
        assert paused is not None
    with opened(tmp_path / "store.db", mailer) as hub:
        assert outcome(hub, mailer, "paused").paused == paused, "nobody has answered"
        hub.approve(paused)
        assert outcome(hub, mailer, "paused").success
    for _ in range(2):
        with opened(tmp_path / "store.db", mailer) as hub:
            again = outcome(hub, mailer, "paused")
            assert (again.result, again.paused, again.meta["replayed"]) == ("sent", None, True)
            # The next equal call is another one: it is not answered with the same effect.
            assert outcome(hub, mailer, "paused").paused not in (None, paused)
    assert mailer.sent == ["ann"]


def test_each_of_two_questions_is_replayed_as_its_own_call(tmp_path: Path, mailer: Mailer) -> None:
    mailer.sent.clear()
    with opened(tmp_path / "store.db", mailer) as hub:
        for _ in range(2):
            waiting = outcome(hub, mailer, "paused")
            assert outcome(hub, mailer, "paused").paused == waiting.paused, "asked about once"
            hub.approve(waiting.paused or "")
            assert outcome(hub, mailer, "paused").success
    with opened(tmp_path / "store.db", mailer) as hub:
        replayed = [outcome(hub, mailer, "paused") for _ in range(3)]
        assert [(one.kind, one.meta.get("replayed")) for one in replayed] == [
            (None, True),
            (None, True),
            ("paused", None),
        ]
    assert mailer.sent == ["ann", "ann"]


def test_what_was_made_again_after_a_decision_is_not_made_a_third_time(tmp_path: Path) -> None:
    sent: list[str] = []
    for life in range(3):
        with ToolHub(store=tmp_path / "hub.db") as hub:

            @hub.tool
            async def send_mail(to: str) -> str:
                sent.append(to)
                if len(sent) == 1:
                    await asyncio.Event().wait()
                return "sent"

            # Long enough to be sent on a busy machine.
            first = hub.call("send_mail", {"to": "ann"}, run="r", timeout=2)
            assert first.kind == "timeout"
            if life == 0:
                assert hub.call("send_mail", {"to": "ann"}, run="r").kind == "paused"
                hub.settle(hub.ledger("r")[0].id, "again")
            else:
                assert hub.call("send_mail", {"to": "ann"}, run="r").kind == "paused"
            assert hub.call("send_mail", {"to": "ann"}, run="r").success
    assert len(sent) == 2
