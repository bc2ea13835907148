"""Legacy HTTP+SSE (2024-11-05)."""

from __future__ import annotations

import queue
import threading
import time

from . import behaviours
from .http_exchange import Exchange, HttpSession, LOG, SESSIONS, sse
from .protocol import Call, HANDSHAKE_VERSIONS, Json, SERVER_INFO, dumps, error_msg, result_msg, text_result


class LegacyCall(Call):
    transport = "sse"

    def emit(self, data: bytes) -> None:
        self.session.outbox.put(data)  # type: ignore[attr-defined]


def legacy_stream(http: Exchange, fault: str) -> None:
    session = HttpSession(fault, LOG)
    SESSIONS[session.id] = session
    if fault.startswith("init_status_"):
        return http.respond(int(fault.removeprefix("init_status_")), b"no", "text/plain")
    http.open_sse()
    if fault == "endpoint_never":
        time.sleep(60)
        return http.drop()
    endpoint = f"/{fault}/messages?sessionId={session.id}"
    if fault == "endpoint_evil":
        endpoint = f"{behaviours.EVIL_URL}/evil/mcp?sessionId={session.id}"
    http.chunk(sse(endpoint.encode(), event="endpoint"))
    if fault == "endpoint_twice":
        http.chunk(sse(endpoint.encode(), event="endpoint"))
    for _ in range(1200):
        try:
            data = session.outbox.get(timeout=0.1)
        except queue.Empty:
            if http.peer_gone():
                LOG("legacy_stream_closed")
                return http.drop()
            continue
        if data is None:
            return http.drop()
        if fault == "garbage_events":
            http.chunk(b"event: message\ndata: {not json\n\nevent: weird\ndata: x\n\n: c\n\n")
        http.chunk(sse(data))
    http.end_chunks()


def legacy_post(http: Exchange, fault: str, message: Json) -> None:
    query = http.path.partition("sessionId=")[2]
    session = SESSIONS.get(query)
    if session is None or session.expired:
        time.sleep(0.2)  # so that calls at the same time are refused together
        return http.respond(404, b"no session", "text/plain")
    method, rid = message.get("method"), message.get("id")

    def reply(payload: Json) -> None:
        http.respond(202, b"Accepted", "text/plain")
        session.outbox.put(dumps(payload))

    if method is None:
        session.pending.resolve(message)
        return http.respond(202, b"Accepted", "text/plain")
    if method == "initialize":
        if fault == "init_never":
            return http.respond(202, b"Accepted", "text/plain")
        version = (message.get("params") or {}).get("protocolVersion")
        return reply(result_msg(rid, {"protocolVersion": version if version in HANDSHAKE_VERSIONS else "2024-11-05",
                                      "capabilities": {"tools": {}}, "serverInfo": SERVER_INFO}))
    if method == "notifications/cancelled":
        session.cancel_event((message.get("params") or {}).get("requestId")).set()
    if method.startswith("notifications/"):
        return http.respond(202, b"Accepted", "text/plain")
    if method == "tools/list":
        return reply(result_msg(rid, behaviours.list_tools(session, message.get("params") or {})))
    if method == "tools/call":
        call = LegacyCall(session, message)
        match call.name:
            case "post_status":
                return http.respond(int(call.args.get("status", 500)), b"oops", "text/plain")
            case "post_hang":
                return time.sleep(60)
            case "post_drop":
                return http.drop()
            case "stream_drop":
                http.respond(202, b"Accepted", "text/plain")
                session.outbox.put(None)
                return None
            case "forget_sessions":  # the stream stays open
                reply(result_msg(rid, text_result("ok")))
                session.expired = True
                return None
        http.respond(202, b"Accepted", "text/plain")
        threading.Thread(target=behaviours.run, args=(call,), daemon=True).start()
        return None
    reply(error_msg(rid, -32601, "Method not found"))
