"""Prompting: tools as a model reads them, in a system prompt or as schemas of an API."""

import logging
from collections.abc import Iterable
from os import PathLike
from typing import Any, Literal, NamedTuple, cast

from .. import _core
from ._numbers import check_whole
from ._searching import Searching

_log = logging.getLogger("toolhub.prompt")

CORE = ("none", "search_web", "calculate", "get_time", "get_conversation_history")
"""The tools that a prompt always shows, where they are registered."""

_MOST = {"openai": 128, "openai_strict": 128}
"""How many tools an API takes."""


class Skipped(NamedTuple):
    """A tool that an API would refuse, and why."""

    name: str
    reason: str


class VendorTools(list[dict[str, Any]]):
    """Tools in the form of an API: a list, with what was left out of it in `skipped`."""

    def __init__(self, tools: Iterable[dict[str, Any]] = (), skipped: Iterable[Skipped] = ()) -> None:
        super().__init__(tools)
        self.skipped = list(skipped)


class Prompting(Searching):
    """`system_prompt`, `as_openai`, `as_anthropic`, `as_gemini` and `original_name`."""

    _restored: dict[str, str]
    """Tools whose arguments come from an API in another form than the tool takes them, and the vendor for which each was
    last declared."""

    def system_prompt(
        self,
        base: str = "",
        *,
        query: str | None = None,
        limit: int = 10,
        core: Iterable[str] | None = None,
        style: Literal["detailed", "compact", "names"] = "detailed",
        lang: Literal["en", "zh"] = "en",
        budget_tokens: int | None = None,
        tools: Iterable[str] | None = None,
        tokenizer: "_core.Tokenizer | str | PathLike[str] | None" = None,
    ) -> str:
        """A prompt that tells a model which tools there are and how to call them, behind the `base` of your own.

        Without a `query` all tools are shown. With one, the core tools come first (`core`, by default those of `CORE`),
        then the `limit` most relevant others; the rest is counted. `tools` are the names to choose from, by default all.
        With `budget_tokens` the whole prompt has at most so many tokens (estimated, or counted with a `tokenizer` as in
        `toolhub.truncate`): the first tools keep their details, the next ones have one line, the last ones only their name.

        The same tools give the same text, whatever the order in which they were registered. Without any tool it is `base`.

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
        if budget_tokens is not None:
            check_whole("budget_tokens", budget_tokens, 0)
        check_whole("limit", limit, 0)
        first = self._present(CORE if core is None else core)
        others, more = None, 0
        if query is not None or tools is not None:
            names = self._known(tools)
            first, others = _divided(first, names)
            if query is not None:
                others = self._relevant(query, limit, others)
            more = len(names) - len(first) - len(others)
        if tokenizer is not None and not isinstance(tokenizer, _core.Tokenizer):
            from .. import text

            tokenizer = text.tokenizer(tokenizer)
        return _core.prompt_text(self._core, base, first, others, more, style, lang, budget_tokens, tokenizer)

    def as_openai(
        self,
        query: str | None = None,
        limit: int | None = None,
        *,
        core: Iterable[str] = (),
        tools: Iterable[str] | None = None,
        strict: bool = False,
    ) -> VendorTools:
        """The tools for `tools=` of OpenAI's chat API, and of those that follow it.

        All of them; or with a `query` the most relevant ones, `limit` at most (10 when it is not given), after those of `core`.
        What the API would refuse is left out and listed in `.skipped`, with the reason. `strict` is OpenAI's strict
        mode: optional parameters are given as null, and open objects as JSON in a text; the hub reads both.

        Calls by the names and with the arguments of such a list can be given to `run` and `dispatch` as they are.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="text.length", description="Count the letters")
        >>> tools = hub.as_openai()
        >>> tools[0]["function"]["name"], hub.original_name(tools[0]["function"]["name"])
        ('text_length_35f3d31e', 'text.length')
        """
        return self._declared("openai_strict" if strict else "openai", query, limit, core, tools)

    def as_anthropic(
        self,
        query: str | None = None,
        limit: int | None = None,
        *,
        core: Iterable[str] = (),
        tools: Iterable[str] | None = None,
    ) -> VendorTools:
        """The tools for `tools=` of Anthropic's messages API; the arguments are those of `as_openai`.

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
        """The name of the tool that an API knows by `vendor_name`; a name that is nobody's comes back as it is.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="长度")
        >>> hub.original_name(hub.as_openai()[0]["function"]["name"])
        '长度'
        """
        found = _core.original_name(self._core, vendor_name)
        return vendor_name if found is None else found

    def _as_meant(self, name: str, args: Any) -> tuple[str, Any]:
        """A call as an API gave it, in the names and with the arguments of the tool."""
        if name not in self._core:
            name = self.original_name(name)
        if type(args) is dict and (vendor := self._restored.get(name)) is not None:
            return name, _core.restore_arguments(self._core, name, cast("dict[str, Any]", args), vendor)
        return name, cast(Any, args)

    def _declared(
        self,
        vendor: str,
        query: str | None,
        limit: int | None,
        core: Iterable[str],
        tools: Iterable[str] | None,
    ) -> VendorTools:
        if limit is not None:
            check_whole("limit", limit, 0)
        first, others = _divided(self._present(core), self._known(tools))
        if query is not None:
            others = self._relevant(query, 10 if limit is None else limit, others)
        shown = [*first, *others][:limit]
        made, skipped, changed = cast(
            "tuple[list[Any], list[tuple[str, str]], list[str]]",
            _core.vendor_tools(self._core, shown, vendor),
        )
        again = [name for name in shown if name in self._restored]
        self._restored.update(dict.fromkeys([*again, *changed], vendor))
        for name, reason in skipped:
            _log.warning("the tool %r is left out for %s: %s", name, vendor, reason)
        if len(made) > _MOST.get(vendor, len(made)):
            _log.warning("%s takes at most %d tools, these are %d", vendor, _MOST[vendor], len(made))
        return VendorTools(made, [Skipped(name, reason) for name, reason in skipped])

    def _known(self, tools: Iterable[str] | None) -> list[str]:
        """The tools to choose from, in an order that does not depend on when they came."""
        names = _core.tool_names(self._core)
        if tools is None:
            return names
        if isinstance(tools, str):
            raise TypeError(f"tools must be a list of names, got the text {tools!r}")
        wanted = set(tools)
        return [name for name in names if name in wanted]

    def _relevant(self, query: str, limit: int, names: list[str]) -> list[str]:
        """The tools that fit a query best."""
        among = set(names)
        # The search does not know which tools are out of the question, so more are asked for. Tools come and go meanwhile:
        # when those that were asked for are too few, there may be others behind them.
        wanted = limit + max(0, len(self._core) - len(names))
        while True:
            ranked = self.search(query, wanted)
            found = [hit.name for hit in ranked if hit.name in among][:limit]
            if len(found) == limit or len(ranked) < wanted:
                return found
            wanted *= 2

    def _present(self, wanted: Iterable[str]) -> list[str]:
        """Those that are registered, each once, in their order."""
        if isinstance(wanted, str):
            raise TypeError(f"core must be a list of names, got the text {wanted!r}")
        return [name for name in dict.fromkeys(wanted) if name in self._core]


def _divided(first: list[str], names: list[str]) -> tuple[list[str], list[str]]:
    """Those of `first` that are among the names, and the other names."""
    there, early = set(names), set(first)
    return [name for name in first if name in there], [name for name in names if name not in early]
