"""Two callers of a served hub at the same time, with real clients and servers: no question, answer or result crosses."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.gateway import LegacyClient, ask, bearer, call, send, served
from support.warm import warm
from toolhub import ToolHub

pytestmark = pytest.mark.anyio
HERE = Path(__file__).parent
CALLERS = {"marit": "mcp1", "solveig": "mcp2"}
TOKENS = {name: f"token-of-{name}" for name in CALLERS}
TIMES = 6
CAPABLE: dict[str, Any] = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}


@contextlib.contextmanager
def asking(environment: str, transport: str) -> Iterator[dict[str, Any]]:
    """A server that asks, as the options of `add_server`."""
    program = [*warm(environment), str(HERE / "asking_server.py"), transport]
    if transport == "stdio":
        yield {"command": program[0], "args": program[1:]}
        return
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        yield {"url": process.stdout.readline().strip()}
    finally:
        process.kill()
        process.communicate()


@contextlib.asynccontextmanager
async def clients(url: str, *tools: str) -> AsyncIterator[dict[str, asyncio.subprocess.Process]]:
    """One client for each caller, ready to begin."""
    started = {
        name: await asyncio.create_subprocess_exec(
            *warm(environment),
            str(HERE / "asked_client.py"),
            *(url, name, str(TIMES), *tools),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        for name, environment in CALLERS.items()
    }
    try:
        for client in started.values():
            assert client.stdout is not None
            assert await asyncio.wait_for(client.stdout.readline(), 30) == b"ready\n"
        yield started
    finally:
        for client in started.values():
            with contextlib.suppress(ProcessLookupError):
                client.kill()
            await client.wait()


async def outcomes(started: dict[str, asyncio.subprocess.Process]) -> dict[str, Any]:
    """What each client saw, after all have begun together."""
    done = await asyncio.gather(*(client.communicate(b"go\n") for client in started.values()))
    return {name: json.loads(output) for name, (output, _) in zip(started, done, strict=True)}


@pytest.mark.parametrize(
    ("environment", "transport", "tools"),
    [
        ("mcp1", "http", ("secret_of", "task_of")),
        ("mcp1", "stdio", ("secret_of", "task_of")),
        ("mcp2", "http", ("secret_of",)),
        ("mcp2", "stdio", ("secret_of",)),
    ],
    ids=["legacy-http", "legacy-stdio", "modern-http", "modern-stdio"],
)
async def test_questions_and_answers_stay_with_their_caller(
    environment: str, transport: str, tools: tuple[str, ...]
) -> None:
    """A legacy server on stdio does not say to which call a question belongs: it is shared until it has asked."""
    with asking(environment, transport) as options:
        hub = ToolHub()
        hub.add_server("asking", **options)
        async with hub, served(hub, token=TOKENS) as at, clients(at.url, *tools) as started:
            seen = await outcomes(started)
    is_unclear = (environment, transport) == ("mcp1", "stdio")
    for name in CALLERS:
        own = f"{name}: word-of-{name}"
        assert len(seen[name]["results"]) == TIMES * len(tools)
        others = [result for result in seen[name]["results"] if result != own]
        assert all(is_unclear and "nobody was asked" in result for result in others), others
        assert seen[name]["results"][-1] == own
        assert set(seen[name]["questions"]) <= {f"[asking] word of {name}?"}
        assert is_unclear or seen[name]["questions"], "the client was asked"


async def answered(url: str, name: str) -> str:
    """A call of a modern client that answers every question."""
    params: dict[str, Any] = {"name": "secret_of", "arguments": {"who": name}, "_meta": CAPABLE}
    given: dict[str, Any] = {}
    while True:
        reply = await ask(url, "tools/call", {**params, **given}, TOKENS[name])
        if reply.result["resultType"] != "input_required":
            return reply.content
        word = {"action": "accept", "content": {"word": f"word-of-{name}"}}
        answers = dict.fromkeys(reply.result["inputRequests"], word)
        given = {"requestState": reply.result["requestState"], "inputResponses": answers}


class LegacyCall:
    """A call of a legacy client of its own, on a connection of its own."""

    def __init__(self, url: str, token: str | None) -> None:
        self.client, self.seen = LegacyClient(url, token), b""

    async def begin(self, name: str) -> None:
        """Send the call; what comes back is read by `until`."""
        await self.client.start({"elicitation": {"form": {}}})
        host, _, path = self.client.url.removeprefix("http://").partition("/")
        params = {"name": "secret_of", "arguments": {"who": name}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        head = f"POST /{path} HTTP/1.1\r\nhost: {host}\r\nmcp-session-id: {self.client.session}\r\n"
        head += f"authorization: Bearer {self.client.token}\r\n" if self.client.token else ""
        head += "mcp-protocol-version: 2025-11-25\r\ncontent-type: application/json\r\n"
        head += f"accept: application/json, text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n"
        self.reader, self.writer = await asyncio.open_connection(*host.split(":"))
        self.writer.write(f"{head}{body}".encode())

    async def until(self, member: str) -> Any:
        """The first message with this member."""
        while True:
            for line in self.seen.split(b"\n")[:-1]:
                data = line.removeprefix(b"data:").strip()
                if data.startswith(b"{") and member in (message := json.loads(data)):
                    return message
            part = await asyncio.wait_for(self.reader.read(4096), 30)
            assert part, self.seen
            self.seen += part

    async def result(self, word: str) -> str:
        """The text of the result, after the question was answered with this word."""
        question = await self.until("method")
        assert question["method"] == "elicitation/create", question
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        headers |= {"Mcp-Session-Id": self.client.session, "MCP-Protocol-Version": "2025-11-25"}
        answer = {"action": "accept", "content": {"word": word}}
        body = json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": answer})
        headers |= bearer(self.client.token)
        assert (await asyncio.to_thread(send, self.client.url, "POST", body, headers)).status == 202
        text = (await self.until("result"))["result"]["content"][0]["text"]
        await self.leave()
        return text

    async def leave(self) -> None:
        """Close the connection, whatever comes."""
        self.writer.close()
        await self.writer.wait_closed()


async def leave_when_asked(url: str, name: str) -> None:
    """A call of a legacy client that is gone when it is asked."""
    leaving = LegacyCall(url, TOKENS[name])
    await leaving.begin(name)
    await leaving.until("method")
    await leaving.leave()


async def waits_when_asked(url: str, name: str) -> None:
    """A call of a modern client that gets a question and does not come back."""
    params: dict[str, Any] = {"name": "secret_of", "arguments": {"who": name}, "_meta": CAPABLE}
    reply = await ask(url, "tools/call", params, TOKENS[name])
    assert reply.result["resultType"] == "input_required"


# As the protocol wants it, a call that was cancelled is never answered.
SILENT_WHEN_CANCELLED = """
import itertools, json, sys
def write(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
asked, numbers = {}, itertools.count()
TOOL = {"name": "secret_of", "inputSchema": {"type": "object"}}
FORM = {"type": "object", "properties": {"word": {"type": "string"}}}
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        info = {"name": "asking", "version": "1"}
        write(id=id, result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info})
    elif method == "tools/list":
        write(id=id, result={"tools": [TOOL]})
    elif method == "tools/call":
        who, question = message["params"]["arguments"]["who"], f"q{next(numbers)}"
        asked[question] = (id, who)
        write(id=question, method="elicitation/create", params={"message": f"word of {who}?", "requestedSchema": FORM})
    elif method == "notifications/cancelled":
        asked = {key: call for key, call in asked.items() if call[0] != message["params"]["requestId"]}
    elif id in asked:
        call, who = asked.pop(id)
        answer = message["result"]
        word = answer["content"]["word"] if answer["action"] == "accept" else answer["action"]
        write(id=call, result={"content": [{"type": "text", "text": f"{who}: {word}"}]})
    elif method and id is not None:
        write(id=id, error={"code": -32601, "message": "Method not found"})
"""


@pytest.mark.parametrize("goes", [leave_when_asked, waits_when_asked])
async def test_a_caller_that_goes_does_not_switch_off_the_questions_of_others(goes: Any) -> None:
    hub = ToolHub()
    hub.add_server("asking", command=sys.executable, args=["-c", SILENT_WHEN_CANCELLED])
    async with hub, served(hub, token=TOKENS) as at:
        await goes(at.url, "marit")
        assert await answered(at.url, "solveig") == "solveig: word-of-solveig"
        # Nor its own.
        assert await answered(at.url, "marit") == "marit: word-of-marit"


@pytest.mark.parametrize("token", ["one-token", None], ids=["one-principal", "no-credentials"])
async def test_clients_are_asked_while_others_have_calls_at_the_same_server(token: str | None) -> None:
    """The server does not say which call it asks about. No client is answered for because another one takes its time."""
    hub = ToolHub()
    hub.add_server("asking", command=sys.executable, args=["-c", SILENT_WHEN_CANCELLED])
    async with hub, served(hub, **({"token": token} if token else {})) as at:
        first, second, third = (LegacyCall(at.url, token) for _ in range(3))
        await first.begin("first")
        assert (await first.until("method"))["params"]["message"].endswith("word of first?")
        await second.begin("second")
        await second.until("method")
        await third.begin("third")
        assert await third.result("three") == "third: three"
        assert await second.result("two") == "second: two"
        assert await first.result("one") == "first: one"


async def test_a_client_that_is_alone_keeps_its_process() -> None:
    """What a server keeps in its memory is there after a question, and with the next connection of the same client."""
    hub = ToolHub()
    hub.add_server("asking", command=sys.executable, args=[str(HERE / "form_server.py"), "legacy"])
    async with hub, served(hub) as at:
        before = await call(at.url, "process")
        params = {"name": "ask", "arguments": {"properties": {"city": {"type": "string"}}}, "_meta": CAPABLE}
        first = (await ask(at.url, "tools/call", params)).result
        answers = {key: {"action": "decline"} for key in first["inputRequests"]}
        params |= {"requestState": first["requestState"], "inputResponses": answers}
        assert json.loads((await ask(at.url, "tools/call", params)).content) == {"action": "decline"}
        assert (await call(at.url, "process")).content == before.content


@pytest.mark.parametrize("environment", ["mcp1", "mcp2"], ids=["legacy", "modern"])
async def test_servers_that_were_connected_before_serving_may_ask(environment: str) -> None:
    """A legacy server is told at its handshake whether anybody answers: it gets another one when somebody does."""
    with asking(environment, "http") as options:
        hub = ToolHub()
        hub.add_server("asking", **options)
        async with hub:
            await hub.connect()
            async with served(hub, token=TOKENS) as at, clients(at.url, "secret_of") as started:
                seen = await outcomes(started)
    for name in CALLERS:
        assert set(seen[name]["results"]) == {f"{name}: word-of-{name}"}


async def test_a_shared_flight_is_never_one_of_another_caller() -> None:
    """Identical calls of two callers at once: each gets the result of a run for itself."""
    hub, begun, go = ToolHub(), [], asyncio.Event()
    joined: list[str] = []
    numbers = itertools.count()

    @hub.tool(read_only=True)
    async def slow(word: str) -> str:
        from toolhub import current_call

        principal = current_call().principal
        assert principal is not None
        begun.append(principal.name)
        await asyncio.wait_for(go.wait(), 30)
        return f"{word} of {principal.name} {next(numbers)}"

    @hub.tool
    async def shared(word: str) -> str:
        joined.append(word)
        return (await hub.execute("slow", {"word": word}, single_flight=True)).text

    async with hub, served(hub, token=TOKENS) as at:
        calls = [
            asyncio.create_task(call(at.url, "shared", token, word="w"))
            for token in list(TOKENS.values()) * 2
        ]
        while len(begun) < 2 or len(joined) < len(calls):
            await asyncio.sleep(0.01)
        go.set()
        texts = [(await one).content for one in calls]
    assert set(begun) == set(CALLERS)
    for number, name in enumerate(list(TOKENS) * 2):
        assert texts[number].startswith(f"w of {name} ")


async def test_identical_calls_inside_of_served_tools_share_one_run() -> None:
    """A call joins the one that is in flight, from whichever request it comes. One that has ended is not in flight."""
    hub, go, times = ToolHub(), asyncio.Event(), 10
    runs: list[str] = []
    joined: list[str] = []

    @hub.tool(read_only=True)
    async def slow(word: str) -> str:
        runs.append(word)
        await asyncio.wait_for(go.wait(), 30)
        return word

    @hub.tool
    async def outer(word: str) -> str:
        joined.append(word)
        return (await hub.execute("slow", {"word": word}, single_flight=True)).text

    # As many threads as there are clients: the standard pool of a small machine would send the last ones when the first
    # have ended.
    with ThreadPoolExecutor(times) as clients:
        asyncio.get_running_loop().set_default_executor(clients)
        async with hub, served(hub) as at:
            calls = [asyncio.create_task(call(at.url, "outer", word="w")) for _ in range(times)]
            while len(joined) < times:
                await asyncio.sleep(0.01)
            go.set()
            assert {(await one).content for one in calls} == {"w"}
    assert runs == ["w"]


async def test_several_calls_of_one_caller_without_sessions_are_all_asked() -> None:
    """The server does not say to which call its question belongs; but both have the same caller."""
    capabilities = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
    with asking("mcp1", "stdio") as options:
        hub = ToolHub()
        hub.add_server("asking", **options)
        async with hub, served(hub, token=TOKENS) as at:

            async def asked(who: str) -> str:
                params: dict[str, Any] = {
                    "name": "secret_of",
                    "arguments": {"who": who},
                    "_meta": capabilities,
                }
                given: dict[str, Any] = {}
                while True:
                    reply = await ask(at.url, "tools/call", {**params, **given}, TOKENS["marit"])
                    if reply.result["resultType"] != "input_required":
                        return reply.content
                    # The question of the other call may come with this one.
                    answers = {
                        key: {"action": "accept", "content": {"word": question["params"]["message"]}}
                        for key, question in reply.result["inputRequests"].items()
                    }
                    given = {"requestState": reply.result["requestState"], "inputResponses": answers}

            both = await asyncio.gather(asked("a"), asked("b"))
    assert both == ["a: [asking] word of a?", "b: [asking] word of b?"]
