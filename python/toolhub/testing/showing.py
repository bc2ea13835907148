"""A cassette as a person reads it."""

import json
from collections.abc import Iterator
from typing import Any, cast

from .. import _core
from .cassettes import CassetteError

_WIDTH = 100


def events_of(path: str) -> list[dict[str, Any]]:
    """The events of a cassette; `CassetteError` if it is wrong."""
    try:
        return [cast("dict[str, Any]", event) for _, event in _core.cassette_events(path)]
    except ValueError as error:
        raise CassetteError(str(error)) from None


def lines_of(path: str) -> Iterator[str]:
    """A line for each event: what was called, with what, how it ended, and how long it took."""
    for event in events_of(path):
        kind = event["type"]
        match kind:
            case "call":
                what = f"{event['tool']} ({event['candidate']}) {_short(event['arguments'])}"
            case "model":
                what = f"{event['model']} {_short(event['arguments'])}"
            case "share":
                what = f"{event['tool']} {_short(event['arguments'])} {event['share']}"
            case "question":
                what = f"{event['server']} {event['method']} {_short(event['arguments'])}"
            case "list":
                names = [str(tool.get("name")) for tool in event["tools"]]
                what = f"{event['server']}: {', '.join(names)}"[:_WIDTH]
            case _:
                what = ""
        answer: Any = event.get("result", event.get("error"))
        value: Any = answer
        if isinstance(answer, dict):
            parts = cast("dict[str, Any]", answer)
            value = parts.get("value", parts.get("message"))
        shown = "" if answer is None else f" -> {_short(value)}"
        yield f"{event.get('ms', 0):9.1f} ms  {kind:8} {event.get('outcome', ''):9} {what}{shown}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…"
