"""A digest of what runs when a tool of the program is called, by which a stored approval is bound to it.

It is the code of the function, and the plain values that it was made with: defaults, values in its closure, attributes of its
object. The file and the line do not count, so the cell of a notebook that is run again unchanged is the same. Nor does what the
code reaches by name (other functions, globals) or what can change inside a list or another object: those are known by their
class alone.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import types
from collections.abc import Iterable
from typing import Any, cast

_PLAIN = (str, bytes, int, float, complex, bool, types.NoneType, types.EllipsisType)
_MOST = 10_000
"""The most functions and objects that are looked at."""


def code_digest(obj: Any) -> str:
    """The digest of a function, a method, a class or an object with methods.

    >>> one, same, other = (lambda x: x + 1), (lambda x: x + 1), (lambda x: x + 2)
    >>> code_digest(one) == code_digest(same), code_digest(one) == code_digest(other)
    (True, False)
    """
    walk = _Walk()
    walk.add(obj, is_owner=True)
    return walk.hash.hexdigest()


class _Walk:
    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self._seen: dict[int, int] = {}

    def _put(self, *words: object) -> None:
        text = repr(words).encode("utf-8", "surrogatepass")
        self.hash.update(b"%d:%s" % (len(text), text))

    def add(self, value: Any, *, is_owner: bool = False) -> None:
        kind = cast("type[Any]", type(value))
        if kind is int:
            self._put(hex(value))  # the decimal digits of a long one would be refused
        elif kind in _PLAIN:
            self._put(value)
        elif kind is tuple or kind is frozenset:
            # By their values alone: equal ones may be one object in this process and two in the next.
            self._put(kind.__name__, len(value))
            self._all(value if kind is tuple else sorted(value, key=repr))
        elif kind is types.CodeType:
            self._code(value)
        elif id(value) in self._seen or len(self._seen) >= _MOST:
            self._put("seen", self._seen.get(id(value)))
        else:
            self._seen[id(value)] = len(self._seen)
            self._thing(value, is_owner)

    def _thing(self, value: Any, is_owner: bool) -> None:
        if isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, types.MethodType):
            self._put("method")
            self.add(value.__func__)
            self.add(value.__self__, is_owner=True)
        elif isinstance(value, functools.partial):
            partial = cast("functools.partial[Any]", value)
            self._put("partial")
            self._all((partial.func, partial.args, *sorted(partial.keywords.items())))
        elif isinstance(value, type):
            self._class(cast("type[Any]", value))
        else:
            self._object(value, is_owner)

    def _all(self, values: Iterable[Any]) -> None:
        for value in values:
            self.add(value)

    def _code(self, code: types.CodeType) -> None:
        # `co_code` is what was compiled, whatever the interpreter has made of it since.
        self._put(code.co_code, code.co_exceptiontable, code.co_flags, code.co_names, code.co_varnames)
        self._put(code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
        self._put(code.co_freevars, code.co_cellvars)
        self._all(code.co_consts)

    def _function(self, function: types.FunctionType) -> None:
        self._put("function", function.__module__, function.__qualname__)
        self._code(function.__code__)
        self._all(function.__defaults__ or ())
        self._all(sorted((function.__kwdefaults__ or {}).items()))
        for cell in function.__closure__ or ():
            try:
                self.add(cell.cell_contents)
            except ValueError:  # not assigned yet
                self._put("empty cell")

    def _class(self, kind: type[Any]) -> None:
        self._put("class", kind.__module__, kind.__qualname__)
        for name, value in sorted(vars(kind).items()):
            inner = _function_in(value)
            if inner is not None:
                self._put(name)
                self.add(inner)

    def _object(self, value: Any, is_owner: bool) -> None:
        kind = cast("type[Any]", type(value))
        self._put("object", kind.__module__, kind.__qualname__)
        if isinstance(value, types.BuiltinFunctionType):
            self._put(value.__module__, value.__qualname__)
        if not is_owner:
            return
        self.add(kind)
        for name in ("execute", "__call__"):  # perhaps of a base
            self.add(_function_in(inspect.getattr_static(kind, name, None)))
        attributes = cast("dict[str, Any]", getattr(value, "__dict__", {}))
        for name, attribute in sorted(attributes.items(), key=lambda item: str(item[0])):
            if type(attribute) in _PLAIN or isinstance(attribute, types.FunctionType):
                self._put(name)
                self.add(attribute)


def _function_in(value: Any) -> types.FunctionType | None:
    """The function of a member of a class."""
    if isinstance(value, staticmethod | classmethod):
        value = cast("Any", value).__func__
    elif isinstance(value, property):
        value = value.fget
    return value if isinstance(value, types.FunctionType) else None
