"""The package as an evaluation of the corpus calls it: calls that can be made, and the text.

`parse(text, format, tools)` gives `{"calls", "text"}`; `make_stream(format, tools)` gives something with `feed` and `finish`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import toolhub

Tools = Iterable[Mapping[str, Any]] | None


def parse(text: str, format: str | None, tools: Tools) -> dict[str, Any]:
    found = toolhub.parse(text, format or "auto", tools)
    calls = [{"name": call.name, "arguments": call.arguments} for call in found.calls if call.error is None]
    return {"calls": calls, "text": found.text}


def make_stream(format: str | None, tools: Tools) -> toolhub.StreamParser:
    return toolhub.StreamParser(format or "auto", tools)
