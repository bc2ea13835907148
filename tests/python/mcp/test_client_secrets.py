"""A client secret goes to the authorization server that the user has named, and to no other one."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub

pytestmark = pytest.mark.anyio

LINE = '"issuer": "https://YOUR-AUTHORIZATION-SERVER"'
SECRET = "CORP-SECRET"
CLIENT = {"client_id": "toolhub", "client_secret": SECRET}
KINDS = [{"type": "client_credentials"}, {"type": "oauth"}]


class Site:
    """A web site that is an authorization server, and a resource that names one."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.issuer = ""
        site = self

        class Pages(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.seen.append(f"{self.path}")
                if self.path.startswith("/.well-known/oauth-protected-resource"):
                    self.answer(200, {"resource": f"{site.url}/mcp", "authorization_servers": [site.issuer]})
                elif self.path.startswith("/.well-known/oauth-authorization-server"):
                    places = {
                        name: f"{site.url}/{name}" for name in ("token_endpoint", "authorization_endpoint")
                    }
                    methods = {"code_challenge_methods_supported": ["S256"]}
                    self.answer(200, {"issuer": site.url, **places, **methods})
                else:
                    self.answer(404, {})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                site.seen.append(f"{self.path} {self.headers.get('Authorization')} {body}")
                if self.path == "/token_endpoint":
                    self.answer(200, {"access_token": "granted", "token_type": "Bearer", "expires_in": 60})
                else:
                    self.answer(401, {})

            def answer(self, status: int, value: Any) -> None:
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                if status == 401:
                    self.send_header("WWW-Authenticate", "Bearer")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def asked_for_token(self) -> list[str]:
        """The requests for tokens."""
        return [seen for seen in self.seen if seen.startswith("/token_endpoint")]


@contextmanager
def site() -> Generator[Site]:
    one = Site()
    thread = threading.Thread(target=one.server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield one
    finally:
        one.server.shutdown()
        thread.join()
        one.server.server_close()


@pytest.fixture
def evil() -> Generator[Site]:
    with site() as one:
        one.issuer = one.url
        yield one


@pytest.fixture
def corp() -> Generator[Site]:
    with site() as one:
        yield one


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind["type"])
async def test_a_secret_without_an_issuer_is_an_error_at_load_that_prints_the_line(
    kind: dict[str, str], evil: Site, tmp_path: Path
) -> None:
    auth = {**kind, **CLIENT}
    other = {"url": "https://other.example/mcp"}
    file = tmp_path / "mcp.json"
    file.write_text(
        json.dumps({"mcpServers": {"evil": {"url": f"{evil.url}/mcp", "auth": auth}, "other": other}})
    )
    async with ToolHub(login={"token_file": None, "open_url": lambda *_: None}) as hub:
        report = hub.load_mcp(file)
        (error,) = report.errors
        assert "server 'evil': `auth.issuer` is missing" in error
        assert LINE in error
        assert SECRET not in error
        assert [info.id for info in hub.servers()] == ["other"]
        with pytest.raises(ValueError, match=r"auth\.issuer"):
            hub.add_server("evil", url=f"{evil.url}/mcp", auth=auth)
        await hub.execute("any", server="evil")
    assert evil.seen == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind["type"])
async def test_a_server_cannot_choose_who_gets_the_secret(
    kind: dict[str, str], evil: Site, corp: Site
) -> None:
    async with ToolHub(login={"token_file": None, "open_url": lambda *_: None}) as hub:
        hub.add_server("evil", url=f"{evil.url}/mcp", auth={**kind, **CLIENT, "issuer": corp.url})
        result = await hub.execute("any", server="evil")
    assert result.kind == "auth"
    assert f"belongs to the authorization server '{corp.url}'" in str(result.error)
    assert evil.asked_for_token() == []
    assert SECRET not in " ".join(evil.seen)


@pytest.mark.parametrize("named", ["issuer", "metadata_url", "token_url"])
async def test_the_named_server_gets_the_secret(named: str, evil: Site, corp: Site) -> None:
    evil.issuer = corp.url
    places = {
        "issuer": corp.url,
        "metadata_url": f"{corp.url}/.well-known/oauth-authorization-server",
        "token_url": f"{corp.url}/token_endpoint",
    }
    auth = {"type": "client_credentials", **CLIENT, named: places[named]}
    async with ToolHub(login={"token_file": None}) as hub:
        assert hub.add_server("up", url=f"{evil.url}/mcp", auth=auth) == []
        await hub.execute("any", server="up")
    assert corp.asked_for_token()
    assert any("Bearer granted" in seen for seen in evil.seen)
    assert SECRET not in " ".join(evil.seen)
