"""Formatting: results cut for a prompt, and the full text on request."""

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

_MAX_TEXTS = 256
_MAX_CHARS = 32_000_000
_SKILL_LIMIT = 32_000
# Processes that share a store draw their handles independently, so a handle must be long enough not to collide.
_HANDLE_BYTES = 8


class FullTexts:
    """Full texts by handle. The oldest is dropped when there are too many or they are too long; a store keeps them too."""

    def __init__(self, store: "_core.Store | None" = None) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._chars = 0

    def keep(self, text: str) -> str:
        """Keep a text and return its handle. A text that exceeds the limit on its own replaces all others."""
        handle = f"r_{secrets.token_hex(_HANDLE_BYTES)}"
        with self._lock:
            self._texts[handle] = text
            self._chars += len(text)
            while len(self._texts) > 1 and (len(self._texts) > _MAX_TEXTS or self._chars > _MAX_CHARS):
                _, dropped = self._texts.popitem(last=False)
                self._chars -= len(dropped)
        if self._store is not None:
            self._store.keep(handle, text)
        return handle

    def get(self, handle: str) -> str | None:
        """The text behind a handle. Reading marks it as recently used."""
        with self._lock:
            if handle in self._texts:
                self._texts.move_to_end(handle)
                return self._texts[handle]
        return None if self._store is None else self._store.kept(handle)

    def clear(self) -> None:
        """Drop all texts from memory."""
        with self._lock:
            self._texts.clear()
            self._chars = 0


class ResultFormatter:
    """Cuts results to the limit of their kind of tool and keeps what was cut."""

    def __init__(
        self, core: _core.Hub, events: Events, store: "_core.Store | None", lang: str = "en"
    ) -> None:
        self._lang = lang
        self._core = core
        self._events = events
        self._texts = FullTexts(store)

    def format(self, result: ToolResult, limit: int | None = None) -> str:
        """See `ToolHub.format`."""
        if limit is not None and limit < 0:
            raise ValueError(f"limit must be 0 or more, got {limit}")
        if not result.success:
            return _core.visible_text(_core.in_language(f"Error: {result.error}", self._lang))
        name = str(result.meta.get("tool") or "")
        tool = self._core.get(name)
        default_limit, hits = _core.prompt_limit(name, tool.capabilities if tool else [])
        value = result.result
        is_skill = tool is not None and result.meta.get("source") == "skills" and tool.location
        skill = _skill_text(value) if is_skill else None
        if skill is not None:
            default_limit, hits = _SKILL_LIMIT, None
        limit = default_limit if limit is None else limit
        full = _core.visible_text(readable(value) if skill is None else skill)
        listed = _listed(value, hits)
        text = full if listed is None else _core.visible_text(listed)
        shown = _core.truncate_text(text, limit, "chars", None, hits)
        if not shown.truncated and (listed is None or len(cast("list[Any]", value)) <= (hits or 0)):
            return shown.text
        handle = self._texts.keep(full)
        result.meta["truncated"], result.meta["handle"] = True, handle
        hint = _core.in_language(
            f"[more: read_more('{handle}'), {len(full):,} characters in all]", self._lang
        )
        hint = f"\n{hint}"
        room = limit - len(hint)
        made = shown.text
        if room >= limit // 2:  # otherwise the hint would crowd out the text; `_meta` has the handle
            short = _skill_text(value, room) if skill is not None else None
            if short is None:
                made = _core.truncate_text(text, room, "chars", None, hits).text + hint
            else:
                made = _core.visible_text(short) + hint
        about = {"call_id": result.meta.get("call_id"), "tool": name, "handle": handle}
        self._events.emit("truncated", **about, shown=len(made), total=len(full))
        return made

    def read_more(self, handle: str, offset: int, limit: int) -> str:
        """See `ToolHub.read_more`."""
        if offset < 0 or limit < 0:
            raise ValueError(f"offset and limit must be 0 or more, got {offset} and {limit}")
        text = self._texts.get(handle)
        if text is None:
            sentence = f"There is no kept result {handle!r}; newer results may have replaced it. Call the tool again."
            raise ToolError(_core.in_language(sentence, self._lang), ErrorKind.NOT_FOUND)
        return text[offset : offset + limit]

    def clear(self) -> None:
        """Drop all kept texts from memory."""
        self._texts.clear()


def _skill_text(value: Any, room: int | None = None) -> str | None:
    """The answer of a skill between the tags that the Agent Skills format recommends; None for any other value.

    With `room` the instructions are cut while the skill's folder and files stay readable; None if that leaves too little
    of the instructions.
    """
    if not isinstance(value, Mapping):
        return None
    given = cast("Mapping[str, Any]", value)
    if "instructions" not in given:
        return given.get("text") if room is None else None
    # Neither the instructions nor a file name may close the block that contains them.
    instructions = str(given["instructions"]).replace("</skill_content", "&lt;/skill_content")
    paths = [str(path).replace("<", "&lt;") for path in given.get("resources") or ()]
    files = "\n".join(f"  <file>{path}</file>" for path in paths)
    more = "\n  (there are more)" if given.get("resources_cut") else ""
    resources = f"\n<skill_resources>\n{files}{more}\n</skill_resources>" if files else ""
    begin = f'<skill_content name="{given.get("name")}">\n'
    task = str(given.get("task") or "").replace("</skill_content", "&lt;/skill_content")
    task = f"\n\nTask: {task}" if task else ""
    end = (
        f"{task}\n\nSkill directory: {given.get('folder')}\n"
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
    """Search hits as lines `title – snippet – URL`; None if the value is not a list of such hits."""
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
