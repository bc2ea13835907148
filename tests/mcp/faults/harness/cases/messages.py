"""Framing, deadlines, envelopes and errors of single messages."""

from __future__ import annotations

import asyncio

from ..trial import CALL, SLACK, Trial
from .catalogue import UNICODE, call_case, case, connect_works, err, ok, settled

# ============================================================================ stdio framing
G = "stdio framing"
connect_works("noise", G, "log lines, blank lines and non-RPC JSON on stdout are skipped", on="stdio")
connect_works("banner", G, "a start-up banner on stdout is skipped", on="stdio")
connect_works("crlf", G, "CRLF line ends are accepted", on="stdio")
connect_works("bom", G, "a byte order mark before the first message is tolerated", on="stdio", tier="hub")
connect_works("trickle", G, "messages that arrive byte by byte are assembled", on="stdio")
connect_works("stderr_flood_at_start", G, "20 MB on stderr before the handshake do not block it", on="stdio", rss_mib=64)
call_case("stderr_flood", G, "20 MB on stderr during a call do not block it", ok("flooded"), on="stdio", timeout=10, rss_mib=64)
call_case("two_messages_one_line", G, "settles by the deadline; the connection survives", settled, on="stdio")
call_case("pretty_printed", G, "settles by the deadline; the connection survives", settled, on="stdio")
call_case("half_message_stall", G, "a message that never ends: the deadline holds and close() works",
          err("timeout"), on="stdio", usable=False)
call_case("no_newline_flood", G, "a 300 MB line is refused or timed out without being buffered whole",
          err("limit", "timeout", "protocol", "closed"), on="stdio", timeout=12, usable=False, rss_mib=200, limit=90)


@case("split_utf8", G, "multi-byte characters split across reads are put together", on="stdio", fault="split_utf8",
      trigger="FAULT=split_utf8, tool `unicode_separators`")
async def split_utf8(t: Trial) -> None:
    client, _ = await t.connect()
    t.ok(await t.call(client, "unicode_separators"), UNICODE)


@case("stop_reading", G, "server stops reading: a 1 MB call still ends at its deadline, close() works", on="stdio",
      trigger="tool `stop_reading`, then a 1 MB argument")
async def stop_reading(t: Trial) -> None:
    client, _ = await t.connect()
    t.ok(await t.call(client, "stop_reading"))
    t.error(await t.call(client, "echo", {"text": "x" * 1_000_000}), "timeout", "closed", within=CALL + SLACK)
    t.settled(await t.call(client, "echo", {"text": "x"}))  # a client that restarts the server may even succeed


# ================================================================================ deadlines
G = "deadline and cancel"


@case("never", G, "the deadline holds; the server gets notifications/cancelled; the connection survives",
      on=("stdio", "http", "sse"), trigger="tool `never`")
async def never(t: Trial) -> None:
    client, _ = await t.connect()
    t.error(await t.call(client, "never"), "timeout", within=CALL + SLACK)
    t.check(bool(await t.eventually(lambda: t.received("notifications/cancelled"))), "server never told about the timeout")
    await t.usable(client)


@case("user_cancel", G, "task.cancel() returns within 1 s, the server gets notifications/cancelled with the call's id",
      on=("stdio", "http", "sse"), trigger="tool `never`, cancelled after 0.5 s")
async def user_cancel(t: Trial) -> None:
    client, _ = await t.connect()
    task = asyncio.ensure_future(client.call_tool("never", {}, timeout=20))
    await asyncio.sleep(0.5)
    task.cancel()
    await asyncio.wait({task}, timeout=1)
    t.check(task.done(), "the call ignores cancellation for over 1 s", "HANG")
    t.check(task.cancelled() if task.done() else True, "cancellation was swallowed")
    sent = t.received("tools/call", name="never")
    seen = await t.eventually(lambda: t.received("notifications/cancelled"))
    t.check(bool(seen), "server never told about the cancellation")
    if seen and sent:
        t.check(seen[-1].get("requestId") == sent[-1].get("id"), "cancelled the wrong request id")
    await t.usable(client)


call_case("slow", G, "an answer inside the deadline is delivered", ok("slow done"), args={"seconds": 1.2},
          on=("stdio", "http", "sse"))
call_case("progress_forever", G, "progress does not extend a total deadline", err("timeout", within=CALL + SLACK))


@case("late_after_cancel", G, "an answer that arrives after the timeout is dropped, not given to the next call",
      trigger="tool `late_after_cancel`")
async def late_after_cancel(t: Trial) -> None:
    client, _ = await t.connect()
    t.error(await t.call(client, "late_after_cancel"), "timeout")
    await asyncio.sleep(0.6)
    await t.usable(client)
    await t.usable(client)


@case("answer_while_list_hangs", G, "a call that was answered is not held back by a hanging tools/list", fault="list_never",
      trigger="list_never, tool `echo` (never listed)")
async def answer_while_list_hangs(t: Trial) -> None:
    client, _ = await t.connect()
    t.ok(await t.call(client, "echo", {"text": "hi"}), "hi")


@case("list_late", G, "a tools/list that was never answered is asked again", fault="list_late", tier="hub", trigger="the first tools/list hangs")
async def list_late(t: Trial) -> None:
    client, _ = await t.connect(timeout=2)
    again = await t.eventually(lambda: len(t.received("tools/list")) > 1, 8)
    t.check(bool(again), "the list was asked for only once")
    t.ok(await t.list(client))
    await t.usable(client)


@case("change_unheard", G, "tools that change while the stream for notifications is down are listed when it is open again", on="http",
      tier="hub", trigger="tool `change_unheard` closes the GET stream")
async def change_unheard(t: Trial) -> None:
    client, _ = await t.connect()
    t.ok(await t.list(client))
    t.check(bool(await t.eventually(lambda: t.events("get"), 4)), "the client does not listen")
    before = len(t.received("tools/list"))
    t.ok(await t.call(client, "change_unheard"))
    again = await t.eventually(lambda: len(t.received("tools/list")) > before, 8)
    t.check(bool(again), "the tools were not listed again")
    await t.usable(client)


# ================================================================================ envelopes
G = "envelope"
call_case("dup_response", G, "first answer wins, the second is dropped", ok("first"))
call_case("unknown_id_first", G, "answers to unknown ids are dropped", ok("right"))
for _tool in ("id_as_string", "id_float", "id_null_error", "jsonrpc_1_0", "jsonrpc_missing", "result_and_error",
              "neither_result_nor_error", "batch_response"):
    call_case(_tool, G, "settles by the deadline; the connection survives", settled)

# =================================================================================== errors
G = "error"


@case("rpc_errors", G, "every JSON-RPC error code reaches the caller unchanged, none is taken for a local timeout or a "
      "lost connection", trigger="tool `rpc_error` with 14 codes", limit=90)
async def rpc_errors(t: Trial) -> None:
    client, _ = await t.connect()
    for code in (-32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32042, -32099, 0, 1, 404, 2**31):
        o = await t.call(client, "rpc_error", {"code": code})
        if t.error(o) and o.error:
            t.prefer(o.error.kind == "rpc", f"server error {code} looks like {o.error.kind!r} to the caller")
            t.check(o.error.code in (code, None), f"code {code} became {o.error.code}")
            t.prefer(o.error.code is not None, f"code {code} not available to the caller")
    await t.usable(client)


for _variant in ("code_string", "no_message", "error_string", "code_float"):
    call_case(f"rpc_error_{_variant}", G, "a malformed error settles the call by its deadline; the connection survives",
              err(), tool="rpc_error_malformed", args={"variant": _variant})
call_case("rpc_error_huge", G, "a 4 MB error is delivered or cut", err("rpc", "limit"), timeout=5)
call_case("is_error", G, "isError reaches the caller as an error, with its text", err("tool"))
call_case("is_error_empty", G, "isError without content is still an error", err("tool"))
call_case("terminal_escapes", G, "escape sequences in errors never reach the terminal raw", err("rpc"),
          forbid_in_logs=("\x1b]0;owned",))
call_case("stderr_escapes", G, "escape sequences on a server's stderr never reach the terminal raw", ok("ok"), on="stdio",
          tier="hub", forbid_in_logs=("\x1b]0;owned",))
