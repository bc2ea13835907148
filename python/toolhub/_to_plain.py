"""Python objects in a plain form: as JSON data for tools elsewhere, as text for readers."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, cast

from . import _core

if TYPE_CHECKING:
    from collections.abc import Iterable

T = TypeVar("T")


def to_plain(value: Any, most: int = 2_000_000) -> Any:
    """The JSON form of a well-known type; TypeError for anything else, OverflowError for more than `most` values.

    >>> from datetime import date
    >>> to_plain(date(2026, 1, 2)), to_plain({3})
    ('2026-01-02', [3])
    """
    if isinstance(value, (set, frozenset)):
        return _counted(cast("set[Any]", value), most)
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError("bytes are not JSON; pass text, for example base64")
    for method in ("isoformat", "model_dump", "_asdict"):
        # A date, a pydantic model, a named tuple, but not a class.
        if not isinstance(value, type) and callable(getattr(value, method, None)):
            return getattr(value, method)()
    return _by_type(value, most)


def _counted(values: Iterable[T], most: int) -> list[T]:
    """The values of a container that may have any number of them, or say so wrongly."""
    counted = list(islice(values, most + 1))
    if len(counted) > most:
        raise OverflowError(f"more than {most} values")
    return counted


def _by_type(value: Any, most: int) -> Any:
    from collections import UserString
    from collections.abc import Mapping, Sequence, Set
    from dataclasses import fields, is_dataclass
    from decimal import Decimal
    from enum import Enum
    from numbers import Integral, Real
    from os import PathLike, fspath
    from uuid import UUID

    if isinstance(value, Mapping):
        return dict(_counted(cast("Mapping[Any, Any]", value).items(), most))
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, (UUID, Decimal)):
        return str(value)
    if isinstance(value, PathLike):
        return fspath(cast("PathLike[str]", value))
    # Numbers, sequences and sets of other libraries; a range, a deque, the keys of a dict.
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, UserString):
        return str(value)
    if isinstance(value, (Sequence, Set)):
        return _counted(cast("Sequence[Any]", value), most)
    raise TypeError(f"a {type(value).__name__} is not JSON; pass text, numbers, lists or mappings")


def offered(value: Any, is_member: bool = False) -> Any:
    """What a function of a resource or a prompt returned, with Base64 for bytes; models with the names of the protocol.

    >>> offered([b"png", {"data": b"png"}])
    [{'blob': 'cG5n'}, {'data': 'cG5n'}]
    """
    if isinstance(value, (bytes, bytearray)):
        from base64 import b64encode

        text = b64encode(value).decode()
        return text if is_member else {"blob": text}
    if isinstance(value, dict):
        return {key: offered(member, True) for key, member in cast("dict[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [offered(item) for item in cast("list[Any]", value)]
    kind = cast("type[Any]", type(value))
    if hasattr(kind, "model_dump") and hasattr(kind, "model_fields"):
        return offered(value.model_dump(by_alias=True, exclude_none=True, mode="json"))
    return value


def readable(value: Any) -> str:
    """A value as text: strings unchanged, data as JSON, anything else as `str()` shows it.

    >>> readable("plain"), readable([1, {"é": None}]), readable(3)
    ('plain', '[1, {"é": null}]', '3')
    """
    # isinstance() asks the value for its class, which may raise anything.
    kind: type = type(cast("object", value))
    if kind is str:
        return cast("str", value)
    if issubclass(kind, str):
        return str.__str__(cast("str", value))
    if issubclass(kind, (bytes, bytearray)):
        return _decoded(bytes(cast("bytes", value)))
    if issubclass(kind, (dict, list, tuple)):
        try:
            text = json.dumps(value, ensure_ascii=False, default=_shown)
            # `json` leaves some control characters, and with one a terminal command would begin.
            return re.sub("[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", text)
        except KeyboardInterrupt:
            raise
        except BaseException:
            pass  # cyclic, odd keys, a number of too many digits, a container that raises
    return _shown(cast("object", value))


def whole(text: str) -> str:
    """Text without halves of characters, which the core does not take.

    >>> whole("a\\ud800b") == "a\\ufffdb"
    True
    """
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _decoded(data: bytes) -> str:
    """Bytes that are text, or a note: an image or an archive makes no sense to a reader."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _core.binary_note(len(data))


_LONGEST = 500


def shown(value: Any) -> str:
    """A value for a log: short, and without what its name calls a secret.

    >>> shown({"user": "ada", "api_key": "sk-123", "nested": [{"Password": "x"}]})
    '{"user":"ada","api_key":"[named-secret]","nested":[{"Password":"[named-secret]"}]}'
    """
    # A string may hold JSON, and what is in it may hold a secret.
    text = readable(_masked(value, 0))
    # The cut comes last: half a secret would not be recognised.
    clean = _core.event_error(text[: 3 * _LONGEST], value, debug=True)
    return clean if len(text) <= _LONGEST else f"{clean[:_LONGEST]}… ({len(text):,} characters)"


def _masked(value: Any, depth: int) -> Any:
    if depth > 20:
        return "…"
    # The classes decide, and their own methods read: those of a subclass may raise anything.
    kind: type = type(cast("object", value))
    if issubclass(kind, dict):
        items: list[tuple[Any, Any]] = list(cast("Any", dict).items(value))
        return {
            key if type(key) is str else readable(key): "…" if _is_secret(key) else _masked(item, depth + 1)
            for key, item in items
        }
    for sequence in (list, tuple):
        if issubclass(kind, sequence):
            members: list[Any] = cast("Any", sequence).__getitem__(value, slice(100))
            return [_masked(item, depth + 1) for item in members]
    return value


def _is_secret(key: object) -> bool:
    if not issubclass(type(key), str):
        return False
    try:
        return _core.is_secret_name(cast("str", key))
    except UnicodeEncodeError:
        return True  # a lone surrogate: no name that we can read


def _shown(value: object) -> str:
    """The value as `str()` shows it; foreign code runs in here and may fail in any way."""
    try:
        return str.__str__(str(value))
    except KeyboardInterrupt:
        raise
    except BaseException:
        # The name of the class, which a metaclass cannot hide.
        return f"<{type.__dict__['__name__'].__get__(type(value))} that cannot be shown>"


@lru_cache(maxsize=1_000)
def log_unchecked(line: str) -> None:
    """Log a rule of a tool's schema that is not checked, once."""
    import logging

    logging.getLogger("toolhub.arguments").warning("%s", line)
