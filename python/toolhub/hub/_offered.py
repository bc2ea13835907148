"""What `hub.resources` and `hub.prompts` share: the hub's own offers, and those of its MCP servers. The core does the work."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from .. import _core
from .._checks import check_mapping, check_seconds, check_text, check_texts, if_given
from ..offers import Offers, as_offer
from ..options import Completions
from ._servers import NATIVE, ServerManager, as_ids
from ._state import HubState, Part

_T = TypeVar("_T")


class Offered(Part):
    """Lists and adds offers of one kind, and knows who answers for one."""

    def __init__(self, core: _core.Hub, servers: ServerManager, state: HubState) -> None:
        self._core = core
        self._servers = servers
        self._state = state

    async def _listed(
        self, kind: str, made: type[_T], ids: Iterable[str] | None, timeout: float | None
    ) -> Offers[_T]:
        """What the hub and its servers offer of one kind, and why some servers could not list it."""
        timeout, named = if_given(check_seconds, "timeout", timeout), as_ids(ids)
        own = _core.own_offers(self._core, kind) if named is None or NATIVE in named else []
        offered = [as_offer(made, server, data) for server, data in own]
        if named is not None:
            named = [id for id in named if id != NATIVE]
        servers = self._servers.named(named or None)
        if servers is None or named == []:
            return Offers(offered)
        entries, failed = cast("Any", await servers.offers(kind, named, timeout))
        return Offers(offered + [as_offer(made, server, data) for server, data in entries], failed)

    async def _ask(
        self, query: _core.OfferQuery, server: str | None, timeout: float | None
    ) -> tuple[str, dict[str, Any]]:
        """Asks the hub itself if the request names it, or names no server and the hub has what it asks for."""
        limit = if_given(check_seconds, "timeout", timeout)
        asked = None
        if server is None or server == NATIVE:
            asked = _core.ask_own(self._core, query, limit, is_named=server is not None)
        return cast("Any", await (asked or self._servers.open().ask(query, server, limit)))

    def _offer(
        self, kind: str, key: str, function: Any, is_content: bool, options: Mapping[str, Any]
    ) -> None:
        from .._signature.build import describe

        description = options.get("description")
        described = describe(function, name=key, description=description)
        entry: dict[str, Any] = {
            "description": description if is_content else described.description or None,
            "mimeType": options.get("mime_type"),
            "name": options.get("name"),
            "title": options.get("title"),
        }
        for what, text in (("title", entry["title"]), ("mime_type", entry["mimeType"])):
            if_given(check_text, what, text)
        for member, given in (("annotations", options.get("annotations")), ("_meta", options.get("meta"))):
            if given is not None:
                entry[member] = check_mapping(member.strip("_"), given)
        if (icons := options.get("icons")) is not None:
            entry["icons"] = [dict(icon) for icon in icons]
        completions: Completions = options.get("completions") or {}
        check_mapping("completions", completions)
        suggested = [
            (argument, describe(given, name=argument) if callable(given) else _texts(argument, given), given)
            for argument, given in completions.items()
        ]
        shown = {member: value for member, value in entry.items() if value is not None}
        replace = options.get("replace", False)
        _core.add_offer(self._core, kind, key, described, function, shown, suggested, replace)


def _texts(argument: str, given: Any) -> list[str]:
    return check_texts(f"the completions of {argument!r}", given)
