"""What one agent sees of a hub: its tools, their effects, its budget and its deadline. A sub-agent sees a part of that."""

import asyncio
import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import Candidate, kit
from ..exceptions import ErrorKind, ToolError
from ..kit import call, in_language
from ..permissions import Approve, EachApproves, Permissions
from ..result import ToolResult
from .budget import Budget, Deadline
from .plans import NONE, Step
from .profile import AgentProfile, Effects

if TYPE_CHECKING:
    from ..hub import ToolHub


class RunStop(Exception):
    """The run cannot go on: `reason` is a word, the message a sentence."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class _FoundError(Exception):
    """The tools that somebody waits for are there, so that no other server is waited for."""


class AgentView:
    """A hub as one agent sees it. `narrow` gives the view of a sub-agent, which never has more than this one.

    `tools` are names or patterns (None: all, an empty list: none), `effects` what they may change, `deadline` the seconds of
    one run. A call of a tool outside of the view is refused with `not_allowed`, one beyond the budget with `limit`; nothing is
    called then.

    >>> from toolhub import ToolHub
    >>> hub = ToolHub()
    >>> _ = hub.register(len, name="read_length"), hub.register(print, name="write_line")
    >>> view = AgentView(hub, tools=["*_*"], effects="not_acting")
    >>> view.names(), view.narrow(tools=["write_*"]).names()
    (['read_length'], [])
    """

    def __init__(
        self,
        hub: "ToolHub",
        tools: Iterable[str] | None = None,
        effects: Effects = "all",
        budget: Budget | None = None,
        deadline: float | None = None,
        approve: Approve | None = None,
        *,
        parent: "AgentView | None" = None,
        run: str | None = None,
    ) -> None:
        self.hub = hub
        self.run = run if parent is None else parent.run if run is None else run
        """The run that its calls are a part of, see `hub.resume`; that of the view around it if none was given."""
        self.budget = Budget() if budget is None else budget
        self._tools = None if tools is None else list(tools)
        self._permitted = Permissions(self._tools)
        self._effects: Effects = effects
        self._deadline = Deadline(deadline, None if parent is None else parent._deadline)
        self._approve: Approve | None = approve
        self._goes_on = self._asks_on = False
        self._parent = parent
        self._listed: tuple[int, list[str]] | None = None
        self._servers: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        hub: "ToolHub",
        profile: AgentProfile,
        approve: Approve | None = None,
        parent: "AgentView | None" = None,
        run: str | None = None,
    ) -> "AgentView":
        """The view that a profile describes; with a parent, inside of it."""
        tools = list(profile.available_tools) or None if profile.enable_tool_calling else []
        limits = (None, profile.max_calls, profile.max_tokens, profile.max_uses)
        if parent is None:
            return cls(hub, tools, profile.effects, Budget(*limits), profile.deadline, approve, run=run)
        budget = parent.budget.child(*limits)
        return parent.narrow(
            tools, profile.effects, budget=budget, deadline=profile.deadline, approve=approve
        )

    def narrow(
        self,
        tools: Iterable[str] | None = None,
        effects: Effects = "all",
        *,
        budget: Budget | None = None,
        deadline: float | None = None,
        approve: Approve | None = None,
    ) -> "AgentView":
        """A view inside this one. What is not given is inherited; `approve` is asked before the one of this view."""
        inner = self.budget.child() if budget is None else budget
        return AgentView(self.hub, tools, effects, inner, deadline, approve, parent=self)

    def start(self, seconds: float | None = None) -> None:
        """A run begins: from now on the deadline counts. `seconds`: what a paused run had left."""
        self._deadline.start(seconds)

    def finish(self) -> None:
        """A run has ended: the next one has the whole deadline again."""
        self._deadline.finish()

    def left(self) -> float | None:
        """The seconds that are left, at least 0; None without a deadline."""
        return self._deadline.left()

    async def ready(self, *tools: str) -> None:
        """Wait for the tools of servers that have not listed any yet, for a bounded time.

        Where one of `tools` is missing, until it is there, or every server has listed its tools or failed to.
        """
        servers = tuple(server.id for server in self.hub.servers())
        if servers != self._servers:
            # In a thread, where looking at the tools waits for them.
            await call(self.hub.tools)
            self._servers = servers
        if self._has(tools):
            return

        def look(id: str, error: ToolError | None) -> None:
            if self._has(tools):
                raise _FoundError

        with contextlib.suppress(_FoundError):
            # One that has failed is not tried again, and one whose list is known from before is not started for this.
            ids = [
                one.id
                for one in self.hub.servers()
                if one.state in ("connecting", "connected")
                or (one.state == "disconnected" and one.age is None)
            ]
            await self.hub.connect(ids, timeout=self.left(), progress=look)
        self.check_time()

    def _has(self, tools: Iterable[str]) -> bool:
        return all(self.hub.get(self.hub.original_name(name)) is not None for name in tools)

    def names(self) -> list[str]:
        """The names of the tools in this view."""
        tools = self.hub.tools()
        return [tool.name for tool in tools if any(self._holds(one) for one in tool.candidates)]

    def holds(self, name: str) -> bool:
        """Whether the view has a tool of this name."""
        tool = self.hub.get(name)
        return tool is not None and any(self._holds(one) for one in tool.candidates)

    def forbids(self, name: str) -> bool:
        """Whether the hub has a tool of this name and the view does not."""
        return self.hub.get(name) is not None and not self.holds(name)

    def prompt_names(self) -> list[str] | None:
        """The names for `tools=` of `hub.system_prompt`; None if the view has all."""
        return None if self.patterns() is None else self.names()

    def patterns(self) -> list[str] | None:
        """The patterns for `allowed=` of `hub.run`; None if everything is allowed."""
        levels = [one for one in self._levels() if one._tools is not None or one._effects != "all"]
        if not levels:
            return None
        if self._listed is None or self._listed[0] != self.hub.version:
            self._listed = (self.hub.version, self._patterns(levels))
        return self._listed[1]

    def _patterns(self, levels: "list[AgentView]") -> list[str]:
        (first, *more) = levels
        if not more and first._effects == "all" and first._tools is not None:
            return first._tools
        held = [one for tool in self.hub.tools() for one in tool.candidates if self._holds(one)]
        return [f"{one.server or 'native'}/{_literal(one.name)}" for one in held]

    def go_on(self, state: Mapping[str, Any] | None) -> None:
        """Go on with a paused state; None: no longer. What was denied or is still open is so for any agent.

        The store knows what was asked and answered, whatever the state says. A state that says that a person was asked is
        believed: the store may be another one.
        """
        waiting: Sequence[Mapping[str, Any]] = (state or {}).get("waiting") or ()
        self._goes_on = state is not None
        self._asks_on = any(call.get("approval") is not None for call in waiting)

    def approval(self) -> Approve | None:
        """`approve` of this view and of all above it; each of them has to approve."""
        levels = list(self._levels())
        asked = EachApproves(one._approve for one in levels if one._approve is not None)
        asks_a_person = any(None in one for one in Permissions(approve=asked).approvers)
        if not asks_a_person and any(one._asks_on for one in levels):
            asked.append("ask")
        asked.heeds_answers = any(one._goes_on for one in levels)
        return asked if asked or asked.heeds_answers else None

    async def call(self, name: str, arguments: Any) -> ToolResult:
        """Call a tool of the view by its name; `RunStop` if there is no time or budget left.

        A call that waits for a decision, or of a tool outside of the view, was not made, so it costs nothing of the budget.
        """
        self.check_time()
        if self.forbids(name):
            return await self._call(name, arguments)
        if refusal := self.budget.take_call(name):
            raise self.stop("budget", refusal)
        result = await self._call(name, arguments)
        if ended_unsent(result, ErrorKind.PAUSED):
            self.budget.give_back_call(name)
        return result

    async def _call(self, name: str, arguments: Any) -> ToolResult:
        if self.patterns() is None and self.approval() is None:
            return await self.hub.execute(name, arguments, deadline=self.left(), run=self.run)
        function = {"name": name, "arguments": json.dumps(arguments, default=str)}
        message = {
            "role": "assistant",
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        }
        outcome = await self.hub.run(
            message,
            allowed=self.patterns(),
            approve=self.approval(),
            prefer="priority",
            deadline=self.left(),
            run=self.run,
        )
        return outcome.results[0]

    def stand_ins(self, tool: str) -> list[str]:
        """The names of the harmless tools in the view that do the same as one that failed."""
        held = filter(self.holds, kit.stand_ins(self.hub, tool))
        return [name for name in held if not is_reordered(tool, name) or moves_its_verb(tool, name)]

    def is_meant(self, given: str, tool: str) -> bool:
        """Whether a name means this tool: written in another way or, if it is harmless, with its verb at the other end."""
        if is_spelling(given, tool):
            return True
        return self.safety(tool) == "harmless" and moves_its_verb(given, tool)

    def safety(self, name: str, said: str = "") -> str:
        """How safe a tool is: `harmless`, `unknown` or `may_act`.

        A missing one is harmless if its name or `said`, what it was to do, has a reading verb and neither an acting one.
        """
        tool = self.hub.get(name)
        if tool is not None:
            return tool.safety
        verbs = [kit.acting_verb(kit.whole(text)) for text in (name, said)]
        return "may_act" if any(verbs) else "harmless" if None in verbs else "unknown"

    def step_safety(self, step: Step) -> str:
        """How safe the tool of a step is; thinking is harmless."""
        return "harmless" if step.tool_type == NONE else self.safety(step.tool_type, step.description)

    def title(self, name: str) -> str | None:
        """The title of a tool, if its server gave it one."""
        tool = self.hub.get(name)
        return None if tool is None else tool.annotations.get("title")

    def stop(self, reason: str, sentence: str) -> RunStop:
        """The end of a run, in the language of the hub."""
        return RunStop(reason, self.say(sentence))

    def say(self, sentence: str) -> str:
        """A sentence in the language of the hub."""
        return in_language(sentence, self.hub.lang)

    def check_time(self) -> None:
        """Raise `RunStop` if the deadline has passed."""
        left = self.left()
        if left is not None and left <= 0:
            raise self.stop("deadline", "The run's deadline has passed.")

    def timeout(self) -> asyncio.Timeout:
        """A limit for what is awaited in it: the deadline."""
        return asyncio.timeout(self.left())

    def _levels(self) -> "Iterator[AgentView]":
        view: AgentView | None = self
        while view is not None:
            yield view
            view = view._parent

    def _holds(self, candidate: Candidate) -> bool:
        return all(one._allows(candidate) for one in self._levels())

    def _allows(self, candidate: Candidate) -> bool:
        safe = {"all": True, "not_acting": candidate.safety != "may_act"}
        return safe.get(self._effects, candidate.safety == "harmless") and self._permitted.allows(
            candidate.name, candidate.server
        )


def ended_unsent(result: ToolResult, *kinds: ErrorKind) -> bool:
    """Whether a call ended as one of these kinds before anything was sent.

    The kind alone does not tell: a tool that ran may raise the error of a call that it made itself.
    """
    return result.kind in kinds and result.meta["error"].get("outcome") == "not_sent"


def _literal(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def is_spelling(one: str, other: str) -> bool:
    """Whether two names differ only in how they are written.

    >>> is_spelling("sendMail()", "send_mail"), is_spelling("mail_send", "send_mail")
    (True, False)
    """
    words = kit.words(one)
    return bool(words) and words == kit.words(other)


def is_reordered(one: str, other: str) -> bool:
    """Whether two names have the same words in another order; `get` does not count."""
    words = _words(one)
    return words != _words(other) and set(words) == set(_words(other))


def moves_its_verb(one: str, other: str) -> bool:
    """Whether two names differ only in the end at which the verb stands, a reading one.

    Any other order may mean the contrary.

    >>> moves_its_verb("web_search", "search_web"), moves_its_verb("convert_usd_to_eur", "convert_eur_to_usd")
    (True, False)
    """
    pairs = ((_words(one), _words(other)), (_words(other), _words(one)))
    return any(a and [*a[1:], a[0]] == b and kit.acting_verb(a[0]) is None for a, b in pairs)


def _words(name: str) -> list[str]:
    return [word for word in kit.words(name) if word != "get"]
