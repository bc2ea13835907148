"""Whether a result can be believed: consistent with what came before, possible, and supported by what happened."""

import functools
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from .. import kit, truncate
from ..kit import readable, similarity
from ..options import Lang
from ..result import ToolResult
from ._record import Record
from .evidence import Evidence, unseen
from .facts import impossible, numbers_of

if TYPE_CHECKING:
    from ..hub import ToolHub

_SAME_TOPIC = 0.6
"""From this similarity on two texts are about the same, and different numbers in them a contradiction."""

_LONG = 20_000
"""Texts with more characters are read on a thread."""

_COST = 0.3
"""What an issue takes from the confidence."""


class Verification(Record):
    """Whether a result was verified, how sure that is (0 to 1), and what is wrong with it."""

    verified: bool
    confidence: float
    issues: list[str]


class VerificationAgent:
    """Checks results without a model.

    - Consistency: two results that say the same in other words but with other numbers contradict each other. Words are compared
      by Jaccard similarity, Chinese by its characters.
    - Logic: numbers are finite and below 1e15, dates and times exist.
    - Evidence, if records are given: numbers, dates, quotations, addresses, names and deeds ("I sent …") of the result are in
      them, and states ("is running"), comparisons and pairs of things are not told otherwise.
      An empty list says that nothing was called, None that nothing is known about it.

    `lang` is the language of the issues. With a `hub` and the name of a `run`, the ledger of the run is evidence too, with and
    without records: its calls that are not among these, such as those before a pause.

    >>> import asyncio
    >>> asyncio.run(VerificationAgent().verify_result("It happened on 2023-02-30."))
    {'verified': False, 'confidence': 0.7, 'issues': ['The date 2023-02-30 does not exist.']}
    """

    def __init__(self, *, lang: Lang = "en", hub: "ToolHub | None" = None, run: str | None = None) -> None:
        self._lang: Lang = lang
        self._hub = hub
        self._run = run

    async def verify_result(
        self,
        result: Any,
        earlier: Iterable[Any] = (),
        *,
        evidence: Iterable[Any] | None = None,
        question: str = "",
    ) -> Verification:
        """Check a result: a text, a value, the result of a call or of a step.

        `earlier` are results before it. `evidence` are the records of what happened, such as results of calls, steps, or rows
        of the ledger: mappings with `tool`, `arguments`, `result`, `success` or `state`. `question` counts as known.
        """
        records = None if evidence is None else list(evidence)
        # What a tool has answered is itself what happened; it is looked up only in records that are given.
        claims = records is not None or not _is_of_a_call(result)
        if claims and self._hub is not None and self._run is not None:
            records = [] if records is None else records
            # On a thread, because it waits for the store. A run may have any number of rows, and all of them happened.
            rows = functools.partial(self._hub.ledger, self._run, limit=sys.maxsize)
            records += unseen(records, await kit.call(rows))
        return await self._verified(result, list(earlier), records, question)

    async def _verified(
        self, result: Any, earlier: list[Any], evidence: list[Any] | None, question: str
    ) -> Verification:
        def check() -> Verification:
            return self.verify(result, earlier, evidence=evidence, question=question)

        # Reading long texts takes a while, in which the loop goes on.
        is_long = any(_length(one) > _LONG for one in (result, *earlier, *(evidence or ())))
        return await kit.call(check) if is_long else check()

    def verify_result_sync(
        self,
        result: Any,
        earlier: Iterable[Any] = (),
        *,
        evidence: Iterable[Any] | None = None,
        question: str = "",
    ) -> Verification:
        """`verify_result`, blocking."""
        return kit.run(self.verify_result(result, earlier, evidence=evidence, question=question))

    def verify(
        self, result: Any, earlier: Iterable[Any], *, evidence: Iterable[Any] | None, question: str
    ) -> Verification:
        """`verify_result` for code that is not async: nothing here waits."""
        text, about, error = _read(result)
        before = [_read(one)[:2] for one in earlier]
        issues: list[str] = []
        if error is not None:
            issues.append(f"The result is an error: {error}")
        elif not text.strip():
            issues.append("The result is empty.")
        issues += dict.fromkeys(impossible(text))
        issues += dict.fromkeys(_contradictions(text, about, before))
        if evidence is not None:
            issues += dict.fromkeys(Evidence(evidence, question).unsupported(text))
        checked = _verification([kit.in_language(issue, self._lang) for issue in issues])
        if not issues and before:
            # Nothing in common with what came before is no mistake, but no support either.
            nearest = max(similarity(_plain(text), _plain(other)) for other, _ in before)
            checked["confidence"] = round(0.8 + 0.2 * nearest, 3)
        return checked


def _is_of_a_call(result: Any) -> bool:
    """Whether a result is what a tool has answered, and not what somebody says."""
    if isinstance(result, ToolResult):
        return True
    return isinstance(result, Mapping) and cast("Mapping[str, Any]", result).get("tool") is not None


def _length(one: Any) -> int:
    """How long a result or a record is, at least: only its texts count."""
    if isinstance(one, Mapping):
        return max(
            (len(value) for value in cast("Mapping[Any, Any]", one).values() if isinstance(value, str)),
            default=0,
        )
    return len(one) if isinstance(one, str) else 0


def _verification(issues: list[str]) -> Verification:
    confidence = max(0.0, 1.0 - _COST * len(issues))
    return Verification(verified=not issues, confidence=round(confidence, 3), issues=issues)


def _read(result: Any) -> tuple[str, str, str | None]:
    """The text of a result, what it is about (empty if that is not known), and its error."""
    if isinstance(result, ToolResult):
        return result.text if result.success else "", "", result.error
    if isinstance(result, Mapping) and "success" in result:
        given = cast("Mapping[str, Any]", result)
        success = bool(given["success"])
        error = None if success else readable(given.get("error") or "the call failed")
        return (
            readable(given.get("result") or "") if success else "",
            str(given.get("description") or ""),
            error,
        )
    return readable(result) if result is not None else "", "", None


def _contradictions(text: str, about: str, earlier: list[tuple[str, str]]) -> Iterable[str]:
    numbers = {number for number, _ in numbers_of(text)}
    for other, subject in earlier:
        known = {number for number, _ in numbers_of(other)}
        if not numbers or not known or numbers & known:
            continue
        known_task = bool(about and subject)
        same_task = not known_task or similarity(about, subject) >= _SAME_TOPIC
        if not known_task and not kit.words(_wordy(text)):
            continue  # a bare number may be about anything
        if same_task and similarity(_wordy(text), _wordy(other)) >= _SAME_TOPIC:
            yield f"The result contradicts an earlier one: {truncate(other, 120).text!r}"


def _wordy(text: str) -> str:
    """A text without its numbers."""
    return "".join(c for c in _plain(text) if not c.isdigit())


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
