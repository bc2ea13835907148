"""`toolhub replay FILE -- command`: runs a program whose hubs and models are answered from a cassette."""

import argparse
import json
import os

from ._output import FAILED, USAGE, Failure, failing, put_json, say
from .record import add_run_arguments, run_with


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.description = (
        "Run a command; the calls of its hubs, and those of models, are answered from a cassette. No tool runs and no "
        "server is started. The exit code is that of the command, or 1 if its calls differ from the recording."
    )
    parser.add_argument("file", metavar="FILE", help="the cassette")
    parser.add_argument(
        "--mode", choices=("strict", "lenient", "timed"), default="strict", help="default: strict"
    )
    add_run_arguments(parser)


def run(given: argparse.Namespace) -> int:
    """Run the command, and report what differs from the recording."""
    import tempfile

    from ..testing.cassettes import REPLAY, CassetteError, events_of

    with failing(USAGE, CassetteError, OSError):
        events_of(given.file)
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        code = run_with(given, REPLAY, json.dumps([os.path.abspath(given.file), given.mode, report]))
        try:
            with open(report, encoding="utf-8") as file:
                differs = json.load(file)
        except FileNotFoundError:
            raise Failure(
                "nothing in the command has imported toolhub, so nothing was replayed", code or FAILED
            ) from None
    sentences = [*differs["missed"], *differs["unused"]]
    if given.json:
        put_json({"file": given.file, "exit": code, **differs})
    for sentence in [] if given.json else [*differs["notices"], *sentences]:
        say(sentence)
    return code or (FAILED if sentences else 0)
