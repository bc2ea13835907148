"""An issuer of tokens for the tests of callers."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from support.gateway import python_of

ISSUER, AUDIENCE = "https://issuer.example", "https://gateway.example/mcp"


class Issuer:
    """The program in `gateway/issuer.py`, which signs with libraries that are not ours."""

    def __init__(self) -> None:
        program = str(Path(__file__).parents[1] / "gateway" / "issuer.py")
        self.process = subprocess.Popen(
            [python_of("fastmcp"), program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.url = self._read()

    def _read(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def __call__(self, do: str = "pyjwt", **request: Any) -> Any:
        """A token, or what else is to be done."""
        if do != "publish":
            now = int(time.time())
            claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "iat": now, "exp": now + 600}
            given = {**claims, **request.pop("claims", {})}
            request["claims"] = {claim: value for claim, value in given.items() if value is not None}
        assert self.process.stdin is not None
        print(json.dumps({"do": do, **request}), file=self.process.stdin, flush=True)
        return self._read()

    def end(self) -> None:
        """Stop the program."""
        self.process.kill()
        self.process.communicate()


def jwt_options(issuer: Issuer, **more: Any) -> dict[str, Any]:
    """The option `jwt` of a served hub."""
    return {"jwks": issuer.url, "issuer": ISSUER, "audience": AUDIENCE, **more}
