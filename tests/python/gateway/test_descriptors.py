"""A served hub with few descriptors: strangers who stay silent do not shut others out."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

from support import wire

UPSTREAM = str(Path(__file__).parent / "upstream.py")
DESCRIPTORS = 128
LIMITED = (
    "import resource, runpy, sys\n"
    f"resource.setrlimit(resource.RLIMIT_NOFILE, ({DESCRIPTORS}, {DESCRIPTORS}))\n"
    "runpy.run_module('toolhub', run_name='__main__', alter_sys=True)\n"
)


def test_idle_strangers_make_room_for_callers_and_servers(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    server = {"command": sys.executable, "args": [UPSTREAM, "first", str(tmp_path)]}
    config.write_text(json.dumps({"mcpServers": {"first": server}}))
    serve = ("serve", "--http", "--port", "0", "--config", str(config))
    with wire.running("-c", LIMITED, *serve) as program:
        url = program.url
        address = url.removeprefix("http://").partition("/")[0].split(":")
        strangers: list[socket.socket] = []
        for number in range(2 * DESCRIPTORS):
            stranger = socket.create_connection((address[0], int(address[1])), timeout=wire.PATIENCE)
            strangers.append(stranger)
            if number % 2:
                stranger.sendall(b"POST /mcp HTTP/1.1\r\n")
        # The server is started only now: descriptors were kept for it.
        for _ in range(3):
            assert wire.call(url, "first", {"quick": True}) == "first is done"
        assert "idle ones of strangers are closed" in program.errors.wait_for("connections are taken")
        # The oldest have made room, the latest have not.
        assert strangers[0].recv(1) == b""
        strangers[-1].sendall(b"Host: localhost\r\n\r\n")
        assert strangers[-1].recv(12).startswith(b"HTTP/1.1 4")
        assert "at most 64 connections at once, not 10000" in program.errors.wait_for("connections at once")
        for stranger in strangers:
            stranger.close()


def test_callers_do_not_make_room_for_others(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {}, "serve": {"max_connections": 2}}))
    with wire.command("--config", str(config)) as program:
        url = program.url
        with wire.listening(url) as _, wire.listening(url) as _:
            assert wire.get(url, "/healthz") == 503
        while wire.get(url, "/healthz") != 200:
            pass
