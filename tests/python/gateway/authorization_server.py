"""An authorization server with token exchange (RFC 8693), made of idpyoidc: `python authorization_server.py`.

It prints its address. `/jwks.json` are its keys, `/token` is its token endpoint; `/login?user=…&scope=…` gives a user a token.
`/issued` counts the tokens of the token endpoint, `/forms` shows the requests to it. No part of toolhub is used here.
"""

from __future__ import annotations

import http.server
import json
import tempfile
from typing import Any
from urllib.parse import parse_qs, urlsplit

from idpyoidc.message.oauth2 import AuthorizationRequest
from idpyoidc.server import Server
from idpyoidc.server.authn_event import create_authn_event
from idpyoidc.server.configure import ASConfiguration

ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"
GATEWAY = "https://gateway.example/mcp"
CLIENT = {"client_id": "gateway", "client_secret": "secret-of-the-gateway"}
forms: list[dict[str, str]] = []
issued: list[str] = []


def configuration(issuer: str) -> dict[str, Any]:
    usage = {"supports_minting": ["access_token", "refresh_token"], "expires_in": 3600}
    return {
        "issuer": issuer,
        "httpc_params": {"verify": False},
        "keys": {"uri_path": "jwks.json", "key_defs": [{"type": "EC", "crv": "P-256", "use": ["sig"]}]},
        "endpoint": {
            "authorization": {
                "path": "authorization",
                "class": "idpyoidc.server.oauth2.authorization.Authorization",
            },
            "token": {
                "path": "token",
                "class": "idpyoidc.server.oauth2.token.Token",
                "kwargs": {
                    "client_authn_method": ["client_secret_basic", "client_secret_post"],
                    "grant_types_helpers": {
                        "urn:ietf:params:oauth:grant-type:token-exchange": {
                            "class": "idpyoidc.server.oauth2.token_helper.token_exchange.TokenExchangeHelper",
                            "kwargs": {
                                "subject_token_types_supported": [ACCESS_TOKEN],
                                "requested_token_types_supported": [ACCESS_TOKEN],
                                "policy": {
                                    "": {
                                        "function": "idpyoidc.server.oauth2.token_helper.token_exchange."
                                        "validate_token_exchange_policy",
                                        "kwargs": {"scope": ["tools", "read"]},
                                    }
                                },
                            },
                        }
                    },
                },
            },
        },
        "authentication": {
            "anon": {
                "acr": "any",
                "class": "idpyoidc.server.user_authn.user.NoAuthn",
                "kwargs": {"user": "ann"},
            }
        },
        "scopes_to_claims": {"tools": [], "read": []},
        "authz": {
            "class": "idpyoidc.server.authz.AuthzHandling",
            "kwargs": {"grant_config": {"usage_rules": {"access_token": usage}, "expires_in": 43200}},
        },
        "token_handler_args": {
            "token": {
                "class": "idpyoidc.server.token.jwt_token.JWTToken",
                "kwargs": {"lifetime": 3600, "aud": [GATEWAY]},
            }
        },
        "userinfo": {"class": "idpyoidc.server.user_info.UserInfo", "kwargs": {"db": {"ann": {}, "bob": {}}}},
    }


class Endpoints(http.server.BaseHTTPRequestHandler):
    """The server over HTTP."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/jwks.json":
            self.answer(server.context.keyjar.export_jwks())
        elif url.path == "/login":
            asked = parse_qs(url.query)
            self.answer(login(asked["user"][0], asked["scope"]))
        else:
            self.answer({"/issued": len(issued), "/forms": forms}[url.path])

    def do_POST(self) -> None:
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        forms.append({name: values[0] for name, values in parse_qs(form).items()})
        endpoint = server.get_endpoint("token")
        info = {"headers": {name.lower(): value for name, value in self.headers.items()}}
        try:
            request = endpoint.parse_request(forms[-1], http_info=info)
        except Exception:  # how the library says that it does not know the client
            self.answer({"error": "invalid_client"}, 401)
            return
        result = request if "error" in request else endpoint.process_request(request)
        answer = result.get("response_args", result)
        answer = answer.to_dict() if hasattr(answer, "to_dict") else dict(answer)
        if "access_token" in answer:
            issued.append(answer["access_token"])
        self.answer(answer, 400 if "error" in answer else 200)

    def answer(self, value: Any, status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


def login(user: str, scopes: list[str]) -> str:
    """The token that a user gets for the gateway."""
    context = server.context
    request = AuthorizationRequest(
        client_id=CLIENT["client_id"],
        redirect_uri="https://gateway.example/back",
        scope=scopes,
        state="state",
        response_type="code",
    )
    session = context.session_manager.create_session(
        create_authn_event(user),
        request,
        user,
        client_id=CLIENT["client_id"],
        token_usage_rules=context.authz.usage_rules(CLIENT["client_id"]),
    )
    grant = context.authz(session, request)
    handler = context.session_manager.token_handler["access_token"]
    return grant.mint_token(session, context, token_class="access_token", token_handler=handler).value


listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoints)
address = f"http://127.0.0.1:{listener.server_port}"
folder = tempfile.TemporaryDirectory()
server = Server(ASConfiguration(conf=configuration(address), base_path=folder.name), cwd=folder.name)
server.context.cdb["gateway"] = {
    **CLIENT,
    "redirect_uris": [("https://gateway.example/back", None)],
    "client_salt": "salt",
    "response_types_supported": ["code"],
    "allowed_scopes": ["tools", "read"],
    "grant_types_supported": ["urn:ietf:params:oauth:grant-type:token-exchange", "authorization_code"],
}
if __name__ == "__main__":
    print(address, flush=True)
    listener.serve_forever()
