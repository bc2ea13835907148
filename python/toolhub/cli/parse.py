"""`toolhub parse`: the tool calls in a model's text."""

import argparse

from ._output import FAILED, OK, USAGE, Failure, answer, clean, failing, paint, put, put_json
from .call import read_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("file", nargs="?", default="-", metavar="FILE", help="the text (default: stdin)")
    parser.add_argument("--format", default="auto", metavar="NAME", help="the dialect (default: auto)")
    parser.add_argument("--formats", action="store_true", help="print the names of all formats")
    parser.add_argument(
        "--reasoning", choices=("auto", "open", "closed"), default="auto", help="default: auto"
    )
    parser.add_argument(
        "--schemas", metavar="FILE", help='a JSON list of {"name", "parameters"}, for typed values'
    )


def run(given: argparse.Namespace) -> int:
    """Print the calls; the exit code is 1 if one of them cannot be read."""
    import json

    from ..parsing import formats, parse

    if given.formats:
        answer(given, {"formats": formats()}, "\n".join(formats()), put)
        return OK
    tools = None
    if given.schemas is not None:
        try:
            tools = json.loads(read_text(given.schemas))
        except ValueError as error:
            raise Failure(f"the file '{given.schemas}' is not valid JSON: {error}", USAGE) from None
    with failing(USAGE, TypeError, ValueError):
        found = parse(read_text(given.file), given.format, tools, reasoning=given.reasoning)
    if given.json:
        calls = [{**call.to_dict(), "sentence": call.sentence} for call in found.calls]
        put_json({"calls": calls, "text": found.text, "format": found.format})
    for call in [] if given.json else found.calls:
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        put(clean(f"{call.name or '?'} {arguments} ({call.certainty})"))
        if call.sentence is not None:
            put(clean(f"  in: {' '.join(call.sentence.split())}"))
        for repair in call.repairs:
            put(clean(f"  repaired: {repair}"))
        if call.error is not None:
            put(paint(clean(f"  cannot be read: {call.error}"), "red"))
    return FAILED if any(call.error is not None for call in found.calls) else OK
