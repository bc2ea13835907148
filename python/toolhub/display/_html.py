"""HTML that is safe to show: the only file that writes tags around texts of others.

Colours are mixed with the colour of the text, so that they fit light and dark themes without asking which one it is.
"""

import html
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .. import _core
from .._to_plain import readable

T = TypeVar("T")
Bundle = dict[str, Any]
"""What a notebook shows, by media type."""

MOST_CHARACTERS = 4_000
"""Longer texts are cut."""
MOST_ROWS = 50
"""Longer tables are cut."""

_LONG = 40
"""Characters of a cell that must not become a narrow column."""

_STYLE = """<style>
.toolhub.toolhub{font:13px/1.5 system-ui,sans-serif;color:inherit;max-width:64em;text-align:left}
.toolhub.toolhub table{border-collapse:collapse;margin:.3em 0;color:inherit;font-size:inherit}
.toolhub.toolhub tr,.toolhub.toolhub tr:hover{background:none}
.toolhub.toolhub th,.toolhub.toolhub td{text-align:left;vertical-align:top;padding:.2em .8em .2em 0;border:0;
border-bottom:1px solid rgba(128,128,128,.3);max-width:40em;overflow-wrap:break-word;color:inherit;white-space:normal}
.toolhub.toolhub th{font-weight:600;opacity:.75;white-space:nowrap}
.toolhub.toolhub pre,.toolhub.toolhub code{font:12px/1.45 ui-monospace,monospace;color:inherit;background:none}
.toolhub.toolhub pre{margin:.3em 0;padding:.4em .7em;white-space:pre-wrap;word-break:normal;overflow-wrap:break-word;
max-height:30em;overflow-y:auto;background:rgba(128,128,128,.1);border-radius:4px}
.toolhub.toolhub img{max-width:100%;max-height:30em;background:none}
.toolhub.toolhub .wide{overflow-x:auto}
.toolhub.toolhub .long{min-width:14em}
.toolhub.toolhub .whole{white-space:nowrap}
.toolhub.toolhub .quiet{opacity:.75}
.toolhub.toolhub .good{color:#2e8b57;color:color-mix(in srgb,#1f9d55 70%,currentColor)}
.toolhub.toolhub .bad{color:#d0453f;color:color-mix(in srgb,#e5383b 70%,currentColor)}
.toolhub.toolhub .wait{color:#b07d00;color:color-mix(in srgb,#d99a00 70%,currentColor)}
.toolhub.toolhub .lane{width:16em;min-width:8em;vertical-align:middle}
.toolhub.toolhub .bar{height:.7em;min-width:2px;border-radius:2px;background:currentColor;opacity:.8}
</style>"""


class Html(str):
    """A text that is HTML already."""

    __slots__ = ()


def bundle(*parts: "str | None") -> Bundle:
    """The parts as one piece that a notebook shows; None is left out."""
    inside = "".join(escaped(part) for part in parts if part is not None)
    return {"text/html": f'<div class="toolhub">{_STYLE}{inside}</div>'}


def escaped(text: Any) -> Html:
    """A text as HTML, in which nothing is a tag and nothing is invisible. `Html` stays as it is."""
    if isinstance(text, Html):
        return text
    return Html(html.escape(_core.visible_text(readable(text)), quote=True))


def marked(tag: str, text: Any, kind: str = "") -> Html:
    """A text inside a tag, perhaps with a class of the style."""
    chosen = f' class="{kind}"' if kind else ""
    return Html(f"<{tag}{chosen}>{escaped(text)}</{tag}>")


def heading(*parts: Any) -> Html:
    """The first line: parts with a space between them."""
    return Html(f"<div>{' '.join(escaped(part) for part in parts if part not in (None, ''))}</div>")


def block(text: str) -> Html:
    """A text with its lines, cut if it is long."""
    if len(text) <= MOST_CHARACTERS:
        return marked("pre", text)
    note = f"{len(text):,} characters; the first {MOST_CHARACTERS:,} are shown."
    return Html(marked("pre", f"{text[:MOST_CHARACTERS]}…") + marked("div", note, "quiet"))


def _itself(row: Any) -> Sequence[Any]:
    return row


def table(head: Sequence[Any], items: Sequence[T], cells: Callable[[T], Sequence[Any]] = _itself) -> Html:
    """A table with a row for each item. Its cells are texts or `Html`. If there are more than are shown, a line tells it."""
    lines = [_row("th", head)] if head else []
    lines += [_row("td", cells(item)) for item in items[:MOST_ROWS]]
    # Where there is little room, a table is scrolled and long texts keep a width that can be read.
    text = f'<div class="wide"><table>{"".join(lines)}</table></div>'
    if len(items) > MOST_ROWS:
        text += marked("div", f"{len(items):,} rows; the first {MOST_ROWS:,} are shown.", "quiet")
    return Html(text)


def _row(tag: str, cells: Sequence[Any]) -> str:
    def kind(cell: Any) -> str:
        return "long" if isinstance(cell, str) and not isinstance(cell, Html) and len(cell) > _LONG else ""

    shown = (marked(tag, "" if cell is None else cell, kind(cell)) for cell in cells)
    return f"<tr>{''.join(shown)}</tr>"


def bar(kind: str, begin: float, length: float) -> Html:
    """A bar in a lane of a timeline; both numbers are parts of 1."""
    left, width = 100 * min(max(begin, 0.0), 1.0), 100 * min(max(length, 0.0), 1.0)
    shape = f"margin-left:{left:.1f}%;width:{min(width, 100 - left):.1f}%"
    return Html(f'<div class="lane"><div class="bar {kind}" style="{shape}"></div></div>')


def short(text: Any, most: int = 160) -> str:
    """The beginning of a text on one line."""
    line = " ".join(readable(text)[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def milliseconds(given: Any) -> Html:
    """A duration for a reader."""
    if not isinstance(given, int | float):
        return Html()
    return marked("span", f"{given / 1e3:.2f} s" if given >= 1e3 else f"{given:.1f} ms", "whole")
