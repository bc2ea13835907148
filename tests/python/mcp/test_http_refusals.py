"""Statuses and bodies that are not an answer: the kind, what they prove about the call, and whether to try again."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from toolhub import ToolHub

pytestmark = pytest.mark.anyio


class Refusing(ThreadingHTTPServer):
    """An MCP server that answers each call of a tool with one response of our choice, and counts the calls.

    With sessions it knows the latest one only, until `forget`; what comes in another one is answered with `gone`, and not done.
    """

    daemon_threads = True
    status = 500
    body = ""
    calls = 0
    discoveries = 0
    sessions = 0
    has_sessions = False
    known = ""
    gone = (404, "")
    is_modern = False

    def forget(self, status: int, body: str) -> None:
        self.known, self.gone = "", (status, body)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/mcp"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Refusing

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("get_text", "send_mail")]
        results = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "t", "version": "1"},
            },
            "tools/list": {"tools": tools},
        }
        if self.server.is_modern:
            self.server.discoveries += message["method"] == "server/discover"
            results["server/discover"] = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        in_session = self.server.has_sessions and message["method"] not in ("initialize", "server/discover")
        if in_session and self.headers["mcp-session-id"] != self.server.known:
            status, body = self.server.gone
            self.answer(status, body.replace("ID", str(message.get("id", "null"))))
        elif message["method"] == "tools/call":
            self.server.calls += 1
            body = self.server.body.replace("ID", str(message["id"]))
            self.answer(self.server.status, body)
        elif "id" not in message:
            self.answer(202, "")
        elif message["method"] in results:
            self.answer(
                200,
                json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]}),
            )
        else:
            error = {"code": -32601, "message": "Method not found"}
            self.answer(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}))

    def do_GET(self) -> None:
        self.answer(405, "")

    def answer(self, status: int, body: str) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body.encode())))
        if self.server.has_sessions and '"protocolVersion"' in body:
            self.server.sessions += 1
            self.server.known = f"s{self.server.sessions}"
            self.send_header("mcp-session-id", self.server.known)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Refusing]:
    with Refusing(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


FOREIGN = ['{"error": "boom"}', '{"error": {"code": 500, "message": "boom"}}', '{"detail": "boom"}']


@pytest.mark.parametrize("body", FOREIGN)
@pytest.mark.parametrize(
    ("status", "kind", "outcome"),
    [
        (400, "http", "failed"),
        (401, "auth", "failed"),
        (403, "auth", "failed"),
        (404, "http", "failed"),
        (500, "http", "unknown"),
        (503, "http", "unknown"),
    ],
)
async def test_a_refusal_with_json_of_another_form(
    hub: ToolHub, server: Refusing, body: str, status: int, kind: str, outcome: str
) -> None:
    server.status, server.body = status, body
    hub.add_server("s", url=server.url)
    result = await hub.execute("send_mail", {})
    error = result.meta["error"]
    assert (result.kind, error["status"], error["outcome"]) == (kind, status, outcome), result.error
    assert not error["retryable"]
    assert "boom" in result.error
    # What was sent and may act is not sent again.
    assert server.calls == 1


async def test_a_refusal_of_one_server_does_not_start_a_tool_that_may_act_on_another(
    hub: ToolHub, server: Refusing
) -> None:
    ran: list[str] = []
    server.status, server.body = 403, '{"error": "forbidden"}'
    hub.add_server("s", url=server.url)
    hub.register(lambda: ran.append("native"), name="send_mail", priority=9)
    await hub.connect()
    result = await hub.execute("send_mail", {})
    assert (result.kind, server.calls, ran) == ("auth", 1, [])


async def test_only_what_may_run_twice_is_retryable(hub: ToolHub, server: Refusing) -> None:
    server.status, server.body = 503, "busy"
    hub.add_server("s", url=server.url, retries=0)
    for tool, retryable in (("get_text", True), ("send_mail", False)):
        error = (await hub.execute(tool, {})).meta["error"]
        assert (error["outcome"], error["retryable"]) == ("unknown", retryable), tool


async def test_a_server_that_is_too_busy_has_done_nothing(hub: ToolHub, server: Refusing) -> None:
    server.status, server.body = 429, '{"error": "slow down"}'
    hub.add_server("s", url=server.url, retries=0)
    error = (await hub.execute("send_mail", {})).meta["error"]
    assert (error["kind"], error["outcome"], error["retryable"]) == ("http", "failed", True)


@pytest.mark.parametrize("body", ["", "no such tool", '{"error": "boom"}'])
async def test_a_404_of_the_current_protocol_is_a_refusal_and_no_forgotten_session(
    hub: ToolHub, server: Refusing, body: str
) -> None:
    """There are no sessions: the call is not repeated, and the connection stays."""
    server.is_modern, server.status, server.body = True, 404, body
    hub.add_server("s", url=server.url)
    result = await hub.execute("send_mail", {})
    error = result.meta["error"]
    assert (result.kind, error["status"], error["outcome"]) == ("http", 404, "failed"), result.error
    assert (server.calls, server.discoveries) == (1, 1)
    server.status, server.body = 200, '{"jsonrpc": "2.0", "id": ID, "result": {"content": []}}'
    assert (await hub.execute("send_mail", {})).success
    assert (server.calls, server.discoveries) == (2, 1)


def refused(message: str, request: str = "ID") -> str:
    error = {"code": -32603, "message": message}
    return json.dumps({"jsonrpc": "2.0", "id": 0, "error": error}).replace(" 0,", f" {request},")


@pytest.mark.parametrize("status", [400, 404])
@pytest.mark.parametrize(
    "text", ["the browser session ended after the payment", "the account ended after the payment"]
)
async def test_the_text_of_an_error_does_not_prove_that_nothing_happened(
    hub: ToolHub, server: Refusing, status: int, text: str
) -> None:
    server.has_sessions, server.status, server.body = True, status, refused(text)
    hub.add_server("s", url=server.url)
    result = await hub.execute("send_mail", {}, run="r")
    assert (server.calls, result.meta["error"]["outcome"], text in result.error) == (1, "failed", True)
    (row,) = hub.ledger("r")
    assert (row.state, row.repeatable) == ("failed", False)


FORMS = {
    "null id": refused("TEXT", request="null"),
    "own id": refused("TEXT"),
    "text": "TEXT",
    "another code": refused("TEXT", request="null").replace("-32603", "-32000"),
    "invalid params": refused("TEXT").replace("-32603", "-32602"),
}
TEXTS = [
    "the payment was made, then the log failed",
    "Session not found",
    "No valid session ID",
    "Unknown tool",
]


@pytest.mark.parametrize("status", [400, 404])
@pytest.mark.parametrize("form", FORMS)
async def test_a_call_whose_session_is_known_is_sent_once_whatever_the_answer_says(
    hub: ToolHub, server: Refusing, status: int, form: str
) -> None:
    """No text decides anything: the server is asked whether it knows the session."""
    server.has_sessions, server.status = True, status
    hub.add_server("s", url=server.url)
    ends = set()
    for number, text in enumerate(TEXTS):
        server.body = FORMS[form].replace("TEXT", text)
        result = await hub.execute("send_mail", {}, run=f"r{number}")
        assert (server.calls, server.sessions) == (number + 1, 1), result.error
        (row,) = hub.ledger(f"r{number}")
        ends.add((result.kind, result.meta["error"]["outcome"], row.state, row.repeatable))
    assert len(ends) == 1, ends
    (end,) = ends
    assert end[1:] == ("failed", "failed", form == "invalid params")


@pytest.mark.parametrize("form", ["null id", "own id", "text"])
@pytest.mark.parametrize("status", [400, 404])
async def test_a_session_that_the_server_does_not_know_is_opened_again(
    hub: ToolHub, server: Refusing, status: int, form: str
) -> None:
    server.has_sessions, server.status = True, 200
    server.body = '{"jsonrpc": "2.0", "id": ID, "result": {"content": []}}'
    hub.add_server("s", url=server.url)
    assert (await hub.execute("send_mail", {})).success
    server.forget(status, FORMS[form].replace("TEXT", "unknown"))
    result = await hub.execute("send_mail", {})
    # A 404 says that the session has ended. A 400 with the id of the call may be the answer of its tool.
    is_refused = (status, form) != (400, "own id")
    assert (result.success, server.calls) == (is_refused, 1 + is_refused), result.error
    assert (await hub.execute("send_mail", {})).success
    assert (server.calls, server.sessions) == (2 + is_refused, 2)


async def test_a_read_is_made_again_in_a_new_session(hub: ToolHub, server: Refusing) -> None:
    server.has_sessions, server.status = True, 200
    server.body = '{"jsonrpc": "2.0", "id": ID, "result": {"content": []}}'
    hub.add_server("s", url=server.url)
    assert (await hub.execute("get_text", {})).success
    server.forget(400, FORMS["own id"])
    assert (await hub.execute("get_text", {})).success
    assert (server.calls, server.sessions) == (2, 2)


async def test_a_field_of_a_later_protocol_does_not_send_a_call_again(hub: ToolHub, server: Refusing) -> None:
    answer = {"resultType": "input_required", "content": [{"type": "text", "text": "paid"}]}
    server.status = 200
    server.body = json.dumps({"jsonrpc": "2.0", "id": 0, "result": answer}).replace(" 0,", " ID,")
    hub.add_server("s", url=server.url)
    result = await hub.execute("send_mail", {})
    assert (result.success, result.text, server.calls) == (True, "paid", 1)


async def test_an_answer_of_a_type_that_nobody_knows_is_not_a_result(hub: ToolHub, server: Refusing) -> None:
    answer = {"resultType": "deferred", "content": [{"type": "text", "text": "not yet"}]}
    server.status = 200
    server.body = json.dumps({"jsonrpc": "2.0", "id": 0, "result": answer}).replace(" 0,", " ID,")
    hub.add_server("s", url=server.url)
    result = await hub.execute("send_mail", {})
    assert (result.kind, result.meta["error"]["outcome"], server.calls) == ("protocol", "unknown", 1)


@pytest.mark.parametrize("answer", [{}, {"requestState": "s"}, {"inputRequests": {}, "requestState": ""}])
async def test_an_older_server_that_only_asks_for_input_has_not_answered(
    hub: ToolHub, server: Refusing, answer: dict[str, Any]
) -> None:
    answer = {"resultType": "input_required", **answer}
    server.status = 200
    server.body = json.dumps({"jsonrpc": "2.0", "id": 0, "result": answer}).replace(" 0,", " ID,")
    hub.add_server("s", url=server.url)
    result = await hub.execute("send_mail", {}, run="r")
    assert (result.kind, result.meta["error"]["outcome"], server.calls) == ("protocol", "unknown", 1)
    (row,) = hub.ledger("r")
    assert row.state == "unknown"
