"""`toolhub search`: the tools that fit some words."""

import argparse

from ._catalog import group_of, open_catalog, tool_as_json
from ._output import NOT_FOUND, USAGE, Failure, clean, cut, first_line, paint, put, put_json, say, width


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("query", nargs="+", metavar="WORD", help="task description")
    parser.add_argument(
        "-k", type=int, default=10, metavar="N", help="maximum number of results (default: 10)"
    )


def run(given: argparse.Namespace) -> int:
    """Print the tools that fit best, best first; without a hit the exit code is 5."""
    if given.k < 0:
        raise Failure(f"-k must be 0 or more, got {given.k}", USAGE)
    query = " ".join(given.query)
    with open_catalog(given) as catalog:
        hits = catalog.search(query, given.k)
        if given.json:
            found = [{"score": round(hit.score, 4), **tool_as_json(hit.tool)} for hit in hits]
            put_json({"query": query, "hits": found, "problems": catalog.problems})
        room = max((len(clean(hit.name)) for hit in hits), default=0)
        places = max((len(clean(group_of(hit.tool))) for hit in hits), default=0)
        for hit in [] if given.json else hits:
            name, place = clean(hit.name), clean(group_of(hit.tool))
            line = f"{name.ljust(room)}  {place.ljust(places)}  {first_line(hit.tool.description)}".rstrip()
            put(f"{paint(name, 'cyan')}{cut(line, width())[len(name) :]}")
        if not hits:
            say(f"no tool fits '{query}'")
        return catalog.code or (0 if hits else NOT_FOUND)
