"""DBOS: an agent with effects as a workflow, killed and started again."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import cases
import durable
import outbox

UNSETTLED = "unsettled"


def life(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, __file__, str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)


def main(folder: Path, points: list[str]) -> None:
    import with_dbos  # takes a second, which the cases themselves need not wait for

    one = durable.Life(folder, [point for point in points if point != UNSETTLED])
    one.patch_delivery()
    if UNSETTLED in points:
        with_dbos.settle = lambda hub, sent: []
    with outbox.open_hub(folder) as hub:
        print(with_dbos.run(folder, hub, one.model(), "lunch", durable.QUESTION))


def test_a_workflow_that_is_killed_at_every_point_sends_each_mail_once() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, said = Path(name), list[str]()
        for point in durable.POINTS:
            killed = life(folder, *durable.POINTS)
            assert killed.returncode == -signal.SIGKILL, (point, killed.stdout, killed.stderr)
            assert (folder / f"killed {point}").exists(), point
            said += killed.stdout.splitlines()
        last = life(folder, *durable.POINTS)
        assert last.returncode == 0, last.stderr
        *before, answer = [*said, *last.stdout.splitlines()]
        assert answer == durable.ANSWER
        durable.check(folder, before)


def test_a_mail_that_may_have_been_sent_is_not_sent_again_without_a_decision() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        assert life(folder, "after 0").returncode == -signal.SIGKILL
        last = life(folder, UNSETTLED)
        assert last.returncode == 0, last.stderr
        assert outbox.sent_mails(folder)[0] == durable.MAILS[0]
        assert outbox.sent_mails(folder).count(durable.MAILS[0]) == 1
        with outbox.open_hub(folder) as hub:
            assert [row.tool for row in hub.ledger("lunch", state="unknown")] == ["send_mail"]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]), sys.argv[2:])
    else:
        cases.run(globals())
