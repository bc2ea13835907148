"""A hub that accepts tokens of an issuer tells clients where they get them (RFC 9728)."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from support.gateway import ask, send, served
from support.issuers import AUDIENCE, ISSUER, Issuer, jwt_options
from support.warm import warm
from toolhub import ToolHub

pytestmark = pytest.mark.anyio
PLACE = "/.well-known/oauth-protected-resource"


@pytest.fixture(scope="module")
def issuer() -> Generator[Issuer]:
    issuer = Issuer()
    yield issuer
    issuer.end()


async def got(url: str, **headers: str) -> Any:
    return await asyncio.to_thread(send, url, "GET", None, headers)


async def test_the_document_names_issuer_audience_and_scopes(issuer: Issuer) -> None:
    options = jwt_options(issuer, scopes=["tools:call"])
    async with ToolHub() as hub, served(hub, jwt=options, views={"narrow": {"tools": ["a_*"]}}) as at:
        base = at.url.removesuffix("/mcp")
        expected = {
            "resource": AUDIENCE,
            "authorization_servers": [ISSUER],
            "bearer_methods_supported": ["header"],
            "scopes_supported": ["tools:call"],
        }
        # A view that is not there has the same document: who asks learns no name.
        for path in ("", "/mcp", "/mcp/narrow", "/mcp/none"):
            reply = await got(base + PLACE + path)
            assert (reply.status, json.loads(reply.text)) == (200, expected), path
            assert reply.headers["content-type"] == "application/json"
        assert (await got(f"{base}{PLACE}/mcpx")).status == 401
        refused = await ask(at.url, "tools/list")
        assert refused.status == 401
        assert (
            f'resource_metadata="https://gateway.example{PLACE}/mcp"' in refused.headers["www-authenticate"]
        )
        assert (await got(base + PLACE, Host="evil.example")).status == 403


async def test_without_an_address_as_audience_the_document_is_about_the_one_that_was_used(
    issuer: Issuer,
) -> None:
    async with ToolHub() as hub, served(hub, jwt=jwt_options(issuer, audience="gateway")) as at:
        refused = await ask(at.url, "tools/list")
        place = refused.headers["www-authenticate"].split('resource_metadata="')[1].split('"')[0]
        assert place == f"{at.url.removesuffix('/mcp')}{PLACE}/mcp"
        assert json.loads((await got(place)).text)["resource"] == at.url
        secure = await got(place, **{"X-Forwarded-Proto": "https"})
        assert json.loads(secure.text)["resource"] == at.url.replace("http://", "https://")


async def test_a_document_elsewhere_is_named_and_not_served(issuer: Issuer) -> None:
    elsewhere = "https://docs.example/resource.json"
    async with ToolHub() as hub, served(hub, jwt=jwt_options(issuer), resource_metadata=elsewhere) as at:
        refused = await ask(at.url, "tools/list")
        assert f'resource_metadata="{elsewhere}"' in refused.headers["www-authenticate"]
        assert (await got(at.url.removesuffix("/mcp") + PLACE)).status == 401
    async with ToolHub() as hub, served(hub, token="secret-token") as at:
        assert "resource_metadata" not in (await ask(at.url, "tools/list")).headers["www-authenticate"]


@pytest.mark.parametrize("environment", ["mcp1", "mcp2"])
async def test_the_client_of_the_sdk_finds_the_issuer(
    environment: str, issuer: Issuer, tmp_path: Path
) -> None:
    """Its OAuth client goes from the refusal to the document, and from there to the issuer."""
    asked = threading.Event()
    seen: list[str] = []

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            asked.set()
            self.send_error(404)

        do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    program = tmp_path / "client.py"
    program.write_text(CLIENT)
    try:
        own = f"http://127.0.0.1:{server.server_port}"
        options = jwt_options(issuer, audience="gateway") | {"issuer": own}
        async with ToolHub() as hub, served(hub, jwt=options) as at:
            command = [*warm(environment), str(program), at.url]
            await asyncio.to_thread(subprocess.run, command, check=False, timeout=60, capture_output=True)
        assert asked.is_set()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert seen[0] == "/.well-known/oauth-authorization-server"


CLIENT = """
import asyncio, sys
try:
    import httpx2 as httpx
except ImportError:
    import httpx
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientMetadata

class Storage:
    async def get_tokens(self): return None
    async def set_tokens(self, tokens): pass
    async def get_client_info(self): return None
    async def set_client_info(self, info): pass

async def main():
    metadata = OAuthClientMetadata(redirect_uris=["http://localhost:1/back"], client_name="test")
    auth = OAuthClientProvider(sys.argv[1], metadata, Storage())
    async with httpx.AsyncClient(auth=auth) as client:
        await client.post(sys.argv[1], json={})

asyncio.run(main())
"""
