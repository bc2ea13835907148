"""An issuer of tokens, run in an environment with PyJWT and joserfc: `python issuer.py`. No part of toolhub is used here.

It serves its public keys over HTTP. Each line of stdin is a request in JSON, each line of stdout the answer: first the
address of the keys.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.server
import json
import sys
import threading
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from joserfc import jwk
from joserfc import jwt as other_jwt

KEYS: dict[str, Any] = {
    "first": rsa.generate_private_key(65537, 2048),
    "second": rsa.generate_private_key(65537, 2048),
    "curve": ec.generate_private_key(ec.SECP256R1()),
}
published: list[str] = ["first", "curve"]


def algorithm_of(key: Any) -> str:
    return "RS256" if isinstance(key, rsa.RSAPrivateKey) else "ES256"


def pem(key: Any, *, public: bool) -> bytes:
    if public:
        kind = serialization.PublicFormat.SubjectPublicKeyInfo
        return key.public_key().public_bytes(serialization.Encoding.PEM, kind)
    no_password = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, no_password)


def key_set() -> dict[str, Any]:
    keys: list[dict[str, Any]] = []
    for name in published:
        key = KEYS[name]
        of = jwt.algorithms.RSAAlgorithm if algorithm_of(key) == "RS256" else jwt.algorithms.ECAlgorithm
        keys.append({**json.loads(of.to_jwk(key.public_key())), "kid": name, "use": "sig"})
    return {"keys": keys}


class Keys(http.server.BaseHTTPRequestHandler):
    """Answers with the set of keys."""

    def do_GET(self) -> None:
        body = json.dumps(key_set()).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


def by_hand(header: dict[str, Any], claims: dict[str, Any], secret: bytes | None) -> str:
    """A token that no library makes."""

    def part(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

    signed = f"{part(json.dumps(header).encode())}.{part(json.dumps(claims).encode())}"
    signature = b"" if secret is None else hmac.new(secret, signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{part(signature)}"


def answer(request: dict[str, Any]) -> Any:
    global published
    do = request.pop("do")
    if do == "publish":
        published = request["keys"]
        return key_set()
    name, claims = request.get("key", "first"), request["claims"]
    key = KEYS[name]
    header = {"kid": name, **request.get("header", {})}
    header = {field: value for field, value in header.items() if value is not None}
    if do == "none":
        return by_hand({"alg": "none", **header}, claims, None)
    if do == "confuse":
        # The public key, which everybody has, as the secret of an HMAC.
        return by_hand({"alg": "HS256", **header}, claims, pem(key, public=True))
    if do == "joserfc":
        imported = jwk.RSAKey.import_key(pem(key, public=False))
        return other_jwt.encode({"alg": "RS256", **header}, claims, imported)
    return jwt.encode(claims, key, algorithm_of(key), headers=header)


def main() -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Keys)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps(f"http://127.0.0.1:{server.server_port}/jwks.json"), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


main()
