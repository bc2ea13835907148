"""What the cases of the durable engines share: a model that plays a script, and points at which the program is killed.

The program ends itself with SIGKILL when it comes to a point for the first time, so each start gets one point further.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "durable"))

import outbox

QUESTION = "Invite Ann and Bob to lunch, and remind Ann."
ANSWER = "Ann and Bob have their mails."
# Ann gets the same mail twice: two equal calls of a run are two effects.
MAILS = [{"to": name, "text": "Lunch on Monday?"} for name in ("ann", "bob", "ann")]
# "asked", "before" or "after", and a number; the test decides which.
POINTS: list[str] = json.loads(os.environ.get("DURABLE_POINTS", '["asked 1", "after 1"]'))


class Life:
    """One life of the program: kills at the points that no life before it has reached."""

    def __init__(self, folder: Path, points: list[str]) -> None:
        self.folder = folder
        self._points = points

    def reaches(self, point: str) -> None:
        mark = self.folder / f"killed {point}"
        if point in self._points and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def model(self) -> Callable[[list[dict[str, Any]]], Awaitable[str]]:
        async def model(messages: list[dict[str, Any]]) -> str:
            turn = sum(message["role"] == "assistant" for message in messages)
            self.reaches(f"asked {turn}")
            with (self.folder / "asked").open("a") as file:
                file.write(f"{turn}\n")
            if turn == len(MAILS):
                return ANSWER
            call = {"name": "send_mail", "arguments": MAILS[turn]}
            return f"<tool_call>{json.dumps(call)}</tool_call>"

        return model

    def patch_delivery(self) -> None:
        """Put points around the effect."""
        deliver = outbox.deliver

        def delivered(folder: Path, mail: dict[str, str]) -> None:
            number = len(outbox.sent_mails(folder))
            self.reaches(f"before {number}")
            deliver(folder, mail)
            self.reaches(f"after {number}")

        outbox.deliver = delivered


def check(folder: Path, said: list[str]) -> None:
    """What must hold after the last life: each mail once, and no question to the model asked again after its answer.

    `said` are the lines about decisions. After a kill inside of a call somebody had to look into the outbox; also after a later
    one, if the end of the call was not written yet.
    """
    decided = [line.rpartition(" ")[2] for line in said]
    assert decided.count("again") == sum(point.startswith("before") for point in POINTS), decided
    assert decided.count("done") >= sum(point.startswith("after") for point in POINTS), decided
    assert outbox.sent_mails(folder) == MAILS
    assert (folder / "asked").read_text().split() == ["0", "1", "2", "3"]
    with outbox.open_hub(folder) as hub:
        assert [row.state for row in hub.ledger(state="unknown")] == []
