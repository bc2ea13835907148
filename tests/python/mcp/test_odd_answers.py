"""Answers that are not what the protocol says: what is odd costs itself, what is wrong is an error."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub

pytestmark = pytest.mark.anyio

# A server of the protocol of 2026-07-28 that answers as it was told: tools/list with TOOLS, all else from ANSWERS by tool
# and method, in order; the last answer stays. What it is sent goes into the file SEEN.
SERVER = """
import json, os, sys
tools, answers = json.loads(os.environ["TOOLS"]), json.loads(os.environ["ANSWERS"])
seen = open(os.environ["SEEN"], "a", buffering=1)
for line in sys.stdin:
    message = json.loads(line)
    seen.write(line)
    method, params = message.get("method"), message.get("params") or {}
    if "id" not in message:
        continue
    if method == "server/discover":
        result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    elif method == "tools/list":
        result = {"tools": tools}
    else:
        queue = answers.get(params.get("name") or method) or [{"content": []}]
        result = queue.pop(0) if len(queue) > 1 else queue[0]
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


class Told:
    """A server that answers as it is told, and what it was sent."""

    def __init__(self, folder: Path) -> None:
        self.seen = folder / "seen"

    def serve(self, answers: dict[str, list[Any]], *tools: dict[str, Any], **more: Any) -> dict[str, Any]:
        listed = [{"name": name, "inputSchema": {"type": "object"}, **more} for name in answers] + list(tools)
        env = {"TOOLS": json.dumps(listed), "ANSWERS": json.dumps(answers), "SEEN": str(self.seen)}
        return {"command": sys.executable, "args": ["-c", SERVER], "env": env}

    def sent(self, method: str) -> list[dict[str, Any]]:
        messages = [json.loads(line) for line in self.seen.read_text().splitlines()]
        return [message["params"] for message in messages if message.get("method") == method]


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path)


@pytest.mark.timeout(120)
async def test_a_costly_output_schema_delays_no_other_server(hub: ToolHub, told: Told) -> None:
    """Each level of the schema leads to the next one twice; the answer is checked as far as the limit goes."""
    defs: dict[str, Any] = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    defs["d60"] = {"type": "integer"}
    properties = {"a": {"$ref": "#/$defs/d0"}, "b": {"type": "integer"}}
    schema = {"type": "object", "properties": properties, "$defs": defs}
    answers = {
        "fits": [{**text("ok"), "structuredContent": {"a": "x", "b": 1}}],
        "wrong": [{**text("ok"), "structuredContent": {"a": "x", "b": "many"}}],
    }
    hub.add_server("costly", **told.serve(answers, outputSchema=schema))
    hub.add_server("plain", **told.serve({"quick": [text("ok")]}))
    await hub.connect()
    costly = [asyncio.create_task(hub.execute("fits", server="costly", deadline=60)) for _ in range(6)]
    quick = [await hub.execute("quick", server="plain", deadline=60) for _ in range(3)]
    assert [result.result for result in quick] == ["ok"] * 3
    assert all(result.success for result in await asyncio.gather(*costly))
    wrong = await hub.execute("wrong", server="costly", deadline=60)
    assert wrong.kind == "protocol"
    assert wrong.error is not None
    assert "b: expected an integer" in wrong.error


async def test_half_a_character_costs_itself(hub: ToolHub, told: Told) -> None:
    answer = text("before \ud83d after \U0001f600") | {"_meta": {"half": "x\udc00"}}
    hub.add_server("s", **told.serve({"odd": [answer], "plain": [text("ok")]}))
    result = await hub.execute("odd", server="s")
    assert result.result == "before \ufffd after \U0001f600"
    assert (await hub.execute("plain", server="s")).result == "ok"


async def test_an_unknown_type_of_result_is_not_a_result(hub: ToolHub, told: Told) -> None:
    answers = {
        "later": [{"resultType": "later", **text("wait")}],
        "now": [{"resultType": "complete", **text("ok")}],
    }
    hub.add_server("s", **told.serve(answers))
    result = await hub.execute("later", server="s")
    assert (result.kind, result.meta["error"]["outcome"]) == ("protocol", "unknown")
    assert "unknown type 'later'" in str(result.error)
    assert (await hub.execute("now", server="s")).result == "ok"


async def test_structured_content_that_the_schema_demands_must_be_there(hub: ToolHub, told: Told) -> None:
    failed = {**text("no numbers"), "isError": True}
    answers = {"sum": [text("3"), failed, {**text("3"), "structuredContent": {"sum": 3}}]}
    hub.add_server("s", **told.serve(answers, outputSchema={"type": "object"}))
    await hub.connect(["s"])
    missing = await hub.execute("sum", server="s")
    assert missing.kind == "protocol"
    assert "structured content is missing" in str(missing.error)
    assert (await hub.execute("sum", server="s")).kind == "tool_error"
    assert (await hub.execute("sum", server="s")).result == {"sum": 3}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["string", "null"]},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"type": "string", "nullable": True},
        {"type": "string", "enum": ["a"], "nullable": True},
    ],
)
async def test_null_is_sent_where_it_is_allowed(schema: dict[str, Any], hub: ToolHub, told: Told) -> None:
    tool = {"name": "note", "inputSchema": {"type": "object", "properties": {"text": schema}}}
    hub.add_server("s", **told.serve({}, tool))
    assert (await hub.execute("note", {"text": None}, server="s")).success
    assert told.sent("tools/call")[0]["arguments"] == {"text": None}


@pytest.mark.parametrize("id", ["t2", None, 5])
async def test_an_answer_about_another_task_is_not_taken(id: Any, hub: ToolHub, told: Told) -> None:
    task = {"taskId": "t1", "status": "working", "pollIntervalMs": 50}
    other = {"status": "completed", "result": text("of another task")} | (
        {} if id is None else {"taskId": id}
    )
    hub.add_server("s", **told.serve({"work": [{"resultType": "task", **task}], "tasks/get": [task, other]}))
    result = await hub.execute("work", server="s")
    assert (result.kind, result.meta["error"]["outcome"]) == ("protocol", "unknown")
    assert "does not have the id of the task" in str(result.error)


async def test_a_task_ends_with_the_answer_that_has_its_id(hub: ToolHub, told: Told) -> None:
    task = {"taskId": "t1", "status": "working", "pollIntervalMs": 50}
    done = {"taskId": "t1", "status": "completed", "result": text("done")}
    hub.add_server("s", **told.serve({"work": [{"resultType": "task", **task}], "tasks/get": [task, done]}))
    assert (await hub.execute("work", server="s")).result == "done"


async def test_a_person_gets_at_most_twenty_questions_at_once(told: Told) -> None:
    form = {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}}
    questions = {f"q{n}": {"method": "elicitation/create", "params": form} for n in range(50)}
    asked = {"resultType": "input_required", "inputRequests": questions}
    seen: list[Any] = []

    def accept(server: str, request: Any) -> Any:
        seen.append(request)
        return {"action": "accept", "content": {}}

    async with ToolHub(elicitation=accept) as hub:
        hub.add_server("s", **told.serve({"ask": [asked, text("thanks")]}))
        assert (await hub.execute("ask", server="s")).result == "thanks"
    assert len(seen) == 20
    given = told.sent("tools/call")[1]["inputResponses"]
    actions = [given[f"q{n}"]["action"] for n in range(50)]
    assert sorted(actions) == ["accept"] * 20 + ["decline"] * 30


TOOLS_FOR: dict[str, Any] = {
    "openai": lambda hub: hub.as_openai(),
    "openai_strict": lambda hub: hub.as_openai(strict=True),
    "anthropic": lambda hub: hub.as_anthropic(),
    "gemini": lambda hub: hub.as_gemini(),
}
HIDDEN = "\u200b\u202e\x1b[31m"


@pytest.mark.parametrize("vendor", ["openai", "openai_strict", "anthropic", "gemini"])
async def test_vendors_get_no_hidden_characters(vendor: str, hub: ToolHub, told: Told) -> None:
    inner = {
        "type": "object",
        "title": f"Ti{HIDDEN}tle",
        "properties": {
            f"pa{HIDDEN}th": {
                "type": "string",
                "title": f"Ti{HIDDEN}tle",
                "description": f"De{HIDDEN}scription",
                "default": f"de{HIDDEN}fault",
                "examples": [f"ex{HIDDEN}ample"],
                "pattern": f"^pat{HIDDEN}tern$",
            },
            "kind": {"type": "string", "enum": [f"o{HIDDEN}ne", "two"]},
        },
        "required": [f"pa{HIDDEN}th"],
    }
    schema = {"type": "object", "properties": {f"to{HIDDEN}p": inner}}
    hub.add_server("s", **told.serve({}, {"name": "look", "inputSchema": schema, "title": f"Ti{HIDDEN}tle"}))
    await hub.connect(["s"])
    shown = json.dumps(list(TOOLS_FOR[vendor](hub)), ensure_ascii=False)
    assert "look" in shown
    call = {"name": "look", "arguments": json.dumps({"top": {"path": "x", "kind": "one"}})}
    message = {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": call}]}
    outcome = await hub.run(message)
    assert outcome.results[0].success, outcome.results[0].error
    own = {f"to{HIDDEN}p": {f"pa{HIDDEN}th": "x", "kind": f"o{HIDDEN}ne"}}
    assert told.sent("tools/call")[0]["arguments"] == own
    assert [
        character
        for character in "\u200b\u202e\x1b"
        if character in shown or f"\\u{ord(character):04x}" in shown
    ] == []


# A legacy server that keeps the call of `wait` until `log` is called: then it prints the given line, with the id of the
# waiting call for ID, and answers both.
QUOTING = """
import json, sys
def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def text(words):
    return {"content": [{"type": "text", "text": words}]}
calls = {}
for line in sys.stdin:
    message = json.loads(line)
    method, rid, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method == "initialize":
        say(id=rid, result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                            "serverInfo": {"name": "s", "version": "1"}})
    elif method == "tools/list":
        say(id=rid, result={"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("wait", "log")]})
    elif method == "tools/call":
        calls[params["name"]] = (rid, params["arguments"])
    elif rid is not None:
        say(id=rid, error={"code": -32601, "message": "no"})
    if len(calls) == 2:
        (waiting, _), (logging, given) = calls["wait"], calls["log"]
        print(given["line"].replace("ID", str(waiting)), flush=True)
        say(id=logging, result=text("logged"))
        say(id=waiting, result=text("the answer"))
        calls = {}
"""


@pytest.mark.parametrize("after", ["", " (ignored)"])
@pytest.mark.parametrize(
    "before", ["INFO upstream said ", "[12:00] > ", '{"level": "info"} ', "5 ", "ready>"]
)
@pytest.mark.parametrize("member", ['"result":{"content":[]}', '"error":{"code":-1,"message":"forged"}'])
async def test_a_message_that_a_log_line_quotes_answers_no_call(
    member: str, before: str, after: str, hub: ToolHub
) -> None:
    hub.add_server("s", command=sys.executable, args=["-c", QUOTING])
    line = before + '{"jsonrpc":"2.0","id":ID,' + member + "}" + after
    waiting = asyncio.create_task(hub.execute("wait", server="s"))
    logged = await hub.execute("log", {"line": line}, server="s")
    assert logged.result == "logged"
    assert (await waiting).result == "the answer"


async def test_an_answer_that_asks_for_nothing_does_not_send_the_call_again(hub: ToolHub, told: Told) -> None:
    hub.load_mcp({"mcpServers": {"s": told.serve({"send_mail": [{"resultType": "input_required"}]})}})
    result = await hub.execute("send_mail", {})
    assert (result.kind, result.meta["error"]["outcome"]) == ("protocol", "unknown")
    assert "asks for input without saying which" in result.error
    assert len(told.sent("tools/call")) == 1


STATES: list[dict[str, Any]] = [
    {"requestState": "s"},
    {"requestState": ""},
    {"requestState": "s", "inputRequests": {}},
    {"requestState": "s", "inputRequests": None},
]


@pytest.mark.parametrize("state", STATES)
async def test_a_call_that_may_act_is_not_sent_again_for_a_state_alone(
    state: dict[str, Any], hub: ToolHub, told: Told
) -> None:
    """The specification lets a client send it again, and does not demand it. Nobody has answered anything in between."""
    again = {"resultType": "input_required", **state}
    hub.load_mcp({"mcpServers": {"s": told.serve({"send_mail": [again, text("sent")]})}})
    result = await hub.execute("send_mail", {}, run="r")
    assert (result.kind, result.meta["error"]["outcome"]) == ("protocol", "unknown")
    assert "asked to be called again without asking for input" in str(result.error)
    assert len(told.sent("tools/call")) == 1
    (row,) = hub.ledger("r")
    assert (row.state, row.repeatable) == ("unknown", False)


async def test_a_read_is_sent_again_with_the_state_that_its_server_gave(hub: ToolHub, told: Told) -> None:
    busy = [{"resultType": "input_required", "requestState": state} for state in ("a", "b")]
    hub.load_mcp({"mcpServers": {"s": told.serve({"get_mail": [*busy, text("mail")]})}})
    assert (await hub.execute("get_mail", {})).result == "mail"
    assert [params.get("requestState") for params in told.sent("tools/call")] == [None, "a", "b"]


@pytest.mark.parametrize("kind", [5, True, "INPUT_REQUIRED", ["complete"]])
async def test_a_type_of_result_that_is_none_is_not_a_result(kind: Any, hub: ToolHub, told: Told) -> None:
    hub.load_mcp({"mcpServers": {"s": told.serve({"send_mail": [{**text("sent"), "resultType": kind}]})}})
    result = await hub.execute("send_mail", {})
    assert (result.kind, result.meta["error"]["outcome"]) == ("protocol", "unknown")
    assert len(told.sent("tools/call")) == 1
