"""A short soak of the MCP client: servers that hang, crash and flood, and callers on several event loops.

`make soak` runs the long one, which also judges memory and speed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parents[2] / "torture" / "mcp_soak" / "run.py"
# The grace is for a busy machine: what is proved here are the answers and the end, not the speed.
SHORT = ["--seconds", "4", "--servers", "20", "--callers", "3", "--grace", "30", "--any-memory"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("store", [[], ["--store"]], ids=["without a store", "with a store"])
def test_every_answer_is_that_of_its_own_call_and_nothing_is_left(store: list[str]) -> None:
    """The seed is in the output of a run that fails."""
    done = subprocess.run(
        [sys.executable, str(RUN), *SHORT, *store], capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stdout + done.stderr
