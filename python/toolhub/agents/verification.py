"""Whether a mistake is found in a result: against what came before, against what is possible, and against what happened."""

import functools
import sys
import threading
from collections.abc import Awaitable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from .. import kit, truncate
from ..kit import Message, check_llm, json_in, readable, similarity
from ..options import Lang, Model
from ..result import ToolResult
from .events import Record
from .evidence import ANSWER, Evidence, unseen
from .facts import collapsed, impossible, numbers_of
from .plans import reasoned_away
from .profile import AgentPrompts
from .view import AgentView

if TYPE_CHECKING:
    from ..hub import ToolHub

Values = Iterable[Any]

_SAME_TOPIC = 0.6
"""From this similarity on two texts are about the same, and different numbers in them a contradiction."""

_DOUBTED = 0.3
"""The confidence of a result with one mistake; with more of them it is less."""

_TOLD = 20_000
"""Characters of the evidence that a model gets."""


class Verification(Record):
    """Whether no mistake was found in a result, how sure that is (0 to 1), and the mistakes.

    `verified` never says more than that.
    """

    verified: bool
    confidence: float
    issues: list[str]

    @property
    def judged_by(self) -> str:
        """`model` if a model had its say too, otherwise `rules`."""
        return self.get("judged_by", "rules")


class VerificationAgent:
    """Looks for mistakes in results.

    - Consistency: two results that say the same in other words but with other numbers contradict each other. Words are compared
      by Jaccard similarity, Chinese by its characters.
    - Logic: numbers are finite and below 1e15, dates and times exist.
    - Evidence, if records are given: numbers (also calculated, rounded or in another unit), dates and times, quotations, and
      addresses of the result are in them, and what it says was done ("I sent …", "已发送") has a successful call of a tool with
      that verb. Each of these checks is right or silent; states, comparisons and relations in prose are not checked.
      An empty list says that nothing was called, None that nothing is known about it.
    - With a `model`, results with evidence in which nothing of this was found are judged by it, and `judged_by` says so.

    `lang` is the language of the issues. With a `hub` and the name of a `run`, the ledger of the run is evidence too, with and
    without records: its calls that are not among these, such as those before a pause.

    >>> import asyncio
    >>> asyncio.run(VerificationAgent().verify_result("It happened on 2023-02-30."))
    {'verified': False, 'confidence': 0.3, 'issues': ['The date 2023-02-30 does not exist.']}
    """

    def __init__(
        self,
        *,
        lang: Lang = "en",
        hub: "ToolHub | None" = None,
        run: str | None = None,
        model: Model | None = None,
        prompts: AgentPrompts | None = None,
    ) -> None:
        if model is not None:
            check_llm(model)
        self._lang: Lang = lang
        self._hub, self._run, self._model = hub, run, model
        self._prompts = AgentPrompts(lang=lang) if prompts is None else prompts

    async def verify_result(
        self, result: Any, earlier: Values = (), *, evidence: Values | None = None, question: str = ""
    ) -> Verification:
        """Check a result: a text, a value, the result of a call or of a step.

        `earlier` are results before it. `evidence` are the records of what happened, such as results of calls, steps, or rows
        of the ledger: mappings with `tool`, `arguments`, `result`, `success` or `state`. `question` counts as known. The loop
        goes on meanwhile; cancelling ends the work.
        """
        records = None if evidence is None else list(evidence)
        # What a tool has answered is itself what happened; it is looked up only in records that are given.
        given = cast("Mapping[str, Any]", result if isinstance(result, Mapping) else {})
        is_of_a_call = isinstance(result, ToolResult) or given.get("tool") is not None
        if (records is not None or not is_of_a_call) and self._hub is not None and self._run is not None:
            records = [] if records is None else records
            # On a thread, because it waits for the store. A run may have any number of rows, and all of them happened.
            rows = functools.partial(self._hub.ledger, self._run, limit=sys.maxsize)
            records += unseen(records, await kit.call(rows))
        cancelled = threading.Event()

        def go_on() -> None:
            if cancelled.is_set():
                raise TimeoutError

        try:
            checked, known = await kit.call(self._checked, result, list(earlier), records, question, go_on)
        finally:
            cancelled.set()
        if self._model is not None and checked.verified and records is not None:
            return await self._judged(checked, self._model, _read(result)[0], known, question)
        return checked

    verify_result_sync = kit.blocking(verify_result)
    """`verify_result`, blocking."""

    def _checked(
        self, result: Any, earlier: list[Any], records: Iterable[Any] | None, question: str, go_on: Any
    ) -> tuple[Verification, str]:
        """What the rules find, and what is known."""
        text, about, error = _read(result)
        text = collapsed(text, ANSWER)
        before = [_read(one)[:2] for one in earlier]
        issues: list[str] = []
        if error is not None:
            issues.append(Message("The result is an error: {}", error))
        elif not text.strip():
            issues.append("The result is empty.")
        issues += dict.fromkeys(
            Message("The model answered step {} in place of a tool: {}", one.get("id"), why)
            for one in (*earlier, result)
            if (why := reasoned_away(one)) is not None
        )
        evidence = None if records is None else Evidence(records, question, go_on=go_on)
        known = "" if evidence is None else evidence.text
        issues += dict.fromkeys(impossible(text, known))
        issues += dict.fromkeys(_contradictions(text, about, before))
        if evidence is not None:
            issues += dict.fromkeys(evidence.unsupported(text))
        checked = self._doubted(*issues)
        if not issues and before:
            # Nothing in common with what came before is not a mistake, but it does not support the result either.
            nearest = max(similarity(text, other) for other, _ in before)
            checked["confidence"] = round(0.8 + 0.2 * nearest, 3)
        return checked, known

    def _doubted(self, *issues: str) -> Verification:
        """The verification of a result with these mistakes, or with none."""
        said = [kit.in_language(issue, self._lang) for issue in issues]
        confidence = round(_DOUBTED / len(said), 3) if said else 1.0
        return Verification(verified=not said, confidence=confidence, issues=said)

    async def _judged(
        self, checked: Verification, model: Model, text: str, known: str, question: str
    ) -> Verification:
        """What a model says of a result in which the rules found nothing. An answer that is not a judgement changes nothing."""
        prompt = self._prompts.text(
            "verify", question=question[:_TOLD] or "-", records=known[:_TOLD] or "-", answer=text[:_TOLD]
        )
        for read in reversed(json_in(await kit.ask(model, prompt))):
            value = cast("Mapping[str, Any]", read.value if isinstance(read.value, Mapping) else {})
            found = value.get("mistakes")
            if isinstance(found, list):
                told = (readable(one)[:500] for one in cast("list[Any]", found)[:10])
                said = [Message("A model found a mistake: {}", one) for one in told]
                judged = self._doubted(*said) if said else checked
                return Verification({**judged, "judged_by": "model"})
        return checked


async def verified_in_time(
    view: AgentView, checking: Awaitable[Verification], undone: Iterable[str] = ()
) -> Verification:
    """A verification within what is left of the deadline; a result that was not checked by then is not verified.

    Neither is one after `undone`: sentences about what was to change something and failed, whatever the result says.
    """
    limit = view.timeout()
    doubted = VerificationAgent(lang=view.hub.lang)._doubted
    try:
        async with limit:
            checked = await checking
    except TimeoutError:
        if not limit.expired():
            raise
        checked = doubted("The answer was not checked, because no time was left.")
    more = list(undone)
    return Verification({**checked, **doubted(*more, *checked["issues"])}) if more else checked


def _read(result: Any) -> tuple[str, str, str | None]:
    """The text of a result, what it is about (empty if that is not known), and its error."""
    if isinstance(result, ToolResult):
        return result.text if result.success else "", "", result.error
    if isinstance(result, Mapping) and "success" in result:
        given = cast("Mapping[str, Any]", result)
        about = str(given.get("description") or "")
        if given["success"]:
            return readable(given.get("result") or ""), about, None
        return "", about, readable(given.get("error") or "the call failed")
    return readable(result) if result is not None else "", "", None


def _contradictions(text: str, about: str, earlier: list[tuple[str, str]]) -> Iterable[str]:
    numbers = {number for number, _ in numbers_of(text)} if earlier else set[float]()
    for other, subject in earlier:
        other = collapsed(other, ANSWER)
        known = {number for number, _ in numbers_of(other)}
        if not numbers or not known or numbers & known:
            continue
        known_task = bool(about and subject)
        same_task = not known_task or similarity(about, subject) >= _SAME_TOPIC
        # A bare number may be about anything.
        is_bare = not known_task and not kit.words(_wordy(text))
        if same_task and not is_bare and similarity(_wordy(text), _wordy(other)) >= _SAME_TOPIC:
            yield Message("The result contradicts an earlier one: {}", repr(truncate(other, 120).text))


def _wordy(text: str) -> str:
    """A text without its numbers."""
    return "".join(c for c in text if not c.isdigit())
