"""A small MCP server for the soak, standard library only: healthy, hanging, crashing or flooding, in either era.

    LABEL=s1 MODE=crash ERA=legacy SEED=7 RAN=/tmp/ran python server.py            over stdio
    LABEL=s2 MODE=flood ERA=modern SEED=8 RAN=/tmp/ran python server.py 8123       over HTTP

`echo` and `act` answer with the payload of their call and the label of this server. `act` also writes the payload into the
file RAN when it runs, so that the soak can count the runs, whatever became of the answer.
"""

from __future__ import annotations

import json
import os
import queue
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

LABEL = os.environ["LABEL"]
MODE = os.environ["MODE"]
IS_MODERN = os.environ["ERA"] == "modern"


def opened(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


def starts() -> int:
    """How often this server has been started: each start has its own, repeatable, dice."""
    file = opened(f"{os.environ['RAN']}.{LABEL}")
    try:
        os.write(file, b".")
        return os.fstat(file).st_size
    finally:
        os.close(file)


RNG = random.Random(f"{os.environ['SEED']}/{starts()}")
RAN = opened(os.environ["RAN"])

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
PAYLOAD = {"type": "object", "properties": {"payload": {"type": "string"}, "delay": {"type": "number"}}}
ENVELOPE: dict[str, Any] = {"resultType": "complete"} if IS_MODERN else {}
CACHED: dict[str, Any] = {**ENVELOPE, "ttlMs": 0, "cacheScope": "private"} if IS_MODERN else {}

Json = dict[str, Any]
# Sends one message to the client.
Send = Callable[[Json], None]

grown: set[str] = set()
# Where announcements go: the pipe, or the open streams.
listeners: dict[int, Send] = {}
lock = threading.Lock()


def tools() -> list[Json]:
    read_only = {"readOnlyHint": True}
    with lock:
        extra = sorted(grown)
    return [
        {"name": "echo", "inputSchema": PAYLOAD, "annotations": read_only},
        {"name": "act", "inputSchema": PAYLOAD, "annotations": {"readOnlyHint": False}},
        {"name": "toggle", "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}}},
        *({"name": name, "inputSchema": PAYLOAD, "annotations": read_only} for name in extra),
    ]


def notice(method: str, **params: Any) -> Json:
    return {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}


def announce_change() -> None:
    with lock:
        sends = list(listeners.items())
    for listener, send in sends:
        try:
            send(notice("tools/list_changed", _meta={SUBSCRIPTION: listener}))
        except OSError:
            listeners.pop(listener, None)


def greeting(message: Json) -> Json | None:
    """The answer to a handshake, or None when this is something else."""
    info, capabilities = {"name": LABEL, "version": "1"}, {"tools": {"listChanged": True}, "logging": {}}
    if message["method"] == "server/discover" and IS_MODERN:
        meta = {"io.modelcontextprotocol/serverInfo": info}
        return {**CACHED, "supportedVersions": ["2026-07-28"], "capabilities": capabilities, "_meta": meta}
    if message["method"] == "initialize" and not IS_MODERN:
        version = message["params"]["protocolVersion"]
        return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}
    return None


def simple_answer(message: Json) -> Json:
    """The answer to everything that is not a call."""
    match message["method"]:
        case "tools/list":
            result: Json | None = {"tools": tools(), **CACHED}
        case "ping":
            result = {}
        case _:
            result = greeting(message)
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if result is None:
        return {**answer, "error": {"code": -32601, "message": "Method not found"}}
    return {**answer, "result": result}


def call(message: Json, send: Send, raw: Callable[[bytes], None]) -> None:
    """One `tools/call`, with what this kind of server does around it."""
    with lock:
        dice = RNG.random()
    params = message["params"]
    name, args = params["name"], params.get("arguments") or {}
    if MODE == "hang" and dice < 0.5:
        time.sleep(30)
        return
    if MODE == "crash" and dice < 0.1:
        end(dice < 0.05)
    if args.get("delay"):
        time.sleep(args["delay"])
    if MODE == "flood":
        flood(message, send, raw)
    known = {tool["name"] for tool in tools()}
    if name not in known:
        send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32602, "message": "Unknown tool"}})
        return
    if name == "act":
        os.write(RAN, f"{args['payload'][:100]}\n".encode())
    if name == "toggle":
        with lock:
            grown.symmetric_difference_update({args["name"]})
    value = {"server": LABEL, "tool": name, "payload": args.get("payload")}
    result = {"content": [{"type": "text", "text": "see structuredContent"}], "structuredContent": value}
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": {**result, **ENVELOPE}}
    if MODE == "crash" and dice > 0.95:
        raw(json.dumps(answer).encode()[:40])
        end(False)
    send(answer)
    if name == "toggle":
        announce_change()
    if MODE == "crash" and dice > 0.9:
        end(True)


def end(is_kill: bool) -> None:
    if is_kill:
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(3)


def flood(message: Json, send: Send, raw: Callable[[bytes], None]) -> None:
    """Everything at once: logs, progress, announcements, answers to nobody, noise, lines on stderr."""
    token = (message["params"].get("_meta") or {}).get("progressToken")
    for step in range(50):
        send(notice("message", level="info", data=f"{LABEL} works on step {step}"))
        if token is not None:
            send(notice("progress", progressToken=token, progress=step, total=50))
        if step % 10 == 0:
            send(notice("tools/list_changed"))
            send({"jsonrpc": "2.0", "id": 10**9 + step, "result": {"content": []}})
        if len(sys.argv) < 2:
            raw(f'handled "id": {message["id"]}, "result": {{step {step}\n'.encode())
            raw(b'{"level":"info","id":%d,"msg":"served"}\n' % step)
            sys.stderr.write(f"{LABEL}: step {step} of {message['id']}\n")
    sys.stderr.flush()


# ---------------------------------------------------------------- stdio

out = threading.Lock()


def write(data: bytes) -> None:
    with out:
        try:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        except OSError:
            os._exit(0)


def over_stdio() -> None:
    def send(message: Json) -> None:
        write(json.dumps(message).encode() + b"\n")

    if not IS_MODERN:
        listeners[0] = send
    if MODE == "hang" and RNG.random() < 0.3:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        if message["method"] == "subscriptions/listen" and IS_MODERN:
            listeners.clear()
            listeners[message["id"]] = send
            send(notice("subscriptions/acknowledged", _meta={SUBSCRIPTION: message["id"]}))
        elif message["method"] == "tools/call":
            threading.Thread(target=call, args=(message, send, write), daemon=True).start()
        else:
            if MODE == "hang" and message["method"] == "tools/list" and RNG.random() < 0.1:
                time.sleep(5)  # reads nothing either
            send(simple_answer(message))


# ---------------------------------------------------------------- streamable HTTP


def over_http(port: int) -> None:
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    sessions: set[str] = set()

    class Exchange(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        is_stream = False

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def respond(self, status: int, body: bytes = b"", **headers: str) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def stream(self, message: Json | None) -> None:
            """An event; the first one opens the stream."""
            if not self.is_stream:
                self.is_stream, self.close_connection = True, True
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
            data = b": here\n\n" if message is None else b"data: " + json.dumps(message).encode() + b"\n\n"
            self.wfile.write(data)
            self.wfile.flush()

        def listen(self, listener: int) -> None:
            """Keeps the stream open; what is announced goes through a queue, so that one thread writes."""
            box: queue.Queue[Json] = queue.Queue(1000)
            listeners[listener] = lambda message: box.full() or box.put(message)
            try:
                while True:
                    try:
                        self.stream(box.get(timeout=0.5))
                    except queue.Empty:
                        self.stream(None)
            finally:
                listeners.pop(listener, None)

        def do_GET(self) -> None:
            if IS_MODERN:
                return self.respond(405)
            return self.guarded(lambda: self.listen(id(self)))

        def do_DELETE(self) -> None:
            self.respond(200)

        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.is_stream = False
            self.guarded(lambda: self.answer(message))

        def guarded(self, work: Callable[[], None]) -> None:
            try:
                work()
            except OSError:
                self.close_connection = True

        def answer(self, message: Json) -> None:
            method = message.get("method")
            json_type = {"Content_Type": "application/json"}
            if method == "initialize" and not IS_MODERN:
                with lock:
                    session = f"{RNG.randrange(2**64):x}-{os.getpid()}"
                    sessions.add(session)
                body = json.dumps(simple_answer(message)).encode()
                return self.respond(200, body, Mcp_Session_Id=session, **json_type)
            if method == "server/discover" and not IS_MODERN:
                return self.respond(400, b"no session", Content_Type="text/plain")
            if not IS_MODERN and self.headers.get("Mcp-Session-Id") not in sessions:
                return self.respond(404)
            if "id" not in message or method is None:
                return self.respond(202)
            if method == "subscriptions/listen" and IS_MODERN:
                self.stream(notice("subscriptions/acknowledged", _meta={SUBSCRIPTION: message["id"]}))
                return self.listen(message["id"])
            if method == "tools/call":
                with lock:
                    streams = MODE == "flood" or RNG.random() < 0.5
                if streams:
                    return call(message, self.stream, self.wfile.write)

                def send(answer: Json) -> None:
                    self.respond(200, json.dumps(answer).encode(), **json_type)

                call(message, send, self.wfile.write)
                return None
            return self.respond(200, json.dumps(simple_answer(message)).encode(), **json_type)

    ThreadingHTTPServer.request_queue_size = 128
    ThreadingHTTPServer.daemon_threads = True
    ThreadingHTTPServer(("127.0.0.1", port), Exchange).serve_forever()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        over_http(int(sys.argv[1]))
    else:
        over_stdio()
