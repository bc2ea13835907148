"""Prompts: tools as a model reads them, in a system prompt or as the schemas of an API."""

import logging
from collections.abc import Iterable
from os import PathLike
from typing import Any, NamedTuple

from .. import _core
from .._checks import check_whole
from ..options import Lang
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


class ToolPrompts:
    """Selects tools for a model, and maps the names and arguments of an API back to those of the tools."""

    def __init__(self, core: _core.Hub, search: ToolSearch, always_shown: Iterable[str], lang: Lang) -> None:
        self._core = core
        self.lang: Lang = lang
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
        fill: bool = False,
    ) -> str:
        """See `ToolHub.system_prompt`."""
        if budget_tokens is not None:
            budget_tokens = check_whole("budget_tokens", budget_tokens, 0)
        if limit is not None:
            limit = check_whole("limit", limit, 0)
        first = self._present(self._always_shown if core is None else core)
        choice = None
        if query is not None or tools is not None or limit is not None:
            choice = self._choice(first, tools)
            if query is not None:
                choice = self._relevant(query, _DEFAULT_LIMIT if limit is None else limit, choice, fill)
        if tokenizer is not None and not isinstance(tokenizer, _core.Tokenizer):
            from .. import text

            tokenizer = text.tokenizer(tokenizer)
        return _core.prompt_text(
            self._core, base, first, choice, limit, style, lang or self.lang, budget_tokens, tokenizer
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
        choice = self._choice(self._present(core), tools)
        if query is not None:
            choice = self._relevant(query, _DEFAULT_LIMIT if limit is None else limit, choice)
        made = VendorTools()
        skipped = _core.vendor_tools(self._core, choice, vendor, made, limit)
        for name, reason in skipped:
            _log.warning("the tool %r is left out for %s: %s", name, vendor, reason)
        if len(made) > _MAX_TOOLS.get(vendor, len(made)):
            _log.warning("%s accepts at most %d tools, got %d", vendor, _MAX_TOOLS[vendor], len(made))
        made.skipped = [Skipped(name, reason) for name, reason in skipped]
        return made

    def _choice(self, first: list[str], tools: Iterable[str] | None) -> _core.ToolChoice:
        """The tools to choose from, in an order that does not depend on registration."""
        if isinstance(tools, str):
            raise TypeError(f"tools must be a list of names, got the text {tools!r}")
        return _core.ToolChoice(self._core, first, None if tools is None else list(tools))

    def _relevant(
        self, query: str, limit: int, choice: _core.ToolChoice, fill: bool = False
    ) -> _core.ToolChoice:
        """The choice with only the tools that match a query best; with `fill`, others follow up to the limit."""
        # The search cannot exclude tools, so request more than needed. Tools may be added meanwhile; if too few of the hits
        # are in the choice, request more.
        wanted = limit + max(0, len(self._core) - len(choice))
        while True:
            ranked = self._search.search(query, wanted)
            best = choice.best(ranked, limit, len(ranked) < wanted, fill)
            if best is not None:
                return best
            wanted *= 2

    def _present(self, wanted: Iterable[str]) -> list[str]:
        """The names that are registered, each once, in the given order."""
        if isinstance(wanted, str):
            raise TypeError(f"core must be a list of names, got the text {wanted!r}")
        return [name for name in dict.fromkeys(wanted) if name in self._core]
