"""The methods of `ToolHub` that write for a model: tools in a prompt or as the schemas of an API, and results."""

import logging
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, Literal, NamedTuple, cast

from .. import _core
from .._checks import check_whole, if_given
from .._core import Hub, Tokenizer, ToolChoice
from ..events import Events
from ..options import Lang
from ..result import ToolResult
from ._search import ToolSearch
from ._servers import ListFetcher

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


class PromptMethods:
    """`system_prompt`, `as_openai`, `as_anthropic`, `as_gemini`, `original_name`, `format` and `read_more`."""

    _core: Hub
    _events: Events
    _lang: Lang
    _lists: ListFetcher
    _search: ToolSearch
    _always_shown: list[str]

    @property
    def lang(self) -> Lang:
        """The language of the hub's own words."""
        return self._lang

    def system_prompt(
        self,
        base: str = "",
        *,
        query: str | None = None,
        limit: int | None = None,
        core: Iterable[str] | None = None,
        style: Literal["detailed", "compact", "names"] = "detailed",
        lang: Lang | None = None,
        budget_tokens: int | None = None,
        tools: Iterable[str] | None = None,
        tokenizer: "Tokenizer | str | PathLike[str] | None" = None,
        fill: bool = False,
    ) -> str:
        """A prompt that lists the tools and says how to call them, after your own `base`.

        The core tools come first (`core`, by default those of the hub). With a `query` the `limit` most relevant others follow
        (default 10), without one the first `limit` others (default all); the rest is only counted. With `fill`, tools that do
        not match the query follow those that do, until there are `limit`. `tools` are the names to
        choose from, by default all. `budget_tokens` limits the length of the prompt (estimated, or counted with a `tokenizer`
        as in `toolhub.truncate`): the first tools keep their details, the next get one line, the last only their name.

        `lang` is the language of the prompt's own words, by default that of the hub; descriptions of tools stay as they are.

        The same tools give the same text, in whatever order they were registered. Without any tool the prompt is `base`.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> @hub.tool(read_only=True)
        ... def add(a: int, b: int = 1) -> int:
        ...     "Add two numbers."
        ...     return a + b
        >>> print(hub.system_prompt("You are a clerk.").partition("## How")[0])
        You are a clerk.
        <BLANKLINE>
        ## 🔧 Available Tools (Detailed Information)
        <BLANKLINE>
        1. **add**
          Add two numbers.
          Parameters:
            - a (integer) [required]
            - b (integer, default 1) [optional]
          Hints: read-only
        <BLANKLINE>
        **You have 1 tool available.**
        """
        self._lists.fetch_missing()
        budget_tokens = if_given(check_whole, "budget_tokens", budget_tokens, 0)
        limit = if_given(check_whole, "limit", limit, 0)
        first = self._present(self._always_shown if core is None else core)
        choice = None
        if query is not None or tools is not None or limit is not None:
            choice = self._choice(first, tools)
            if query is not None:
                choice = self._relevant(query, _DEFAULT_LIMIT if limit is None else limit, choice, fill)
        if tokenizer is not None and not isinstance(tokenizer, Tokenizer):
            from .. import text

            tokenizer = text.tokenizer(tokenizer)
        return _core.prompt_text(
            self._core, base, first, choice, limit, style, lang or self._lang, budget_tokens, tokenizer
        )

    def as_openai(
        self,
        query: str | None = None,
        limit: int | None = None,
        *,
        core: Iterable[str] = (),
        tools: Iterable[str] | None = None,
        strict: bool = False,
    ) -> VendorTools:
        """The tools for `tools=` of OpenAI's chat API and of APIs compatible with it.

        All tools, or the first `limit`; with a `query` the most relevant ones, at most `limit` (default 10), after those of
        `core`. Tools that the API would refuse are left out and listed in `.skipped`, with the reason. `strict` is OpenAI's
        strict mode: optional parameters are sent as null, and open objects as JSON in a string; the hub reads both.

        `run` and `dispatch` take calls with the names and arguments of such a list as they are.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="text.length", description="Count the letters")
        >>> tools = hub.as_openai()
        >>> tools[0]["function"]["name"], hub.original_name(tools[0]["function"]["name"])
        ('text_length_35f3d31e', 'text.length')
        """
        vendor = "openai_strict" if strict else "openai"
        return self._declared(vendor, query, limit, core, tools)

    def as_anthropic(
        self,
        query: str | None = None,
        limit: int | None = None,
        *,
        core: Iterable[str] = (),
        tools: Iterable[str] | None = None,
    ) -> VendorTools:
        """The tools for `tools=` of Anthropic's messages API. The arguments are those of `as_openai`.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="length", description="Count the items")
        >>> hub.as_anthropic()[0]["input_schema"]["required"]
        ['obj']
        """
        return self._declared("anthropic", query, limit, core, tools)

    def as_gemini(
        self,
        query: str | None = None,
        limit: int | None = None,
        *,
        core: Iterable[str] = (),
        tools: Iterable[str] | None = None,
    ) -> VendorTools:
        """The tools as function declarations of the Gemini API: `tools=[{"functionDeclarations": hub.as_gemini()}]`.

        The arguments are those of `as_openai`.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> @hub.tool
        ... def add(a: int, b: int) -> int:
        ...     return a + b
        >>> hub.as_gemini()[0]["parameters"]["properties"]["a"]
        {'type': 'INTEGER'}
        """
        return self._declared("gemini", query, limit, core, tools)

    def original_name(self, vendor_name: str) -> str:
        """The name of the tool that an API knows by `vendor_name`. A name that belongs to no tool is returned unchanged.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="长度")
        >>> hub.original_name(hub.as_openai()[0]["function"]["name"])
        '长度'
        """
        found = _core.original_name(self._core, vendor_name)
        return vendor_name if found is None else found

    def format(self, result: ToolResult, limit: int | None = None) -> str:
        """A result for a prompt: cut to the limit of its kind of tool; of search hits, the first three.

        Limits in characters: calculation 100, time 200, search 500, history 1,000, other tools 500 (`result_limits` of the hub
        changes them), skills 32,000 (a model that knows only half of its instructions does the wrong thing). `run` has a
        limit of its own. The full text stays available: the shown one ends with a handle for `read_more`, and from then on the
        model has a tool of that name. Terminal commands and invisible characters, which can hide instructions, are removed.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> @hub.tool
        ... def search_notes(query: str) -> list[dict[str, str]]:
        ...     return [{"title": f"Note {n}", "snippet": "about " + query, "url": f"note:{n}"} for n in range(9)]
        >>> print(hub.format(hub.call("search_notes", "rust")).splitlines()[0])
        1. Note 0 – about rust – note:0
        """
        limit = if_given(check_whole, "limit", limit, 0)
        given = _as_result(result)
        text, cut = _core.format_result(self._core, given, limit)
        report_cut(self._events, given, cut)
        if given is not result and cut is not None:
            result.setdefault("_meta", {}).update(truncated=True, handle=cut[0])
        return text

    def read_more(self, handle: str, offset: int = 0, limit: int = 4000) -> str:
        """One page of a result that was cut: `limit` characters from `offset` on; empty past the end.

        A page begins and ends between grapheme clusters (an emoji, a letter with its accents), so it may be a little shorter
        than `limit`; the next one begins at `offset + len(page)`. All pages together are the whole text.

        Results are kept in bounded memory, and with a store in its file, so that handles from other processes and earlier
        runs work too. A result that newer ones have replaced raises `ToolError` of kind `not_found`.
        """
        offset, limit = check_whole("offset", offset, 0), check_whole("limit", limit, 0)
        return _core.read_more(self._core, handle, offset, limit)

    def _declared(
        self,
        vendor: str,
        query: str | None,
        limit: int | None,
        core: Iterable[str],
        tools: Iterable[str] | None,
    ) -> VendorTools:
        """The tools in the form of one API; see `as_openai`."""
        self._lists.fetch_missing()
        limit = if_given(check_whole, "limit", limit, 0)
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

    def _choice(self, first: list[str], tools: Iterable[str] | None) -> ToolChoice:
        """The tools to choose from, in an order that does not depend on registration."""
        if isinstance(tools, str):
            raise TypeError(f"tools must be a list of names, got the text {tools!r}")
        return ToolChoice(self._core, first, None if tools is None else list(tools))

    def _relevant(self, query: str, limit: int, choice: ToolChoice, fill: bool = False) -> ToolChoice:
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


def report_cut(events: Events, result: ToolResult, cut: "tuple[str, int, int] | None") -> None:
    """Tell listeners that a result was cut."""
    if cut is not None:
        handle, shown, total = cut
        about = {"call_id": result.meta.get("call_id"), "tool": result.meta.get("tool")}
        events.emit("truncated", **about, handle=handle, shown=shown, total=total)


def _as_result(given: Any) -> ToolResult:
    """A result, or a mapping of that shape as one.

    >>> _as_result("text")
    Traceback (most recent call last):
    TypeError: format() takes the result of a call, got str; to cut a text, use toolhub.truncate()
    """
    if isinstance(given, ToolResult):
        return given
    if isinstance(given, Mapping) and "success" in given:
        return ToolResult(cast("Mapping[str, Any]", given))
    hint = "; to cut a text, use toolhub.truncate()" if isinstance(given, str) else ""
    raise TypeError(f"format() takes the result of a call, got {type(cast('object', given)).__name__}{hint}")
