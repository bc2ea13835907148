"""`toolhub record -- command`: runs a program whose hubs record their calls, and those of models, to a cassette."""

import os
import sys
from contextlib import contextmanager

from .. import _core
from ._output import FAILED, USAGE, Failure, failing, put_json, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    import subprocess
    from collections.abc import Callable, Generator


def add_arguments(parser: "argparse.ArgumentParser") -> None:
    """Those of the command."""
    parser.description = (
        "Run a command; its hubs record their calls, and those of models, to a cassette. If the command is killed, the "
        "cassette has the calls recorded so far. The exit code is that of the command."
    )
    parser.add_argument(
        "--output", "-o", default="cassette.ndjson", metavar="FILE", help="default: cassette.ndjson"
    )
    add_run_arguments(parser)


def add_run_arguments(parser: "argparse.ArgumentParser") -> None:
    """The command to run, and `--json`."""
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object; what the command prints goes to stderr"
    )
    parser.add_argument("words", nargs="+", metavar="COMMAND", help="the command to run, after --")


def run(given: "argparse.Namespace") -> int:
    """Run the command."""
    from ..testing.cassettes import RECORD

    path = os.path.abspath(given.output)
    if not given.json:
        say(
            "Only secrets of known forms, names and places are removed: see 'Secrets' in docs/how-to/cassettes.md."
        )
    code = run_with(given, RECORD, path)
    if not os.path.exists(path):
        raise Failure(
            f"nothing in the command has imported toolhub, so there is no {given.output}", code or FAILED
        )
    with failing(code or FAILED, ValueError):
        events = _core.finish_cassette(path)
    if given.json:
        from ..testing.cassettes import events_of

        put_json(
            {"file": given.output, "exit": code, "events": len(events_of(path)), "ended": events is None}
        )
    elif events is not None:
        say(
            f"The command exited (code {code}) before the recording finished; {given.output} contains the completed events "
            f"({events}) and can be replayed."
        )
    return code


def run_with(given: "argparse.Namespace", variable: str, value: str) -> int:
    """Run the command with one more variable in its environment; its exit code. With `--json`, stdout is for the object."""
    import subprocess

    environment = {**os.environ, variable: value}
    stdout = sys.stderr if given.json else None
    with _passing_signals_on() as started:
        try:
            with subprocess.Popen(given.words, env=environment, stdout=stdout) as program:
                started(program)
                try:
                    code = program.wait()
                except BaseException:  # Ctrl-C, which a terminal sends to both
                    program.kill()
                    raise
        except OSError as error:
            raise Failure(
                f"the command '{given.words[0]}' cannot be started: {error.strerror}", USAGE
            ) from None
    # As a shell tells that a signal has ended it.
    return code if code >= 0 else 128 - code


@contextmanager
def _passing_signals_on() -> "Generator[Callable[[subprocess.Popen[bytes]], None]]":
    """Whoever ends this command means the program that it runs: what `timeout`, a service manager or a closed terminal send
    goes on to it, and this command waits for its end as before.
    """
    import signal

    programs: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def pass_on(number: int, _frame: object) -> None:
        early.append(number)
        for program in programs:
            program.send_signal(number)

    def started(program: "subprocess.Popen[bytes]") -> None:
        programs.append(program)
        for number in early:
            program.send_signal(number)

    numbers = [
        number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None
    ]
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        # What is ignored, as `nohup` wants it, stays so for both.
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, pass_on)
    try:
        yield started
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
