"""A local server that speaks the OpenAI chat API, right or wrong, for tests.

A real HTTP server on a free port of this machine, one thread for each connection, standard library only.
What it answers is chosen by the script given to it, one entry for each request; without an entry left
it answers well.

>>> import json, urllib.request
>>> with FakeOpenAI(answer="Paris.") as server:
...     request = urllib.request.Request(
...         server.base_url + "/chat/completions",
...         data=json.dumps({"model": "m", "messages": [{"role": "user", "content": "?"}]}).encode(),
...     )
...     reply = json.load(urllib.request.urlopen(request))
>>> reply["choices"][0]["message"]["content"], server.requests[0].body["model"]
('Paris.', 'm')

By hand, with the faults by name: `python fake_openai.py --port 8000 rate_limited truncated_stream`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, cast


@dataclass(frozen=True)
class Received:
    """A request as it arrived. Header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def prompt(self) -> str:
        """The text of the last message."""
        return str(self.body["messages"][-1]["content"])


@dataclass(frozen=True)
class Status:
    """An answer with this status, an OpenAI-style error message and more headers."""

    status: int
    message: str = "something went wrong"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """An answer 200 with just this body."""

    body: bytes
    content_type: str = "application/json"


Answer = str | Callable[[Received], str]
Entry = str | Status | Raw
"""One request of a script: the name of a fault in `FAULTS`, `"ok"`, or a status or body of its own."""


class FakeOpenAI:
    """The server. Use it as a context manager; `base_url` is what a client wants.

    `answer` is the text that it answers, or a function of the request. `script` says what happens to the
    first requests. `api_key`, if given, is demanded. `requests` has all that arrived, in order.
    """

    def __init__(
        self,
        answer: Answer = "A good answer.",
        script: Iterable[Entry] = (),
        *,
        api_key: str | None = None,
        models: Iterable[str] | None = None,
        port: int = 0,
    ) -> None:
        self.answer = answer
        self.api_key = api_key
        self.models = None if models is None else list(models)
        self.requests: list[Received] = []
        self.disconnected = threading.Event()
        """Set when a client hung up on a `hang`, `slow_stream` or `endless_stream`."""
        self.steps = threading.Semaphore(0)
        """One piece of a `stepped_stream` is sent for each release."""
        self.sent = 0
        """How many events of an `endless_stream` were taken by the client's end of the connection."""
        self.closing = threading.Event()
        self._script = list(script)
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.fake = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def base_url(self) -> str:
        """The address up to and including `/v1`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def enqueue(self, *entries: Entry) -> None:
        """Adds to the end of the script."""
        with self._lock:
            self._script.extend(entries)

    def take(self, received: Received) -> Entry:
        """Records a request and returns what to do with it."""
        with self._lock:
            self.requests.append(received)
            return self._script.pop(0) if self._script else "ok"

    def start(self) -> Self:
        """Begins to serve."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Stops serving; hanging connections end too."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    # A client may keep its connection open for longer than the test lasts: nobody waits for its thread.
    daemon_threads = True
    block_on_close = False
    fake: FakeOpenAI

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is part of the tests, not worth a traceback."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    @property
    def fake(self) -> FakeOpenAI:
        return cast(_Server, self.server).fake

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: the tests look at `requests`."""

    def do_GET(self) -> None:
        models = self.fake.models or ["fake"]
        if self.path.endswith("/models"):
            listed = [{"id": name, "object": "model"} for name in models]
            self.send_json(200, {"object": "list", "data": listed})
        else:
            self.send_error_object(404, f"Invalid URL (GET {self.path})")

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length", "0")))
        try:
            body = json.loads(content)
        except ValueError as error:
            self.send_error_object(400, f"We could not parse the JSON body of your request: {error}")
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        received = Received(self.path, headers, body)
        entry = self.fake.take(received)
        if not self.path.endswith("/chat/completions"):
            self.send_error_object(404, f"Invalid URL (POST {self.path})")
        elif self.fake.api_key and headers.get("authorization") != f"Bearer {self.fake.api_key}":
            given = headers.get("authorization", "nothing").removeprefix("Bearer ")
            self.send_error_object(401, f"Incorrect API key provided: {given}.")
        elif self.fake.models is not None and body.get("model") not in self.fake.models:
            self.send_error_object(404, f"The model `{body.get('model')}` does not exist.")
        elif isinstance(entry, Status):
            self.send_error_object(entry.status, entry.message, entry.headers)
        elif isinstance(entry, Raw):
            self.send_whole(200, entry.content_type, entry.body)
        else:
            FAULTS[entry](self, received)

    def answer_to(self, received: Received) -> str:
        answer = self.fake.answer
        return answer if isinstance(answer, str) else answer(received)

    def send_whole(
        self, status: int, content_type: str, body: bytes, headers: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def send_json(self, status: int, value: object, headers: Mapping[str, str] | None = None) -> None:
        self.send_whole(status, "application/json", json.dumps(value).encode(), headers)

    def send_error_object(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        error = {"message": message, "type": "fake_error", "param": None, "code": None}
        self.send_json(status, {"error": error}, headers)

    def begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def send_chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def send_event(self, value: object) -> None:
        self.send_chunk(b"data: " + json.dumps(value).encode() + b"\n\n")

    def end_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def wait_for_hang_up(self) -> None:
        """Says nothing until the client is gone or the server closes."""
        self.connection.settimeout(0.05)
        self.close_connection = True
        while not self.fake.closing.is_set():
            try:
                if self.connection.recv(1024) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        self.fake.disconnected.set()


def _completion(received: Received, text: str) -> dict[str, Any]:
    words = len(text.split())
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": received.body.get("model"),
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": words, "total_tokens": words + 1},
    }


def _chunk(received: Received, delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": dict(delta), "finish_reason": finish}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": received.body.get("model"),
        "choices": [choice],
    }


def _pieces(text: str) -> list[str]:
    """The words with the space that follows each."""
    return [piece for piece in text.replace(" ", " \0").split("\0") if piece]


def _stream_words(handler: _Handler, received: Received, words: int | None = None) -> None:
    handler.begin_stream()
    handler.send_event(_chunk(received, {"role": "assistant", "content": ""}))
    for piece in _pieces(handler.answer_to(received))[:words]:
        handler.send_event(_chunk(received, {"content": piece}))


def _ok(handler: _Handler, received: Received) -> None:
    if not received.body.get("stream"):
        handler.send_json(200, _completion(received, handler.answer_to(received)))
        return
    _stream_words(handler, received)
    handler.send_event(_chunk(received, {}, "stop"))
    handler.send_chunk(b"data: [DONE]\n\n")
    handler.end_stream()


def _status(
    status: int, message: str, headers: Mapping[str, str] | None = None
) -> Callable[[_Handler, Received], None]:
    return lambda handler, _: handler.send_error_object(status, message, headers)


def _raw(body: bytes, content_type: str = "application/json") -> Callable[[_Handler, Received], None]:
    return lambda handler, _: handler.send_whole(200, content_type, body)


def _echo_key(handler: _Handler, received: Received) -> None:
    given = received.headers.get("authorization", "")
    handler.send_error_object(401, f"Incorrect API key provided: {given.removeprefix('Bearer ')}.")


def _hang(handler: _Handler, _: Received) -> None:
    handler.wait_for_hang_up()


def _slow_stream(handler: _Handler, received: Received) -> None:
    _stream_words(handler, received, 1)
    handler.wait_for_hang_up()


def _stepped_stream(handler: _Handler, received: Received) -> None:
    handler.begin_stream()
    for piece in _pieces(handler.answer_to(received)):
        handler.fake.steps.acquire()
        handler.send_event(_chunk(received, {"content": piece}))
    handler.send_event(_chunk(received, {}, "stop"))
    handler.end_stream()


def _endless_stream(handler: _Handler, received: Received) -> None:
    handler.begin_stream()
    try:
        while not handler.fake.closing.is_set():
            handler.send_event(_chunk(received, {"content": "x" * 10_000}))
            handler.fake.sent += 1
    except OSError:
        handler.close_connection = True
        handler.fake.disconnected.set()


def _truncated_stream(handler: _Handler, received: Received) -> None:
    _stream_words(handler, received, 1)
    handler.end_stream()


def _broken_stream(handler: _Handler, received: Received) -> None:
    _stream_words(handler, received, 1)
    _reset(handler, received)


def _error_in_stream(handler: _Handler, received: Received) -> None:
    _stream_words(handler, received, 1)
    handler.send_event({"error": {"message": "the model has crashed", "code": 500}})
    handler.end_stream()


def _close(handler: _Handler, _: Received) -> None:
    handler.close_connection = True


def _reset(handler: _Handler, _: Received) -> None:
    handler.close_connection = True
    linger = struct.pack("ii", 1, 0)
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    # At once and past the server's own closing, which would say a polite goodbye first.
    os.close(handler.connection.detach())


def _cut_body(handler: _Handler, received: Received) -> None:
    body = json.dumps(_completion(received, handler.answer_to(received))).encode()
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body[: len(body) // 2])
    handler.close_connection = True


def _redirect(handler: _Handler, _: Received) -> None:
    handler.send_whole(307, "text/plain", b"", {"location": "http://127.0.0.1:9/v1/chat/completions"})


def _empty_answer(handler: _Handler, received: Received) -> None:
    handler.send_json(200, _completion(received, ""))


_HTML = b"<!DOCTYPE html><html><head><title>Log in</title></head></html>"

FAULTS: dict[str, Callable[[_Handler, Received], None]] = {
    "ok": _ok,
    "empty_answer": _empty_answer,
    "unauthorized": _status(401, "Incorrect API key provided."),
    "echo_key": _echo_key,
    "forbidden": _status(403, "You are not allowed to use this model."),
    "no_model": _status(404, "The model `m` does not exist."),
    "rate_limited": _status(429, "Rate limit reached.", {"retry-after": "0"}),
    "rate_limited_long": _status(429, "Rate limit reached.", {"retry-after": "3600"}),
    "server_error": _status(500, "The server had an error."),
    "overloaded": _status(503, "The engine is overloaded."),
    "redirect": _redirect,
    "invalid_json": _raw(b'{"choices": ['),
    "no_choices": _raw(b'{"object": "chat.completion", "choices": []}'),
    "html": _raw(_HTML, "text/html"),
    "hang": _hang,
    "close": _close,
    "reset": _reset,
    "cut_body": _cut_body,
    "slow_stream": _slow_stream,
    "stepped_stream": _stepped_stream,
    "endless_stream": _endless_stream,
    "truncated_stream": _truncated_stream,
    "broken_stream": _broken_stream,
    "error_in_stream": _error_in_stream,
}
"""The faults by name."""


def main() -> None:
    """Serves until it is interrupted."""
    parser = argparse.ArgumentParser(description="A local server that speaks the OpenAI chat API.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--answer", default="A good answer.")
    parser.add_argument(
        "script", nargs="*", metavar="fault", help=f"what happens to the first requests: {', '.join(FAULTS)}"
    )
    options = parser.parse_args()
    unknown = set(options.script) - set(FAULTS)
    if unknown:
        parser.error(f"unknown faults: {', '.join(sorted(unknown))}")
    with FakeOpenAI(options.answer, options.script, port=options.port) as server:
        print(server.base_url, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
