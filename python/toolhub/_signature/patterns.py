"""Patterns of pydantic fields, with a bound on their time.

pydantic runs a pattern on Python's engine if it was compiled with `re`, if a model has `regex_engine="python-re"`, or if it
has look-around. That engine may need exponential time, and it holds the GIL. The core checks the same pattern from the JSON
Schema with a limit, so it is enough to check here what Rust's engine, which needs linear time, can run.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, cast

from pydantic_core import SchemaValidator


def safe(core: Any, json_schema: dict[str, Any]) -> Any:
    """The core schema with patterns that all run in linear time."""
    seen: list[bool] = []
    made = _safe(core, _patterns(json_schema, set()), seen)
    return made if seen else core


def _safe(node: Any, checked: set[str], seen: list[bool]) -> Any:
    if isinstance(node, list):
        return [_safe(item, checked, seen) for item in cast("list[Any]", node)]
    if isinstance(node, tuple):
        return tuple(_safe(item, checked, seen) for item in cast("tuple[Any, ...]", node))
    if not isinstance(node, dict):
        return node
    safe: dict[str, Any] = {}
    for key, value in cast("dict[str, Any]", node).items():
        if key == "metadata":
            safe[key] = value
        elif key == "regex_engine" and value == "python-re":
            seen.append(True)
        elif key == "pattern" and node.get("type") == "str":
            text, flags = (value, 0) if isinstance(value, str) else (value.pattern, value.flags)
            if not isinstance(value, str):
                seen.append(True)
            if _is_linear(linear := _inline(flags) + text):
                safe[key] = linear
            elif text in checked:
                seen.append(True)
            else:
                safe[key] = value
        else:
            safe[key] = _safe(value, checked, seen)
    return safe


def _inline(flags: int) -> str:
    letters = {re.I: "i", re.M: "m", re.S: "s", re.X: "x"}
    named = "".join(letter for flag, letter in letters.items() if flags & flag)
    return f"(?{named})" if named else ""


@lru_cache(maxsize=256)
def _is_linear(pattern: str) -> bool:
    try:
        SchemaValidator({"type": "str", "pattern": pattern})
    except Exception:
        return False
    return True


def _patterns(node: Any, found: set[str]) -> set[str]:
    """The patterns that the core checks."""
    if isinstance(node, dict):
        for key, value in cast("dict[str, Any]", node).items():
            if key == "pattern" and isinstance(value, str):
                found.add(value)
            _patterns(value, found)
    elif isinstance(node, list):
        for item in cast("list[Any]", node):
            _patterns(item, found)
    return found
