"""Prompts: tools as a model reads them, in a system prompt or as the schemas of an API."""

import logging
from collections.abc import Iterable
from os import PathLike
from typing import Any, NamedTuple, cast

from .. import _core
from .._checks import check_whole
from ._search import ToolSearch

_log = logging.getLogger("toolhub.prompt")

_MAX_TOOLS = {"openai": 128, "openai_strict": 128}
"""The number of tools that an API accepts."""

_DEFAULT_LIMIT = 10
"""The number of tools that a query selects for an API unless the caller says otherwise."""


class Skipped(NamedTuple):
    """A tool that an API would refuse, and why."""

    name: str
    reason: str


class VendorTools(list[dict[str, Any]]):
    """Tools in the form of an API: a list. `skipped` names the tools that were left out."""

    def __init__(self, tools: Iterable[dict[str, Any]] = (), skipped: Iterable[Skipped] = ()) -> None:
        super().__init__(tools)
        self.skipped = list(skipped)


class Prompts:
    """Selects tools for a model, and maps the names and arguments of an API back to those of the tools."""

    def __init__(self, core: _core.Hub, search: ToolSearch, always_shown: Iterable[str], lang: str) -> None:
        self._core = core
        self._lang = lang
        self._search = search
        if isinstance(always_shown, str):
            raise TypeError(f"core must be a list of names, got the text {always_shown!r}")
        self._always_shown = tuple(always_shown)

    def system_prompt(
        self,
        base: str,
        *,
        query: str | None,
        limit: int | None,
        core: Iterable[str] | None,
        style: str,
        lang: str | None,
        budget_tokens: int | None,
        tools: Iterable[str] | None,
        tokenizer: "_core.Tokenizer | str | PathLike[str] | None",
    ) -> str:
        """See `ToolHub.system_prompt`."""
        if budget_tokens is not None:
            budget_tokens = check_whole("budget_tokens", budget_tokens, 0)
        if limit is not None:
            limit = check_whole("limit", limit, 0)
        first = self._present(self._always_shown if core is None else core)
        others, more = None, 0
        if query is not None or tools is not None or limit is not None:
            names = self._known(tools)
            first, others = _divided(first, names)
            if query is not None:
                others = self._relevant(query, _DEFAULT_LIMIT if limit is None else limit, others)
            else:
                others = others[:limit]
            more = len(names) - len(first) - len(others)
            others = self._with_read_more(first, others)
        if tokenizer is not None and not isinstance(tokenizer, _core.Tokenizer):
            from .. import text

            tokenizer = text.tokenizer(tokenizer)
        return _core.prompt_text(
            self._core, base, first, others, more, style, lang or self._lang, budget_tokens, tokenizer
        )

    def original_name(self, vendor_name: str) -> str:
        """See `ToolHub.original_name`."""
        found = _core.original_name(self._core, vendor_name)
        return vendor_name if found is None else found

    def declared(
        self,
        vendor: str,
        query: str | None,
        limit: int | None,
        core: Iterable[str],
        tools: Iterable[str] | None,
    ) -> VendorTools:
        """The tools in the form of one API; see `ToolHub.as_openai`."""
        if limit is not None:
            limit = check_whole("limit", limit, 0)
        first, others = _divided(self._present(core), self._known(tools))
        if query is not None:
            others = self._relevant(query, _DEFAULT_LIMIT if limit is None else limit, others)
        shown = self._with_read_more([], [*first, *others][:limit])
        made, skipped = cast(
            "tuple[list[Any], list[tuple[str, str]]]", _core.vendor_tools(self._core, shown, vendor)
        )
        for name, reason in skipped:
            _log.warning("the tool %r is left out for %s: %s", name, vendor, reason)
        if len(made) > _MAX_TOOLS.get(vendor, len(made)):
            _log.warning("%s accepts at most %d tools, got %d", vendor, _MAX_TOOLS[vendor], len(made))
        return VendorTools(made, [Skipped(name, reason) for name, reason in skipped])

    def _with_read_more(self, first: list[str], others: list[str]) -> list[str]:
        """The tool that reads cut results is shown in any case: the model has a handle for it."""
        name = _core.read_more_tool(self._core)
        return others if name is None or name in first or name in others else [*others, name]

    def _known(self, tools: Iterable[str] | None) -> list[str]:
        """The tools to choose from, in an order that does not depend on registration."""
        names = _core.tool_names(self._core)
        if tools is None:
            return names
        if isinstance(tools, str):
            raise TypeError(f"tools must be a list of names, got the text {tools!r}")
        wanted = set(tools)
        return [name for name in names if name in wanted]

    def _relevant(self, query: str, limit: int, names: list[str]) -> list[str]:
        """The tools that match a query best."""
        among = set(names)
        # The search cannot exclude tools, so request more than needed. Tools may be added meanwhile; if too few of the hits
        # are in `names`, request more.
        wanted = limit + max(0, len(self._core) - len(names))
        while True:
            ranked = self._search.search(query, wanted)
            found = [hit.name for hit in ranked if hit.name in among][:limit]
            if len(found) == limit or len(ranked) < wanted:
                return found
            wanted *= 2

    def _present(self, wanted: Iterable[str]) -> list[str]:
        """The names that are registered, each once, in the given order."""
        if isinstance(wanted, str):
            raise TypeError(f"core must be a list of names, got the text {wanted!r}")
        return [name for name in dict.fromkeys(wanted) if name in self._core]


def _divided(first: list[str], names: list[str]) -> tuple[list[str], list[str]]:
    """The names of `first` that are in `names`, and the rest of `names`."""
    there, early = set(names), set(first)
    return [name for name in first if name in there], [name for name in names if name not in early]
