"""The public interface as text: every public name with its parameters, attributes and members.

`make interface` writes it to `tests/python/interface.txt`, and `test_interface.py` compares. Types are left out, because
Python versions write them differently; `typed_usage.py` checks them.
"""

from __future__ import annotations

import builtins
import enum
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints, is_typeddict

import toolhub
from toolhub.hub._state import Part

RECORD = Path(__file__).parents[1] / "interface.txt"

# The modules that `docs/reference/stability.md` calls stable. `None`: the names of the package itself.
MODULES = [
    None,
    "agents",
    "compat",
    "display",
    "events",
    "exceptions",
    "integrations.fastmcp",
    "integrations.langchain",
    "integrations.openai_agents",
    "integrations.pydantic_ai",
    "kit",
    "llm",
    "options",
    "otel",
    "permissions",
    "servers",
]


def interface() -> str:
    """All lines, one module after another."""
    lines: list[str] = []
    for name in MODULES:
        module = importlib.import_module("toolhub" if name is None else f"toolhub.{name}")
        lines += [f"# {module.__name__}", ""]
        for public in sorted(module.__all__):
            value = getattr(module, public)
            repeated = name is not None and getattr(toolhub, public, None) is value
            lines += [f"{public}: see toolhub" if repeated else "\n".join(_described(public, value)), ""]
    return "\n".join(lines)


def _described(name: str, value: Any) -> Iterator[str]:
    if not inspect.isclass(value):
        yield f"{name}{_parameters(value)}" if inspect.isroutine(value) else f"{name} = {_shown(value)}"
    elif issubclass(value, enum.Enum):
        yield f"enum {name}: {', '.join(str(member.value) for member in value)}"
    elif is_typeddict(value):
        yield f"typed dict {name}: {', '.join(sorted(get_type_hints(value)))}"
    else:
        bases = [base.__name__ for base in value.__bases__ if base is not object]
        public = [base for base in bases if hasattr(builtins, base) or base in toolhub.__all__]
        yield f"class {name}({', '.join(public)})" if public else f"class {name}"
        if value.__init__ is not object.__init__ or value.__new__ is not object.__new__:
            yield f"    {name}{_parameters(value)}"
        yield from (f"    {line}" for line in _members(value))


def _members(owner: type[Any]) -> Iterator[str]:
    fields = set(getattr(owner, "__dataclass_fields__", ()))
    for name, member in inspect.getmembers_static(owner):
        # What a class inherits from the standard library is not ours to record.
        home = next((base for base in owner.__mro__ if name in vars(base)), owner)
        if name.startswith("_") or not home.__module__.startswith("toolhub"):
            continue
        if isinstance(member, property) or inspect.isdatadescriptor(member):
            yield name
            yield from (re.sub("^(async )?", rf"\1{name}.", line) for line in _members(part_of(owner, name)))
        elif isinstance(member, staticmethod | classmethod) or inspect.isroutine(member):
            prefix = "async " if inspect.iscoroutinefunction(member) else ""
            yield f"{prefix}{name}{_parameters(getattr(owner, name))}"
        elif name not in fields:
            yield f"{name} = {_shown(member)}"


def part_of(owner: type[Any], name: str) -> type[Any]:
    """The class of `hub.resources` and its like; `object`, which has no members of ours, for other properties."""
    part = getattr(toolhub.ToolHub(), name) if owner is toolhub.ToolHub else None
    return type(part) if isinstance(part, Part) else object


def _parameters(function: Any) -> str:
    try:
        signature = inspect.signature(function)
    except ValueError:
        return "(…)"
    unpacked = signature.parameters.get("options")
    typed = () if unpacked is None else getattr(unpacked.annotation, "__args__", ())
    plain = [
        parameter.replace(
            annotation=parameter.empty,
            default=_default(parameter),
            name=typed[0].__name__ if typed and name == "options" else name,
        )
        for name, parameter in signature.parameters.items()
        if name != "self"
    ]
    return str(signature.replace(parameters=plain, return_annotation=signature.empty))


class _Raw:
    """A default that is written as its text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _default(parameter: inspect.Parameter) -> Any:
    return parameter.empty if parameter.default is parameter.empty else _Raw(_shown(parameter.default))


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(_shown(one) for one in value)})"
    if isinstance(value, str):
        return repr(str(value))
    return repr(value) if isinstance(value, int | float | list | dict | None) else "…"


if __name__ == "__main__":
    RECORD.write_text(interface(), encoding="utf-8")
