"""Calls that wait for a person or for somebody who looks: what a program prints and keeps, the command line decides."""

from __future__ import annotations

import asyncio
import re
import subprocess
import threading
from pathlib import Path

import pytest

from support.cli import User
from toolhub import ToolHub

MESSAGE = '<tool_call>{"name": "send_mail", "arguments": {"to": "ann"}}</tool_call>'


def hub_at(store: Path | None) -> ToolHub:
    hub = ToolHub(store=store)
    hub.register(lambda to: f"sent to {to}", name="send_mail", effects=True)
    return hub


@pytest.mark.parametrize("folder", ["plain", "two words", 'it\'s "$HOME" `x`'])
def test_the_hint_of_a_paused_call_works_as_it_is_printed(folder: str, user: User) -> None:
    store = user.home / folder / "hub.db"
    store.parent.mkdir()
    with hub_at(store) as hub:
        waiting = hub.run_sync(MESSAGE, approve="ask").results[0]
    hint = re.search(r"or `(toolhub approve .*)`, and make the call again", str(waiting.error))
    assert hint is not None, waiting.error
    done = subprocess.run(
        ["bash", "-c", hint[1]], cwd="/", env=user.environment, capture_output=True, text=True, timeout=50
    )
    assert (done.returncode, done.stderr) == (0, f"toolhub: approved {waiting.paused}\n")
    with hub_at(store) as hub:
        assert hub.run_sync(MESSAGE, approve="ask").results[0].result == "sent to ann"


def test_without_a_store_no_command_is_offered() -> None:
    with hub_at(None) as hub:
        waiting = hub.run_sync(MESSAGE, approve="ask").results[0]
    assert "hub.approve('" in str(waiting.error)
    assert "toolhub approve" not in str(waiting.error)


@pytest.mark.parametrize(("decision", "calls"), [("done", 1), ("failed", 1), ("again", 2)])
def test_an_unknown_call_is_settled_by_who_looks(decision: str, calls: int, user: User) -> None:
    store = user.home / "hub.db"
    made: list[str] = []
    begun, goes_on = threading.Event(), threading.Event()

    def send_mail(to: str) -> str:
        made.append(to)
        if len(made) == 1:
            begun.set()
            goes_on.wait(50)
        return f"sent to {to}"

    async def give_up() -> None:
        call = asyncio.create_task(hub.execute("send_mail", {"to": "ann"}, run="monday"))
        await asyncio.to_thread(begun.wait, 50)
        call.cancel()
        await asyncio.wait([call])

    hub = ToolHub(store=store)
    hub.register(send_mail, effects=True)
    try:
        asyncio.run(give_up())
        listed = user.run("ledger", "--store", str(store))
        row = re.fullmatch(
            r"(\w+)  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  unknown   send_mail, run monday: .*cancelled.*\n",
            listed.stdout,
        )
        assert row is not None, listed.stdout
        assert listed.stderr == (
            "toolhub: unknown outcomes: 1; check what happened, then run 'toolhub settle ID done', 'failed' or 'again'\n"
        )
        more = ("--result", '"it was sent"') if decision == "done" else ()
        settled = user.run("settle", row[1], decision, *more, "--store", str(store))
        assert (settled.returncode, settled.stderr) == (0, f"toolhub: settled {row[1]}: {decision}\n")
    finally:
        goes_on.set()
        hub.close()
    hub = ToolHub(store=store)
    hub.register(send_mail, effects=True)
    with hub:
        again = hub.call("send_mail", {"to": "ann"}, run="monday")
    assert len(made) == calls
    answer = {"done": "it was sent", "failed": None, "again": "sent to ann"}[decision]
    assert again.result == answer
