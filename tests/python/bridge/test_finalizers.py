"""Code of the user that runs at odd moments: when a value is copied or goes, when the collector runs, after a fork.

Each in a process of its own: what is wrong here is that threads wait for each other forever.
"""

import os
import subprocess
import sys

import pytest


def run(script: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", "from toolhub import ToolHub\nhub = ToolHub()\n" + script],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_a_value_that_calls_the_hub_when_it_is_copied_can_be_cached() -> None:
    script = """
class Value:
    def __deepcopy__(self, memo):
        assert hub.call("other", {}, cache_ttl=9).success
        return self

hub.register(lambda: Value(), name="value", read_only=True)
hub.register(lambda: 1, name="other", read_only=True)
print(hub.call("value", {}, cache_ttl=9).success, hub.call("value", {}, cache_ttl=9).meta["cached"])
"""
    assert run(script).split() == ["True", "True"]


def test_a_cached_value_may_close_the_hub_when_it_is_freed() -> None:
    script = """
class Value:
    def __del__(self):
        hub.close()

hub.register(lambda: Value(), name="value", read_only=True)
hub.call("value", {}, cache_ttl=9)
hub.close()
print("closed")
"""
    assert run(script).split() == ["closed"]


def test_a_follower_gets_an_answer_that_cannot_be_copied() -> None:
    script = """
import asyncio

class Value:
    def __deepcopy__(self, memo):
        raise asyncio.CancelledError

async def slow():
    await asyncio.sleep(0)
    return Value()

hub.register(slow, name="slow", read_only=True)

async def main():
    calls = (hub.execute("slow", {}, single_flight=True) for _ in range(2))
    return await asyncio.gather(*calls, return_exceptions=True)

print(len(asyncio.run(main())))
"""
    assert run(script).split() == ["2"]


def test_the_collector_may_unsubscribe_during_an_unsubscribe() -> None:
    script = """
import gc, weakref

class Listener:
    def __init__(self):
        self.me, me = self, weakref.ref(self)
        self.stop = hub.on_event(lambda event: me())

    def __del__(self):
        self.stop()

gc.set_threshold(1)
for _ in range(2000):
    Listener()
    hub.on_event(print)()
gc.collect()
print(len(hub._events.listeners))
"""
    assert run(script).split() == ["0"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_what_takes_locks_refuses_a_hub_of_before_a_fork() -> None:
    script = """
import os, sys
hub.register(len, name="length")
hub.add_server("s", command=sys.executable, args=["-c", "input()"])
child = os.fork()
if child == 0:
    def add():
        hub.add_server("t", command="x")
    for use in (lambda: hub.search("x"), lambda: hub.recommend("x"), hub.stats, add):
        try:
            use()
        except RuntimeError as error:
            print("made before a fork" in str(error))
    hub.close()
    sys.stdout.flush()
    os._exit(0)
os.waitpid(child, 0)
"""
    assert run(script).split() == ["True"] * 4


def test_the_thread_for_questions_goes_with_its_hub() -> None:
    script = """
import gc, threading, time
del hub
for _ in range(10):
    hub = ToolHub()
    hub.on_event(lambda event, hub=hub: None)
    hub.add_server("s", command="x")
    del hub
gc.collect()
end = time.monotonic() + 60
while any(one.name in ("toolhub-callback", "toolhub-notices") for one in threading.enumerate()):
    assert time.monotonic() < end, threading.enumerate()
    time.sleep(0.01)
print("gone")
"""
    assert run(script).split() == ["gone"]
