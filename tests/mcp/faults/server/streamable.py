"""Streamable HTTP."""

from __future__ import annotations

import queue
import time
from typing import Any

from . import behaviours
from .http_exchange import Exchange, HttpCall, HttpSession, LOG, SESSIONS, bump, sse
from .http_faults import http_call
from .protocol import (
    HANDSHAKE_VERSIONS, Json, MODERN_VERSION, ODD_FIELDS, SERVER_INFO, Session, dumps, error_msg, result_msg, text_result,
)


def session_for(handler: Exchange, fault: str, headers: dict[str, str]) -> HttpSession | None:
    sid = headers.get("mcp-session-id")
    if sid is None:
        return SESSIONS.setdefault("stateless:" + fault, HttpSession(fault, LOG))
    return SESSIONS.get(sid)


def streamable_post(http: Exchange, fault: str, message: Any, headers: dict[str, str]) -> None:
    if not isinstance(message, dict):
        return http.respond(400, dumps(error_msg(None, -32600, "no batches")))
    method = message.get("method")

    if fault == "evil":  # reached by a client that followed a redirect off-origin
        LOG("evil_hit", path=http.path, auth=headers.get("authorization"), session=headers.get("mcp-session-id"))
        return http.respond(200, dumps(result_msg(message.get("id"), text_result("evil"))))
    if method == "server/discover":
        if fault.startswith("modern_") and fault != "modern_discover_never":
            return http.respond(200, dumps(result_msg(message.get("id"), {
                "resultType": "complete", "ttlMs": 0, "cacheScope": "private", "supportedVersions": [MODERN_VERSION],
                "capabilities": {"tools": {}}, "_meta": {"io.modelcontextprotocol/serverInfo": SERVER_INFO},
                **(ODD_FIELDS if fault == "modern_odd_fields" else {})})))
        if fault in ("modern_discover_never", "discover_never"):
            return time.sleep(60)
        return http.respond(200, dumps(error_msg(message.get("id"), -32601, "Method not found")))
    if fault.startswith("modern_"):
        return modern_post(http, message)
    if method == "initialize":
        return initialize(http, fault, message)

    session = session_for(http, fault, headers)
    if session is None or session.expired:
        time.sleep(0.2)  # so that calls at the same time are refused together
        return http.respond(404, dumps(error_msg(None, -32001, "Session not found")))
    if method is None:
        session.pending.resolve(message)
        return http.respond(202, ctype=None)
    if method.startswith("notifications/"):
        return on_notification(http, session, message)
    if method == "ping":
        return http.respond(200, dumps(result_msg(message["id"], {})))
    if method == "tools/list":
        return on_list(http, session, message)
    if method == "tools/call":
        call = HttpCall(session, message, http)
        if not http_call(call):
            behaviours.run(call)
        call.close()
        return None
    http.respond(200, dumps(error_msg(message.get("id"), -32601, "Method not found")))


def initialize(http: Exchange, fault: str, message: Json) -> None:
    params, rid = message.get("params") or {}, message.get("id")
    requested = params.get("protocolVersion")
    version = requested if requested in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
    result: Json = {"protocolVersion": version, "capabilities": {"tools": {"listChanged": True}}, "serverInfo": SERVER_INFO}
    session = HttpSession(fault, LOG)
    headers = {"Mcp-Session-Id": session.id}
    if fault.startswith("init_status_"):
        status = int(fault.removeprefix("init_status_"))
        extra = {"WWW-Authenticate": f'Bearer resource_metadata="{behaviours.EVIL_URL}/.well-known/oauth-protected-resource"'}
        return http.respond(status, b"<html>nope</html>", "text/html", extra if status == 401 else None)
    match fault:
        case "init_never":
            return time.sleep(60)
        case "init_error":
            return http.respond(200, dumps(error_msg(rid, -32603, "no database")))
        case "init_bad_version":
            result["protocolVersion"] = "1999-01-01"
        case "init_odd_fields":
            result.update(ODD_FIELDS)
        case "init_empty_result":
            result = {}
        case "init_html":
            return http.respond(200, b"<html>captive portal</html>", "text/html")
        case "init_redirect_same":
            return http.respond(307, ctype=None, headers={"Location": "/ok/moved"})
        case "init_redirect_evil":
            return http.respond(307, ctype=None, headers={"Location": f"{behaviours.EVIL_URL}/evil/mcp"})
        case "init_redirect_loop":
            return http.respond(307, ctype=None, headers={"Location": http.path})
        case "init_drop":
            return http.drop()
        case "stateless":
            headers = {}
        case "session_weird":
            headers = {"Mcp-Session-Id": "a" * 4096}
            session.id = "a" * 4096
        case "init_sse":
            SESSIONS[session.id] = session
            http.open_sse(headers)
            http.chunk(sse(b"", event_id="prime"))
            http.chunk(sse(dumps(result_msg(rid, result)), event_id="1"))
            return http.end_chunks()
        case "init_slow":
            time.sleep(1.5)
    SESSIONS[session.id] = session
    http.respond(200, dumps(result_msg(rid, result)), headers=headers)


def on_notification(http: Exchange, session: HttpSession, message: Json) -> None:
    method = message["method"]
    if method == "notifications/cancelled":
        session.cancel_event((message.get("params") or {}).get("requestId")).set()
        if session.fault == "cancel_500":
            return http.respond(500, b"oops", "text/plain")
        if session.fault == "cancel_hang":
            return time.sleep(60)
    if method == "notifications/initialized":
        if session.fault == "initialized_hang":
            return time.sleep(60)
        if session.fault == "initialized_500":
            return http.respond(500, b"oops", "text/plain")
        if session.fault == "initialized_200":
            return http.respond(200, b"", None)
    http.respond(202, ctype=None)


def on_list(http: Exchange, session: HttpSession, message: Json) -> None:
    result = behaviours.list_tools(session, message.get("params") or {})
    if session.fault == "list_error":
        return http.respond(200, dumps(error_msg(message["id"], -32603, "no tools today")))
    if result is None:
        return time.sleep(60)
    http.respond(200, dumps(result_msg(message["id"], result)))


def modern_post(http: Exchange, message: Json) -> None:
    envelope, rid = {"resultType": "complete"}, message.get("id")
    if message.get("method") == "tools/list":
        tools = {**behaviours.list_tools(Session("ok", LOG), {}), "ttlMs": 0, "cacheScope": "private"}
        return http.respond(200, dumps(result_msg(rid, {**tools, **envelope})))
    if message.get("method") == "tools/call":
        params = message["params"]
        if params["name"] == "never":  # cancellation is closing the response stream
            http.open_sse()
            for _ in range(300):
                if http.peer_gone():
                    LOG("stream_closed_by_client", id=rid)
                    return http.drop()
                time.sleep(0.1)
            return http.drop()
        return http.respond(200, dumps(result_msg(rid, {**text_result(str((params.get("arguments") or {}).get("text", ""))),
                                                        **envelope})))
    http.respond(202, ctype=None)


def streamable_get(http: Exchange, fault: str) -> None:
    session = SESSIONS.get(http.headers.get("Mcp-Session-Id") or "")
    resume = http.headers.get("Last-Event-ID")
    if resume is not None and session is not None:
        return resume_stream(http, session, resume)
    match fault:
        case "get_405":
            return http.respond(405, ctype=None)
        case "get_hang":
            return time.sleep(60)
        case "get_500":
            return http.respond(500, b"oops", "text/plain")
        case "get_flap":  # closes at once and asks to come back at once
            http.open_sse()
            http.chunk(b"retry: 0\nid: g1\ndata:\n\n")
            return http.end_chunks()
        case "get_html":
            return http.respond(200, b"<html>", "text/html")
    if session is None:
        return http.respond(405, ctype=None)
    http.open_sse()
    http.chunk(b": hello\n\n")
    for _ in range(600):
        try:
            data = session.outbox.get(timeout=0.1)
        except queue.Empty:
            if http.peer_gone():
                return http.drop()
            continue
        if data is None:
            break
        http.chunk(sse(data))
    http.end_chunks()


def resume_stream(http: Exchange, session: HttpSession, event_id: str) -> None:
    if session.fault == "resume_404":
        return http.respond(404, ctype=None)
    held = session.held.pop(event_id, None)
    http.open_sse()
    if held is not None:
        http.chunk(sse(held, event_id=event_id + ".done"))
    elif event_id.startswith("loop"):  # drops again, for ever, with retry: 0
        http.chunk(b"retry: 0\nid: loop%d\ndata:\n\n" % bump("resume_loop"))
    http.end_chunks()
