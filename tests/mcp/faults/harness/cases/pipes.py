"""Faults of a server on a pipe that go beyond its framing: noise with ids, closed inputs, daemons, pings.

They concern stdio alone.
"""

from __future__ import annotations

import asyncio

from ..trial import Trial
from .catalogue import call_case, case, connect_works, err, ok

LIFECYCLE, FRAMING, CALLBACKS = "lifecycle", "stdio framing", "server-initiated"

connect_works("close_stdin_after_init", LIFECYCLE, "the server closes its input after the handshake and lives: it is replaced",
              on="stdio", tier="hub")
call_case("close_stdin", LIFECYCLE, "the server closes its input during the call and lives: the call fails at once",
          err("closed", within=2.5), on="stdio", timeout=8, usable=False)
connect_works("daemon", LIFECYCLE, "a double-forked daemon of the server is gone after close()", on="stdio", tier="hub")
call_case("exit_with_daemon", LIFECYCLE, "the server crashes and leaves a detached child: the call fails at once, the child goes",
          err("closed", within=2.5), on="stdio", timeout=8, usable=False, tier="hub")
call_case("ping_storm", CALLBACKS, "1000 pings in a row are all answered", ok("1000 of 1000"), on="stdio", timeout=15)


@case("noise_with_ids", FRAMING, "lines that mention ids of calls in flight are noise: every call gets its own answer", on="stdio",
      trigger="tools `slow` and `noise_with_ids` at once", outcome="results", bound="8 s deadline + slack")
async def noise_with_ids(t: Trial) -> None:
    client, _ = await t.connect()
    slow = [asyncio.ensure_future(t.call(client, "slow", {"seconds": 1}, timeout=8)) for _ in range(5)]
    await asyncio.sleep(0.3)
    t.ok(await t.call(client, "noise_with_ids", timeout=8), "heard")
    for call in slow:
        t.ok(await call, "slow done")


@case("oversize_id_last", FRAMING, "an answer above the limit whose id comes last fails its own call, at once, and no other", on="stdio",
      trigger="tool `oversize_id_last` (60 MB), beside `slow`", outcome="error: limit; the other: result; then usable",
      bound="20 s deadline + slack", rss_mib=200, limit=90)
async def oversize_id_last(t: Trial) -> None:
    client, _ = await t.connect()
    slow = asyncio.ensure_future(t.call(client, "slow", {"seconds": 1}, timeout=20))
    await asyncio.sleep(0.2)
    t.error(await t.call(client, "oversize_id_last", timeout=20), "limit", within=15)
    t.ok(await slow, "slow done")
    await t.usable(client)
