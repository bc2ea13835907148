"""What happens beside a call: requests of the server, other calls, the list of tools."""

from __future__ import annotations

import asyncio
from typing import Any

from ..trial import SLACK, Outcome, Trial, tools_of
from .catalogue import BOTH, Expect, call_case, case, err, ok, settled

# ===================================================================== server-initiated
G = "server-initiated"
for _tool, _what in (("ask_ping", "ping in the middle of a call is answered"),
                     ("ask_sampling", "sampling without the capability is refused with an error, promptly"),
                     ("ask_roots", "roots/list without the capability is refused, promptly"),
                     ("ask_elicitation", "elicitation without the capability is refused, promptly"),
                     ("ask_unknown", "an unknown request is answered with an error"),
                     ("ask_same_id", "the server's request may carry the id of our call: not confused")):
    call_case(_tool, G, _what, ok("ok"), timeout=8, on=("stdio", "http", "sse") if _tool == "ask_ping" else BOTH)
call_case("ask_malformed", G, "a malformed request is answered or dropped, not fatal", ok("ok"), timeout=8)
call_case("cancelled_by_server", G, "a cancel in the wrong direction does not lose the answer", ok("still answered"))
call_case("progress_around", G, "odd progress (late, unknown, mistyped) is ignored", ok("ok"))
for _tool in ("storm_progress", "storm_log", "storm_unknown"):
    call_case(_tool, G, "20 000 notifications before the answer: delivered in 20 s, memory bounded", ok("after 20000"),
              timeout=20, rss_mib=150)


@case("storm_list_changed", G, "20 000 list_changed cause at most a handful of re-listings", trigger="tool `storm_list_changed`",
      rss_mib=150)
async def storm_list_changed(t: Trial) -> None:
    client, _ = await t.connect()
    t.ok(await t.list(client))
    t.ok(await t.call(client, "storm_list_changed", timeout=20), "after 20000")
    await asyncio.sleep(0.5)
    t.check(len(t.received("tools/list")) <= 50, f"{len(t.received('tools/list'))} tools/list requests")
    await t.usable(client)


# ========================================================================== concurrency
G = "concurrency"


@case("parallel_100", G, "100 calls at once: each gets its own answer, within 8 s", on=("stdio", "http", "sse"),
      trigger="100 × `echo`/`slow` at once")
async def parallel_100(t: Trial) -> None:
    client, _ = await t.connect()
    outcomes = await asyncio.gather(*(t.call(client, "echo", {"text": f"#{i}"}, timeout=8) for i in range(100)))
    for i, o in enumerate(outcomes):
        if not t.ok(o, f"#{i}"):
            break


@case("head_of_line", G, "ten calls that hang do not delay an eleventh", on=("stdio", "http", "sse"),
      trigger="10 × `never`, then `echo`")
async def head_of_line(t: Trial) -> None:
    client, _ = await t.connect()
    stuck = [asyncio.ensure_future(t.call(client, "never", timeout=4)) for _ in range(10)]
    await asyncio.sleep(0.5)
    for i in range(10):
        o = await t.call(client, "echo", {"text": str(i)})
        if not t.ok(o, str(i)) or not t.check(o.seconds < 1, f"echo waited {o.seconds:.1f}s behind hanging calls", "HANG"):
            break
    for o in await asyncio.gather(*stuck):
        t.error(o, "timeout")


@case("two_servers", G, "a server that hangs in its handshake does not delay another one", fault="init_never",
      trigger="init_never beside a healthy server")
async def two_servers(t: Trial) -> None:
    bad, good = t.client(), t.client()
    task = asyncio.ensure_future(t.step("connect bad", bad.connect(t.target, timeout=3), 3 + SLACK + 6, bad))
    await asyncio.sleep(0.2)
    await t.connect(good, t.healthy)
    for i in range(5):
        o = await t.call(good, "echo", {"text": str(i)})
        t.ok(o, str(i))
        t.check(o.seconds < 1, f"the healthy server's echo took {o.seconds:.1f}s", "HANG")
    t.error(await task)


@case("collateral", G, "one request whose connection breaks does not take other calls in flight along", on="http",
      trigger="5 × `slow`, meanwhile `close_no_response`")
async def collateral(t: Trial) -> None:
    client, _ = await t.connect()
    slow = [asyncio.ensure_future(t.call(client, "slow", {"seconds": 1.5}, timeout=6)) for _ in range(5)]
    await asyncio.sleep(0.4)
    t.error(await t.call(client, "close_no_response", timeout=4), "closed", "connect")
    for o in await asyncio.gather(*slow):
        if not t.ok(o, "slow done"):
            break
    await t.usable(client)


@case("isolation_under_load", G, "while one server sends 64 MB, another's calls stay under 0.5 s", tier="hub",
      trigger="tool `big` 64 MB beside `echo` on another server", limit=120)
async def isolation_under_load(t: Trial) -> None:
    heavy, light = t.client(), t.client()
    await t.connect(heavy)
    await t.connect(light, t.healthy)
    task = asyncio.ensure_future(t.call(heavy, "big", {"bytes": 64_000_000}, timeout=40))
    worst = 0.0
    while not task.done():
        o = await t.call(light, "echo", {"text": "x"}, timeout=10)
        worst = max(worst, o.seconds)
        if not o.ok:
            break
        await asyncio.sleep(0.01)
    await task
    t.metrics["worst_neighbour_s"] = round(worst, 3)
    t.check(worst < 0.5, f"a neighbour's echo took {worst:.2f}s meanwhile", "HANG")


# ============================================================================= tools/list
G = "tools/list"


def list_case(id: str, correct: str, check: Expect, *, timeout: float = 5, usable: bool = True,
              on: tuple[str, ...] | str = BOTH, **options: Any) -> None:
    async def scenario(t: Trial) -> None:
        client, _ = await t.connect()
        check(t, await t.list(client, timeout=timeout, limit=timeout + 5))
        t.metrics["list_requests"] = len(t.received("tools/list"))
        t.check(not t.events("evil_hit"), "fetched a URL found in a schema (SSRF)")
        if usable:
            await t.usable(client)

    case(id, G, correct, on=on, fault=id, outcome=check.says + (", then usable" if usable else ""),
         bound=f"{check.within:g} s" if check.within else f"{timeout:g} s + 5 s", **options)(scenario)


def has(*names: str) -> Expect:
    def check(t: Trial, o: Outcome) -> None:
        if t.ok(o):
            missing = set(names) - {tool.name for tool in tools_of(o)}
            t.check(not missing, f"missing {sorted(missing)}")

    return Expect(check, f"listing with {', '.join(names)}")


def _bounded(t: Trial, o: Outcome) -> None:
    t.settled(o)
    n = len(t.received("tools/list"))
    t.check(n <= 1100, f"asked for {n} pages")


bounded = Expect(_bounded, "listing or error, at most 1100 pages")


list_case("list_pages", "all five pages are fetched", has("echo", "page1", "page4"))
list_case("list_cursor_loop", "a cursor that repeats ends the listing or fails it", bounded)
list_case("list_cursor_endless", "a listing that never ends is cut at some limit", bounded, timeout=8)
list_case("list_cursor_empty", "an empty cursor does not loop for ever", bounded)
list_case("list_cursor_null", "a null cursor means the end", has("echo"))
list_case("list_cursor_number", "a mistyped cursor settles", settled, usable=False)
list_case("list_10k", "10 000 tools are listed within 10 s", has("echo", "tool_09999"), timeout=10)
list_case("list_dup_names", "duplicate names are not fatal", has("echo"))
list_case("list_weird_names", "strange names are not fatal", has("echo"))
list_case("list_bad_schemas", "tools with broken schemas do not take the good ones with them", has("echo", "add"))
list_case("list_bad_entries", "malformed entries do not take the good ones with them", has("echo", "add"))
list_case("list_huge_schema", "a 4 MB schema is not fatal", has("echo"), timeout=10)
list_case("list_deep_schema", "a schema nested 400 deep is not fatal to the others", has("echo"))
list_case("list_not_array", "malformed listing is an error", err("protocol"))
list_case("list_missing", "a listing without tools settles", settled)
list_case("list_never", "the deadline holds", err("timeout", within=2 + SLACK), timeout=2, usable=False)
list_case("list_error", "the server's error reaches the caller", err("rpc"))
list_case("list_escapes", "escape sequences in descriptions never reach the log raw", has("echo", "esc"),
          forbid_in_logs=("\x1b]0;owned",))
