"""Serves a hub whose tools report progress, log and ask: `python talking_program.py`; prints the address."""

from __future__ import annotations

import threading
from typing import Any

from toolhub import ToolHub, current_call

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
hub = ToolHub()
given_up = threading.Event()


@hub.tool
async def work(steps: int) -> str:
    """Report progress and log, in async code."""
    call = current_call()
    for step in range(steps):
        call.report_progress(step + 1, steps, f"step {step + 1}")
    call.log("debug", "of no interest")
    call.log("warning", {"text": "almost done"}, logger="work")
    return "done"


@hub.tool
def work_in_thread(steps: int) -> str:
    """Report progress and log, on a thread."""
    call = current_call()
    for step in range(steps):
        call.report_progress(step + 1, steps, f"step {step + 1}")
    call.log("warning", {"text": "almost done"}, logger="work")
    return "done"


@hub.tool
async def travel() -> dict[str, Any]:
    """Ask for a city, in async code."""
    answer = await current_call().ask("Which city?", CITY)
    return {"action": answer.action, **answer.content}


@hub.tool
def travel_in_thread() -> dict[str, Any]:
    """Ask for a city, on a thread."""
    answer = current_call().ask_sync("Which city?", CITY)
    return {"action": answer.action, **answer.content}


@hub.tool
def wait_for_cancel() -> str:
    """Wait on a thread until the call is cancelled."""
    call = current_call()
    call.report_progress(1)
    while not call.cancelled:
        given_up.wait(0.01)
    given_up.set()
    return "cancelled"


@hub.tool
def was_given_up() -> bool:
    """Tell whether the other tool saw its cancellation."""
    return given_up.wait(30)


hub.serve("http", port=0, sse_path="/sse", ready=lambda serving: print(serving.url, flush=True))
