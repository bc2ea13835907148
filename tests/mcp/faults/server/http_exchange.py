"""One HTTP exchange, sessions, and what the parts of the server share."""

from __future__ import annotations

import queue
import socket
import struct
import threading
import uuid
import zlib
from http.server import BaseHTTPRequestHandler
from typing import Any

from .protocol import Call, EventLog, Json, Session, dumps


LOG = EventLog(None)  # opened by the program
PORTS: dict[str, int] = {}
SESSIONS: dict[str, "HttpSession"] = {}
COUNTS: dict[str, int] = {}
COUNT_LOCK = threading.Lock()


def bump(key: str) -> int:
    with COUNT_LOCK:
        COUNTS[key] = COUNTS.get(key, 0) + 1
        return COUNTS[key]


class HttpSession(Session):
    def __init__(self, fault: str, log: EventLog) -> None:
        super().__init__(fault, log)
        self.id = uuid.uuid4().hex
        self.expired = False
        self.outbox: queue.Queue[bytes | None] = queue.Queue()  # GET stream / legacy SSE stream
        self.held: dict[str, bytes] = {}  # event id -> response kept for a resume


def sse(data: bytes, *, event_id: str | None = None, event: str | None = "message") -> bytes:
    head = (f"event: {event}\n" if event else "") + (f"id: {event_id}\n" if event_id is not None else "")
    return head.encode() + b"data: " + data + b"\n\n"


def gzip_bomb(megabytes: int, request_id: Any) -> bytes:
    """A valid gzip member of about 1 KiB per megabyte that inflates to a JSON-RPC answer.

    One megabyte is deflated with a full flush, which may be repeated verbatim, so
    that building the bomb takes no longer than the checksum does.
    """
    head = b'{"jsonrpc":"2.0","id":' + dumps(request_id) + b',"result":{"content":[{"type":"text","text":"'
    block, tail = b"0" * 1_000_000, b'"}]}}'
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    middle = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    end = packer.compress(tail) + packer.flush()
    check = zlib.crc32(head)
    for _ in range(megabytes):
        check = zlib.crc32(block, check)
    size = len(head) + megabytes * len(block) + len(tail)
    return (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff" + start + middle * megabytes + end
            + struct.pack("<II", zlib.crc32(tail, check), size & 0xFFFFFFFF))


class Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "fault"
    timeout = 120
    disable_nagle_algorithm = True  # else every answer waits 40 ms for the client's delayed ACK

    # -- plumbing ---------------------------------------------------------
    def log_message(self, *args: Any) -> None:
        pass

    def raw(self, data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()

    def respond(self, status: int, body: bytes = b"", ctype: str | None = "application/json",
                headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        if ctype:
            self.send_header("Content-Type", ctype)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.raw(body)

    def open_sse(self, headers: dict[str, str] | None = None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Transfer-Encoding", "chunked")
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.flush()

    def chunk(self, data: bytes) -> None:
        self.raw(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def end_chunks(self) -> None:
        self.raw(b"0\r\n\r\n")

    def drop(self, reset: bool = False) -> None:
        """Close the socket under the client, by FIN or by RST."""
        self.close_connection = True
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        try:
            if not reset:
                self.connection.shutdown(socket.SHUT_RDWR)
            self.connection.close()
        except OSError:
            pass

    def peer_gone(self) -> bool:
        try:
            self.connection.setblocking(False)
            return self.connection.recv(1, socket.MSG_PEEK) == b""
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            return True
        finally:
            try:
                self.connection.settimeout(self.timeout)
            except OSError:
                pass

    def body(self) -> bytes:
        if "chunked" in (self.headers.get("Transfer-Encoding") or "").lower():
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def route(self) -> tuple[str, str]:
        parts = self.path.split("?")[0].strip("/").split("/")
        return (parts[0], parts[1]) if len(parts) > 1 else ("ok", parts[0])

    # -- verbs ----------------------------------------------------------------
    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (ConnectionError, OSError, ValueError):
            self.close_connection = True



class HttpCall(Call):
    transport = "http"

    def __init__(self, session: Session, request: Json, handler: Exchange) -> None:
        super().__init__(session, request)
        self.http = handler
        self.open = False

    @property
    def secret(self) -> str:
        return f"{self.http.headers.get('Authorization', '')} {self.http.path.partition('?')[2]}"

    def stream(self) -> None:
        if not self.open:
            self.open = True
            self.http.open_sse()

    def emit(self, data: bytes) -> None:
        if self.args.get("via") == "sse":
            self.stream()
        if self.open:
            self.http.chunk(sse(data))
        else:
            self.http.respond(200, data)

    def finish(self) -> None:
        if self.open:
            self.http.end_chunks()
            self.open = False
        else:
            self.http.respond(200, b"", "text/event-stream")

    def close(self) -> None:
        if self.open:
            self.finish()
