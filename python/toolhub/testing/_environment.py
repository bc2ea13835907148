"""`toolhub record -- command` and `toolhub replay FILE -- command`: the child finds its cassette in its environment."""

import atexit
import json
import os

RECORD = "TOOLHUB_RECORD"
"""The path of the cassette to write."""

REPLAY = "TOOLHUB_REPLAY"
"""A JSON list: the path of the cassette to replay, the mode, and the path for what was missed."""


def use_environment() -> None:
    """Record or replay this process as the environment says, until it exits. Its own children do neither."""
    record_to, replay_from = os.environ.pop(RECORD, ""), os.environ.pop(REPLAY, "")
    if replay_from:
        _replay(*json.loads(replay_from))
    elif record_to:
        from .cassettes import record

        tape = record(record_to).__enter__()
        atexit.register(tape.__exit__, None, None, None)


def _replay(path: str, mode: str, report: str) -> None:
    from .cassettes import ReplayError, replay

    tape = replay(path, mode).__enter__()  # pyright: ignore[reportArgumentType]
    process = os.getpid()

    def end() -> None:
        # A fork has a copy of the tape, and nothing to report.
        if os.getpid() != process:
            return
        missed: list[str] = []
        unused: list[str] = []
        try:
            tape.__exit__(None, None, None)
        except ReplayError as error:
            missed, unused = error.missed, error.unused
        with open(report, "w", encoding="utf-8") as file:
            json.dump({"missed": missed, "unused": unused, "notices": tape.notices}, file)

    atexit.register(end)
