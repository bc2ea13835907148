"""`toolhub inspect`: a recorded run, or an audit log, as one page that needs nothing else.

    events of the file ─► spans (lane, at, ms, outcome) ─► JSON in `timeline.html`

A second file is compared with the first: calls that only one of them has, and those that ended otherwise.
"""

import json
import os
from datetime import datetime

from ._exits import USAGE, Failure
from ._json import members
from ._output import put, put_json, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

_MOST_TEXT = 20_000
"""Characters of the details of one span; a page with whole files in it could not be opened."""


def add_arguments(parser: "argparse.ArgumentParser") -> None:
    """Those of the command."""
    parser.description = (
        "Write a cassette or an audit log as a page: lanes by provider, a filter, the details of each call."
    )
    parser.add_argument("file", metavar="FILE", help="a cassette or an audit log")
    parser.add_argument("other", nargs="?", metavar="OTHER", help="another run to compare it with")
    parser.add_argument("--output", "-o", metavar="FILE", help="the page (FILE.html)")
    parser.add_argument("--json", action="store_true", help="print one JSON object with the spans; no page")


def run(given: "argparse.Namespace") -> int:
    """Write the page."""
    spans = read_spans(given.file)
    shown: dict[str, Any] = {"name": os.path.basename(given.file), "spans": spans}
    if given.other is not None:
        shown |= {
            "other": os.path.basename(given.other),
            "difference": difference(spans, read_spans(given.other)),
        }
    if given.json:
        put_json(shown)
        return 0
    path = given.output or f"{given.file}.html"
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(page(shown))
    except OSError as error:
        raise Failure(f"'{path}' cannot be written: {error.strerror}", USAGE) from None
    say(f"{len(spans)} span{'' if len(spans) == 1 else 's'} written to {path}")
    for one in shown.get("difference", []):
        put(f"{one['what']:7} {one['name']}  {one['how']}")
    return 0


def page(shown: "dict[str, Any]") -> str:
    """The page with its data, in which no text can end the script element or begin another."""
    with open(os.path.join(os.path.dirname(__file__), "timeline.html"), encoding="utf-8") as file:
        template = file.read()
    data = json.dumps(shown, ensure_ascii=False)
    for sign in "<>&\u2028\u2029":
        data = data.replace(sign, f"\\u{ord(sign):04x}")
    before, _, after = template.partition("DATA")
    return f"{before}{data}{after}"


def read_spans(path: str) -> "list[dict[str, Any]]":
    """What took time in a file of events, in the order of its beginning."""
    spans: list[dict[str, Any]] = []
    origin = 0.0
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    try:
                        event: Any = json.loads(line)
                    except ValueError:
                        raise Failure(f"line {number} of '{path}' is no JSON", USAGE) from None
                    if (span := _span(members(event), origin)) is not None:
                        spans.append(span)
                    elif members(event).get("type") == "header":
                        origin = _time(members(event)) or 0.0
    except OSError as error:
        raise Failure(f"'{path}' cannot be read: {error.strerror}", USAGE) from None
    except UnicodeDecodeError:
        raise Failure(f"'{path}' is no text in UTF-8", USAGE) from None
    if not spans:
        raise Failure(f"'{path}' has no events of toolhub", USAGE)
    start = min(span["at"] for span in spans)
    for span in spans:
        span["at"] = round(span["at"] - start, 3)
    return sorted(spans, key=lambda span: span["at"])


def _time(event: "dict[str, Any]") -> float | None:
    try:
        return datetime.fromisoformat(str(event.get("time"))).timestamp() * 1e3
    except ValueError:
        return None


def _span(event: "dict[str, Any]", origin: float) -> "dict[str, Any] | None":
    """`origin` is when the recording began: some events have the time since then, others the time of day."""
    ms, at = event.get("ms"), event.get("at")
    if not isinstance(ms, (int, float)):
        return None  # the first and the last line, and what a later version writes
    if not isinstance(at, (int, float)):
        if (time := _time(event)) is None:
            return None
        at = time - origin
    kind = str(event.get("type"))
    name = event.get("tool") or event.get("model") or event.get("method") or event.get("uri") or kind
    lane = event.get("candidate") or event.get("server") or kind
    return {
        "type": kind,
        "name": str(name),
        "lane": str(lane),
        "at": at,
        "ms": ms,
        "outcome": str(event.get("outcome", "")),
        "details": _details(event),
    }


def _details(event: "dict[str, Any]") -> "Any":
    shown = {
        key: event[key] for key in ("arguments", "result", "error", "progress", "principal") if event.get(key)
    }
    text = json.dumps(shown, ensure_ascii=False)
    return shown if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}…"


def difference(ours: "list[dict[str, Any]]", theirs: "list[dict[str, Any]]") -> list[dict[str, str]]:
    """Calls that only one run has, and those that ended otherwise. The same call several times is compared one by one."""

    def numbered(spans: "list[dict[str, Any]]") -> "dict[tuple[str, int], dict[str, Any]]":
        seen: dict[str, int] = {}
        found: dict[tuple[str, int], dict[str, Any]] = {}
        for span in spans:
            arguments = members(span["details"]).get("arguments")
            key = json.dumps([span["type"], span["name"], span["lane"], arguments], sort_keys=True)
            found[key, seen.setdefault(key, 0)] = span
            seen[key] += 1
        return found

    one, two = numbered(ours), numbered(theirs)
    found = [
        {"what": "only 1", "name": _call(span), "how": span["outcome"]}
        for key, span in one.items()
        if key not in two
    ]
    found += [
        {"what": "only 2", "name": _call(span), "how": span["outcome"]}
        for key, span in two.items()
        if key not in one
    ]
    for key in one.keys() & two.keys():
        before, after = one[key], two[key]
        if before["outcome"] != after["outcome"]:
            how = f"{before['outcome']}, then {after['outcome']}"
        elif _answer(before) != _answer(after):
            how = "another answer"
        else:
            continue
        found.append({"what": "differs", "name": _call(before), "how": how})
    return sorted(found, key=lambda row: (row["what"], row["name"]))


def _call(span: "dict[str, Any]") -> str:
    arguments = json.dumps(members(span["details"]).get("arguments"), ensure_ascii=False)
    return f"{span['name']} ({span['lane']}) {arguments[:100]}"


def _answer(span: "dict[str, Any]") -> "Any":
    details = members(span["details"])
    return [details.get("result"), details.get("error")]
