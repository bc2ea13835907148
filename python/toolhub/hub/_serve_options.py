"""The options of serving, checked and written down for the core, which decides what they mean."""

import json
import logging
import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from .._checks import (
    check_callable,
    check_mapping,
    check_path,
    check_seconds,
    check_text,
    check_texts,
    check_whole,
    if_given,
)
from .._core import named_caller, unknown_options
from .._lazy import asyncio
from .._user_functions import call
from ..options import JwtOptions, TokenOptions, ViewOptions

_log = logging.getLogger("toolhub")

_MOST_REPORTED = 20
"""Different reasons for refusals that are logged."""


def gateway_options(path: str, given: Any) -> dict[str, Any]:
    """The options for the core, checked."""
    views = if_given(check_mapping, "views", given.get("views")) or {}
    rows = [_view(name, view) for name, view in views.items()]
    return {
        **_given(given, _OPTIONS),
        "path": check_text("path", path),
        "tokens": [*_tokens(given.get("token")), *(row.pop("token") for row in rows if row["token"])],
        "limits": _given(given, _LIMITS),
        "views": rows,
    }


def _given(options: Any, checks: "Checks") -> dict[str, Any]:
    """Without those that have the core's default."""
    return {name: value for name, value in _checked(options, checks).items() if value is not None}


def _checked(given: Mapping[str, Any], checks: "Checks", of: str = "") -> dict[str, Any]:
    """The options of these names, as their checks give them back. One without a default may be None."""
    checked: dict[str, Any] = {}
    for name, check in checks.items():
        what, default = f"{of}[{name!r}]" if of else name, _DEFAULTS.get(name)
        value = given.get(name, default)
        checked[name] = if_given(check, what, value) if default is None else check(what, value)
    return checked


def _tokens(given: Any) -> list[dict[str, Any]]:
    """The tokens, each with the name of its owner."""
    if given is None:
        return []
    tokens = {"token": given} if isinstance(given, str) else check_mapping("token", given)
    return [_token(name, token) for name, token in tokens.items()]


def _token(name: Any, given: Any) -> dict[str, Any]:
    check_text("the name of a token", name)
    if isinstance(given, str):
        return {"name": name, "token": given, "view": None, "upstream_token": None}
    what = f"token[{name!r}]"
    _check_keys(what, given, TokenOptions)
    upstream = given.get("upstream_token")
    if upstream is not None and not isinstance(upstream, str):
        upstream = check_mapping(f"{what}['upstream_token']", upstream)
        for server, token in upstream.items():
            check_text(f"each server of {what}['upstream_token']", server)
            check_text(f"{what}['upstream_token'][{server!r}]", token)
    return {
        "name": name,
        "token": check_text(f"{what}['token']", given.get("token")),
        **_checked(given, {"view": check_text}, what),
        "upstream_token": upstream,
    }


def _jwt(what: str, given: Any) -> dict[str, Any]:
    _check_keys(what, given, JwtOptions)
    for key in ("jwks", "issuer", "audience"):
        if key not in given:
            raise ValueError(f"jwt needs {key!r}, so that no token for another service is accepted")
    return _checked(given, _JWT, what)


def _jwks(what: str, given: Any) -> str:
    return json.dumps(given) if isinstance(given, Mapping) else _path(what, given)


def _path(what: str, given: "str | os.PathLike[str]") -> str:
    check_path(what, given)
    return os.fspath(given)


def asking(function: Any) -> object:
    """The function given as `authenticate`, described for the core: it always answers, and None refuses the request."""
    from .._signature.build import describe

    check_callable("authenticate", function)
    reported: set[str] = set()

    def report(reason: str) -> None:
        # Callers could flood the log.
        if reason not in reported and len(reported) < _MOST_REPORTED:
            reported.add(reason)
            _log.warning("a request is refused, and others like it: %s", reason)

    async def authenticate(token: Any, headers: Any) -> dict[str, Any] | None:
        named: Any = None
        try:
            named = await call(function, token, headers)
        except (asyncio.CancelledError, GeneratorExit):
            raise  # the time is over, or the server ends
        except BaseException as error:
            # Its message may show the token.
            report(f"the function given as 'authenticate' raised {type(error).__name__}")
        try:
            return None if named is None else named_caller(named)
        except Exception as error:
            report(str(error))
            return None

    return describe(authenticate)


def _view(name: Any, view: Any) -> dict[str, Any]:
    what = f"views[{name!r}]"
    _check_keys(what, view, ViewOptions)
    token = view.get("token")
    owner = {"name": name, "view": name, "upstream_token": None}
    return {
        "name": check_text("the name of a view", name),
        **_checked(view, _VIEW, what),
        "token": token is not None and {**owner, "token": check_text(f"{what}['token']", token)},
    }


def _check_keys(what: str, given: Any, options: type) -> None:
    check_mapping(what, given)
    known = list(options.__annotations__)
    if unknown := [key for key in given if key not in known]:
        raise TypeError(unknown_options(what, "key", list(map(str, unknown)), known))


def _one_or_more(what: str, given: Any) -> list[str]:
    return [given] if isinstance(given, str) else check_texts(what, given)


Checks = dict[str, Callable[[str, Any], Any]]

_at_least_one, _above_zero = partial(check_whole, least=1), partial(check_seconds, above_zero=True)
_LIMITS: Checks = {
    **dict.fromkeys(
        ("max_connections", "max_in_flight", "max_streams", "max_headers", "max_buffered"), _at_least_one
    ),
    **dict.fromkeys(("header_timeout", "body_timeout", "write_timeout"), _above_zero),
}
_OPTIONS: Checks = {
    **dict.fromkeys(("name", "search_mode"), check_text),
    **dict.fromkeys(("sse_path", "instructions", "resource_metadata", "metrics_token"), check_text),
    **dict.fromkeys(("allowed_hosts", "allowed_origins", "core"), check_texts),
    **dict.fromkeys(("max_body", "max_result"), _at_least_one),
    **dict.fromkeys(("authenticate_timeout", "session_lifetime"), _above_zero),
    "session_keys": _one_or_more,
    "jwt": _jwt,
    "audit": _path,
}
_JWT: Checks = {
    **dict.fromkeys(("issuer", "principal_claim", "view_claim"), check_text),
    **dict.fromkeys(("audience", "algorithms", "scopes"), _one_or_more),
    "jwks": _jwks,
}
_VIEW: Checks = {
    **dict.fromkeys(("tools", "resources", "prompts", "core"), check_texts),
    **dict.fromkeys(("effects", "search_mode", "instructions"), check_text),
    "calls_per_minute": partial(check_whole, least=1, most=2**32 - 1),
}
_DEFAULTS: dict[str, Any] = {
    "name": "toolhub",
    "search_mode": "auto",
    "effects": "all",
    "principal_claim": "sub",
    **dict.fromkeys(("allowed_hosts", "allowed_origins", "core", "session_keys", "scopes"), ()),
    **dict.fromkeys(("jwks", "issuer", "audience"), ""),
}
