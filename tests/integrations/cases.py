"""Runs the cases of a script inside the environment of a framework, where there is no pytest.

A case is a function `test_…`, plain or async; each async one has an event loop of its own.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
import traceback
from collections.abc import Callable
from typing import Any

SECONDS = 30


def run(namespace: dict[str, Any]) -> None:
    cases = {name: case for name, case in namespace.items() if name.startswith("test_")}
    failed = 0
    for name, case in cases.items():
        try:
            if inspect.iscoroutinefunction(case):
                asyncio.run(asyncio.wait_for(case(), SECONDS))
            else:
                case()
        except BaseException:
            failed += 1
            print(f"FAILED {name}", file=sys.stderr)
            traceback.print_exc()
    print(f"{len(cases)} cases, {failed} failed")
    sys.exit(bool(failed))


def refused(call: Callable[[], Any]) -> str:
    """The text of the TypeError that a call must raise."""
    try:
        call()
    except TypeError as error:
        return str(error)
    raise AssertionError("it was not refused")


async def until(condition: Callable[[], Any]) -> None:
    """Waits for what must become true; the limit of the case is only for when it never does."""
    while not condition():
        await asyncio.sleep(0.01)
