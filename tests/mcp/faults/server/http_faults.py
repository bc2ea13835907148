"""Faults of one call that only make sense over HTTP."""

from __future__ import annotations

import gzip
import time

from . import behaviours
from .http_exchange import HttpCall, LOG, gzip_bomb, sse
from .protocol import dumps, error_msg, notification, result_msg, text_result


def http_call(call: HttpCall) -> bool:
    """Handle an HTTP-only fault; False hands over to the shared behaviours."""
    http, session, rid = call.http, call.session, call.id
    ok = dumps(result_msg(rid, text_result("ok")))
    match call.name:
        case "status":
            status = int(call.args.get("status", 500))
            extra = dict(call.args.get("headers") or {})
            if status == 401:
                extra.setdefault("WWW-Authenticate", 'Bearer resource_metadata="'
                                 f'{behaviours.EVIL_URL}/.well-known/oauth-protected-resource"')
            http.respond(status, str(call.args.get("body", "injected")).encode() if status not in (204, 304) else b"",
                         call.args.get("ctype", "text/plain"), extra)
        case "status_rpc_error":
            http.respond(400, dumps(error_msg(rid, -32602, "bad argument")))
        case "status_once":
            if session.count("status_once") == 1:
                http.respond(int(call.args.get("status", 503)), b"busy", "text/plain",
                             {"Retry-After": str(call.args.get("retry_after", 1))})
            else:
                call.text("recovered")
        case "expire_session":
            session.expired = True
            http.respond(404, dumps(error_msg(None, -32001, "Session not found")))
        case "forget_sessions":  # as a restart does: the answer is the last one of this session
            http.respond(200, ok)
            session.expired = True
        case "change_unheard":  # the tools change while the client's stream is down
            session.count("change_unheard")
            session.outbox.put(None)
            http.respond(200, ok)
        case "accepted_202":
            http.respond(202, ctype=None)
        case "redirect_evil":
            http.respond(int(call.args.get("status", 307)), ctype=None,
                         headers={"Location": f"{behaviours.EVIL_URL}/evil/mcp"})
        case "headers_trickle":
            http.raw(b"HTTP/1.1 200 OK\r\n")
            for i in range(300):
                if call.cancelled.is_set() or http.peer_gone():
                    break
                http.raw(b"X-%d: y\r\n" % i)
                time.sleep(0.1)
            http.drop()
        case "sse_keepalive_forever":
            call.stream()
            for _ in range(300):
                if call.cancelled.is_set() or http.peer_gone():
                    break
                http.chunk(b": keep-alive\n\n")
                time.sleep(0.1)
            http.drop()
            call.open = False
        case "json_trickle":
            http.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (len(ok) + 600))
            for i in range(600):
                if call.cancelled.is_set() or http.peer_gone():
                    break
                http.raw(b" ")
                time.sleep(0.1)
            http.drop()
        case "wrong_ctype_html":
            http.respond(200, b"<html>hi</html>", "text/html")
        case "wrong_ctype_text":
            http.respond(200, ok, "text/plain")
        case "no_ctype":
            http.respond(200, ok, None)
        case "ctype_charset":
            http.respond(200, ok, "Application/JSON; charset=UTF-8")
        case "empty_200":
            http.respond(200, b"")
        case "json_garbage":
            http.respond(200, b'{"jsonrpc": "2.0", "id": ')
        case "short_body":
            http.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (len(ok) + 50) + ok)
            http.drop()
        case "bad_chunk":
            http.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n" + ok)
            http.drop()
        case "rst_mid_body":
            http.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
            http.drop(reset=True)
        case "close_no_response":
            http.drop()
        case "huge_header":
            http.raw(b"HTTP/1.1 200 OK\r\nX-Big: " + b"h" * 1_000_000 + b"\r\nContent-Type: application/json\r\n"
                     b"Content-Length: %d\r\n\r\n" % len(ok) + ok)
        case "early_hints":
            http.raw(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                     b"Content-Length: %d\r\n\r\n" % len(ok) + ok)
        case "http10":
            http.raw(b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + ok)
            http.drop()
        case "stale_keepalive":
            # Answers, then closes the idle connection without announcing it.
            http.respond(200, ok)
            http.drop()
        case "gzip_ok":
            http.respond(200, gzip.compress(ok), headers={"Content-Encoding": "gzip"})
        case "gzip_bad":
            http.respond(200, b"\x1f\x8b\x08 not really gzip", headers={"Content-Encoding": "gzip"})
        case "gzip_bomb":
            data = gzip_bomb(int(call.args.get("megabytes", 1000)), rid)
            http.respond(200, data, headers={"Content-Encoding": "gzip"})
            LOG("bomb_sent", compressed=len(data))
        case "sse_dialects":
            text = dumps(result_msg(rid, text_result("ok")))
            middle = text.index(b'"result"')
            call.stream()
            for part in (b"\xef\xbb\xbf: comment first\n\n", b"retry: 10\n\n", b"event: unknown\ndata: {}\n\n", b"data:\n\n",
                         b"nonsense-field: 1\n\n", b":\r\n\r\n", b"id: 7\r\nevent: message\r\ndata: " + text[:middle] + b"\r\ndata: "
                         + text[middle:] + b"\r\n\r\n"):
                for i in range(0, len(part), 11):  # chunk boundaries fall anywhere
                    http.chunk(part[i:i + 11])
        case "sse_unicode":
            call.stream()
            data = sse(dumps(result_msg(rid, text_result(behaviours.UNICODE))))
            for i in range(0, len(data), 3):
                http.chunk(data[i:i + 3])
        case "sse_drop_resumable":
            session.held["r1"] = ok
            call.stream()
            http.chunk(b"retry: 50\nid: r1\ndata:\n\n")
            http.drop()
            call.open = False
        case "sse_drop_no_id":
            call.stream()
            http.chunk(b": bye\n\n")
            http.drop()
            call.open = False
        case "sse_end_no_response":
            call.stream()
            http.chunk(sse(dumps(notification("notifications/message", {"level": "info", "data": "x"}))))
        case "sse_resume_loop":
            call.stream()
            http.chunk(b"retry: 0\nid: loop0\ndata:\n\n")
        case "sse_garbage_event":
            call.stream()
            http.chunk(sse(b"{not json"))
            http.chunk(sse(ok))
        case "sse_endless_line":
            call.stream()
            block = b"x" * 1_000_000
            http.chunk(b"data: ")
            for _ in range(int(call.args.get("megabytes", 300))):
                if http.peer_gone():
                    break
                http.chunk(block)
            time.sleep(30)
            http.drop()
            call.open = False
        case "sse_big_event":
            call.stream()
            http.chunk(sse(dumps(result_msg(rid, text_result("x" * int(call.args.get("bytes", 2_000_000)))))))
        case "answer_on_get_stream":
            session.outbox.put(ok)
            http.respond(202, ctype=None)
        case _:
            return False
    return True
