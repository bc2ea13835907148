"""Starting, stopping and restarting a server."""

from __future__ import annotations

import asyncio
import os
import stat
import tempfile
import time
from dataclasses import replace

from ..trial import SLACK, Trial
from .catalogue import BOTH, call_case, case, connect_fails, connect_works, err

# =============================================================================== lifecycle
G = "lifecycle"
connect_works("healthy", G, "connect, call, close; nothing left behind", on=("stdio", "http", "sse"), fault="ok")


@case("spawn_missing", G, "connect fails at once, naming the command", on="stdio", trigger="command does not exist")
async def spawn_missing(t: Trial) -> None:
    _, o = await t.connect(target=replace(t.target, command="/nonexistent/mcp-server"), must=False)
    t.error(o, "connect", within=3)


@case("spawn_not_executable", G, "connect fails at once", on="stdio", trigger="command is a file without x bit")
async def spawn_not_executable(t: Trial) -> None:
    with tempfile.NamedTemporaryFile() as fh:
        os.chmod(fh.name, stat.S_IRUSR)
        _, o = await t.connect(target=replace(t.target, command=fh.name), must=False)
        t.error(o, "connect", within=3)


connect_fails("exit_before_init", G, "connect fails well before its deadline (the process is gone)", "connect", "closed",
              on="stdio", within=3)
connect_fails("init_exit", G, "connect fails well before its deadline", "connect", "closed", on="stdio", within=3)
connect_fails("init_never", G, "connect fails at its deadline; process or socket released", "timeout", "connect",
              on=("stdio", "http", "sse"), timeout=2, within=2 + SLACK + 5)
connect_fails("init_error", G, "connect fails with the server's error", "rpc", "connect", on=BOTH, within=3)
connect_fails("init_bad_version", G, "connect fails: no common protocol version; process released", on=BOTH, within=6)
connect_fails("init_future_version", G, "connect fails: no common protocol version", on="stdio", within=6)
connect_fails("init_empty_result", G, "connect fails: malformed result", "protocol", "connect", on=BOTH, within=6)
connect_fails("init_garbage", G, "connect fails by its deadline", on="stdio", timeout=2, within=2 + SLACK + 5)
connect_fails("init_half", G, "connect fails by its deadline", on="stdio", timeout=2, within=2 + SLACK + 5)
connect_works("init_odd_fields", G, "a member of the greeting that is not what it should be does not lose the server", on=BOTH)
connect_works("init_slow", G, "a slow but living server is waited for", on=BOTH)
connect_works("slow_start", G, "a slow starting process is waited for", on="stdio")
connect_works("init_huge_instructions", G, "5 MB of instructions do not break the handshake", on="stdio")
connect_works("init_ping_first", G, "a ping before the handshake ends is answered or ignored, not fatal", on="stdio")
connect_works("init_notify_first", G, "early notifications are not fatal", on="stdio")
connect_works("init_no_tools_capability", G, "missing capability does not break the connection", on="stdio")


@case("exit_after_init", G, "a call to a dead server fails at once, not at its deadline", on="stdio", fault="exit_after_init")
async def exit_after_init(t: Trial) -> None:
    client, _ = await t.connect()
    await asyncio.sleep(0.8)
    t.error(await t.call(client, "echo", {"text": "x"}, timeout=5), "closed", within=1.5)


for _tool, _what in (("exit_mid_call", "exits during the call"), ("sigkill_self", "is killed during the call"),
                     ("half_message_exit", "dies in the middle of a message"),
                     ("exit_with_grandchild", "exits while a grandchild keeps its stdout open")):
    call_case(_tool, G, f"server {_what}: the call fails at once and names a lost connection",
              err("closed", within=2.5), on="stdio", timeout=8, usable=False)

call_case("close_stdout", G, "stdout closed but process alive: the call fails at once", err("closed", within=2.5), on="stdio",
          timeout=8, usable=False)

for _fault, _what in (("grandchild", "server with a child of its own"), ("ignore_eof", "server ignores stdin EOF"),
                      ("ignore_sigterm", "server ignores EOF and SIGTERM")):
    connect_works(_fault, G, f"{_what}: after close() the whole tree is gone, within 10 s", on="stdio")
connect_works("grandchild_detached", G, "grandchild in its own session is gone after close()", on="stdio", tier="hub")


@case("slow_shutdown", G, "a server that needs 1.2 s to flush after EOF is given that time", on="stdio", fault="slow_shutdown")
async def slow_shutdown(t: Trial) -> None:
    client, _ = await t.connect()
    await t.close(client)
    t.check(bool(await t.eventually(lambda: t.events("clean_exit"), 3)), "server was killed before it could shut down cleanly")


@case("close_twice", G, "close() is idempotent; close() before connect() too")
async def close_twice(t: Trial) -> None:
    client = t.client()
    await t.step("close unconnected", client.close(), 3, client)
    await t.connect(client)
    await t.close(client)
    await t.close(client)


@case("call_after_close", G, "a call after close() fails at once")
async def call_after_close(t: Trial) -> None:
    client, _ = await t.connect()
    await t.close(client)
    t.error(await t.call(client, "echo", {"text": "x"}), within=1)


@case("close_during_call", G, "close() ends calls in flight with an error, promptly")
async def close_during_call(t: Trial) -> None:
    client, _ = await t.connect()
    pending = asyncio.ensure_future(t.call(client, "never", timeout=20, limit=15))
    await asyncio.sleep(0.4)
    await t.close(client)
    started = time.monotonic()
    t.error(await pending, "closed", "cancelled")
    t.check(time.monotonic() - started < 3, "the call outlived close() by more than 3 s", "HANG")


@case("reconnect_after_crash", G, "after a crash, close() and connect() give a working client", on="stdio",
      trigger="tool `exit_mid_call`, then reconnect")
async def reconnect_after_crash(t: Trial) -> None:
    client, _ = await t.connect()
    t.error(await t.call(client, "exit_mid_call", timeout=5))
    await t.step("close", client.close(), 8, client)
    await t.connect(client)
    await t.usable(client)


@case("auto_reconnect", G, "after a crash, the next call restarts the server by itself", on="stdio", tier="hub",
      trigger="tool `exit_mid_call`, then `echo`")
async def auto_reconnect(t: Trial) -> None:
    client, _ = await t.connect()
    t.error(await t.call(client, "exit_mid_call", timeout=5))
    t.ok(await t.call(client, "echo", {"text": "again"}, timeout=5), "again")


@case("cancel_during_connect", G, "cancelling connect() returns soon and leaves nothing running", fault="init_never")
async def cancel_during_connect(t: Trial) -> None:
    client = t.client()
    task = asyncio.ensure_future(client.connect(t.target, timeout=30))
    await asyncio.sleep(0.6)
    task.cancel()
    await asyncio.wait({task}, timeout=8)
    t.check(task.done(), "connect() ignores cancellation", "HANG")
    if task.done() and not task.cancelled():
        t.prefer(False, f"connect() turned the cancellation into {task.exception()!r:.120}")


@case("cycles", G, "20 connect/call/close cycles leave nothing behind", limit=150, trigger="20 cycles on a healthy server")
async def cycles(t: Trial) -> None:
    for i in range(20):
        client, _ = await t.connect()
        t.ok(await t.call(client, "echo", {"text": str(i)}), str(i))
        await t.close(client)


@case("soak", G, "2000 calls: resident memory grows by less than 20 MiB", limit=150, trigger="2000 × `add`")
async def soak(t: Trial) -> None:
    from ..probes import memory_kib

    client, _ = await t.connect()
    t.ok(await t.list(client))
    marks = []
    n = int(os.environ.get("FAULT_SOAK", "2000"))
    started = time.monotonic()
    for i in range(n):
        result = await client.call_tool("add", {"a": i, "b": 1}, timeout=10)
        if i in (n // 4, n - 1):
            marks.append(memory_kib()[0])
    t.metrics["calls_per_s"] = round(n / (time.monotonic() - started))
    t.metrics["soak_growth_kib"] = marks[-1] - marks[0]
    t.check(result.structured == {"sum": n}, f"last result wrong: {result.structured!r}")
    t.check(marks[-1] - marks[0] < 20 * 1024, f"grew {(marks[-1] - marks[0]) / 1024:.1f} MiB over {3 * n // 4} calls", "LEAK")
