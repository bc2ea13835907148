"""The words of a docstring: what the tool does, and what each parameter is (Google, NumPy, reST, Epydoc).

The style is found by its marks, not by trying all: a parser of the wrong style takes prose for sections.
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


class Words(NamedTuple):
    """What a docstring says."""

    description: str
    parameters: dict[str, str]


_PARAMETER_TITLES = (
    "Args",
    "Arguments",
    "Params",
    "Parameters",
    "Keyword Args",
    "Keyword Arguments",
    "Other Parameters",
    "Attributes",
)
_OTHER_TITLES = (
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
    "Warns",
    "See Also",
    "References",
    "Todo",
)
# In the order in which they are looked for: a NumPy docstring may quote `:param`, a Google one no underline.
_STYLES = {
    "numpy": re.compile(r"^[A-Z][A-Za-z ]+\n-{3,}[ \t]*$", re.M),
    "rest": re.compile(
        r"^:(param|parameter|arg|argument|key|keyword|type|raises?|returns?|rtype|yields?)\b", re.M
    ),
    "epydoc": re.compile(r"^@(param|type|raise|return|rtype)\b", re.M),
    "google": re.compile(rf"^({'|'.join(_PARAMETER_TITLES + _OTHER_TITLES)}):[ \t]*$", re.M),
}
_LIST_ITEM = re.compile(r"([-*+•]|\d+[.)])\s")


def read(doc: str | None) -> Words:
    r"""Split a docstring into the description and the words about each parameter.

    >>> read("Greet.\n\nArgs:\n    who: The person.")
    Words(description='Greet.', parameters={'who': 'The person.'})
    """
    if not doc or not doc.strip():
        return Words("", {})
    text = _clean(doc)
    for style, mark in _STYLES.items():
        if first := mark.search(text):
            return Words(text[: first.start()].strip(), _parameters(text, style))
    return Words(text.strip(), {})


def _clean(doc: str) -> str:
    """The docstring without its margin. `cleandoc` takes the margin from what follows the first line: below one that is
    the title of a section, that is the indent of the section."""
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
        # Free text in a section is the author's right: the tool works, only without these words.
        return {}
    found: dict[str, str] = {}
    for parameter in parsed.params:
        words = _flow(parameter.description or "")
        # NumPy documents several at once ("x, y : float"); stars, escaped in reST, belong to the signature.
        for name in parameter.arg_name.split(","):
            if words:
                found.setdefault(name.replace("\\", "").strip().lstrip("*"), words)
    return found


def _parse(text: str, style: str) -> Docstring:
    from docstring_parser import epydoc, numpydoc, rest

    # The parsers take away a margin once more: behind an empty line the first one counts too, and there is none.
    text = f"\n{text}"
    if style == "google":
        return _google().parse(text)
    return {"numpy": numpydoc, "rest": rest, "epydoc": epydoc}[style].parse(text)


@cache
def _google() -> GoogleParser:
    from docstring_parser.common import DocstringMeta
    from docstring_parser.google import GoogleParser, Section, SectionType

    class Lenient(GoogleParser):
        """One line without a colon is no reason to lose the words about all parameters."""

        def _build_meta(self, text: str, title: str) -> DocstringMeta:
            return super()._build_meta(text if ":" in text else text + ":", title)

    return Lenient(
        [
            *(Section(title, "param", SectionType.MULTIPLE) for title in _PARAMETER_TITLES),
            *(Section(title, "other", SectionType.SINGULAR) for title in _OTHER_TITLES),
        ]
    )


def _flow(text: str) -> str:
    """Undo the line breaks of the source, but keep lists and paragraphs."""
    lines = [line.strip() for line in text.strip().splitlines()]
    if any(not line or _LIST_ITEM.match(line) for line in lines):
        return "\n".join(lines)
    return " ".join(lines)
