"""Shaping: results as a prompt takes them, and the whole of them for those who ask."""

import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, cast

from .. import _core
from .._plain import readable
from ..events import Events
from ..exceptions import ErrorKind, ToolError
from ..result import ToolResult
from ._base import HubPart

_MAX_KEPT = 256
_MAX_CHARS = 32_000_000
_SKILL_LIMIT = 32_000


class Kept:
    """Whole texts by handle, the oldest dropped when there are too many or too much; with a store, in its file too."""

    def __init__(self, store: "_core.Store | None" = None) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._chars = 0

    def keep(self, text: str) -> str:
        """Keep a text and give its handle; one that is larger than all room is kept alone."""
        handle = f"r_{secrets.token_hex(4)}"
        with self._lock:
            self._texts[handle] = text
            self._chars += len(text)
            while len(self._texts) > 1 and (len(self._texts) > _MAX_KEPT or self._chars > _MAX_CHARS):
                _, dropped = self._texts.popitem(last=False)
                self._chars -= len(dropped)
        if self._store is not None:
            self._store.keep(handle, text)
        return handle

    def get(self, handle: str) -> str | None:
        """The text behind a handle; reading it makes it young again."""
        with self._lock:
            if handle in self._texts:
                self._texts.move_to_end(handle)
                return self._texts[handle]
        return None if self._store is None else self._store.kept(handle)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._texts.clear()
            self._chars = 0


class Shaping(HubPart):
    """`format` and `read_more`."""

    _events: Events
    _kept: Kept

    def format(self, result: ToolResult, limit: int | None = None) -> str:
        """A result as a prompt takes it: cut to the limit of its kind of tool, and of a list of hits the first three.

        Limits in characters: calculation 100, time 200, search 500, history 1,000, skills 32,000 (a model that knows half of
        its instructions does the wrong thing), others 500. What is cut stays available: the text ends with a handle for
        `read_more`. Commands to terminals and invisible characters, in which orders can hide, are left out.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> @hub.tool
        ... def search_notes(query: str) -> list[dict[str, str]]:
        ...     return [{"title": f"Note {n}", "snippet": "about " + query, "url": f"note:{n}"} for n in range(9)]
        >>> print(hub.format(hub.call("search_notes", "rust")).splitlines()[0])
        1. Note 0 – about rust – note:0
        """
        if limit is not None and limit < 0:
            raise ValueError(f"limit must be 0 or more, got {limit}")
        if not result.success:
            return _core.visible_text(f"Error: {result.error}")
        name = str(result.meta.get("tool") or "")
        tool = self._core.get(name)
        usual, hits = _core.prompt_limit(name, tool.capabilities if tool else [])
        value = result.result
        told = _skill(value) if tool and result.meta.get("source") == "skills" and tool.location else None
        if told is not None:
            usual, hits = _SKILL_LIMIT, None
        limit = usual if limit is None else limit
        whole = _core.visible_text(readable(value) if told is None else told)
        listed = _listed(value, hits)
        text = whole if listed is None else _core.visible_text(listed)
        shown = _core.truncate_text(text, limit, "chars", None, hits)
        if not shown.truncated and (listed is None or len(cast("list[Any]", value)) <= (hits or 0)):
            return shown.text
        handle = self._kept.keep(whole)
        result.meta["truncated"], result.meta["handle"] = True, handle
        more = f"\n[more: read_more('{handle}'), {len(whole):,} characters in all]"
        room = limit - len(more)
        made = shown.text
        if room >= limit // 2:  # otherwise the hint would crowd out what it is about; `_meta` has the handle
            short = _skill(value, room) if told is not None else None
            if short is None:
                made = _core.truncate_text(text, room, "chars", None, hits).text + more
            else:
                made = _core.visible_text(short) + more
        about = {"call_id": result.meta.get("call_id"), "tool": name, "handle": handle}
        self._events.emit("truncated", **about, shown=len(made), total=len(whole))
        return made

    def read_more(self, handle: str, offset: int = 0, limit: int = 4000) -> str:
        """A page of a result that was cut: `limit` characters from `offset` on; empty behind the end.

        Results are kept in bounded memory, and with a store in its file, so that handles of other processes and of earlier
        ones work too; a result that had to make room raises `ToolError` of kind `not_found`.
        """
        if offset < 0 or limit < 0:
            raise ValueError(f"offset and limit must be 0 or more, got {offset} and {limit}")
        text = self._kept.get(handle)
        if text is None:
            raise ToolError(
                f"There is no kept result {handle!r}; it may have made room for newer ones. Call the tool again.",
                ErrorKind.NOT_FOUND,
            )
        return text[offset : offset + limit]


def _skill(value: Any, room: int | None = None) -> str | None:
    """What a skill gave, between the tags that the format recommends; None when it is something else.

    With `room` the instructions are cut, and where the skill is and what it has stays readable; None when that leaves too
    little of them.
    """
    if not isinstance(value, Mapping):
        return None
    given = cast("Mapping[str, Any]", value)
    if "instructions" not in given:
        return given.get("text") if room is None else None
    # What a skill says, or how it calls its files, must not end the block that it stands in.
    instructions = str(given["instructions"]).replace("</skill_content", "&lt;/skill_content")
    paths = [str(path).replace("<", "&lt;") for path in given.get("resources") or ()]
    files = "\n".join(f"  <file>{path}</file>" for path in paths)
    more = "\n  (there are more)" if given.get("resources_cut") else ""
    resources = f"\n<skill_resources>\n{files}{more}\n</skill_resources>" if files else ""
    begin = f'<skill_content name="{given.get("name")}">\n'
    end = (
        f"\n\nSkill directory: {given.get('folder')}\n"
        "Relative paths in this skill are relative to the skill directory; to read a file, call the skill with `file`."
        f"{resources}\n</skill_content>"
    )
    if room is not None:
        left = room - len(begin) - len(end)
        if left < room // 2:
            return None
        instructions = _core.truncate_text(instructions, left, "chars", None, None).text
    return f"{begin}{instructions}{end}"


def _listed(value: Any, hits: int | None) -> str | None:
    """Hits of a search as lines `title – snippet – URL`; None when the value is no list of such hits."""
    if hits is None or not isinstance(value, list) or not value:
        return None
    lines: list[str] = []
    for number, hit in enumerate(cast("list[Any]", value)[:hits], 1):
        if not isinstance(hit, Mapping):
            return None
        fields = cast("Mapping[str, Any]", hit)
        parts = (_first(fields, *names) for names in _FIELDS)
        line = " – ".join(part for part in parts if part)
        if not line:
            return None
        lines.append(f"{number}. {line}")
    return "\n".join(lines)


_FIELDS = (
    ("title", "name"),
    ("snippet", "description", "summary", "content", "text"),
    ("url", "link", "href"),
)


def _first(fields: Mapping[str, Any], *names: str) -> str:
    found = (fields[name] for name in names if isinstance(fields.get(name), str) and fields[name])
    return " ".join(next(found, "").split())
