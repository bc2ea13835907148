"""The loop of a chat agent: model, calls, results, until there is an answer."""

from collections.abc import Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from .. import ParsedCall, kit
from ..exceptions import ErrorKind
from ..kit import check_whole
from ..options import Model
from ..parsing import spelt_out
from ..permissions import Approve
from ..result import ToolResult
from .chat_state import ChatState, HeldResults, same_key
from .events import AgentAnswer, CallFinished, CallProposed, Verified
from .model import AgentModel, Message, said
from .profile import AgentProfile, AgentPrompts
from .run_log import AgentRun, AnsweringAgent, Waiting
from .verification import verified_in_time
from .view import AgentView, RunStop, ended_unsent

if TYPE_CHECKING:
    from ..hub import RunOutcome, ToolHub

_SHOW_ALL = 30
"""Up to this number of tools the prompt has all of them; of more, the ten that fit the first question."""


class ChatLoop(AnsweringAgent):
    """Talks with a model that calls tools: system prompt, model, calls, results back, until an answer without calls.

    `llm` gets one prompt with the whole conversation, or messages if it has an async method `chat` (`toolhub.llm.OpenAI`).
    `chat` is a function of your own that gets the messages and returns the model's message: a text, or a message of the
    OpenAI, Anthropic or Gemini API. The conversation grows only at its end, so that a provider's prompt cache keeps it.
    Questions that follow belong to the same conversation (`messages`).

    A loop ends after `max_rounds` of its profile, when the budget or the deadline is used up, after two empty answers, and
    when the model makes the same call more than `max_repeats` times in a row, or up to four calls in a circle with the same
    results.

    >>> import asyncio
    >>> from toolhub import ToolHub
    >>> hub = ToolHub()
    >>> _ = hub.register(len, name="count_letters", description="Count letters")
    >>> script = iter(['<tool_call>{"name": "count_letters", "arguments": {"obj": "rust"}}</tool_call>', "It has 4."])
    >>> answer = asyncio.run(ChatLoop(hub, lambda prompt: next(script)).answer("How many letters has rust?"))
    >>> answer.text, answer.spent["calls"], answer.verification["verified"]
    ('It has 4.', 1, True)
    """

    _kind = "ChatLoop"

    def __init__(
        self,
        hub: "ToolHub",
        llm: Model | None = None,
        *,
        chat: Callable[[list[Message]], Any] | None = None,
        profile: "AgentProfile | Mapping[str, Any] | str | PathLike[str] | None" = None,
        approve: Approve | None = None,
        view: AgentView | None = None,
        run: str | None = None,
        prompts: AgentPrompts | None = None,
        verifier: Any = None,
        max_repeats: int = 3,
    ) -> None:
        if llm is None and chat is None:
            raise TypeError("ChatLoop needs a model: llm or chat")
        super().__init__(hub, profile, approve, view, run, prompts, verifier)
        self._models = (llm, chat)
        self._model = AgentModel(self.view, llm, chat)
        self._max_repeats = check_whole("max_repeats", max_repeats, 1)
        self.messages: list[Message] = []
        self._evidence: list[dict[str, Any]] = []
        self._format = "auto"

    def _inside(self, llm: Model | None, **parts: Any) -> "ChatLoop":
        model, chat = self._models if llm is None else (llm, None)
        return ChatLoop(self.view.hub, model, chat=chat, **parts)

    def _begin(self, question: str, state: Mapping[str, Any] | None) -> AgentRun:
        run = super()._begin(question, state)
        if state is not None:
            self.messages = [dict(one) for one in state["messages"]]
            self._format = state.get("format") or "auto"
        return run

    async def _work(self, run: AgentRun, state: Mapping[str, Any] | None) -> AgentAnswer:
        talk = ChatState(state)
        if state is None:
            # What was called for earlier questions of the conversation counts too.
            talk.evidence = self._evidence
        self._evidence = talk.evidence
        waiting: list[Waiting] = []
        try:
            await self.view.ready()
            if state is None:
                self._ask(run.question)
            while True:
                if waiting or not await run.may_go_on():
                    kept = {"kind": self._kind, "messages": self.messages, "format": self._format}
                    return run.paused({**kept, **talk.state()}, waiting)
                if talk.held is None and talk.rounds >= self.profile.max_rounds:
                    raise self.view.stop(
                        "rounds", kit.Message("There is no answer after {} rounds.", talk.rounds)
                    )
                text = await self._round(run, talk)
                if isinstance(text, str):
                    return await self._conclude(run, talk, text)
                waiting = text
        except RunStop as stop:
            text = talk.text or str(stop)
            if stop.reason == "refused":
                text = str(stop)
                self._say(text)
            return run.end(text, False, stop.reason, [str(stop)], str(stop), verification=None)
        finally:
            self._finish(run)

    def _ask(self, question: str) -> None:
        if not self.messages:
            base = self._prompts.text("chat", profile=self.profile.prompt).strip()
            names = self.view.prompt_names()
            many = (len(self.view.hub) if names is None else len(names)) > _SHOW_ALL
            has_tools = names is None or bool(names)
            prompt = self.view.hub.system_prompt(
                base, query=question if many else None, tools=names, lang=self._prompts.lang
            )
            self.messages.append({"role": "system", "content": prompt if has_tools else base})
        self.messages.append({"role": "user", "content": question})

    async def _round(self, run: AgentRun, talk: ChatState) -> "str | list[Waiting]":
        """One request to the model and the calls in its answer: its text if it has none, or the calls that wait."""
        if talk.held is not None:
            return await self._carry_out(run, talk, talk.held["message"])
        message = await self._model.chat(self.messages)
        talk.rounds += 1
        if not isinstance(message, (str, dict)):
            message = spelt_out(message)
        if not message or (isinstance(message, str) and not message.strip()):
            return self._ask_again(talk)
        if not self.profile.enable_tool_calling:
            text = said(message)
            self._say(message)
            return text if text.strip() else self._ask_again(talk)
        return await self._carry_out(run, talk, message)

    async def _carry_out(self, run: AgentRun, talk: ChatState, message: Any) -> "str | list[Waiting]":
        """The calls of a message. If some wait for a decision, the message is held, and the others are not made again."""
        before = HeldResults(talk.held)
        is_new, talk.held = talk.held is None, None

        def admit(call: ParsedCall) -> ToolResult | None:
            earlier = before.take(call)
            return self._admit(call, talk, is_new) if earlier is None else earlier

        outcome = await self.view.hub.run(
            message,
            allowed=self.view.patterns(),
            approve=self.view.approval(),
            admit=admit,
            format=self._format,
            limit=self.profile.max_tool_result_length,
            deadline=self.view.left(),
            run=self.view.run,
        )
        # The model goes on in its own dialect: others may only be quoted.
        self._format = outcome.format or self._format
        talk.text = outcome.text.strip() or talk.text
        self._report(run, talk, outcome, before.places)
        if talk.stop is None and (waiting := talk.hold(message, outcome)):
            return waiting
        talk.held = None
        self._say(message)
        if not outcome:
            return outcome.text if outcome.text.strip() else self._ask_again(talk)
        self.messages += outcome.messages
        if talk.stop is not None:
            raise talk.stop
        return []

    def _ask_again(self, talk: ChatState) -> "list[Waiting]":
        talk.empty += 1
        if talk.empty > 1:
            raise self.view.stop("empty", "The model answered nothing, twice.")
        self.messages.append({"role": "user", "content": self._prompts.text("empty")})
        return []

    def _say(self, message: Any) -> None:
        turn = {"role": "assistant", "content": message} if isinstance(message, str) else message
        self.messages.append(turn)

    def _admit(self, call: ParsedCall, talk: ChatState, is_new: bool) -> ToolResult | None:
        """The result of a call that is not made: for lack of time or budget, or because it was made again and again.

        A call that has waited is not new: it was counted when the model made it.
        """
        if call.error is not None:
            return None
        name = self.view.hub.original_name(call.name)
        if (left := self.view.left()) is not None and left <= 0:
            return talk.refuse(name, self.view.stop("deadline", "The run's deadline has passed."))
        if is_new and (refusal := self._repeated(name, call, talk)) is not None:
            return refusal
        refusal = self.view.budget.take_call(name)
        if refusal is None:
            return None
        talk.refused += 1
        if talk.refused > self._max_repeats:
            return talk.refuse(name, self.view.stop("budget", refusal))
        return kit.failed_result(name, "limit", self.view.say(refusal))

    def _repeated(self, name: str, call: ParsedCall, talk: ChatState) -> ToolResult | None:
        """The result of a call that was made again and again, alone or in a circle with others; the run ends at last."""
        key = same_key(name, call)
        talk.repeats = talk.repeats + 1 if key == talk.last else 1
        talk.last = key
        rounds, length = talk.made.circle(key)
        talk.made.add(key)
        if talk.repeats > self._max_repeats + 1:
            why = kit.Message("The model made the same call {} times in a row: {}.", talk.repeats, name)
            return talk.refuse(name, self.view.stop("repeated", why))
        if rounds > self._max_repeats:
            said_so = "The model made the same {} calls in a circle, {} times with the same results: {}."
            why = kit.Message(said_so, length, rounds, name)
            return talk.refuse(name, self.view.stop("repeated", why))
        if max(talk.repeats - 1, rounds) >= self._max_repeats:
            talk.made.refused()
            return kit.failed_result(name, "limit", self._prompts.text("repeated", call=name))
        return None

    def _report(self, run: AgentRun, talk: ChatState, outcome: "RunOutcome", told: set[int]) -> None:
        """Report the calls that were made; those in `told` were reported before."""
        # What a pause held up is made, and reported, when the run goes on.
        is_held = any(ended_unsent(result, ErrorKind.PAUSED) for result in outcome.results)
        for place, (call, result) in enumerate(zip(outcome.calls, outcome.results, strict=True)):
            is_unmade = ended_unsent(result, ErrorKind.PAUSED, ErrorKind.NOT_SENT, ErrorKind.PROPOSED)
            if is_unmade:
                self.view.budget.give_back_call(self.view.hub.original_name(call.name))
            if (is_unmade and is_held) or place in told:
                continue
            if ended_unsent(result, ErrorKind.PROPOSED):
                shown = {"certainty": call.certainty, "sentence": call.sentence}
                run.emit(CallProposed(id=call.id, tool=call.name, arguments=call.arguments, **shown))
                continue
            name = self.view.hub.original_name(call.name)
            talk.made.ended(same_key(name, call), result.text)
            record = {"tool": call.name, "arguments": call.arguments, "success": result.success}
            text = result.text if result.success else None
            more = {"title": self.view.title(name), "result": text, "error": result.error, "run": run.id}
            refused = ended_unsent(result, ErrorKind.INVALID_ARGUMENTS, ErrorKind.NOT_FOUND)
            talk.evidence.append({**record, **more, "refused": refused})
            run.emit(CallFinished(id=call.id, **record, text=result.text, error=result.error))

    async def _conclude(self, run: AgentRun, talk: ChatState, text: str) -> AgentAnswer:
        known = "\n".join(str(one.get("content", "")) for one in self.messages if one.get("role") == "user")
        undone = [
            self.view.say(kit.Message("The call of {} did not succeed: {}", repr(one["tool"]), one["error"]))
            for one in talk.undone(run.id, self.view)
        ]
        checked = await verified_in_time(
            self.view, self._verifier.verify_result(text, evidence=talk.evidence, question=known), undone
        )
        run.emit(Verified(**checked))
        reason = "failed" if undone else "answered"
        return run.end(text, not undone, reason, undone, verification=dict(checked))
