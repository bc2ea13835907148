"""Logins at the authorization servers that come with FastMCP and the SDK for Python: code, refresh, client credentials."""

from __future__ import annotations

import contextlib
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import catalogue
import pytest

from toolhub import ToolHub

pytestmark = pytest.mark.anyio

SERVERS = ("guarded-mcp1", "guarded-mcp2", "guarded-fastmcp2", "guarded-fastmcp3", "guarded-fastmcp")


@pytest.fixture(params=SERVERS, scope="module")
def address(request: pytest.FixtureRequest, installed: Callable[..., Any]) -> Iterator[str]:
    installed(request.param)
    port = catalogue.free_port()
    with catalogue.listening(request.param, str(port), port=port):
        yield f"http://127.0.0.1:{port}"


def visit(server: str, url: str) -> None:
    """The browser of a person who agrees to everything."""
    with contextlib.suppress(urllib.error.HTTPError), urllib.request.urlopen(url, timeout=30) as page:
        page.read()


async def test_a_login_and_its_refresh(address: str) -> None:
    async with ToolHub(login={"open_url": visit, "token_file": None}) as hub:
        hub.add_server("s", url=f"{address}/mcp", auth="oauth")
        first = await hub.execute("granted", server="s")
        assert first.success, first.error
        before = len(first.result)
        assert first.result[-1] == "code"
        # The token lives for four seconds: the calls go on without a failure, and the token is refreshed. On a busy machine a
        # token may expire on its way; FastMCP then also forgets its refresh token, and a new login follows.
        granted: list[str] = []
        while "refresh" not in granted:
            result = await hub.execute("granted", server="s")
            assert result.success, result.error
            granted = result.result[before:]


@pytest.mark.parametrize("way", ["client_secret_basic", "client_secret_post"])
async def test_client_credentials(address: str, way: str) -> None:
    """The configuration has only the secret: how the server wants it is found out."""
    auth = {
        "type": "client_credentials",
        "client_id": way,
        "client_secret": "a b+c%20:ä",
        "token_url": f"{address}/robots",
    }
    async with ToolHub(login={"token_file": None}) as hub:
        hub.add_server("s", url=f"{address}/mcp", auth=auth)
        result = await hub.execute("granted", server="s")
        assert result.success, result.error
        assert result.result[-1] == "robot"


async def test_a_wrong_secret_is_refused_and_not_shown(address: str) -> None:
    auth = {
        "type": "client_credentials",
        "client_id": "client_secret_basic",
        "client_secret": "not-the-secret",
        "token_url": f"{address}/robots",
    }
    async with ToolHub(login={"token_file": None}) as hub:
        hub.add_server("s", url=f"{address}/mcp", auth=auth)
        result = await hub.execute("granted", server="s")
        assert (result.success, result.kind) == (False, "auth")
        assert "refused this client" in str(result.error)
        assert "not-the-secret" not in str(result.error)
