"""The options of serving, checked and written down for the core, which decides what they mean."""

import json
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from .._checks import check_callable, check_mapping, check_path, check_seconds, check_text, check_whole
from .._core import read_principal, unknown_options
from .._lazy import asyncio
from .._user_functions import call
from ..options import JwtOptions, TokenOptions, ViewOptions

_log = logging.getLogger("toolhub")

_COUNTS = ("max_connections", "max_in_flight", "max_streams", "max_headers", "max_buffered")
_TIMEOUTS = ("header_timeout", "body_timeout", "write_timeout")
_MOST_REPORTED = 20
"""Different reasons for refusals that are logged."""


def gateway_options(path: str, given: Any) -> dict[str, Any]:
    """The options for the core, checked."""
    audit = given.get("audit")
    if audit is not None:
        check_path("audit", audit)
    views: Any = {} if given.get("views") is None else given["views"]
    check_mapping("views", views)
    rows = [_view(name, view) for name, view in views.items()]
    return {
        "path": checked("path", path),
        "sse_path": _optional("sse_path", given.get("sse_path")),
        "name": checked("name", given.get("name", "toolhub")),
        "instructions": _optional("instructions", given.get("instructions")),
        "allowed_hosts": _texts("allowed_hosts", given.get("allowed_hosts", ())),
        "allowed_origins": _texts("allowed_origins", given.get("allowed_origins", ())),
        "max_body": _at_least_one("max_body", given.get("max_body")),
        "max_result": _at_least_one("max_result", given.get("max_result")),
        "search_mode": checked("search_mode", given.get("search_mode", "auto")),
        "core": _texts("core", given.get("core", ())),
        "tokens": [*_tokens(given.get("token")), *(row.pop("token") for row in rows if row["token"])],
        "jwt": None if given.get("jwt") is None else _jwt(given["jwt"]),
        "authenticate_timeout": _above_zero("authenticate_timeout", given.get("authenticate_timeout")),
        "resource_metadata": _optional("resource_metadata", given.get("resource_metadata")),
        "metrics_token": _optional("metrics_token", given.get("metrics_token")),
        "limits": {
            **{key: _at_least_one(key, given.get(key)) for key in _COUNTS},
            **{key: _above_zero(key, given.get(key)) for key in _TIMEOUTS},
        },
        "session_lifetime": _above_zero("session_lifetime", given.get("session_lifetime")),
        "session_keys": _one_or_more("session_keys", given.get("session_keys", ())),
        "views": rows,
        "audit": None if audit is None else os.fspath(audit),
    }


def _tokens(given: Any) -> list[dict[str, Any]]:
    """The tokens, each with the name of its owner."""
    if given is None:
        return []
    tokens = {"token": given} if isinstance(given, str) else given
    check_mapping("token", tokens)
    return [_token(name, token) for name, token in tokens.items()]


def _token(name: Any, given: Any) -> dict[str, Any]:
    checked("the name of a token", name)
    if isinstance(given, str):
        return {"name": name, "token": given, "view": None, "upstream_token": None}
    what = f"token[{name!r}]"
    _check_keys(what, given, TokenOptions)
    upstream = given.get("upstream_token")
    if upstream is not None and not isinstance(upstream, str):
        check_mapping(f"{what}['upstream_token']", upstream)
        for server, token in upstream.items():
            checked(f"each server of {what}['upstream_token']", server)
            checked(f"{what}['upstream_token'][{server!r}]", token)
        upstream = dict(upstream)
    return {
        "name": name,
        "token": checked(f"{what}['token']", given.get("token")),
        "view": _optional(f"{what}['view']", given.get("view")),
        "upstream_token": upstream,
    }


def _jwt(given: Any) -> dict[str, Any]:
    _check_keys("jwt", given, JwtOptions)
    for key in ("jwks", "issuer", "audience"):
        if key not in given:
            raise ValueError(f"jwt needs {key!r}, so that no token for another service is accepted")
    algorithms = given.get("algorithms")
    return {
        "jwks": _jwks(given["jwks"]),
        "issuer": checked("jwt['issuer']", given["issuer"]),
        "audience": _one_or_more("jwt['audience']", given["audience"]),
        "algorithms": None if algorithms is None else _one_or_more("jwt['algorithms']", algorithms),
        "scopes": _one_or_more("jwt['scopes']", given.get("scopes", ())),
        "principal_claim": checked("jwt['principal_claim']", given.get("principal_claim", "sub")),
        "view_claim": _optional("jwt['view_claim']", given.get("view_claim")),
    }


def _jwks(given: Any) -> str:
    if isinstance(given, Mapping):
        return json.dumps(given)
    check_path("jwt['jwks']", given)
    path: str | os.PathLike[str] = given
    return os.fspath(path)


def asking(function: Any) -> Callable[..., Any]:
    """The function given as `authenticate`, as the core calls it: it never raises, and None refuses the request."""
    check_callable("authenticate", function)
    reported: set[str] = set()

    def report(reason: str) -> None:
        # Callers could flood the log.
        if reason not in reported and len(reported) < _MOST_REPORTED:
            reported.add(reason)
            _log.warning("a request is refused, and others like it: %s", reason)

    async def ask(token: str | None, headers: dict[str, str]) -> Any:
        try:
            answer = await call(function, token, headers)
        except (asyncio.CancelledError, GeneratorExit):
            raise  # the time is over, or the server ends
        except BaseException as error:
            # Its message may show the token.
            report(f"the function given as 'authenticate' raised {type(error).__name__}")
            return None
        try:
            return None if answer is None else read_principal(answer)
        except Exception as error:
            report(str(error))
            return None

    return ask


def _view(name: Any, view: Any) -> dict[str, Any]:
    what = f"views[{name!r}]"
    _check_keys(what, view, ViewOptions)
    calls, token = view.get("calls_per_minute"), view.get("token")
    patterns = {key: view.get(key) for key in ("tools", "resources", "prompts")}
    has_token = token is not None and {
        "name": name,
        "token": checked(f"{what}['token']", token),
        "view": name,
        "upstream_token": None,
    }
    return {
        "name": checked("the name of a view", name),
        **{
            key: None if given is None else _texts(f"{what}[{key!r}]", given)
            for key, given in patterns.items()
        },
        "effects": checked(f"{what}['effects']", view.get("effects", "all")),
        "calls_per_minute": None
        if calls is None
        else check_whole(f"{what}['calls_per_minute']", calls, 1, 2**32 - 1),
        "core": _texts(f"{what}['core']", view.get("core", ())),
        "search_mode": checked(f"{what}['search_mode']", view.get("search_mode", "auto")),
        "instructions": _optional(f"{what}['instructions']", view.get("instructions")),
        "token": has_token,
    }


def _check_keys(what: str, given: Any, options: type) -> None:
    check_mapping(what, given)
    known = list(options.__annotations__)
    if unknown := [key for key in given if key not in known]:
        raise TypeError(unknown_options(what, "key", list(map(str, unknown)), known))


def _at_least_one(what: str, number: Any) -> int | None:
    return None if number is None else check_whole(what, number, 1)


def _above_zero(what: str, seconds: Any) -> float | None:
    return None if seconds is None else check_seconds(what, seconds, above_zero=True)


def _optional(what: str, text: Any) -> str | None:
    return None if text is None else checked(what, text)


def checked(what: str, text: Any) -> str:
    """The text, if it is one."""
    check_text(what, text)
    return text


def _texts(what: str, texts: Any) -> list[str]:
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise TypeError(f"{what} must be a list of texts, got {type(texts).__name__}")
    return [checked(f"each of {what}", text) for text in cast("Iterable[Any]", texts)]


def _one_or_more(what: str, given: Any) -> list[str]:
    return [given] if isinstance(given, str) else _texts(what, given)
