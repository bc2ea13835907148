"""The rare options of a hub: the numbers in `limits` and the logins in `login`."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from .. import _core
from .._checks import check_finite, check_mapping, check_path, check_seconds, check_whole
from ..options import DEFAULT, Default

_CONCURRENCY = ("hub", "tools", "skills", "mcps")
_DEFAULTS: dict[str, Any] = {
    "cancel_grace": 1.0,
    "max_waiting": 10_000,
    "breaker_threshold": 5,
    "breaker_rest": 5.0,
    "lookup_timeout": 10.0,
    "approval_lifetime": 3600.0,
    "store_results_max_bytes": 32_000_000,
    "result_limits": {},
    "embed_weight": 0.3,
}
_LOGIN = ("token_file", "open_url")

MOVED = {
    **{old: f"ToolHub(limits={{{old!r}: …}})" for old in _DEFAULTS},
    **{old: f"ToolHub(login={{{old!r}: …}})" for old in _LOGIN},
    "source_aliases": "hub.add_alias(label, target) for each label",
}
"""Keywords that the constructor of a hub had once, and what to write instead."""


def checked_limits(given: Any) -> tuple[dict[str, Any], dict[str, int]]:
    """The numbers of `limits`, with the defaults of those that are missing, and the limits of concurrency that were given."""
    limits = _known("limits", given, (*_CONCURRENCY, *_DEFAULTS), "{'hub': 100, 'mcps': 20}")
    concurrency = {
        what: check_whole(f"the limit for {what!r}", limits.pop(what), 1)
        for what in _CONCURRENCY
        if what in limits
    }
    return {what: _CHECKS[what](what, value) for what, value in {**_DEFAULTS, **limits}.items()}, concurrency


def _by_kind(what: str, given: Any) -> list[tuple[str, int]]:
    check_mapping(what, given)
    return [(kind, check_whole(f"{what}[{kind!r}]", limit, 0)) for kind, limit in given.items()]


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(("cancel_grace", "breaker_rest", "lookup_timeout"), check_seconds),
    **dict.fromkeys(("max_waiting", "store_results_max_bytes"), partial(check_whole, least=0)),
    "approval_lifetime": partial(check_seconds, above_zero=True),
    "breaker_threshold": partial(check_whole, least=0, most=2**32 - 1),
    "embed_weight": check_finite,
    "result_limits": _by_kind,
}


def checked_login(given: Any) -> tuple[Any, Any]:
    """`token_file` (`DEFAULT` if it is missing) and `open_url` of `login`."""
    login = _known("login", given, _LOGIN, "{'token_file': None}")
    token_file = login.get("token_file", DEFAULT)
    if token_file is not None and not isinstance(token_file, Default):
        check_path("token_file", token_file)
    return token_file, login.get("open_url")


def _known(option: str, given: Any, keys: tuple[str, ...], example: str) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"{option} must be a mapping such as {example}, got {type(given).__name__}")
    found = dict(cast("Mapping[str, Any]", given))
    if unknown := [str(key) for key in found if key not in keys]:
        raise ValueError(_core.unknown_options(option, "key", unknown, list(keys)))
    return found
