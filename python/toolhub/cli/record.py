"""`toolhub record -- command`: runs a program whose hubs record their calls, and those of models, to a cassette."""

import os

from ._exits import FAILED, USAGE, Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def add_arguments(parser: "argparse.ArgumentParser") -> None:
    """Those of the command."""
    parser.description = (
        "Run a command; the hubs in it record their calls, and those of models, to a cassette. "
        "The exit code is that of the command."
    )
    parser.add_argument("--output", "-o", default="cassette.ndjson", metavar="FILE", help="(cassette.ndjson)")
    parser.add_argument("words", nargs="+", metavar="COMMAND", help="after --")


def run(given: "argparse.Namespace") -> int:
    """Run the command."""
    from ..testing._environment import RECORD

    path = os.path.abspath(given.output)
    code = run_with(given.words, RECORD, path)
    if not os.path.exists(path):
        raise Failure(
            f"nothing in the command has imported toolhub, so there is no {given.output}", code or FAILED
        )
    return code


def run_with(words: list[str], variable: str, value: str) -> int:
    """Run a command with one more variable in its environment; its exit code."""
    import subprocess

    try:
        return subprocess.run(words, env={**os.environ, variable: value}, check=False).returncode
    except OSError as error:
        raise Failure(f"'{words[0]}' cannot be started: {error.strerror}", USAGE) from None
