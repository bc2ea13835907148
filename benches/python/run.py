"""All Python benchmarks: `make bench`, or `python benches/python/run.py [--quick] [--only overhead peers …]`."""

from __future__ import annotations

import argparse
import importlib
import platform
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import charts
from harness import Row

# What one says on the command line, and its module: one called `mcp` would hide the package of that name.
SUITES = {
    "overhead": "overhead",
    "peers": "peers_suite",
    "mcp": "mcp_suite",
    "text": "text",
    "parsing": "parsing",
    "registry": "registry",
    "search": "searching",
    "prompt": "prompt",
    "agents": "agents_suite",
    "skills": "skills",
    "startup": "startup",
    "cold_start": "cold_start",
    "serving": "serving",
    "serving_memory": "serving_memory",
    "replay": "replay",
    "ledger": "ledger",
    "tracing": "tracing",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, for a look")
    parser.add_argument("--only", nargs="*", choices=SUITES, default=list(SUITES))
    parser.add_argument(
        "--charts",
        action="store_true",
        help="also record the figures in benches/figures.json and draw the charts of the documentation",
    )
    given = parser.parse_args()
    print(
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}; medians, interleaved rounds"
    )
    rows: list[Row] = []
    for suite in given.only:
        rows += importlib.import_module(SUITES[suite]).run(7 if given.quick else 31) or []
    if given.charts:
        for path in charts.draw(charts.record(rows)):
            print(path.relative_to(charts.ROOT))


if __name__ == "__main__":
    main()
