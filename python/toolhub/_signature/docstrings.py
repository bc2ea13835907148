"""Reads docstrings: the description of the tool and of each parameter (Google, NumPy, reST).

The style is detected by its markers. Trying all parsers would not work: a parser of the wrong style reads prose as sections.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from docstring_parser import Docstring
    from docstring_parser.google import GoogleParser


class ParsedDocstring(NamedTuple):
    """The description, and the descriptions of the parameters by name."""

    description: str
    parameters: dict[str, str]


_PARAMETER_TITLES = (
    *("Args", "Arguments", "Params", "Parameters", "Attributes"),
    *("Keyword Args", "Keyword Arguments", "Other Parameters"),
)
_OTHER_TITLES = (
    *(
        "Example",
        "Examples",
        "Except",
        "Exceptions",
        "Raise",
        "Raises",
        "Return",
        "Returns",
        "Yield",
        "Yields",
    ),
    *("Warns", "See Also", "References", "Todo"),
)
# Checked in this order: a NumPy docstring may quote `:param`, and a Google docstring has no underlined titles.
_STYLES = {
    "numpy": re.compile(r"^[A-Z][A-Za-z ]+\n-{3,}[ \t]*$", re.M),
    "rest": re.compile(
        r"^:(param|parameter|arg|argument|key|keyword|type|raises?|returns?|rtype|yields?)\b", re.M
    ),
    "google": re.compile(rf"^({'|'.join(_PARAMETER_TITLES + _OTHER_TITLES)}):[ \t]*$", re.M),
}
_LIST_ITEM = re.compile(r"([-*+•]|\d+[.)])\s")


def read(doc: str | None) -> ParsedDocstring:
    r"""Split a docstring into the description and the descriptions of the parameters.

    >>> read("Greet.\n\nArgs:\n    name: The person.")
    ParsedDocstring(description='Greet.', parameters={'name': 'The person.'})
    """
    if not doc or not doc.strip():
        return ParsedDocstring("", {})
    text = _clean(doc)
    for style, mark in _STYLES.items():
        if first := mark.search(text):
            return ParsedDocstring(text[: first.start()].strip(), _parameters(text, style))
    return ParsedDocstring(text.strip(), {})


def _clean(doc: str) -> str:
    """Remove the indentation of a docstring.

    `cleandoc` takes the margin from the lines after the first. If the first line is a section title, that margin is the
    indentation of the section, so it is put back.
    """
    text = inspect.cleandoc(doc)
    title, _, rest = text.partition("\n")
    google = _STYLES["google"]
    if google.fullmatch(title) and not rest.startswith(" ") and not google.search(rest):
        return f"{title}\n{textwrap.indent(rest, '    ')}"
    return text


def _parameters(text: str, style: str) -> dict[str, str]:
    from docstring_parser import ParseError

    try:
        parsed = _parse(text, style)
    except (ParseError, ValueError, IndexError):
        # A section may contain free text. The tool still works, without descriptions of its parameters.
        return {}
    found: dict[str, str] = {}
    for parameter in parsed.params:
        description = _flow(parameter.description or "")
        # NumPy documents several at once ("x, y : float"); stars, escaped in reST, belong to the signature.
        for name in parameter.arg_name.split(","):
            if description:
                found.setdefault(name.replace("\\", "").strip().lstrip("*"), description)
    return found


def _parse(text: str, style: str) -> Docstring:
    from docstring_parser import numpydoc, rest

    # The parsers call `cleandoc` again. After an empty first line it also looks at ours, which has no margin.
    text = f"\n{text}"
    if style == "google":
        return _google().parse(text)
    return (numpydoc if style == "numpy" else rest).parse(text)


@cache
def _google() -> GoogleParser:
    from docstring_parser.common import DocstringMeta
    from docstring_parser.google import GoogleParser, Section, SectionType

    class Lenient(GoogleParser):
        """Accepts a line without a colon, which would otherwise lose the descriptions of all parameters."""

        def _build_meta(self, text: str, title: str) -> DocstringMeta:
            return super()._build_meta(text if ":" in text else text + ":", title)

    return Lenient(
        [
            *(Section(title, "param", SectionType.MULTIPLE) for title in _PARAMETER_TITLES),
            *(Section(title, "other", SectionType.SINGULAR) for title in _OTHER_TITLES),
        ]
    )


def _flow(text: str) -> str:
    """Join wrapped lines, but keep lists and paragraphs."""
    lines = [line.strip() for line in text.strip().splitlines()]
    if any(not line or _LIST_ITEM.match(line) for line in lines):
        return "\n".join(lines)
    return " ".join(lines)
