"""The official conformance suite for servers, against hubs that serve: `make conformance`.

Runs what both revisions of the specification require (the suite's own frozen lists) against a hub in front of a conformant
server, of the same era and of the other one, and against a hub with tools, resources and prompts of its own. Exit status 0
means that all required scenarios pass, but those of `MISSING`. A scenario of `MISSING` that passes is an error too, so that
the list can only shrink. Words on the command line choose scenarios by a part of their name.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from run import required, suite

# The kinds of hub, and the revision that each is tried with.
RUNS = (
    ("front-legacy", "2025-11-25"),
    ("front-modern", "2026-07-28"),
    ("native", "2025-11-25"),
    ("native", "2026-07-28"),
)
# Scenarios that do not pass, each with the reason, by kind of hub and revision.
MISSING: dict[tuple[str, str], dict[str, str]] = {}


@contextmanager
def served(kind: str) -> Iterator[str]:
    """The address of a hub of this kind."""
    command = [sys.executable, Path(__file__).with_name("served.py"), kind]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            raise SystemExit(f"the hub ({kind}) has not started")
        yield url
    finally:
        process.terminate()
        process.wait(30)


def play(url: str, scenario: str, revision: str) -> tuple[bool, str]:
    """Whether the suite is satisfied, and its report. A warning is a failure here."""
    words = [
        "server",
        "--url",
        url,
        "--scenario",
        scenario,
        "--spec-version",
        revision,
        "--force",
        "--verbose",
    ]
    done = suite(*words)
    said = done.stdout + done.stderr
    # The suite also passes a server of which it has checked nothing.
    passed = re.search(r"^Passed: ([1-9]\d*)/\1, 0 failed, 0 warnings", said, re.MULTILINE) is not None
    return passed and done.returncode == 0, said


def why(said: str) -> str:
    """The first sentence of the report that says what went wrong."""
    found = re.search(r'"errorMessage": "(.*)"|^(Error:.*)$', said, re.MULTILINE)
    return (found.group(1) or found.group(2))[:160] if found else ""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", help="parts of scenario names; all without")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", help="one kind of hub")
    parser.add_argument(
        "--verbose", action="store_true", help="everything that the suite says of what failed"
    )
    options = parser.parse_args()
    wrong, totals = 0, []
    for kind, revision in RUNS:
        if options.only not in (None, kind):
            continue
        names = [
            name
            for name in required(revision, "server")
            if not options.words or any(word in name for word in options.words)
        ]
        with served(kind) as url, ThreadPoolExecutor(options.jobs) as pool:
            played = list(pool.map(lambda name, to=(url, revision): play(to[0], name, to[1]), names))
            # After a failure, once more alone.
            played = [
                one if one[0] else play(url, name, revision) for name, one in zip(names, played, strict=True)
            ]
        for name, (passed, said) in zip(names, played, strict=True):
            reason = MISSING.get((kind, revision), {}).get(name)
            mark = ("FAIL" if reason else "PASS") if passed else ("MISSING" if reason else "FAIL")
            wrong += mark == "FAIL"
            note = "passes now: take it out of MISSING" if passed and reason else reason or why(said)
            print(f"{mark:<7}  {kind:<12}  {revision}  {name:<46} {'' if mark == 'PASS' else note}".rstrip())
            if options.verbose and mark == "FAIL":
                print("\n".join(f"      {line}" for line in said.splitlines()))
        totals.append(
            f"{kind}, {revision}: {sum(passed for passed, _ in played)} of {len(played)} required scenarios pass"
        )
    print("\n".join(totals))
    return 1 if wrong or not totals else 0


if __name__ == "__main__":
    sys.exit(main())
