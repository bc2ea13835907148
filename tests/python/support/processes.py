"""Whether a process still runs."""

from __future__ import annotations

from pathlib import Path


def is_running(pid: int) -> bool:
    """False also for one that has ended and was not collected yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:  # gone before the file was opened, or between opening and reading
        return False
    return state != "Z"
