"""Interpreters that end, and processes that fork, with calls in flight."""

from __future__ import annotations

import random
import subprocess
import sys

COMMON = """
import asyncio, os, random, sys, threading, time
from toolhub import ToolHub

rng = random.Random(int(sys.argv[1]))
hub = ToolHub(limits={"breaker_threshold": 0})
begun = threading.Semaphore(0)

async def get_quick() -> int:
    await asyncio.sleep(0)
    return 1

def get_in_thread() -> int:
    return 2

async def get_hanging() -> None:
    begun.release()
    await asyncio.get_running_loop().create_future()

def get_blocked() -> None:
    begun.release()
    threading.Event().wait()

def get_nested() -> int:
    return hub.call("get_in_thread").result

for tool in (get_quick, get_in_thread, get_hanging, get_blocked, get_nested):
    hub.register(tool, read_only=True)

def aside(work):
    threading.Thread(target=work, daemon=True).start()

def forever():
    while True:
        hub.call(rng.choice(["get_quick", "get_in_thread", "get_nested"]))

def in_flight():
    started = rng.randint(1, 6)
    for _ in range(started):
        aside(lambda: hub.call(rng.choice(["get_hanging", "get_blocked"]), timeout=600))
    for _ in range(rng.randrange(3)):
        aside(forever)
    for _ in range(started):
        begun.acquire()
"""

EXIT = (
    COMMON
    + """
in_flight()
match rng.randrange(4):
    case 0:
        sys.exit(7)
    case 1:
        async def main():
            asyncio.ensure_future(hub.execute("get_hanging", timeout=600))
            asyncio.ensure_future(hub.execute("get_blocked", timeout=600))
            begun.acquire(timeout=0)
            await asyncio.sleep(0)
            sys.exit(7)
        asyncio.run(main())
    case 2:
        raise LookupError("on purpose")
    case _:
        hub.close()
        sys.exit(7)
"""
)

FORK = (
    COMMON
    + """
in_flight()
for _ in range(rng.randint(1, 5)):
    child = os.fork()
    if child == 0:
        try:
            hub.call("get_quick")
            os._exit(3)
        except RuntimeError:
            pass
        own = ToolHub()
        own.register(get_quick, read_only=True)
        own.register(get_in_thread, read_only=True)
        good = own.call("get_quick").result == 1 and own.call("get_in_thread").result == 2
        own.close()
        os._exit(0 if good else 4)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 0, f"the child has ended with {status}"
    assert hub.call("get_quick").result == 1
    assert hub.call("get_nested").result == 2
sys.exit(7)
"""
)


def _run(program: str, rng: random.Random) -> subprocess.CompletedProcess[str]:
    seed = rng.randrange(2**32)
    # From 3.12 on Python itself warns of every fork in a process with threads.
    command = [
        sys.executable,
        "-W",
        "ignore::DeprecationWarning",
        "-X",
        "faulthandler",
        "-c",
        program,
        str(seed),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def exits(rng: random.Random) -> None:
    """The interpreter ends with calls in flight: with its own status, without a hang or a crash."""
    ended = _run(EXIT, rng)
    # A `LookupError` ends with 1, everything else with 7.
    if ended.returncode == 1:
        assert ended.stderr.strip().endswith("LookupError: 'on purpose'") or "on purpose" in ended.stderr, (
            ended.stderr
        )
    else:
        assert ended.returncode == 7, (ended.returncode, ended.stderr)
    assert "Fatal Python error" not in ended.stderr, ended.stderr
    assert "panicked" not in ended.stderr, ended.stderr


def forks(rng: random.Random) -> None:
    """A child of a fork with calls in flight: its parent's hub refuses, a new one works, the parent goes on."""
    ended = _run(FORK, rng)
    assert ended.returncode == 7, (ended.returncode, ended.stderr)
    assert "panicked" not in ended.stderr, ended.stderr
