"""A server behind the authorization server of its own SDK: mcp 1.x, mcp 2.x, FastMCP 2, 3 or 4, as the Python that runs it has.

    .servers/fastmcp2/bin/python guarded.py 8123

Who asks is let in at once, so that no person has to click. Tokens live four seconds and are then refreshed. `/robots` grants
tokens to programs: none of these SDKs does, but all of them can tell whether a client is the one it claims to be.
"""

from __future__ import annotations

import math
import secrets
import sys
import time
from importlib.util import find_spec
from typing import Any

from mcp.server.auth.middleware.client_auth import AuthenticationError, ClientAuthenticator
from mcp.server.auth.provider import AccessToken, AuthorizationCode, RefreshToken, construct_redirect_uri
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from starlette.responses import JSONResponse

PORT = int(sys.argv[1])
BASE = f"http://127.0.0.1:{PORT}"
LIFE = 4
SCOPES = ["use"]
REGISTRATION = ClientRegistrationOptions(enabled=True, valid_scopes=SCOPES, default_scopes=SCOPES)
grants: list[str] = []


class Granting:
    """Counts the grants, on top of a provider."""

    async def exchange_authorization_code(self, client: Any, code: Any) -> OAuthToken:
        grants.append("code")
        return self.short(await super().exchange_authorization_code(client, code))

    async def exchange_refresh_token(self, client: Any, token: Any, scopes: list[str]) -> OAuthToken:
        grants.append("refresh")
        return self.short(await super().exchange_refresh_token(client, token, scopes))

    def short(self, token: OAuthToken) -> OAuthToken:
        # Not earlier than the client is told.
        self.access_tokens[token.access_token].expires_at = math.ceil(time.time()) + LIFE
        return token.model_copy(update={"expires_in": LIFE})

    def robot(self, client: Any) -> OAuthToken:
        grants.append("robot")
        token = OAuthToken(access_token=secrets.token_hex(), token_type="Bearer", scope=" ".join(SCOPES))
        self.access_tokens[token.access_token] = self.access(token.access_token, client, SCOPES)
        return self.short(token)


class InMemory:
    """The provider that the SDK leaves to its user."""

    def __init__(self) -> None:
        self.clients: dict[str, Any] = {}
        self.codes: dict[str, Any] = {}
        self.access_tokens: dict[str, Any] = {}
        self.refresh_tokens: dict[str, Any] = {}

    async def get_client(self, client_id: str) -> Any:
        return self.clients.get(client_id)

    async def register_client(self, client: Any) -> None:
        self.clients[client.client_id] = client

    async def authorize(self, client: Any, params: Any) -> str:
        code = AuthorizationCode(
            code=secrets.token_hex(),
            scopes=params.scopes or SCOPES,
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(self, client: Any, code: str) -> Any:
        return self.codes.get(code)

    async def exchange_authorization_code(self, client: Any, code: Any) -> OAuthToken:
        del self.codes[code.code]
        return self.issue(client, code.scopes)

    async def load_refresh_token(self, client: Any, token: str) -> Any:
        return self.refresh_tokens.get(token)

    async def exchange_refresh_token(self, client: Any, token: Any, scopes: list[str]) -> OAuthToken:
        del self.refresh_tokens[token.token]
        return self.issue(client, scopes)

    async def load_access_token(self, token: str) -> Any:
        known = self.access_tokens.get(token)
        return known if known and known.expires_at > time.time() else None

    async def revoke_token(self, token: Any) -> None:
        self.access_tokens.pop(token.token, None)

    def issue(self, client: Any, scopes: list[str]) -> OAuthToken:
        access, refresh = secrets.token_hex(), secrets.token_hex()
        self.access_tokens[access] = self.access(access, client, scopes)
        self.refresh_tokens[refresh] = RefreshToken(token=refresh, client_id=client.client_id, scopes=scopes)
        return OAuthToken(
            access_token=access, token_type="Bearer", refresh_token=refresh, scope=" ".join(scopes)
        )

    def access(self, token: str, client: Any, scopes: list[str]) -> Any:
        return AccessToken(token=token, client_id=client.client_id, scopes=scopes)


if find_spec("fastmcp"):
    from fastmcp import FastMCP
    from fastmcp.server.auth.auth import AccessToken as FastMCPToken
    from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider

    class Provider(Granting, InMemoryOAuthProvider):
        def access(self, token: str, client: Any, scopes: list[str]) -> Any:
            return FastMCPToken(token=token, client_id=client.client_id, scopes=scopes)

    provider = Provider(base_url=BASE, client_registration_options=REGISTRATION, required_scopes=SCOPES)
    server: Any = FastMCP("guarded", auth=provider)

    def serve() -> None:
        server.run("http", port=PORT, show_banner=False)

else:

    class Provider(Granting, InMemory):
        pass

    provider = Provider()
    settings = AuthSettings(
        issuer_url=BASE,
        resource_server_url=f"{BASE}/mcp",
        client_registration_options=REGISTRATION,
        required_scopes=SCOPES,
    )
    if find_spec("mcp.server.mcpserver"):
        from mcp.server import MCPServer

        server = MCPServer("guarded", auth_server_provider=provider, auth=settings)

        def serve() -> None:
            server.run("streamable-http", port=PORT)

    else:
        from mcp.server.fastmcp import FastMCP

        server = FastMCP("guarded", auth_server_provider=provider, auth=settings, port=PORT)

        def serve() -> None:
            server.run("streamable-http")


# A secret with what the encodings of a header differ in.
for way in ("client_secret_basic", "client_secret_post"):
    provider.clients[way] = OAuthClientInformationFull(
        client_id=way,
        client_secret="a b+c%20:ä",
        token_endpoint_auth_method=way,
        redirect_uris=["http://localhost/"],
    )


@server.custom_route("/robots", methods=["POST"])
async def robots(request: Any) -> Any:
    try:
        client = await ClientAuthenticator(provider).authenticate_request(request)
    except AuthenticationError as error:
        return JSONResponse({"error": "invalid_client", "error_description": error.message}, 401)
    return JSONResponse(provider.robot(client).model_dump(exclude_none=True))


@server.tool()
def granted() -> list[str]:
    """List the grants so far."""
    return grants


if __name__ == "__main__":
    serve()
