"""Whether a call was sent is a fact: the ledger says what the server, or the function, has seen.

A row that says `not_sent` is of a call that never reached its server; a row that says `unknown` is of one that began.
"""

import asyncio
import json
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub
from toolhub.ledger import LedgerRow

pytestmark = pytest.mark.anyio

SEEDS = range(int(os.environ.get("TOOLHUB_SENT_SEEDS", "24")))

# NAME FOLDER [ANNOTATIONS]. FOLDER/NAME.json: `die` and `start` in seconds, `go` a file that it waits for before it answers
# the first message, `mute` if it never answers a call. It logs the calls that it got before it does anything else.
SERVER = """
import json, os, sys, time
name, folder, annotations = sys.argv[1], sys.argv[2], json.loads((sys.argv + ["{}"])[3])
plan = json.load(open(f"{folder}/{name}.json")) if os.path.exists(f"{folder}/{name}.json") else {}
def log(text):
    with open(f"{folder}/log", "a") as file:
        file.write(text + "\\n")
if "die" in plan:
    time.sleep(plan["die"])
    sys.exit(1)
time.sleep(plan.get("start", 0))
log(f"ready {name}")
while "go" in plan and not os.path.exists(plan["go"]):
    time.sleep(0.01)
def answer(id, **body):
    print(json.dumps({"jsonrpc": "2.0", "id": id, **body}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method, id = message["method"], message.get("id")
    if method == "tools/call":
        log(f"got {name} {message['params']['arguments']['x']}")
        time.sleep(plan.get("work", 0))
        if not plan.get("mute"):
            answer(id, result={"content": [{"type": "text", "text": f"done at {name}"}]})
    elif method == "initialize":
        info = {"name": name, "version": "1"}
        answer(id, result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info})
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
        tool = {"name": "send_thing", "description": "Do it.", "inputSchema": schema, "annotations": annotations}
        answer(id, result={"tools": [tool]})
    elif id is not None:
        answer(id, error={"code": -32601, "message": "no"})
"""


class Place:
    """A folder with servers, their plans and their log."""

    def __init__(self, folder: Path, *names: str, annotations: dict[str, Any] | None = None) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.script = folder / "server.py"
        self.script.write_text(SERVER)
        words = [json.dumps(annotations or {})]
        self.servers: dict[str, dict[str, Any]] = {
            name: {
                "command": sys.executable,
                "args": [str(self.script), name, str(folder), *words],
                "toolhub": {"retries": 0},
            }
            for name in names
        }

    def plan(self, name: str, **plan: Any) -> None:
        (self.folder / f"{name}.json").write_text(json.dumps(plan))

    def hub(self, **options: Any) -> ToolHub:
        return ToolHub({"mcpServers": self.servers}, store=self.folder / "store.db", **options)

    async def listed(self) -> None:
        """The lists are in the store from now on, so that calls know the tools of servers that do not run."""
        async with self.hub() as hub:
            await hub.connect()
        self.log_file.write_text("")

    @property
    def log_file(self) -> Path:
        return self.folder / "log"

    def log(self) -> list[str]:
        return self.log_file.read_text().splitlines() if self.log_file.exists() else []

    async def logged(self, line: str) -> None:
        while line not in self.log():
            await asyncio.sleep(0.01)


async def cancelled(task: asyncio.Future[Any]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def states(rows: list[LedgerRow]) -> list[tuple[str, str]]:
    return [(row.server, row.state) for row in rows]


async def test_a_request_that_was_sent_is_not_made_again(tmp_path: Path) -> None:
    """The first server fails while it starts; its timer fires while the second one starts; the caller goes after that."""
    place = Place(tmp_path, "a", "b")
    await place.listed()
    place.plan("a", die=1)
    place.plan("b", go=str(tmp_path / "go"), mute=True)
    async with place.hub() as hub:
        begun = time.monotonic()
        task = asyncio.ensure_future(hub.execute("send_thing", {"x": 1}, timeout=3, run="monday"))
        await place.logged("ready b")
        await asyncio.sleep(begun + 3.1 - time.monotonic())  # what was set for the first one is due
        (tmp_path / "go").touch()
        await asyncio.wait_for(place.logged("got b 1"), 60)
        await cancelled(task)
        assert states(hub.ledger("monday")) == [("a", "not_sent"), ("b", "unknown")]
    async with place.hub() as hub:
        again = await hub.execute("send_thing", {"x": 1}, timeout=3, run="monday")
        assert (again.success, again.kind) == (False, "paused"), again
    assert [line for line in place.log() if line.startswith("got")] == ["got b 1"]


@pytest.mark.parametrize("run", ["monday", None])
@pytest.mark.parametrize("end", ["cancel", "close", "timeout", "deadline"])
async def test_a_call_that_ends_while_its_server_starts_was_not_sent(
    tmp_path: Path, end: str, run: str | None
) -> None:
    place = Place(tmp_path, "a")
    await place.listed()
    place.plan("a", go=str(tmp_path / "go"))
    limits = {"timeout": {"timeout": 1.0}, "deadline": {"deadline": 1.0}}.get(end, {})
    async with place.hub() as hub:
        task = asyncio.ensure_future(hub.execute("send_thing", {"x": 1}, run=run, **limits))
        await place.logged("ready a")
        if end == "cancel":
            await cancelled(task)
        elif end == "close":
            await hub.aclose()
        if end != "cancel":
            result = await task
            assert result.meta["error"]["outcome"] == "not_sent", result
    # A call of a run waits for the list of its server before it has a row.
    has_row = run is None or end == "timeout"
    async with place.hub() as hub:
        assert states(hub.ledger(run)) == [("a", "not_sent")] * has_row
        place.plan("a")
        assert (await hub.execute("send_thing", {"x": 1}, run=run)).success
    assert place.log().count("got a 1") == 1


async def test_a_hint_of_idempotence_sends_nothing_to_another_provider(tmp_path: Path) -> None:
    """A bank that pays and does not answer: another bank would pay once more."""
    place = Place(tmp_path, "a", "b", annotations={"destructiveHint": True, "idempotentHint": True})
    place.plan("a", mute=True)
    async with place.hub() as hub:
        await hub.connect()
        result = await hub.execute("send_thing", {"x": 1}, timeout=1)
    assert (result.success, result.meta["error"]["outcome"]) == (False, "unknown")
    assert [line for line in place.log() if line.startswith("got")] == ["got a 1"]


class Web(ThreadingHTTPServer):
    """An MCP server that is reached over HTTP, and behaves as its plan says."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, name: str, log: Callable[[str], None], port: int, plan: dict[str, Any]) -> None:
        super().__init__(("127.0.0.1", port), WebHandler)
        self.name, self.log, self.plan = name, log, plan


class WebHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Web

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, plan = message["method"], self.server.plan
        if method == "tools/call":
            self.server.log(f"got {self.server.name} {message['params']['arguments']['x']}")
            time.sleep(plan["work"])
            if plan["drops"]:
                self.close_connection = True
                return
        elif method == "initialize":
            time.sleep(plan["start"])
        schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "w", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "send_thing", "inputSchema": schema}]},
            "tools/call": {"content": [{"type": "text", "text": "done"}]},
        }
        if "id" not in message:
            return self.answer(202, b"")
        body: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if method in results:
            body["result"] = results[method]
        else:
            body["error"] = {"code": -32601, "message": "no"}
        return self.answer(200, json.dumps(body).encode())

    def do_GET(self) -> None:
        self.answer(405, b"")

    def do_DELETE(self) -> None:
        self.answer(200, b"")

    def answer(self, status: int, body: bytes) -> None:
        with suppress(OSError):
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


async def ended_at_random(hub: ToolHub, dice: random.Random, tool: str, run: str) -> Any:
    """One call that its caller, the clock or the end of the hub breaks off at a random moment, or nothing does."""
    limits: dict[str, float] = {"timeout": dice.uniform(0.05, 1.2)}
    if dice.random() < 0.3:
        limits["deadline"] = dice.uniform(0.05, 1.0)
    task = asyncio.ensure_future(hub.execute(tool, {"x": 1}, run=run, **limits))
    how, moment = dice.choice(["cancel", "close", "nothing"]), dice.uniform(0, 0.9)
    if how != "nothing":
        await asyncio.wait({task}, timeout=moment)
    if how == "cancel":
        task.cancel()
    elif how == "close":
        await hub.aclose()
    return (await asyncio.gather(task, return_exceptions=True))[0]


def checked(rows: list[LedgerRow], result: Any, log: list[str]) -> None:
    for row in rows:
        got = f"got {row.server} 1" in log
        assert row.state != "started", row
        assert not (row.state == "not_sent" and got), (row, log)
        if f"ready {row.server}" not in log:
            assert row.state == "not_sent", (row, log)
    if isinstance(result, dict) and not result.success:
        was_got = any(line.startswith("got") for line in log)
        assert not (result.meta["error"]["outcome"] == "not_sent" and was_got), (result, log)


async def test_rows_of_processes_say_what_the_servers_got(tmp_path: Path) -> None:
    """Two servers that start slowly or die meanwhile, in hubs that run side by side."""

    async def trial(seed: int) -> None:
        dice = random.Random(seed)
        place = Place(tmp_path / str(seed), "a", "b")
        await place.listed()
        for name in ("a", "b"):
            if dice.random() < 0.35:
                place.plan(name, die=dice.uniform(0, 0.3))
            else:
                place.plan(
                    name, start=dice.uniform(0, 0.4), work=dice.uniform(0, 0.3), mute=dice.random() < 0.3
                )
        hub = place.hub()
        result = await ended_at_random(hub, dice, "send_thing", "r")
        await hub.aclose()
        async with place.hub() as reader:
            rows = reader.ledger("r")
        checked(rows, result, place.log())

    for first in range(0, len(SEEDS), 4):
        await asyncio.gather(*(trial(seed) for seed in SEEDS[first : first + 4]))


@pytest.fixture
def webs() -> Iterator[list[Web]]:
    running: list[Web] = []
    yield running
    for web in running:
        web.shutdown()
        web.server_close()


async def test_rows_of_http_servers_say_what_the_servers_got(tmp_path: Path, webs: list[Web]) -> None:
    """Servers that do not listen yet, answer late, or drop the connection after they got the call."""

    async def trial(seed: int) -> None:
        dice = random.Random(seed)
        log: list[str] = []
        servers: dict[str, Any] = {}
        for name in ("a", "b"):
            plan = {"start": dice.uniform(0, 0.4), "work": dice.uniform(0, 0.3), "drops": dice.random() < 0.3}
            web = Web(name, log.append, 0, {**plan, "start": 0})
            threading.Thread(target=web.serve_forever, args=(0.02,), daemon=True).start()
            webs.append(web)
            port = web.server_address[1]
            servers[name] = {
                "url": f"http://127.0.0.1:{port}/mcp",
                "toolhub": {"retries": dice.choice([0, 2])},
            }
        store = tmp_path / f"{seed}.db"
        async with ToolHub({"mcpServers": servers}, store=store) as hub:
            await hub.connect()
        for web in webs[-2:]:
            web.plan["start"] = dice.uniform(0, 0.4)
            if dice.random() < 0.3:
                await asyncio.to_thread(web.shutdown)
                web.server_close()
            else:
                log.append(f"ready {web.name}")
        hub = ToolHub({"mcpServers": servers}, store=store)
        result = await ended_at_random(hub, dice, "send_thing", "r")
        await hub.aclose()
        async with ToolHub({"mcpServers": servers}, store=store) as reader:
            rows = reader.ledger("r")
        checked(rows, result, log)

    for seed in SEEDS:
        await trial(seed)


@pytest.mark.parametrize("strategy", ["fallback", "first"])
@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_rows_of_functions_say_which_have_begun(tmp_path: Path, kind: str, strategy: str) -> None:
    """Many calls at once, with a limit and a store: most of them wait, and are broken off meanwhile."""
    dice = random.Random(f"{kind} {strategy}")
    begun: set[tuple[str, int]] = set()
    hub = ToolHub(store=tmp_path / "store.db", limits={"hub": 40, "cancel_grace": 0.2})

    def add(name: str) -> None:
        def sync(x: int) -> str:
            begun.add((name, x))
            time.sleep(0.03)
            return name

        async def later(x: int) -> str:
            begun.add((name, x))
            await asyncio.sleep(0.03)
            return name

        function: Any = sync if kind == "sync" else later
        function.__qualname__ = name
        # Of what may act, one runs at a time; functions of which nothing is known may race.
        hub.register(function, name="thing", effects=True if strategy == "fallback" else None)

    add("one")
    add("two")

    async def call(x: int) -> None:
        limits = {"timeout": dice.choice([0.001, 0.02, 0.1, 5.0])}
        task = asyncio.ensure_future(hub.execute("thing", {"x": x}, run=f"r{x}", strategy=strategy, **limits))
        if dice.random() < 0.6:
            await asyncio.wait({task}, timeout=dice.choice([0, 0.002, 0.02, 0.1]))
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    for first in (0, 200, 400):
        await asyncio.gather(*(call(x) for x in range(first, first + 200)))
    rows = {x: hub.ledger(f"r{x}") for x in range(600)}
    await hub.aclose()
    assert len({row.state for of_call in rows.values() for row in of_call}) >= 3
    for x, of_call in rows.items():
        assert not [row for row in of_call if row.state == "started"]
        sent = sum(row.state != "not_sent" for row in of_call)
        # A thread that was handed a function comes to its first line a moment later.
        end = time.monotonic() + 30
        while sent != sum((name, x) in begun for name in ("one", "two")):
            assert time.monotonic() < end, (of_call, sorted(one for one in begun if one[1] == x))
            await asyncio.sleep(0.01)


async def test_a_loser_that_was_never_stepped_was_not_sent(tmp_path: Path) -> None:
    begun: list[str] = []
    async with ToolHub(store=tmp_path / "store.db") as hub:
        for name in ("one", "two", "three"):

            async def send(name: str = name) -> str:
                begun.append(name)
                return name

            send.__qualname__ = name
            hub.register(send, name="thing")
        result = await hub.execute("thing", strategy="first", run="r")
        assert result.success
        states = sorted(row.state for row in hub.ledger("r"))
    assert (begun, states) == (["one"], ["done", "not_sent", "not_sent"])
