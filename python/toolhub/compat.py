"""Names and words that existing orchestrators use, so that they switch to toolhub by changing an import.

`from toolhub.compat import ToolCandidate, ToolHub` is all that changes. `ToolHub` here is the usual one, except that it takes
keyword arguments of the orchestrator's own and hands them to the tools that take them. New code does not need any of these
names: `docs/how-to/drop-in.md` has a table of the old and the new ones.
"""

from collections.abc import Mapping
from typing import Any, cast

from . import Candidate, _core
from ._background import blocking
from ._checks import check_text
from ._compat import CORE_TOOLS, SOURCE_ALIASES, ToolCandidate
from ._signature.context import PASSED_ON
from ._unknown_options import known_options
from .events import EXECUTE
from .exceptions import ErrorKind
from .hub import ToolHub as _ToolHub
from .hub._call_methods import settled
from .result import ToolResult

__all__ = [
    "CORE_TOOLS",
    "SOURCE_ALIASES",
    "ToolCandidate",
    "ToolHub",
    "_extract_capabilities_from_description",
]

_OPTIONS = frozenset(known_options(_ToolHub.execute) or ())


class ToolHub(_ToolHub):
    """`toolhub.ToolHub` for orchestrators that were written for another hub.

    Keyword arguments that are not options (`task_ctx=…`) reach every tool that has a parameter of that name or `**kwargs`. The
    keys of a dict that a tool returns are keys of the result. The error of a failed call begins with the tool's own words. None
    as input reaches `execute(input)` as None.

    >>> class Search:
    ...     name, description = "search", "Search the notes"
    ...     def execute(self, input, task_ctx=None): return f"{input} for {task_ctx['user']}"
    >>> hub = ToolHub()
    >>> _ = hub.register_candidate(ToolCandidate("search", "tools", Search()))
    >>> hub.call("search", "rust", task_ctx={"user": "ada"})["result"]
    'rust for ada'
    """

    # The parameters have the names and positions of those in the older hubs.
    async def execute(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, name: str, input: Any = None, llm_client: Any = None, **options: Any
    ) -> ToolResult:
        """Call a tool by its name; see `toolhub.ToolHub.execute` for the options."""
        own, passed = _split(options, llm_client)
        args = own.pop("args", input)
        planned, around = self._planned_options(EXECUTE, passed_on=passed or None, none_is_input=True, **own)
        call = _core.execute(self._core, name, args, planned, around)
        return await self._passing_on(passed, settled(call, around))

    async def execute_by_capability(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        capability: str,
        input: Any = None,
        max_parallel: int = 3,
        llm_client: Any = None,
        **options: Any,
    ) -> ToolResult:
        """Call whatever tools have a capability; see `toolhub.ToolHub.execute_by_capability` for the options."""
        check_text("capability", capability)
        own, passed = _split(options, llm_client)
        args = own.pop("args", input)
        planned, around = self._planned_options(
            EXECUTE, passed_on=passed or None, none_is_input=True, max_parallel=max_parallel, **own
        )
        call = _core.execute(self._core, capability.strip(), args, planned, around, by_capability=True)
        return await self._passing_on(passed, settled(call, around))

    call = blocking(execute, "call")
    """`execute`, blocking."""

    call_by_capability = blocking(execute_by_capability, "call_by_capability")
    """`execute_by_capability`, blocking."""

    def find_by_capability(self, capability: str) -> list[Candidate]:
        """See `toolhub.ToolHub.find_by_capability`; blanks around the word do not count."""
        check_text("capability", capability)
        return super().find_by_capability(capability.strip())

    # Not public in the older hubs, and used all the same.
    async def _call_candidate(self, cand: Any, input_data: Any, timeout: float | None = None) -> ToolResult:
        return await self.execute(cand.name, input_data, source=cand.source, timeout=timeout)

    def _should_synthesize(self, tool_name: str, capability: str | None = None, num_tools: int = 1) -> bool:
        if num_tools <= 2:
            return num_tools == 2
        return _core.tool_kind(tool_name, [capability or ""]) not in ("calculation", "time")

    def _pick_best(self, results: Mapping[int, Mapping[str, Any]], cands: Any = None) -> int | None:
        said = {at: one.get("result") for at, one in results.items() if one.get("success")}
        return next((at for at, value in said.items() if value not in (None, "", [], {})), None)

    @property
    def _candidates_by_name(self) -> dict[str, list[Candidate]]:
        return {tool.name: tool.candidates for tool in self.tools()}

    async def _passing_on(self, passed: Mapping[str, Any], call: Any) -> ToolResult:
        token = PASSED_ON.set(passed)
        try:
            result = await call
        finally:
            PASSED_ON.reset(token)
        if result.success and type(value := result.result) is dict:
            own = cast("dict[str, Any]", value)
            result.update({key: one for key, one in own.items() if key not in ("success", "_meta")})
        return _own_words_first(result)


def _extract_capabilities_from_description(description: str | None, name: str) -> list[str]:
    """The tags of a tool, as older hubs read them out of its name and description."""
    return sorted(_core.extract_capabilities(name, description or "", finer=True))


def _split(options: Mapping[str, Any], llm_client: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is for the hub, and what is for the tools."""
    own = {key: value for key, value in options.items() if key in _OPTIONS}
    passed = {key: value for key, value in options.items() if key not in _OPTIONS}
    if llm_client is not None:
        own["llm_client"] = passed["llm_client"] = llm_client
    return own, passed


def _own_words_first(result: ToolResult) -> ToolResult:
    # One visible line, as every error is shown.
    words = "" if result.exception is None else " ".join(_core.visible_text(str(result.exception)).split())
    words = "timeout" if result.kind is ErrorKind.TIMEOUT else words
    error = str(result.get("error") or "")
    if words and not result.success and not error.startswith(words):
        result["error"] = f"{words} ({error.rstrip('.')})"
    return result
