"""All Python benchmarks: `make bench`, or `python benches/python/run.py [--quick] [--only overhead peers …]`."""

from __future__ import annotations

import argparse
import importlib
import platform
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
SUITES = ("overhead", "peers_suite", "text", "registry", "startup")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, for a look")
    parser.add_argument("--only", nargs="*", choices=SUITES, default=list(SUITES))
    given = parser.parse_args()
    print(
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}; medians, interleaved rounds"
    )
    for suite in given.only:
        importlib.import_module(suite).run(7 if given.quick else 31)


if __name__ == "__main__":
    main()
