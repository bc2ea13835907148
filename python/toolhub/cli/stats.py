"""`toolhub stats`: calls, failures and latency of each candidate."""

import argparse

from ._catalog import open_hub, tell
from ._output import NOT_FOUND, Failure, clean, put_json, put_table, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.description = "Print what past calls of the tools in the given sources have shown."
    parser.add_argument("tool", nargs="?", metavar="TOOL", help="only this tool")


def run(given: argparse.Namespace) -> int:
    """Print a row for each candidate that was called."""
    with open_hub(given) as (hub, problems):
        tell(problems)
        rows = [row for row in hub.stats(given.tool, rows=True) if row["calls"]]
        if not rows and given.tool is not None and given.tool not in hub:
            raise Failure(f"unknown tool '{given.tool}' in the given sources", NOT_FOUND)
        if given.json:
            put_json({"stats": rows})
        elif rows:
            shown = [
                (
                    clean(row["tool"]),
                    clean(row["server"] or row["source"]),
                    row["calls"],
                    row["failures"],
                    _ms(row.get("latency_p50_ms")),
                    _ms(row.get("latency_p95_ms")),
                )
                for row in rows
            ]
            put_table(("TOOL", "FROM", "CALLS", "FAILED", "P50 MS", "P95 MS"), shown)
        else:
            say("no calls of the tools in the given sources are recorded; see --config, --tools and --skills")
        return 0


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
