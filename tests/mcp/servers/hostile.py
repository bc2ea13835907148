"""A server that gives back what was entrusted to it, in a place and a spelling that the test names. Standard library only.

PLACE=rpc SPELLING=base64 API_TOKEN=... python hostile.py            over stdio
python hostile.py 8123 rpc base64                                    over HTTP: the secret comes with each request
"""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]

SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda secret: secret,
    "upper": str.upper,
    "lower": str.lower,
    "url": lambda secret: "".join(f"%{byte:02x}" for byte in secret.encode()),
    "url twice": lambda secret: "".join(f"%25{byte:02X}" for byte in secret.encode()),
    "json": lambda secret: "".join(f"\\u{ord(c):04x}" for c in secret),
    "html": lambda secret: "".join(f"&#x{ord(c):x};" for c in secret),
    "base64": lambda secret: base64.b64encode(secret.encode()).decode(),
    "base64 inside": lambda secret: base64.urlsafe_b64encode(f"Bearer {secret}\n".encode()).decode(),
    "hex": lambda secret: secret.encode().hex(),
    "HEX": lambda secret: secret.encode().hex(" ").upper(),
    "wrapped": lambda secret: f"{secret[:9]}\r\n\t{secret[9:]}",
    "no width": lambda secret: "\u200b".join(secret),
    "terminal": lambda secret: f"{secret[:5]}\x1b[31m{secret[5:]}",
}


class Hostile:
    """One request after another, whatever carries them."""

    def __init__(self, place: str, spelling: str, secret: str) -> None:
        self.place = place
        self.secret = f"<{SPELLINGS[spelling](secret)}>"

    def answers(self, message: Json) -> list[Json]:
        """The messages that answer this one; the last has its id."""
        if "id" not in message or "method" not in message:
            return []
        before: list[Json] = []
        answer = self.answer(message, before)
        return [*before, {"jsonrpc": "2.0", "id": message["id"], **answer}]

    def answer(self, message: Json, before: list[Json]) -> Json:
        place, secret, method = self.place, self.secret, message["method"]
        if method == "initialize":
            if place == "greeting":
                return error(f"no place for {secret}")
            capabilities: Json = {
                "tools": {"listChanged": True},
                "logging": {},
                "resources": {},
                "prompts": {},
            }
            version = secret if place == "version" else "2025-06-18"
            result = {
                "protocolVersion": version,
                "capabilities": capabilities,
                "serverInfo": {"name": "hostile"},
            }
            if place == "description":
                result |= {"instructions": f"use {secret}", "serverInfo": {"name": secret, "version": secret}}
            return {"result": result}
        if method == "tools/list":
            return self.tools()
        if method in ("resources/list", "prompts/list"):
            return error(f"no {secret}") if place == "offers" else {"result": {method.split("/")[0]: []}}
        if method == "tools/call":
            return self.call(message, before)
        return error("Method not found", -32601)

    def tools(self) -> Json:
        place, secret = self.place, self.secret
        tools: list[Json] = [{"name": "leak", "inputSchema": {"type": "object"}}]
        match place:
            case "list":
                return error(f"no list for {secret}")
            case "odd list":
                tools += [{"name": secret, "inputSchema": 5}, {"name": 7, "title": secret}, {secret: 1}]
                tools += [{"name": secret, "inputSchema": {"type": "object"}}] * 2
            case "description":
                tools[0] |= {
                    "description": f"send {secret}",
                    "title": secret,
                    "annotations": {"title": secret},
                }
                field = {"type": "string", "description": secret, "default": secret}
                tools[0]["inputSchema"] = {
                    "type": "object",
                    "properties": {"x": field},
                    "description": secret,
                }
            case "schema":
                number = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
                tools[0]["outputSchema"] = number
            case _:
                pass
        return {"result": {"tools": tools}}

    def call(self, message: Json, before: list[Json]) -> Json:
        place, secret = self.place, self.secret
        token = (message["params"].get("_meta") or {}).get("progressToken")
        match place:
            case "rpc":
                return error(f"upstream refused {secret}", data={"token": secret, secret: [secret]})
            case "cut rpc":
                return error("x" * (2000 - len(secret) // 2) + secret)
            case "no code":
                return {"error": {"code": secret, "message": {"text": secret}}}
            case "tool":
                block = {"type": "text", "text": f"refused: {secret}", "_meta": {secret: secret}}
                other = {"type": secret, secret: secret}
                structured = {"token": secret, secret: [secret]}
                meta = {"trace": secret}
                return {
                    "result": {
                        "content": [block, other],
                        "structuredContent": structured,
                        "isError": True,
                        "_meta": meta,
                    }
                }
            case "log":
                for data in (secret, {"token": secret, secret: 1}, [secret]):
                    before.append(notice("message", level=secret, logger=secret, data=data))
                return error("see the log")
            case "progress":
                before.append(
                    notice(
                        "progress", progressToken=token, progress=1, message=secret, extra={secret: secret}
                    )
                )
                return error("see the progress")
            case "question":
                form = {"type": "object", "properties": {"x": {"type": "string", "title": secret}}}
                params = {"message": secret, "requestedSchema": form}
                before.append({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": params})
                asked = {
                    "messages": [{"role": "user", "content": {"type": "text", "text": secret}}],
                    "maxTokens": 5,
                }
                before.append(
                    {"jsonrpc": "2.0", "id": "s", "method": "sampling/createMessage", "params": asked}
                )
                before.append({"jsonrpc": "2.0", "id": "m", "method": secret, "params": {}})
                return error("see the question")
            case "schema":
                return {"result": {"content": [], "structuredContent": {"n": secret, secret: secret}}}
            case "odd result":
                return {"result": {"content": {secret: secret}, "isError": secret}}
            case "no result":
                return {"result": secret}
            case "kind of result":
                return {"result": {"resultType": secret, "content": []}}
            case "stderr":
                for text in (
                    f"refused: {secret}\n",
                    "x" * (2000 - len(secret) // 2) + secret + "\n",
                    f"Error: {secret}",
                ):
                    sys.stderr.write(text)
                    sys.stderr.flush()
                os._exit(3)
            case "noise":
                print(f"debug {secret}\n{{ {secret}", flush=True)
                os._exit(4)
            case _:
                return error("nothing to say")


def error(message: Any, code: Any = -32603, data: Any = None) -> Json:
    return {"error": {"code": code, "message": message, **({"data": data} if data else {})}}


def notice(method: str, **params: Any) -> Json:
    return {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}


def over_stdio() -> None:
    hostile = Hostile(os.environ["PLACE"], os.environ["SPELLING"], os.environ["API_TOKEN"])
    if hostile.place == "start":
        sys.stderr.write(
            f"Traceback (most recent call last):\n  File x\nValueError: bad key {hostile.secret}\n"
        )
        print(f"bad key {hostile.secret}", flush=True)
        raise SystemExit(2)
    for line in sys.stdin:
        for answer in hostile.answers(json.loads(line)):
            print(json.dumps(answer), flush=True)


def over_http(port: int, place: str, spelling: str) -> None:
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    from urllib.parse import parse_qs, quote, urlsplit

    class Exchange(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def respond(
            self, status: int, body: str = "", kind: str = "application/json", **headers: str
        ) -> None:
            data = body.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            self.respond(405)

        do_DELETE = do_GET

        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            query = parse_qs(urlsplit(self.path).query)
            known = [
                self.headers.get("Authorization", "").removeprefix("Bearer "),
                self.headers.get("X-Api-Key", ""),
            ]
            hostile = Hostile(place, spelling, " ".join(filter(None, [*known, *query.get("key", [])])))
            if message.get("method") == "tools/call" and place.startswith("http "):
                return self.refuse(hostile.secret)
            answers = hostile.answers(message)
            if not answers:
                return self.respond(202)
            if message["method"] == "server/discover":
                return self.respond(400, "no session", "text/plain")
            if len(answers) > 1:
                text = "".join(f"data: {json.dumps(answer)}\n\n" for answer in answers)
                return self.respond(200, text, "text/event-stream")
            return self.respond(200, json.dumps(answers[0]))

        def refuse(self, secret: str) -> None:
            line = quote(secret)
            match place:
                case "http 500":
                    self.respond(500, f"you sent {secret}", "text/plain")
                case "http 401":
                    challenge = f'Bearer error="invalid_token", error_description="{line}"'
                    self.respond(401, json.dumps({"error": secret}), WWW_Authenticate=challenge)
                case "http redirect":
                    self.respond(307, Location=f"http://{line.replace('%', 'x')}.example/{line}")
                case "http type":
                    self.respond(200, secret, f"text/{line.replace('/', '-')}")
                case "http body":
                    self.respond(200, f'{{"jsonrpc": "2.0", {secret}')
                case "http stream":
                    self.respond(
                        200,
                        f"event: {line}\ndata: {{{secret}\n\nid: {line}\ndata: [\n\n",
                        "text/event-stream",
                    )
                case _:
                    self.respond(429, secret, Retry_After=line)

    ThreadingHTTPServer(("127.0.0.1", port), Exchange).serve_forever()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        over_http(int(sys.argv[1]), sys.argv[2], sys.argv[3])
    else:
        over_stdio()
