"""The value of a result: tables as tables, images as images, everything else as text."""

import base64
import binascii
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ._html import MOST_ROWS, Html, block, marked, short, table

_MOST_COLUMNS = 12
_MOST_BYTES = 10_000_000
# Pictures and sounds that cannot hold a program; SVG can.
_SHOWN = {
    "image": ("image/png", "image/jpeg", "image/gif", "image/webp"),
    "audio": ("audio/wav", "audio/x-wav", "audio/mpeg", "audio/mp4", "audio/ogg", "audio/webm"),
}


def value_html(value: Any, text: str) -> Html:
    """A value; `text` is how it is written where it is neither a table nor a picture."""
    own = _own_display(value)
    if own is not None:
        return own
    as_table = _as_table(value)
    return block(text) if as_table is None else as_table


def content_html(blocks: Sequence[Mapping[str, Any]]) -> Html:
    """The content blocks of a server."""
    return Html("".join(_block_html(one) for one in blocks[:MOST_ROWS]))


def has_media(blocks: Sequence[Mapping[str, Any]]) -> bool:
    """Whether one of the blocks is a picture or a sound."""
    return any(one.get("type") in _SHOWN for one in blocks)


def _block_html(one: Mapping[str, Any]) -> Html:
    kind = one.get("type")
    if kind == "text":
        return block(str(one.get("text", "")))
    if kind in _SHOWN:
        media = _media(str(kind), one.get("mimeType"), one.get("data"))
        if media is not None:
            return media
        return marked("div", f"[{short(one.get('mimeType') or kind)}]", "quiet")
    return block(json.dumps(one, ensure_ascii=False, indent=1, default=str))


def _media(kind: str, media_type: Any, data: Any) -> Html | None:
    """A picture or a sound inside the page; None if it is of another type, too large or not readable."""
    if media_type not in _SHOWN[kind] or not isinstance(data, str) or len(data) > _MOST_BYTES * 4 // 3:
        return None
    try:
        sound = base64.b64encode(base64.b64decode(data, validate=True)).decode()
    except (binascii.Error, ValueError):
        return None
    source = f"data:{media_type};base64,{sound}"
    return Html(
        f'<img src="{source}" alt="">' if kind == "image" else f'<audio controls src="{source}"></audio>'
    )


def _own_display(value: Any) -> Html | None:
    """What a notebook shows of an object of the program itself, such as a data frame or a figure."""
    if value is None or isinstance(value, str | bytes | int | float | Mapping | list | tuple):
        return None
    for method, media_type in (("_repr_png_", "image/png"), ("_repr_jpeg_", "image/jpeg")):
        drawn = _drawn(value, method, media_type)
        if isinstance(drawn, bytes):
            drawn = base64.b64encode(drawn).decode()
        if isinstance(drawn, str):
            return _media("image", media_type, drawn)
    written = _drawn(value, "_repr_html_", "text/html")
    return Html(written) if isinstance(written, str) else None


def _drawn(value: Any, method: str, media_type: str) -> Any:
    """What the notebook's own formatter makes of an object (matplotlib registers one), else its method."""
    kind = cast("type[Any]", type(value))
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    try:
        if shell is not None:
            draw = shell.display_formatter.formatters[media_type].lookup_by_type(kind)
            drawn = draw(value)
            # Some give metadata, such as the width, beside the picture.
            return cast("Any", drawn[0]) if isinstance(drawn, tuple) else drawn
    except KeyError:
        pass
    except Exception:
        return None
    # Looked up on the class: a mock, or data with any attribute, has no display of its own.
    if not callable(getattr(kind, method, None)):
        return None
    try:
        return getattr(value, method)()
    except Exception:
        return None


def _as_table(value: Any) -> Html | None:
    if isinstance(value, Mapping):
        members = cast("Mapping[Any, Any]", value)
        plain = bool(members) and all(_is_cell(one) for one in members.values())
        return table([], list(members.items()), lambda pair: [*map(_cell, pair)]) if plain else None
    if not isinstance(value, list | tuple) or not value:
        return None
    items = cast("Sequence[Any]", value)
    if not all(isinstance(item, Mapping) and len(cast("Mapping[Any, Any]", item)) > 0 for item in items):
        return None
    shown = cast("Sequence[Mapping[Any, Any]]", items[:MOST_ROWS])
    columns = list(dict.fromkeys(key for row in shown for key in row))
    if len(columns) > _MOST_COLUMNS:
        return None
    head = [_cell(column) for column in columns]
    return table(head, items, lambda row: [_cell(row[column]) if column in row else "" for column in columns])


def _is_cell(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return short(value, 400)
    if _is_cell(value):
        return str(value)
    from ..result import ToolResult

    return short(ToolResult(success=True, result=value).text, 400)
