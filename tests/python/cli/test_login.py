"""`toolhub login` at a real authorization server: the token it gets is used by later commands."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "mcp"))  # the catalogue of servers is not installed

import catalogue

from support.cli import User


@pytest.fixture
def address() -> Iterator[str]:
    port = catalogue.free_port()
    try:
        catalogue.command("guarded-mcp2")
    except catalogue.NotInstalled as missing:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(str(missing))
    with catalogue.listening("guarded-mcp2", str(port), port=port):
        yield f"http://127.0.0.1:{port}/mcp"


def test_a_login_is_kept(address: str, user: User) -> None:
    user.configure({"web": {"url": address, "auth": "oauth"}})
    refused = user.run("connect")
    assert refused.returncode == 4, refused.stderr
    assert "run 'toolhub login web' first" in refused.stderr
    command = [sys.executable, "-m", "toolhub", "login", "web", "--no-browser"]
    with subprocess.Popen(command, env=user.environment, stderr=subprocess.PIPE, text=True) as login:
        assert login.stderr is not None
        page = re.fullmatch(r"toolhub: sign in at (\S+)\n", login.stderr.readline())
        assert page is not None
        # The browser of a person who agrees to everything.
        with (
            contextlib.suppress(urllib.error.HTTPError),
            urllib.request.urlopen(page[1], timeout=30) as answer,
        ):
            answer.read()
        assert login.stderr.read() == "toolhub: signed in at web\n"
        assert login.wait(50) == 0
    tokens = user.home / ".local" / "share" / "toolhub" / "tokens.json"
    assert tokens.stat().st_mode & 0o077 == 0
    later = user.run("call", "web.granted")
    assert later.returncode == 0, later.stderr
    assert "code" in later.stdout
