"""The answer to a question may reach another replica than the one that asked, if the server's own state came with it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.gateway import Reply, ask

pytestmark = pytest.mark.anyio
HERE = Path(__file__).parent
KEY = "a key that all replicas of this test share"
CAN_ANSWER: dict[str, Any] = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
SERVE = """
import json, sys
from toolhub import ToolHub, current_call

servers, options = map(json.loads, sys.argv[1:])
hub = ToolHub()
for name, args in servers.items():
    hub.add_server(name, command=sys.executable, args=args)

@hub.tool
async def native() -> str:
    "Ask the caller."
    return (await current_call().ask("Really?")).action

hub.serve("http", port=0, ready=lambda serving: print(serving.url, flush=True), **options)
"""


@dataclass
class Replica:
    """A served hub in a process of its own."""

    url: str
    process: subprocess.Popen[str]
    audit: Path


@contextmanager
def replica(audit: Path, servers: dict[str, list[str]], **options: Any) -> Generator[Replica]:
    tokens = {"ann": "token-of-ann", "bob": "token-of-bob"}
    shared: dict[str, Any] = {"session_keys": KEY, "token": tokens, "views": {"same": {}}}
    given = [json.dumps(servers), json.dumps({**shared, "audit": str(audit), **options})]
    process = subprocess.Popen([sys.executable, "-c", SERVE, *given], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Replica(process.stdout.readline().strip(), process, audit)
    finally:
        process.kill()
        process.communicate()


Start = Callable[..., Replica]


@pytest.fixture
def taken(tmp_path: Path) -> Path:
    """What the servers have taken, of all replicas."""
    return tmp_path / "taken"


@pytest.fixture
def start(tmp_path: Path, taken: Path) -> Generator[Start]:
    hotel = {"hotel": [str(HERE / "hotel_server.py"), str(taken)]}
    with ExitStack() as stack:

        def started(name: str, servers: dict[str, list[str]] | None = None, **options: Any) -> Replica:
            own = replica(tmp_path / f"{name}.ndjson", hotel if servers is None else servers, **options)
            return stack.enter_context(own)

        yield started


async def send(to: Replica, *, token: str = "token-of-ann", view: str = "", **params: Any) -> Reply:
    given: dict[str, Any] = {"name": "book", "arguments": {"city": "Oslo"}, "_meta": CAN_ANSWER, **params}
    method = "prompts/get" if given["name"] == "trip" else "tools/call"
    return await ask(to.url + view, method, given, token)


def answers(asked: Any, **content: Any) -> dict[str, Any]:
    (key,) = asked["inputRequests"]
    assert list(content) == [key]
    given = {"inputResponses": {key: {"action": "accept", "content": content}}}
    return {**given, "requestState": asked["requestState"]}


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def text_of(result: Any) -> Any:
    content = result["messages"][0]["content"] if "messages" in result else result["content"][0]
    return json.loads(content["text"])


@pytest.mark.parametrize("name", ["book", "trip"])
async def test_each_answer_may_reach_another_replica(start: Start, taken: Path, name: str) -> None:
    one, two = start("one"), start("two")
    first = (await send(one, name=name)).result
    second = (await send(two, name=name, **answers(first, nights=2))).result
    # A question without its answer is put again, as on the replica that asked it.
    again = (await send(one, name=name, requestState=second["requestState"])).result
    assert again["inputRequests"] == second["inputRequests"]
    done = (await send(two, name=name, **answers(again, guests=3))).result
    assert text_of(done) == {"city": "Oslo", "nights": 2, "guests": 3, "process": two.process.pid}
    known: list[dict[str, Any]] = [{"city": "Oslo"}, {"nights": 2}, {"guests": 3}]
    told = [{**known[0], **known[1]}, {**known[0], **known[1], **known[2]}]
    assert lines(taken) == [[name, known[0]], [name, told[0]], [name, told[1]]]


async def test_a_call_goes_on_after_its_replica_was_killed_with_lines_in_both_logs(start: Start) -> None:
    one, two = start("one"), start("two")
    first = (await send(one)).result
    one.process.kill()
    one.process.wait()
    second = (await send(two, **answers(first, nights=2))).result
    done = (await send(two, **answers(second, guests=3))).result
    assert text_of(done)["guests"] == 3
    assert [line["outcome"] for line in lines(one.audit)] == ["begun"]
    assert [line["outcome"] for line in lines(two.audit)] == ["begun", "ok"]


async def test_a_state_that_is_not_for_this_request_is_refused_and_reaches_no_server(
    start: Start, taken: Path
) -> None:
    one, two = start("one"), start("two")
    first = (await send(one)).result
    given, state = answers(first, nights=2), first["requestState"]
    changed = state[:20] + ("A" if state[20] != "A" else "B") + state[21:]
    others: list[dict[str, Any]] = [
        {"requestState": changed},
        {"requestState": state[:-4]},
        {"token": "token-of-bob"},
        {"view": "/same"},
        {"name": "cancel"},
        {"name": "trip"},
        {"arguments": {"city": "Rome"}},
        {"arguments": {}},
    ]
    for other in others:
        error = (await send(two, **{**given, **other})).message["error"]
        assert error["code"] == -32602, other
        why = "'requestState' is not one that this server gave to this caller for this request"
        assert why in error["message"], other
    assert len(lines(taken)) == 1
    assert list((await send(two, **given)).result["inputRequests"]) == ["guests"]


async def test_an_answer_that_does_not_fit_the_form_reaches_no_server(start: Start, taken: Path) -> None:
    one, two = start("one"), start("two")
    first = (await send(one)).result
    wrong = (await send(two, **answers(first, nights="two"))).result
    assert wrong["isError"]
    assert len(lines(taken)) == 1


async def test_a_state_serves_once_on_the_replica_that_gave_it(start: Start, taken: Path) -> None:
    one = start("one")
    first = (await send(one)).result
    assert (await send(one, **answers(first, nights=2))).result["resultType"] == "input_required"
    again = (await send(one, **answers(first, nights=5))).message["error"]
    assert "has ended; send it again without" in again["message"]
    assert len(lines(taken)) == 2


async def test_without_a_shared_key_a_state_is_refused(start: Start, taken: Path) -> None:
    one, two = start("one", session_keys=[]), start("two", session_keys=[])
    first = (await send(one)).result
    refused = (await send(two, **answers(first, nights=2))).message["error"]
    assert (refused["code"], "requestState" in refused["message"]) == (-32602, True)
    assert len(lines(taken)) == 1


async def test_a_function_that_asks_waits_on_its_own_replica(start: Start) -> None:
    one, two = start("one"), start("two")
    native: dict[str, Any] = {"name": "native", "arguments": {}}
    asked = (await send(one, **native)).result
    native |= {"requestState": asked["requestState"]}
    native |= {"inputResponses": {"question": {"action": "decline"}}}
    refused = (await send(two, **native)).message["error"]
    assert "waits on another replica of this server, or has ended" in refused["message"]
    assert (await send(one, **native)).content == "decline"


@pytest.mark.parametrize("other", ["another server", "the older protocol"])
async def test_a_request_is_not_begun_again_where_its_server_cannot_go_on(
    start: Start, tmp_path: Path, taken: Path, other: str
) -> None:
    """The call may act: a server that cannot take the state would run it a second time."""
    elsewhere = tmp_path / "elsewhere"
    hotel, program = [str(HERE / "hotel_server.py"), str(elsewhere)], tmp_path / "legacy.py"
    program.write_text(LEGACY)
    legacy = {"hotel": [str(program), str(elsewhere)]}
    one, two = start("one"), start("two", {"inn": hotel} if other == "another server" else legacy)
    first = (await send(one)).result
    refused = await send(two, **answers(first, nights=2))
    assert "error" in refused.message or refused.result["isError"], refused.text
    assert not elsewhere.exists()
    assert len(lines(taken)) == 1


LEGACY = """
import json, pathlib, sys
info = {"name": "hotel", "version": "1"}
start = {"protocolVersion": "2025-11-25", "serverInfo": info, "capabilities": {"tools": {}}}
tools = {"tools": [{"name": "book", "description": "Book a room.", "inputSchema": {"type": "object"}}]}
for message in map(json.loads, sys.stdin):
    known = {"initialize": start, "tools/list": tools}
    if message["method"] == "tools/call":
        pathlib.Path(sys.argv[1]).touch()
    if "id" in message:
        answer = {"result": known[message["method"]]} if message["method"] in known else {
            "error": {"code": -32601, "message": "Method not found"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""
