"""Stores of processes that are killed, and stores that were damaged."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from toolhub import ToolHub

WRITER = """
import sys
from toolhub import ToolHub

hub = ToolHub(store=sys.argv[1])
hub.register(len, name="length")
made = 0
while True:
    for _ in range(50):
        assert hub.call("length", {"obj": "abc"}).result == 3
    made += 50
    assert hub.flush()
    print(made, flush=True)
"""


def _count(path: Path) -> tuple[int, int]:
    """(calls, successes) as the store has them."""
    with ToolHub(store=path) as hub:
        hub.register(len, name="length")
        row = hub.stats("length")["length"][0]
        assert hub.call("length", {"obj": "abc"}).result == 3
        assert hub.flush()
    return row["calls"], row["successes"]


def kills(rng: random.Random) -> str:
    """SIGKILL at any moment, of several writers: nothing that was flushed is lost, nothing is counted twice."""
    with tempfile.TemporaryDirectory() as folder:
        path, flushed, count = Path(folder) / "hub.db", 0, rng.randint(1, 3)
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
            for _ in range(count)
        ]
        try:
            for writer in writers:
                assert writer.stdout is not None
                for _ in range(rng.randint(1, 4)):
                    line = writer.stdout.readline()
                    assert line, "a writer has ended by itself"
        finally:
            rng.shuffle(writers)
            for writer in writers:
                writer.kill()
        for writer in writers:
            assert writer.stdout is not None
            said = writer.stdout.read().split()
            assert writer.wait() == -signal.SIGKILL
            writer.stdout.close()
            flushed += int(said[-1]) if said else 50
        calls, successes = _count(path)
        assert flushed <= calls, f"{flushed} calls were flushed, {calls} are in the store"
        assert calls == successes, (calls, successes)
        return f"{count} writers, {calls} calls in the last round"


def damaged_stores(rng: random.Random) -> None:
    """Whatever is in the file, a hub opens and works."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hub.db"
        _count(path)
        data = bytearray(path.read_bytes())
        match rng.randrange(5):
            case 0:
                data = data[: rng.randrange(len(data))]
            case 1:
                for _ in range(rng.randint(1, 200)):
                    data[rng.randrange(len(data))] = rng.randrange(256)
            case 2:
                start = rng.randrange(len(data))
                data[start : start + 4096] = bytes(min(4096, len(data) - start))
            case 3:
                data = bytearray(rng.randbytes(rng.randrange(20_000)))
            case _:
                for extra in ("-wal", "-shm"):
                    Path(f"{path}{extra}").write_bytes(rng.randbytes(rng.randrange(5000)))
        path.write_bytes(data)
        calls, successes = _count(path)
        assert 0 <= calls <= 2**53, calls
        assert 0 <= successes <= 2**53, successes
        again, _ = _count(path)
        assert again >= 1, "the hub does not count any more"
        assert os.path.getsize(path) > 0
