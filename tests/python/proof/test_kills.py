"""A sample of `make torture`: a run is killed at some points of the core and resumed, and no effect happens twice."""

import subprocess
import sys
from pathlib import Path

TORTURE = Path(__file__).parents[2] / "torture" / "ledger" / "run.py"


def test_no_effect_happens_twice_in_a_sample_of_kills() -> None:
    command = [sys.executable, TORTURE, "--first", "9", "--every", "31"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=140, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "no effect twice" in ended.stdout
