"""Kills a run of six steps at every numbered point of the core, and resumes it: no effect happens twice.

`run.py` visits every point until a process comes to its end; `run.py --every 15` a sample of them.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from toolhub import ToolHub

HERE = Path(__file__).parent
STEPS = [f"step {number}" for number in range(6)]


def run(folder: Path, url: str, effects: Path, kill_at: int | None) -> "subprocess.CompletedProcess[str]":
    """One life of the program."""
    environment = {key: value for key, value in os.environ.items() if key != "TOOLHUB_KILL_AT"}
    if kill_at is not None:
        environment["TOOLHUB_KILL_AT"] = str(kill_at)
    command = [sys.executable, HERE / "program.py", folder / "store.db", effects, url]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def lines(effects: Path) -> list[str]:
    """The effects so far."""
    return effects.read_text().splitlines() if effects.exists() else []


def settle(folder: Path, effects: Path) -> int:
    """Decide about what is unknown, as somebody would who looks; the number of rows."""
    with ToolHub(store=folder / "store.db") as hub:
        unknown = hub.ledger("six", state="unknown")
        done = lines(effects)
        states = [row.state for row in hub.ledger("six")]
        assert "started" not in states, states
        for row in unknown:
            # The step that is unknown is the one after those that are done: steps run one after another.
            step = STEPS[states.count("done")]
            if step in done:
                hub.settle(row.id, "done", f"sent {step}")
            else:
                hub.settle(row.id, "again")
        return len(unknown)


def kill_and_resume(url: str, effects: Path, point: int) -> tuple[bool, int]:
    """(whether the process was killed, rows that were unknown)."""
    effects.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder, unknown = Path(name), 0
        first = run(folder, url, effects, point)
        killed = first.returncode == -signal.SIGKILL
        assert killed or first.returncode == 0, (point, first.returncode, first.stdout, first.stderr)
        before = lines(effects)
        again = run(folder, url, effects, None)
        if again.returncode == 3:
            assert lines(effects) == before or len(lines(effects)) == len(set(lines(effects)))
            unknown = settle(folder, effects)
            assert unknown == 1, (point, unknown, again.stdout)
            again = run(folder, url, effects, None)
        assert again.returncode == 0, (point, again.returncode, again.stdout, again.stderr)
        assert lines(effects) == STEPS, (point, lines(effects))
        return killed, unknown


def main() -> int:
    """Visit the points."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        effects = Path(name) / "effects"
        command = [sys.executable, HERE / "server.py", effects, "http"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                url = server.stdout.readline().strip()
                kills = unknown = 0
                point = options.first
                while True:
                    killed, found = kill_and_resume(url, effects, point)
                    if not killed:
                        break
                    kills, unknown, point = kills + 1, unknown + found, point + options.every
                    if kills % 10 == 0:
                        print(f"{kills} kills, the last at point {point - options.every}", flush=True)
                print(f"{kills} kills of a run of six steps: no effect twice, {unknown} reported as unknown")
                assert kills > 0
            finally:
                server.terminate()
    return 0


if __name__ == "__main__":
    sys.exit(main())
