"""Names of tools as identifiers of exported clients.

A name never means another tool because the list has grown: a tool that is called exactly like an identifier has it, then one in
the usual style of names. Where several others would share an identifier, none gets it, and each gets a suffix of its own.
"""

import keyword
import re
from collections.abc import Callable, Iterable

_RESERVED = frozenset(
    ("delete", "function", "new", "switch", "this", "typeof", "var", "void", "default", "constructor", "enum")
)
_SHORTEST_SUFFIX = 4


def identifiers(names: Iterable[str], style: Callable[[str], str]) -> dict[str, str]:
    """A name of the language for each tool, in the order of the tools.

    >>> identifiers(["Read_File", "read_file", "class", "2x"], snake)
    {'Read_File': 'read_file_d8bf', 'read_file': 'read_file', 'class': 'class_', '2x': '_2x'}
    """
    wanted = {name: _allowed(style(name)) for name in names}
    groups: dict[str, list[str]] = {}
    for name, plain in wanted.items():
        groups.setdefault(plain, []).append(name)
    owners = {plain: _owner(plain, group) for plain, group in groups.items()}
    taken = {plain for plain, owner in owners.items() if owner is not None}
    found: dict[str, str] = {}
    for name, plain in wanted.items():
        found[name] = plain if owners[plain] == name else _with_suffix(plain, name, taken)
        taken.add(found[name])
    return found


def _allowed(plain: str) -> str:
    plain = f"_{plain}" if plain[0].isdigit() else plain
    return f"{plain}_" if keyword.iskeyword(plain) or plain in _RESERVED else plain


def _owner(plain: str, group: list[str]) -> str | None:
    """The tool that an identifier belongs to, if one has a better claim than the others."""

    def claim(name: str) -> int:
        return 0 if name == plain else 1 if name in (snake(name), camel(name)) else 2

    best, *others = sorted(group, key=claim)
    return None if others and claim(others[0]) == claim(best) else best


def _with_suffix(plain: str, name: str, taken: set[str]) -> str:
    """The suffix is made from the name alone, so that it stays when other tools come and go."""
    from hashlib import sha256

    digits = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    sizes = range(_SHORTEST_SUFFIX, len(digits) + 1)
    return next(one for size in sizes if (one := f"{plain}_{digits[:size]}") not in taken)


def _words(name: str) -> list[str]:
    parts = re.split(r"[^0-9A-Za-z]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name))
    words = [word for word in parts if word]
    # A name without Latin letters still needs one that is stable.
    return words or [f"u{ord(letter):x}" for letter in name[:6]] or ["tool"]


def snake(name: str) -> str:
    """`readFile` → `read_file`"""
    return "_".join(word.lower() for word in _words(name))


def camel(name: str) -> str:
    """`read_file` → `readFile`"""
    first, *rest = _words(name)
    return first.lower() + "".join(word[:1].upper() + word[1:].lower() for word in rest)


def pascal(name: str) -> str:
    """`read_file` → `ReadFile`"""
    return "".join(word[:1].upper() + word[1:].lower() for word in _words(name))
