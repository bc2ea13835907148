"""Standing streams end with the credentials that let them in, and with nothing else."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from support import wire
from support.issuers import AUDIENCE, Issuer, jwt_options

GREETING = 'import toolhub\n\n@toolhub.tool\ndef greet() -> str:\n    "Greet."\n    return "hello"\n'


class Stream:
    """One stream of a caller, whose lines a thread reads."""

    def __init__(self, kind: str, url: str, token: str) -> None:
        bearer = {"Authorization": f"Bearer {token}"}
        if kind == "listen":
            wanted = {"notifications": {"toolsListChanged": True}}
            self.connection = wire.send(url, "subscriptions/listen", wanted, **bearer)
        else:
            host, _, path = url.removeprefix("http://").partition("/")
            path = {"get": path, "sse": "sse"}[kind]
            self.connection = http.client.HTTPConnection(host, timeout=wire.PATIENCE)
            self.connection.request("GET", f"/{path}", headers={"Accept": "text/event-stream", **bearer})
        assert self.connection.sock is not None
        self.socket = self.connection.sock
        reply = self.connection.getresponse()
        self.status = reply.status
        self.lines = wire.Lines(self._read(reply))
        # The first event, except of the GET stream, which has none.
        if self.status == 200 and kind != "get":
            self.lines.wait_for("data:")

    def _read(self, reply: http.client.HTTPResponse) -> Iterator[str]:
        with suppress(OSError, http.client.HTTPException, ValueError, AttributeError):
            while line := reply.readline():
                yield line.decode()

    def ended(self) -> bool:
        self.lines.end()
        return not self.lines.is_open

    def close(self) -> None:
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.lines.end()
        self.connection.close()
        self.socket.close()


KINDS = ("get", "listen", "sse")
Opener = Callable[[str, str, str], Stream]


@pytest.fixture
def opened() -> Generator[Opener]:
    with ExitStack() as stack:

        def open_stream(kind: str, url: str, token: str) -> Stream:
            stream = Stream(kind, url, token)
            stack.callback(stream.close)
            return stream

        yield open_stream


@pytest.fixture(scope="module")
def issuer() -> Generator[Issuer]:
    issuer = Issuer()
    issuer("publish", keys=["first", "curve"])
    yield issuer
    issuer.end()


def configure(path: Path, /, **serve: Any) -> None:
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps({"mcpServers": {}, "serve": {"sse_path": "/sse", **serve}}))
    draft.replace(path)


def status(url: str, token: str) -> int:
    return wire.received(wire.send(url, "tools/list", Authorization=f"Bearer {token}"))[0]


def test_streams_of_a_token_that_was_taken_back_end_and_others_stay(opened: Opener, tmp_path: Path) -> None:
    config, tools = tmp_path / "mcp.json", tmp_path / "tools"
    tools.mkdir()
    greta, wilma, reader = "first-token-of-greta", "second-token-of-wilma", "third-token-of-heiner"
    views = {"reader": {"tools": ["greet"]}}
    heiner = {"heiner": {"token": reader, "view": "reader"}}
    configure(config, token={"greta": greta, "wilma": wilma, **heiner}, views=views)
    with wire.command("--config", str(config), "--tools", str(tools)) as program:
        url = program.url
        gone = [opened(kind, url, greta) for kind in KINDS] + [opened("listen", f"{url}/reader", reader)]
        stay = [opened(kind, url, wilma) for kind in KINDS]
        assert {stream.status for stream in gone + stay} == {200}
        # The token of wilma stays; that of heiner is for all tools now, so what it has opened was another view.
        configure(config, token={"wilma": wilma, "heiner": reader}, views=views)
        assert all(stream.ended() for stream in gone)
        assert (status(url, greta), status(url, wilma)) == (401, 200)
        (tools / "greet.py").write_text(GREETING)
        program.process.send_signal(signal.SIGHUP)
        for stream in stay[:2]:
            stream.lines.wait_for("list_changed")
        assert all(stream.lines.is_open for stream in stay)


def test_the_section_jwt_is_reloaded_with_its_streams(opened: Opener, issuer: Issuer, tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    other = "https://other.example/mcp"
    ours, theirs = issuer(), issuer(claims={"aud": other, "sub": "bob"})
    configure(config, jwt=jwt_options(issuer))
    with wire.command("--config", str(config)) as program:
        url = program.url
        assert [status(url, token) for token in (ours, theirs)] == [200, 401]
        streams = [opened(kind, url, ours) for kind in KINDS]
        # The same settings change nothing.
        program.process.send_signal(signal.SIGHUP)
        configure(config, jwt=jwt_options(issuer, audience=[AUDIENCE, other]))
        while status(url, theirs) != 200:
            pass
        added = opened("listen", url, theirs)
        assert all(stream.lines.is_open for stream in (*streams, added))
        # A mistake changes nothing.
        configure(config, jwt=jwt_options(issuer, audience=""))
        program.errors.wait_for("the old one stays")
        assert [status(url, token) for token in (ours, theirs)] == [200, 200]
        configure(config, jwt=jwt_options(issuer, audience=other))
        assert all(stream.ended() for stream in streams)
        assert [status(url, token) for token in (ours, theirs)] == [401, 200]
        # Scopes count as well: 403 from now on.
        configure(config, jwt=jwt_options(issuer, audience=other, scopes=["tools"]))
        assert added.ended()
        assert status(url, theirs) == 403


def test_streams_end_when_their_token_expires(opened: Opener, issuer: Issuer, tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    configure(config, jwt=jwt_options(issuer))
    with wire.command("--config", str(config)) as program:
        url, streams = program.url, list[Stream]()
        lasting = opened("listen", url, issuer(claims={"sub": "bob"}))
        for kind in KINDS:
            # Clocks may differ by 30 s, so it is accepted for two more seconds. A busy machine may miss them.
            while (stream := opened(kind, url, issuer(claims={"exp": int(time.time()) - 28}))).status != 200:
                pass
            streams.append(stream)
        assert all(stream.ended() for stream in streams)
        assert lasting.lines.is_open
