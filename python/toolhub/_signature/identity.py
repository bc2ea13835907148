"""What tells one registered object apart from another: the facts by which the core knows a tool again.

The numbers are addresses. They stay valid because the registered object keeps alive what they belong to.

The digest, by which a stored approval is bound to what runs, is the same in another process. It is that of the code of the
function, and of the plain values that it was made with: defaults, values in its closure, attributes of the function, of its
object and of its class. They are read where they are stored, so no code of the object runs. The file and the line do not
count, so the cell of a notebook that is run again unchanged is the same. Nor does what the code reaches by name (other
functions, globals) or what can change inside a list or another object: those are known by their class alone.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import inspect
import pathlib
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, cast

from .callables import cells_of


class Identity(NamedTuple):
    """The qualified name of what defines an object, the definition, what tells its products apart, and what runs."""

    name: str | None
    definition: int
    parts: list[int]
    code: str


def identity_of(obj: Any) -> Identity:
    """The identity of a function, a method, a class, or an object of some class.

    >>> class Search:
    ...     def __init__(self, engine): self.engine = engine
    >>> identity_of(Search("a")) == identity_of(Search("a")), identity_of(Search("a")) == identity_of(Search("b"))
    (True, False)
    >>> identity_of(lambda: None).name is None
    True
    """
    inner, runs = _unwrapped(obj), code_digest(obj)
    if isinstance(inner, types.MethodType):
        function: Any = inner.__func__
        code: Any = getattr(function, "__code__", function)
        return Identity(_qualified(function), id(code), _owner(inner.__self__), runs)
    if isinstance(inner, types.FunctionType):
        return Identity(_qualified(inner), id(inner.__code__), _values(inner), runs)
    if isinstance(inner, type):
        return Identity(_qualified(cast(Any, inner)), id(inner), [], runs)
    kind = cast(Any, type(inner))
    return Identity(_qualified(kind), id(kind), _state(inner, kind), runs)


def _unwrapped(obj: Any) -> Any:
    """The function behind decorators that kept a reference to it; all products of a decorator share one code."""
    try:
        return inspect.unwrap(obj) if callable(obj) else obj
    except ValueError:  # a circle of wrappers
        return obj


def _qualified(named: Any) -> str | None:
    name = getattr(named, "__qualname__", None)
    if not isinstance(name, str) or name.endswith("<lambda>"):
        return None
    return f"{getattr(named, '__module__', None)}.{name}"


def _owner(owner: Any) -> list[int]:
    """What tells the methods of one object from those of another: as for the objects, the values it was made with."""
    if isinstance(owner, (type, types.ModuleType)):
        return [id(owner)]
    return _state(owner, cast(Any, type(owner)))


def _values(function: types.FunctionType) -> list[int]:
    """The values that a function was made with: those it closes over, and its defaults."""
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    return [_number(value) for value in (*defaults, *cells_of(function))]


def _state(obj: Any, kind: Any) -> list[int]:
    """The attributes of an object. One that may hold more than attributes differs from every other object."""
    bases: tuple[type[Any], ...] = kind.__mro__
    has_slots = any(vars(base).get("__slots__") for base in bases)
    # A dictionary and weak references are all that a plain class adds to an object.
    if has_slots or kind.__basicsize__ > object.__basicsize__ + 16 or not hasattr(obj, "__dict__"):
        return [id(obj)]
    attributes = cast("dict[str, Any]", vars(obj))
    return [_number(value) for item in attributes.items() for value in item]


def _number(value: Any) -> int:
    """Equal plain values have equal numbers; any other object has its own."""
    if type(value) in (str, int, float, bool, bytes, types.NoneType):
        return hash((cast(Any, type(value)), value)) & 0xFFFF_FFFF_FFFF
    return id(value)


_PLAIN = (str, bytes, int, float, complex, bool, types.NoneType, types.EllipsisType)
_PATHS = (pathlib.PosixPath, pathlib.WindowsPath, pathlib.PurePosixPath, pathlib.PureWindowsPath)
_READ: dict[type[Any], Callable[[Any], Any]] = {
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    tuple: lambda value: cast("Any", tuple.__getitem__(value, slice(None))),
}
"""The plain value that an object of a class derived from a plain one is."""
_DICTS = ("__dict__", "__pydantic_private__", "__pydantic_extra__")
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
        elif _is_one_of(kind, _PLAIN):
            self._put(value)
        elif kind is tuple:
            # By its values alone: equal ones may be one object in this process and two in the next.
            self._put("tuple", len(value))
            self._all(value)
        elif kind is frozenset:
            self._put("frozenset", _sorted(value))
        elif _is_one_of(kind, _PATHS):
            self._put(kind.__name__, str(value))
        elif kind is types.CodeType:
            self._code(value)
        elif id(value) in self._seen or len(self._seen) >= _MOST:
            self._put("seen", self._seen.get(id(value)))
        else:
            self._seen[id(value)] = len(self._seen)
            self._thing(value, is_owner)

    def _thing(self, value: Any, is_owner: bool) -> None:
        kind = cast("type[Any]", type(value))  # `isinstance` may ask the object itself
        if kind is types.FunctionType:
            self._function(value)
        elif kind is types.MethodType:
            self._put("method")
            self.add(value.__func__)
            self.add(value.__self__, is_owner=True)
        elif issubclass(kind, functools.partial):
            partial = cast("functools.partial[Any]", value)
            self._put("partial")
            self._all((partial.func, partial.args, *sorted(partial.keywords.items())))
        elif issubclass(kind, type):
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
        self._all(cells_of(function))
        self._plain(function.__dict__.items())

    def _class(self, kind: type[Any]) -> None:
        self._put("class", _module(kind), _name(kind))
        for name, value in sorted(_members(kind).items()):
            inner = _function_in(value)
            if inner is not None:
                self._put(name)
                self.add(inner)
        # Of bases their values alone, because libraries have much code; `__doc__` and the like are Python's.
        inherited = {name: value for base in reversed(_mro(kind)) for name, value in _members(base).items()}
        own = (
            item for item in inherited.items() if not (item[0].startswith("__") and item[0].endswith("__"))
        )
        self._plain(item for item in own if type(item[1]) is not types.FunctionType)

    def _plain(self, named: Iterable[tuple[str, Any]]) -> None:
        """The plain values and functions among attributes."""
        for name, value in sorted(named, key=lambda item: str(item[0])):
            if _is_plain(value):
                self._put(name)
                self.add(value)

    def _object(self, value: Any, is_owner: bool) -> None:
        kind = cast("type[Any]", type(value))
        self._put("object", _module(kind), _name(kind))
        if kind is types.BuiltinFunctionType:
            self._put(value.__module__, value.__qualname__)
        self._all(read(value) for base, read in _READ.items() if issubclass(kind, base))
        if issubclass(kind, enum.Enum):
            self.add(dict(_stored(value)).get("_value_"))
        if not is_owner:
            return
        self.add(kind)
        for name in ("execute", "__call__"):  # perhaps of a base
            self.add(_function_in(inspect.getattr_static(kind, name, None)))
        self._plain(_stored(value))


# A metaclass may answer for its classes; these ask the classes themselves.
_mro: Callable[[type[Any]], tuple[type[Any], ...]] = type.__dict__["__mro__"].__get__
_module: Callable[[type[Any]], object] = type.__dict__["__module__"].__get__
_name: Callable[[type[Any]], str] = type.__dict__["__qualname__"].__get__
_members: Callable[[type[Any]], types.MappingProxyType[str, Any]] = type.__dict__["__dict__"].__get__


def _stored(value: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of an object that are stored in it: in its dictionary and in slots."""
    for base in _mro(cast("type[Any]", type(value))):
        for name, member in _members(base).items():
            is_dict = name == "__dict__" and type(member) is types.GetSetDescriptorType
            if not is_dict and type(member) is not types.MemberDescriptorType:
                continue
            try:
                held = member.__get__(value)
            except AttributeError:  # not assigned yet
                continue
            if name in _DICTS and type(held) is dict:
                yield from cast("dict[str, Any]", held).items()
            else:
                yield name, held


def _is_plain(value: Any) -> bool:
    kind = cast("type[Any]", type(value))
    exact = (*_PLAIN, *_PATHS, frozenset, types.FunctionType)
    return _is_one_of(kind, exact) or issubclass(kind, (*_READ, enum.Enum))


def _is_one_of(kind: type[Any], kinds: Iterable[type[Any]]) -> bool:
    return any(kind is one for one in kinds)


def _sorted(values: frozenset[Any]) -> list[str]:
    """The members of a set in an order that is the same in each process. Members that are not plain count by their class."""

    def text(value: Any) -> str:
        kind = cast("type[Any]", type(value))
        if kind is int:
            return hex(value)
        if kind is tuple:
            return f"({','.join(map(text, value))})"
        if kind is frozenset:
            return f"{{{','.join(_sorted(value))}}}"
        return repr(value) if _is_one_of(kind, _PLAIN) else _name(kind)

    return sorted(map(text, values))


def _function_in(value: Any) -> types.FunctionType | None:
    """The function of a member of a class."""
    kind = cast("type[Any]", type(value))
    if issubclass(kind, (staticmethod, classmethod)):
        value = value.__func__
    elif issubclass(kind, property):
        value = cast("property", value).fget
    return value if type(value) is types.FunctionType else None
