"""A hostile server gives back the secrets that it got, in every place and spelling. None may be shown or kept.

The content of a good result belongs to the caller; everything else that comes from a server goes to logs, events, errors and
models.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import re
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import catalogue
import pytest

from toolhub import ToolHub

sys.path.insert(0, str(Path(__file__).parents[2] / "mcp" / "servers"))

from hostile import SPELLINGS

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore:the server 's' has not listed")]

SERVER = Path(__file__).parents[2] / "mcp" / "servers" / "hostile.py"
SECRET = "Tok-5c1e/7a90+b3XyZ"
KEY = "k9-QwErTy.4711"
PLACES = """rpc|cut rpc|no code|tool|log|progress|question|schema|odd result|no result|kind of result|greeting|version
    |list|odd list|offers"""
OVER_STDIO = [place.strip() for place in f"{PLACES}|stderr|noise|start".split("|")]
OVER_HTTP = [
    place.strip()
    for place in f"{PLACES}|http 500|http 401|http redirect|http type|http body|http stream|http 429".split(
        "|"
    )
]


def readings(text: str) -> Iterator[str]:
    """The text as a person with some patience can read it: with all encodings undone."""
    for _ in range(3):
        text = urllib.parse.unquote(text)
        text = re.sub(r"\\+u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), text)
        text = re.sub(r"&#x([0-9a-f]+);", lambda found: chr(int(found[1], 16)), text)
    text = re.sub(r"\x1b\[\d+m|\\x1b\[\d+m|\\u200b|\\[rnt]|[\s\u200b]", "", text)
    yield text
    for run in re.findall(r"[A-Za-z0-9+/_-]{8,}", text):
        for start in range(4):
            part = run[start : start + (len(run) - start) // 4 * 4]
            yield base64.b64decode(part, altchars=b"-_" if {"-", "_"} & set(part) else None).decode("latin-1")
    for run in re.findall(r"(?:[0-9A-Fa-f]{2}){6,}", text):
        yield bytes.fromhex(run).decode("latin-1")


def shows(text: str, secret: str) -> bool:
    """Whether a good part of the secret can be read in the text."""
    parts = {secret[at : at + 9].lower() for at in range(len(secret) - 8)}
    return any(part in reading.lower() for reading in readings(text) for part in parts)


class Watch:
    """Everything that a hub shows while a server misbehaves."""

    def __init__(self, hub: ToolHub, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        self._hub, self._caplog = hub, caplog
        self._seen: list[Any] = []
        hub.on_event(self._seen.append)

    async def everything(self) -> dict[str, str]:
        hub = self._hub
        connected = await hub.connect()
        calls = [
            await hub.execute("leak", {}, server="s", progress=self._seen.append, timeout=20)
            for _ in range(2)
        ]
        results = [[dict(one), one.text, repr(one), one.content, one.structured, one.meta] for one in calls]
        report, offers = await hub.refresh(["s"]), [await hub.resources.list(), await hub.prompts.list()]
        explained = hub.explain("leak")
        return {
            "results": repr(results),
            "reports": repr([connected, report, [str(error) for error in report.failed.values()], offers]),
            "failed offers": repr([[str(error) for error in offer.failed.values()] for offer in offers]),
            "servers": repr(hub.servers()),
            "explained": f"{explained!r} {explained}",
            "stats": repr(hub.stats()),
            "tools": repr(
                [[tool, vars(tool) if hasattr(tool, "__dict__") else ""] for tool in hub.tools(server="s")]
            ),
            "events": repr(self._seen),
            "log": self._caplog.text,
        }


def stored(folder: Path) -> str:
    """The bytes of the store."""
    return b"".join(path.read_bytes() for path in folder.glob("hub.db*")).decode("latin-1")


async def person(asked: list[Any], server: str, request: Any) -> Any:
    asked.append(request)
    return {"action": "decline"}


async def leaks(
    how: dict[str, Any], caplog: pytest.LogCaptureFixture, tmp_path: Path, *secrets: str
) -> dict[str, str]:
    """Where a secret can be read."""
    asked: list[Any] = []

    async def ask(server: str, request: Any) -> Any:
        return await person(asked, server, request)

    async with ToolHub(elicitation=ask, sampling=ask, store=tmp_path / "hub.db") as hub:
        hub.add_server("s", **how, retries=0, startup_timeout=30)
        shown = await Watch(hub, caplog).everything()
    shown["questions"] = repr(asked)
    shown["store"] = stored(tmp_path)
    return {where: text for where, text in shown.items() for secret in secrets if shows(text, secret)}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("place", ["rpc", "tool", "log"])
async def test_no_spelling_of_a_secret_is_shown(
    place: str, spelling: str, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    env = {"PLACE": place, "SPELLING": spelling, "API_TOKEN": SECRET}
    how = {"command": sys.executable, "args": [str(SERVER)], "env": env}
    assert await leaks(how, caplog, tmp_path, SECRET) == {}


@pytest.mark.parametrize("place", [*OVER_STDIO, "description"])
async def test_a_child_cannot_show_its_environment(
    place: str, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    env = {"PLACE": place, "SPELLING": "plain", "API_TOKEN": SECRET}
    how = {"command": sys.executable, "args": [str(SERVER)], "env": env}
    assert await leaks(how, caplog, tmp_path, SECRET) == {}


@contextmanager
def listening(place: str, spelling: str) -> Iterator[int]:
    port = catalogue.free_port()
    process = subprocess.Popen([sys.executable, str(SERVER), str(port), place, spelling])
    try:
        yield port
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("spelling", ["plain", "base64 inside"])
@pytest.mark.parametrize("place", [*OVER_HTTP, "description"])
async def test_a_remote_server_cannot_show_headers_and_query(
    place: str, spelling: str, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    with listening(place, spelling) as port:
        while not catalogue.answers(port):
            await asyncio.sleep(0.02)
        headers = {"Authorization": f"Bearer {SECRET}", "X-Api-Key": KEY}
        how = {
            "url": f"http://127.0.0.1:{port}/mcp?key={urllib.parse.quote('q8/' + KEY)}",
            "headers": headers,
        }
        assert await leaks(how, caplog, tmp_path, SECRET, KEY) == {}


@pytest.mark.parametrize(
    "args",
    [
        ["--header", f"Authorization: Bearer {SECRET}"],
        ["--api-key", SECRET],
        [f"--token={SECRET}"],
        [f"postgres://ada:{urllib.parse.quote(SECRET, safe='')}@db.example/x"],
    ],
)
async def test_a_child_cannot_show_its_command_line(
    args: list[str], caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    program = "import sys; sys.stderr.write(f'Error: bad arguments {sys.argv}'); sys.exit(2)"
    how = {"command": sys.executable, "args": ["-c", program, *args]}
    assert await leaks(how, caplog, tmp_path, SECRET) == {}


async def test_a_good_result_is_not_changed(hub: ToolHub) -> None:
    program = (
        "import json,os,sys\n"
        "for line in sys.stdin:\n"
        "    m = json.loads(line)\n"
        "    t = {'name': 'get', 'inputSchema': {'type': 'object'}}\n"
        "    v = {'capabilities': {}, 'serverInfo': {'name': 'x', 'version': '1'}, 'protocolVersion': '2025-06-18'}\n"
        "    r = {'initialize': v, 'tools/list': {'tools': [t]},\n"
        "         'tools/call': {'content': [{'type': 'text', 'text': os.environ['API_TOKEN']}]}}.get(m.get('method'))\n"
        "    e = {'error': {'code': -32601, 'message': 'no'}}\n"
        "    if 'id' in m: print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], **({'result': r} if r else e)}), flush=True)\n"
    )
    hub.add_server("s", command=sys.executable, args=["-c", program], env={"API_TOKEN": SECRET})
    assert (await hub.execute("get", server="s")).unwrap() == SECRET


# Gives its key back in a good result, in its instructions, and line by line on its error stream.
OPEN = """
import json, os, sys
key = os.environ["PRIVATE_KEY"]
print(key, file=sys.stderr, flush=True)
for line in sys.stdin:
    message = json.loads(line)
    answer = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "instructions": "use " + key,
                       "serverInfo": {"name": "s", "version": "1"}},
        "tools/list": {"tools": [{"name": "get_key", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "connected with " + key}]},
    }.get(message.get("method"))
    if "id" in message:
        body = {"result": answer} if answer else {"error": {"code": -32601, "message": "no"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)
"""


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-AbCdEf1234567890",
        "-----BEGIN PRIVATE KEY-----\nMIIEvAbCdEf12\nQQxYzAbCdEf34\n-----END PRIVATE KEY-----\n",
    ],
)
async def test_the_key_of_a_server_is_in_its_result_and_nowhere_else(
    key: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with ToolHub() as hub:
        hub.add_server("s", command=sys.executable, args=["-c", OPEN], env={"PRIVATE_KEY": key})
        result = await hub.execute("get_key", server="s")
        assert result.result == f"connected with {key}"
        shown = repr(hub.servers())
    shown += caplog.text
    assert "result of get_key" in shown
    assert not any(line in shown for line in key.splitlines() if not line.startswith("-----"))


class QuotesThePath(BaseHTTPRequestHandler):
    """Refuses every request and says for which address."""

    def do_POST(self) -> None:
        body = f"there is no {self.path} here".encode()
        self.send_response(404)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.mark.parametrize(
    "key", ["sk-5c1e7a90b3d2", "3fa85f64-5717-4562-b3fc-2c963f66afa6", "Qk3vZ81mNp02LwXt"]
)
@pytest.mark.parametrize("is_there", [True, False])
async def test_a_key_in_the_path_of_an_address_is_not_shown(
    key: str, is_there: bool, hub: ToolHub, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    told: list[Any] = []
    hub.on_event(told.append)
    with ThreadingHTTPServer(("127.0.0.1", 0), QuotesThePath) as web:
        port = web.server_address[1] if is_there else catalogue.free_port()
        threading.Thread(target=web.serve_forever, daemon=True).start()
        hub.add_server("s", url=f"http://127.0.0.1:{port}/mcp/{key}/sse")
        report = await hub.connect(["s"])
        result = await hub.execute("anything", server="s")
        web.shutdown()
    shown = [str(report.failed["s"]), repr(dict(result)), repr(hub.servers()), repr(told), caplog.text]
    assert [text for text in shown if key in text] == []
    assert "/mcp/***/sse" in shown[0]
