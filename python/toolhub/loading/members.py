"""Finds the tools in a module.

Marked things are tools whatever they are called. Of the others only objects and classes with `name`, `description` and
`execute(input)`, if their name is public: no `_` in front, and in `__all__` where there is one. What a module imports is a
tool of the module that it comes from, unless `__all__` names it.
"""

from __future__ import annotations

import ast
import inspect
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import resolve_name
from typing import Any, NamedTuple, cast

from .._decorator import MARK


class Member(NamedTuple):
    """Something in a module: a tool to register, or the reason why it is not one."""

    name: str
    tool: Any = None
    reason: str | None = None
    broken: bool = False


_NO_TOOLS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, str, bytes)


def members(module: types.ModuleType, found: Outline) -> Iterator[Member]:
    """The tools of a module in the order of their definition, and objects that look like one but are not."""
    listed: Any = getattr(module, "__all__", None)
    names = cast("list[Any]", listed) if isinstance(listed, list | tuple) else None
    public = None if names is None else {name for name in names if isinstance(name, str)}
    chosen: dict[int, tuple[str, Any]] = {}
    for name, value in list(vars(module).items()):
        if name.startswith("__"):
            continue
        is_public = not name.startswith("_") if public is None else name in public
        try:
            if _is_imported(module, name, value, found) and name not in (public or ()):
                continue
            is_tool = _is_marked(value) or (is_public and _has_shape(value))
        except Exception:  # a stand-in for something that is not there yet
            continue
        if is_tool:
            chosen.setdefault(id(value), (name, value))
    made = {cast(Any, type(value)) for _, value in chosen.values()}
    for name, value in chosen.values():
        # The module has made an object of the class itself, as it should be.
        if (not isinstance(value, type) or value not in made) and (member := _checked(name, value)):
            yield member


def _is_imported(module: types.ModuleType, name: str, value: Any, found: Outline) -> bool:
    if name in found.imported:
        # What stands in for an import that failed is defined here.
        return getattr(value, "__module__", None) != module.__name__
    return any(_star(module, star).get(name) is value for star in found.stars)


def _star(module: types.ModuleType, name: str) -> dict[str, Any]:
    """What is in a module of which all names are imported; nothing when that failed, and the module bore it."""
    try:
        home: Any = sys.modules.get(resolve_name(name, module.__package__))
    except ImportError:
        return {}
    return getattr(home, "__dict__", {})


def _is_marked(value: Any) -> bool:
    """Whether it bears a mark of its own: a class does not inherit that of its base."""
    own: Any = getattr(value, "__dict__", {})
    return MARK in own or (not isinstance(value, type) and MARK in vars(cast(Any, type(value))))


def _has_shape(value: Any) -> bool:
    if isinstance(value, _NO_TOOLS):
        return False
    # Looked up without asking the object: some make up whatever they are asked for.
    if inspect.getattr_static(value, "execute", None) is None:
        return False
    return isinstance(value, type) or inspect.getattr_static(value, "name", None) is not None


def _checked(name: str, value: Any) -> Member | None:
    """What `_member` says, if the thing can be asked for its name."""
    member = _member(name, value)
    try:
        getattr(member and member.tool, "name", None)
    except Exception as error:
        reason = f"{name} has a name that cannot be read: {type(error).__name__}: {error}"
        return Member(name, reason=reason, broken=True)
    return member


def _member(name: str, value: Any) -> Member | None:
    if not isinstance(value, type) or inspect.getattr_static(value, "execute", None) is None:
        return Member(name, value)
    cls = cast("type[Any]", value)
    if inspect.isabstract(cls) or getattr(cls, "_is_protocol", False):
        return None  # a base for others
    if not _has_name(cls):
        return Member(name, reason=f"the class {name} has execute() but no name")
    if not _takes_nothing(cls):
        return Member(name, reason=f"the class {name} needs arguments; make an object of it in the module")
    try:
        return Member(name, cls())
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        why = f"{type(error).__name__}: {error}".rstrip(": ")
        return Member(name, reason=f"no object of the class {name} could be made: {why}", broken=True)


def _has_name(cls: type[Any]) -> bool:
    """Whether its objects will have a name. Creating one to find out could have side effects."""
    if _is_marked(cls) or inspect.getattr_static(cls, "name", None) is not None:
        return True
    if any("name" in vars(base).get("__annotations__", ()) for base in cls.__mro__):
        return True
    code = getattr(inspect.getattr_static(cls, "__init__", None), "__code__", None)
    return code is not None and "name" in code.co_names


def _takes_nothing(cls: type[Any]) -> bool:
    try:
        inspect.signature(cls).bind()
    except TypeError:
        return False
    except ValueError:
        return True  # it does not say
    return True


_BLOCKS = (ast.If, ast.Try, ast.With, ast.For, ast.While)


@dataclass(frozen=True)
class Outline:
    """`imported` are the names that imports bind at the top, `stars` the modules of which it imports all names."""

    imported: frozenset[str] = frozenset()
    stars: frozenset[str] = frozenset()


def outline(source: bytes | str) -> Outline:
    """The outline of a module.

    >>> sorted(outline("import os.path as p\\nfrom .helpers import double, triple as third").imported)
    ['double', 'p', 'third']
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Outline()
    imported: set[str] = set()
    stars: set[str] = set()
    for node in _at_the_top(tree.body):
        if isinstance(node, ast.Import):
            imported.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            imported.update(alias.asname or alias.name for alias in node.names)
            if "*" in imported:
                imported.discard("*")
                stars.add("." * node.level + (node.module or ""))
    return Outline(frozenset(imported), frozenset(stars))


def _at_the_top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, also those inside of `if` and `try`."""
    for node in body:
        yield node
        if isinstance(node, _BLOCKS):
            for part in ("body", "orelse", "finalbody"):
                yield from _at_the_top(getattr(node, part, []))
            for handler in getattr(node, "handlers", []):
                yield from _at_the_top(handler.body)
