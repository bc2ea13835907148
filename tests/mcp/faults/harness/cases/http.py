"""Statuses, connections and streams of HTTP."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from ..trial import CALL, CONNECT, SLACK, Trial
from .catalogue import UNICODE, Expect, call_case, case, connect_fails, connect_works, err, ok, settled

# ============================================================================ HTTP status
G = "HTTP status"


def status_case(status: int, wanted: tuple[str, ...], *, correct: str, **args: Any) -> None:
    async def scenario(t: Trial) -> None:
        client, _ = await t.connect()
        o = await t.call(client, "status", {"status": status, **args}, timeout=5)
        if t.error(o, *wanted, within=2.5) and o.error:
            t.prefer(o.error.status == status, f"status {status} is not available to the caller")
        t.check(len(t.received("tools/call", name="status")) <= 3, "hammers a server that refuses")
        t.check(not t.events("evil_hit"), "followed a metadata URL of an unauthenticated peer (SSRF)")
        await t.usable(client)

    case(f"status_{status}", G, correct, on="http", trigger=f"tool `status` {status}",
         outcome=f"error: {' / '.join(wanted)} {status}, then usable", bound="2.5 s")(scenario)


for _s in (400, 404, 405, 406, 409, 410, 413, 415, 418, 500, 501, 502, 503, 504):
    if _s != 404:
        status_case(_s, ("http",), correct=f"HTTP {_s} ends the call at once with an error; the connection survives")
for _s in (401, 403):
    status_case(_s, ("auth",), correct=f"HTTP {_s} ends the call at once as an authorisation error; nothing is fetched")
for _s in (204, 304):
    status_case(_s, ("http", "protocol"), correct=f"HTTP {_s} to a request ends the call at once with an error", body="")
call_case("accepted_202", G, "202 to a request ends the call (there will be no answer)", err("protocol", "http"), on="http")
call_case("status_rpc_error", G, "a JSON-RPC error under HTTP 400 keeps its code", Expect(
    lambda t, o: t.error(o, "rpc") and t.check(o.error.code in (-32602, None), f"code {o.error.code}"), "error: rpc -32602"),
    on="http")


@case("status_429", G, "HTTP 429: not hammered; Retry-After reaches the caller or is obeyed", on="http",
      trigger="tool `status` 429, Retry-After: 7")
async def status_429(t: Trial) -> None:
    client, _ = await t.connect()
    o = await t.call(client, "status", {"status": 429, "headers": {"Retry-After": "7"}}, timeout=3)
    if t.error(o, "http") and o.error:
        t.prefer(o.error.retry_after == 7, "Retry-After is not available to the caller")
    t.check(len(t.received("tools/call", name="status")) <= 2, "retried before Retry-After")
    await t.usable(client)


@case("session_expired", G, "404 to our session id: a new session is started without the caller's help (spec MUST)", on="http",
      trigger="tool `expire_session`, then `echo`")
async def session_expired(t: Trial) -> None:
    client, _ = await t.connect()
    t.settled(await t.call(client, "expire_session"))
    await t.usable(client)


@case("session_expired_50", G, "50 calls in a session that is gone: each is repeated once in a new session and gets its own answer",
      on=("http", "sse"), tier="hub", trigger="tool `forget_sessions`, then 50 × `echo` at once")
async def session_expired_50(t: Trial) -> None:
    client, _ = await t.connect()
    t.ok(await t.call(client, "forget_sessions"))
    outcomes = await asyncio.gather(*(t.call(client, "echo", {"text": f"#{i}"}, timeout=8) for i in range(50)))
    for i, o in enumerate(outcomes):
        if not t.ok(o, f"#{i}"):
            break


@case("session_short", G, "sessions that end after two answers each: no call fails, and none waits", on=("http", "sse"), tier="hub",
      trigger="10 × tool `forget_sessions`, then `echo`")
async def session_short(t: Trial) -> None:
    client, _ = await t.connect()
    for _ in range(10):
        if not t.ok(await t.call(client, "forget_sessions")) or not await t.usable(client):
            break


for _s in (401, 403, 404, 500, 503):
    connect_fails(f"init_status_{_s}", G, f"HTTP {_s} to initialize fails the connect at once; nothing else is fetched",
                  *(("auth",) if _s in (401, 403) else ("http", "connect")), on="http", within=3)

# ========================================================================= HTTP transport
G = "HTTP transport"


def port_case(id: str, correct: str, port: str, *, scheme: str = "http", within: float = 3, timeout: float = CONNECT) -> None:
    async def scenario(t: Trial) -> None:
        target = replace(t.target, url=f"{scheme}://127.0.0.1:{t.ports[port]}/ok/mcp")
        client, o = await t.connect(target=target, timeout=timeout, must=False)
        t.error(o, "connect", "closed", "timeout", within=within)
        await t.close(client)

    case(id, G, correct, on="http", trigger=f"{scheme}://…:<{port}>", outcome="connect error", bound=f"{within:g} s")(scenario)


port_case("refused", "connection refused fails at once", "refused")
port_case("accept_close", "accepted and closed fails at once", "close")
port_case("accept_rst", "accepted and reset fails at once", "rst")
port_case("accept_hang", "accepted and silent fails at the connect deadline", "hang", timeout=2, within=2 + SLACK + 1)
port_case("not_http", "a peer that is not an HTTP server fails at once", "garbage")
port_case("tls_to_plain", "TLS to a plain port fails at once", "http", scheme="https")
port_case("tls_selfsigned", "an untrusted certificate is refused", "tls", scheme="https")
port_case("plain_to_tls", "plain HTTP to a TLS port fails by the deadline", "tls", timeout=2, within=2 + SLACK + 5)

connect_works("init_sse", G, "initialize answered as an event stream works", on="http")
connect_works("stateless", G, "a server without session ids works", on="http")
connect_works("session_weird", G, "a 4096 character session id works", on="http")
connect_works("init_redirect_same", G, "a 307 inside the origin is followed", on="http")
connect_fails("init_html", G, "an HTML page instead of JSON fails the connect at once", on="http", within=3)
connect_fails("init_drop", G, "a dropped connection fails the connect at once", on="http", within=3)
connect_fails("init_redirect_loop", G, "a redirect loop is cut", on="http", within=4)
connect_fails("init_redirect_evil", G, "a redirect to another origin carries neither token nor body there", on="http", within=4)
for _tool, _what in (("close_no_response", "the connection closes without an answer"),
                     ("rst_mid_body", "the connection is reset in the body")):
    async def _no_retry(t: Trial, tool: str = _tool) -> None:
        client, _ = await t.connect()
        t.error(await t.call(client, tool, timeout=4), "closed", "connect", within=2.5)
        n = len(t.received("tools/call", name=tool))
        t.check(n == 1, f"a call that may have run was sent {n} times")
        await t.usable(client)

    case(_tool, G, f"{_what}: an error at once, and the call is not sent a second time", on="http",
         trigger=f"tool `{_tool}`")(_no_retry)


@case("redirect_evil_call", G, "a redirect of a call to another origin carries neither token nor body there", on="http",
      trigger="tool `redirect_evil` 307, 308, 302")
async def redirect_evil_call(t: Trial) -> None:
    client, _ = await t.connect()
    for status in (307, 308, 302):
        t.settled(await t.call(client, "redirect_evil", {"status": status}))
    leaks = [e for e in t.events("evil_hit") if e.get("auth") or e.get("session") or e.get("bytes")]
    t.check(not leaks, f"credentials or body reached another origin: {leaks[:1]}")
    await t.usable(client)


for _tool in ("headers_trickle", "json_trickle", "sse_keepalive_forever"):
    call_case(_tool, G, "a peer that drips bytes cannot stretch the deadline", err("timeout", within=CALL + SLACK), on="http")
for _tool in ("wrong_ctype_html", "empty_200", "json_garbage", "short_body", "bad_chunk", "gzip_bad"):
    call_case(_tool, G, "an error at once; the connection survives", err("protocol", "closed", "http", within=2.5), on="http",
              timeout=5)
for _tool in ("wrong_ctype_text", "no_ctype", "huge_header"):
    call_case(_tool, G, "settles at once; the connection survives", Expect(
        lambda t, o: t.settled(o) and t.check(o.seconds < 2.5, f"took {o.seconds:.1f}s", "HANG"), "result or error", 2.5),
        on="http", timeout=5)
for _tool in ("ctype_charset", "early_hints", "http10", "gzip_ok"):
    call_case(_tool, G, "a legal variation is understood", ok("ok"), on="http")
call_case("gzip_bomb", G, "1 MB that inflates to 1 GB is refused without being inflated whole", Expect(
    lambda t, o: t.error(o, "limit", "protocol", "closed", "timeout") and t.check(bool(t.events("bomb_sent")), "not sent", "HARNESS"),
    "error: limit / protocol / closed / timeout"), on="http", timeout=15, rss_mib=256, limit=90)


@case("stale_keepalive", G, "idle connections closed by the server do not fail the next call", on="http",
      trigger="5 × tool `stale_keepalive`")
async def stale_keepalive(t: Trial) -> None:
    client, _ = await t.connect()
    for _ in range(5):
        t.ok(await t.call(client, "stale_keepalive"), "ok")
        await asyncio.sleep(0.05)
    await t.usable(client)


for _fault, _what in (("initialized_hang", "the server never answers notifications/initialized"),
                      ("initialized_200", "the server answers notifications/initialized with 200"),
                      ("initialized_500", "the server answers notifications/initialized with 500"),
                      ("get_405", "GET is refused"), ("get_hang", "GET hangs"), ("get_500", "GET fails"),
                      ("get_html", "GET gives a page"), ("delete_405", "DELETE is refused"), ("delete_500", "DELETE fails"),
                      ("delete_hang", "DELETE hangs")):
    connect_works(_fault, G, f"{_what}: calls work and close() is prompt", on="http")


@case("get_flap", G, "a GET stream that closes at once with retry: 0 is not hammered (at most 20 in 2 s)", on="http",
      fault="get_flap")
async def get_flap(t: Trial) -> None:
    client, _ = await t.connect()
    await asyncio.sleep(2)
    n = len(t.events("get"))
    t.metrics["gets_in_2s"] = n
    t.check(n <= 20, f"{n} GETs in 2 s")
    await t.usable(client)


for _fault in ("cancel_500", "cancel_hang"):
    async def _cancel(t: Trial) -> None:
        client, _ = await t.connect()
        t.error(await t.call(client, "never"), "timeout", within=CALL + SLACK)
        await t.usable(client)

    case(_fault, G, "the POST that carries notifications/cancelled fails or hangs: calls go on", on="http", fault=_fault)(_cancel)

# ============================================================================ HTTP streams
G = "HTTP stream"
call_case("sse_dialects", G, "comments, retry, ids, CRLF, multi-line data, BOM, unknown events are understood", ok("ok"), on="http")
call_case("sse_unicode", G, "U+2028 and split characters in an event arrive unchanged", ok(UNICODE), on="http")
call_case("sse_drop_resumable", G, "a dropped stream with an event id is resumed with Last-Event-ID", ok("ok"), on="http", timeout=5)
call_case("sse_drop_no_id", G, "a dropped stream without id fails the call at once", err("closed", "protocol", within=2.5),
          on="http", timeout=8)
call_case("sse_end_no_response", G, "a stream that ends without the answer fails the call at once",
          err("closed", "protocol", within=2.5), on="http", timeout=8)
call_case("sse_garbage_event", G, "an event that is not JSON settles the call; the connection survives", settled, on="http")
call_case("answer_on_get_stream", G, "an answer on the wrong stream settles by the deadline", settled, on="http")
call_case("sse_endless_line", G, "a 300 MB event line is refused or timed out without being buffered whole",
          err("limit", "timeout", "protocol", "closed"), on="http", timeout=12, rss_mib=200, limit=90)
call_case("via_sse", G, "an answer over an event stream is delivered", ok("hi"), tool="echo", args={"text": "hi", "via": "sse"},
          on="http")


@case("sse_resume_loop", G, "a stream that keeps dropping with retry: 0 ends at the deadline and is not hammered (at most 60 GETs)",
      on="http", trigger="tool `sse_resume_loop`")
async def sse_resume_loop(t: Trial) -> None:
    client, _ = await t.connect()
    t.error(await t.call(client, "sse_resume_loop", timeout=3), "timeout", "closed")
    n = len([e for e in t.events("get") if e.get("last_event_id")])
    t.metrics["resumes"] = n
    t.check(n <= 60, f"{n} resume requests in 3 s")
    await asyncio.sleep(0.7)
    later = len([e for e in t.events("get") if e.get("last_event_id")])
    t.check(later <= n + 2, f"still resuming after the call has ended ({later - n} more)", "LEAK")
    await t.usable(client)


@case("sse_big_event", G, "a 2 MB event arrives, or is refused for its size", on="http", trigger="tool `sse_big_event` 2 MB")
async def sse_big_event(t: Trial) -> None:
    client, _ = await t.connect()
    o = await t.call(client, "sse_big_event", {"bytes": 2_000_000}, timeout=5)
    if o.error:
        t.check("size" in o.error.message.lower() or "limit" in o.error.message.lower() or o.error.kind == "limit",
                f"lost, and not for a stated limit: {o}")
        t.prefer(False, "a 2 MB result (one photograph) is refused by default")
    await t.usable(client)


@case("oversize_event", G, "an event above the limit fails its own call, and the stream goes on for the others", on="sse",
      trigger="tool `big` (60 MB), beside `slow`", outcome="error: limit; the other: result; then usable",
      bound="20 s deadline + slack", tier="hub", rss_mib=200, limit=90)
async def oversize_event(t: Trial) -> None:
    client, _ = await t.connect()
    slow = asyncio.ensure_future(t.call(client, "slow", {"seconds": 1}, timeout=20))
    await asyncio.sleep(0.2)
    t.error(await t.call(client, "big", {"bytes": 60_000_000}, timeout=20), "limit", within=15)
    t.ok(await slow, "slow done")
    await t.usable(client)
