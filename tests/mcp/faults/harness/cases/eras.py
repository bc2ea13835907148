"""Older and newer protocols, secrets, and cases that need a process of their own."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace

from ..trial import CALL, SLACK, Trial
from .catalogue import BOTH, SECRET, call_case, case, connect_fails, connect_works, err

# ============================================================================= legacy SSE
G = "legacy SSE"
connect_fails("endpoint_never", G, "no endpoint event: connect fails at its deadline", "timeout", "connect", on="sse",
              timeout=2, within=2 + SLACK + 1)
connect_fails("endpoint_evil", G, "an endpoint on another origin is refused", on="sse", within=6)
connect_fails("sse_status_500", G, "HTTP 500 to the stream fails the connect at once", "http", "connect", on="sse",
              fault="init_status_500", within=3)
connect_works("endpoint_twice", G, "a repeated endpoint event is harmless", on="sse")
connect_works("garbage_events", G, "unparsable events are skipped", on="sse")
call_case("post_status_500", G, "a refused POST fails the call at once", err("http", within=2.5), tool="post_status",
          args={"status": 500}, on="sse", timeout=8)
call_case("post_status_404", G, "a refused POST fails the call at once", err("http", "session", within=2.5), tool="post_status",
          args={"status": 404}, on="sse", timeout=8)
call_case("post_hang", G, "a hanging POST ends at the deadline and does not block others", err("timeout", within=CALL + SLACK),
          on="sse")
call_case("post_drop", G, "a dropped POST fails the call at once", err("closed", "connect", within=2.5), on="sse", timeout=8)
call_case("stream_drop", G, "a dropped stream fails the calls in flight at once", err("closed", within=2.5), on="sse", timeout=8,
          usable=False)

# ================================================================================ secrets
G = "secrets"
call_case("secret_in_logs", G, "tokens appear in no log, even at DEBUG", err("rpc"), tool="secret_in_error",
          forbid_in_logs=(SECRET,), debug_logs=True)


@case("secret_in_texts", G, "what the client entrusted to a server is cut out of every text that the server gives back", on=BOTH, tier="hub",
      trigger="tool `leak`")
async def secret_in_texts(t: Trial) -> None:
    client, _ = await t.connect(target=replace(t.target, env={**t.target.env, "LAB_TOKEN": SECRET}))
    for how in ("rpc", "tool", "log", "progress") + (("stderr",) if t.target.transport == "stdio" else ()):
        o = await t.call(client, "leak", {"how": how})
        t.error(o)
        shown = f"{o.value!r} {o.error!r} {o.exception!r}"
        t.check(SECRET not in shown, f"{how}: the token is in {shown[:200]}", "LEAK")


@case("env_not_inherited", G, "a server process does not inherit unrelated secrets of its parent", on="stdio", tier="hub",
      trigger="parent has SECRET_PARENT_TOKEN set")
async def env_not_inherited(t: Trial) -> None:
    from ..probes import marked_processes

    os.environ["SECRET_PARENT_TOKEN"] = SECRET
    client, _ = await t.connect()
    pids = marked_processes(t.target.env["FAULT_RUN_ID"])
    leaked = [p for p in pids if b"SECRET_PARENT_TOKEN" in open(f"/proc/{p}/environ", "rb").read()]
    t.check(bool(pids), "server process not found")
    t.check(not leaked, "the parent's secret is in the server's environment")


# ==================================================================================== era
G = "protocol era"


@case("discover_never", G, "server/discover unanswered: connect still succeeds (or fails) within its deadline", fault="discover_never")
async def discover_never(t: Trial) -> None:
    client, o = await t.connect(timeout=6, must=False, limit=6 + SLACK + 6)
    t.check(o.seconds <= 6 + SLACK, f"connect took {o.seconds:.1f}s, its deadline was 6 s", "HANG")
    if o.ok:
        await t.usable(client)
    else:
        t.prefer(False, f"did not fall back to initialize: {o}")


@case("modern_ok", G, "a 2026-07-28 server is spoken to, or refused cleanly", fault="modern_ok")
async def modern_ok(t: Trial) -> None:
    client, o = await t.connect(must=False)
    if o.ok:
        await t.usable(client)
    else:
        t.prefer(False, f"era not supported: {o}")


connect_works("modern_discover_garbage", G, "a malformed discover answer falls back to initialize", on="stdio")


connect_works("modern_odd_fields", G, "2026-07-28: a member of the answer to server/discover that is not what it should be does not lose the server",
              on=BOTH, tier="hub")


@case("modern_cancel", G, "2026-07-28 over HTTP: cancelling closes the response stream", on="http", fault="modern_ok",
      trigger="modern_ok, tool `never`")
async def modern_cancel(t: Trial) -> None:
    client, o = await t.connect(must=False)
    if not o.ok:
        return
    task = asyncio.ensure_future(client.call_tool("never", {}, timeout=20))
    await asyncio.sleep(0.5)
    if task.done():
        return t.prefer(False, "did not negotiate the modern era")
    task.cancel()
    await asyncio.wait({task}, timeout=1)
    t.check(task.done(), "the call ignores cancellation", "HANG")
    closed = await t.eventually(lambda: t.events("stream_closed_by_client"))
    legacy = t.received("notifications/cancelled")
    t.check(bool(closed or legacy), "the server never learnt of the cancellation")
    await t.usable(client)


@case("modern_input_required_loop", G, "a server that asks for input again and again is cut off", on="stdio",
      fault="modern_input_required_loop")
async def modern_input_required_loop(t: Trial) -> None:
    client, o = await t.connect(must=False)
    if o.ok:
        call = await t.call(client, "echo", {"text": "x"}, timeout=4)
        t.settled(call)
        t.prefer(call.hung or not call.ok, "a request for input was passed off as a result")
        t.check(len(t.received("tools/call")) <= 100, "asked more than 100 times")


# ============================================================ process level (process_cases.py)
G = "process"


async def _scripted(t: Trial) -> None:
    raise AssertionError("run by process_cases.py")


for _id, _fault, _tier, _what in (
    ("exit_without_close", "ok", "core", "the program ends without close(): the interpreter exits within 8 s, no orphan"),
    ("sigint_mid_call", "ok", "core", "Ctrl-C in a call: exits within 8 s, no orphan"),
    ("sigterm_mid_call", "ok", "core", "SIGTERM in a call: exits within 8 s, no orphan"),
    ("sigkill_parent", "ok", "core", "the program is SIGKILLed: a well-behaved server goes too, within 5 s"),
    ("sigkill_parent_stubborn", "stubborn", "hub", "the program is SIGKILLed: even a server that ignores EOF goes, within 5 s"),
    ("run_twice", "ok", "core", "asyncio.run() twice with one client object works"),
    ("two_threads", "ok", "core", "two threads with a loop and a client each work"),
    ("fork_after_connect", "ok", "core", "a forked child can exit without harming the parent's connection"),
    ("exit_in_call", "ok", "core", "the program ends while a call hangs: the interpreter exits within 8 s, no orphan"),
):
    case(_id, G, _what, on="stdio", fault=_fault, tier=_tier, script=_id, trigger="see process_cases.py")(_scripted)
for _id, _what in (("exit_without_close", "the program ends without close(): the interpreter exits within 8 s"),
                   ("sigint_mid_call", "Ctrl-C in a call: exits within 8 s"),
                   ("run_twice", "asyncio.run() twice with one client object works"),
                   ("two_threads", "two threads with a loop and a client each work")):
    case(_id, G, _what, on="http", script=_id, trigger="see process_cases.py")(_scripted)
