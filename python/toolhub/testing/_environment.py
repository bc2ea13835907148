"""`toolhub record -- command`: the child finds the path of its cassette in its environment."""

import atexit
import os

VARIABLE = "TOOLHUB_RECORD"


def record_from_environment() -> None:
    """Record this process to the file that the environment names, until it exits. Its own children do not record."""
    path = os.environ.pop(VARIABLE, "")
    if path:
        from .cassettes import record

        tape = record(path).__enter__()
        atexit.register(tape.__exit__, None, None, None)
