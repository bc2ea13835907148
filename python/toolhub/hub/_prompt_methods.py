"""The methods of `ToolHub` that write for a model. Each hands over to the part that does the work."""

from collections.abc import Iterable
from os import PathLike
from typing import Literal

from .. import _core
from ..options import Lang
from ..result import ToolResult
from ._formatting import ResultFormatter
from ._listing import ListFetcher
from ._prompts import ToolPrompts, VendorTools


class PromptMethods:
    """`system_prompt`, `as_openai`, `as_anthropic`, `as_gemini`, `original_name`, `format` and `read_more`."""

    _prompts: ToolPrompts
    _lists: ListFetcher
    _formatter: ResultFormatter

    @property
    def lang(self) -> Lang:
        """The language of the hub's own words."""
        return self._prompts.lang

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
        tokenizer: "_core.Tokenizer | str | PathLike[str] | None" = None,
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
        return self._prompts.system_prompt(
            base,
            query=query,
            limit=limit,
            core=core,
            style=style,
            lang=lang,
            budget_tokens=budget_tokens,
            tools=tools,
            tokenizer=tokenizer,
            fill=fill,
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
        self._lists.fetch_missing()
        return self._prompts.declared(vendor, query, limit, core, tools)

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
        self._lists.fetch_missing()
        return self._prompts.declared("anthropic", query, limit, core, tools)

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
        self._lists.fetch_missing()
        return self._prompts.declared("gemini", query, limit, core, tools)

    def original_name(self, vendor_name: str) -> str:
        """The name of the tool that an API knows by `vendor_name`. A name that belongs to no tool is returned unchanged.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="长度")
        >>> hub.original_name(hub.as_openai()[0]["function"]["name"])
        '长度'
        """
        return self._prompts.original_name(vendor_name)

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
        return self._formatter.format(result, limit)

    def read_more(self, handle: str, offset: int = 0, limit: int = 4000) -> str:
        """One page of a result that was cut: `limit` characters from `offset` on; empty past the end.

        A page begins and ends between grapheme clusters (an emoji, a letter with its accents), so it may be a little shorter
        than `limit`; the next one begins at `offset + len(page)`. All pages together are the whole text.

        Results are kept in bounded memory, and with a store in its file, so that handles from other processes and earlier
        runs work too. A result that newer ones have replaced raises `ToolError` of kind `not_found`.
        """
        return self._formatter.read_more(handle, offset, limit)
