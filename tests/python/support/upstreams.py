"""Servers that record what they are sent, and an authorization server that exchanges tokens."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.gateway import python_of
from support.warm import warm

PROGRAMS = Path(__file__).parents[1] / "gateway"


class Upstream:
    """The program in `recorder.py`."""

    def __init__(self, url: str) -> None:
        self.url = url

    def recorded(self) -> str:
        """All that it was sent, as one text."""
        with urllib.request.urlopen(self.url.removesuffix("/mcp") + "/recorded", timeout=30) as answer:
            return answer.read().decode()

    def revoke(self) -> None:
        """Refuse the tokens that were used so far."""
        urllib.request.urlopen(self.url.removesuffix("/mcp") + "/revoke", timeout=30).close()

    def requests(self) -> list[Any]:
        """All requests."""
        return json.loads(self.recorded())


@contextmanager
def upstream(environment: str, *guard: str) -> Generator[Upstream]:
    """The server while it runs; with a guard it takes these tokens only."""
    program = [*warm(environment), str(PROGRAMS / "recorder.py")]
    variables = {**os.environ, "GUARD": ",".join(guard)}
    process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True, env=variables)
    try:
        assert process.stdout is not None
        yield Upstream(process.stdout.readline().strip())
    finally:
        process.kill()
        process.communicate()


class AuthorizationServer:
    """The program in `authorization_server.py`, which is made of idpyoidc."""

    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, path: str) -> Any:
        """What it answers."""
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            return json.loads(answer.read())

    def login(self, user: str, scope: str = "tools") -> tuple[str, str]:
        """A token of a user for the gateway, and its subject."""
        token = self.get(f"/login?user={user}&scope={scope}")
        return token, claims_of(token)["sub"]


def claims_of(token: str) -> Any:
    """The claims of a JWT, unchecked."""
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


@contextmanager
def authorization_server() -> Generator[AuthorizationServer]:
    """The server while it runs."""
    program = [python_of("oauth"), str(PROGRAMS / "authorization_server.py")]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        yield AuthorizationServer(process.stdout.readline().strip())
    finally:
        process.kill()
        process.communicate()


def exchange(issuer: AuthorizationServer, **more: Any) -> dict[str, Any]:
    """The option `auth` of a server whose callers' tokens are exchanged."""
    client = {"client_id": "gateway", "client_secret": "secret-of-the-gateway"}
    options = {"token_endpoint": f"{issuer.url}/token", **client, "audience": "https://up.example", **more}
    return {"token_exchange": options}
