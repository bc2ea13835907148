"""What a run of a chat loop counts; a pause keeps it."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from .. import ParsedCall
from ..exceptions import ErrorKind
from ..kit import failed_result, readable
from ..result import ToolResult
from .run_log import Waiting, waiting_call
from .view import AgentView, RunStop, ended_unsent, is_spelling

if TYPE_CHECKING:
    from ..hub import RunOutcome


def same_key(name: str, call: ParsedCall) -> str:
    """What makes two calls the same: the tool and the arguments."""
    return f"{name} {json.dumps(call.arguments, sort_keys=True, default=str)}"


def call_key(call: ParsedCall) -> str:
    """What tells the calls of one message apart; equal ones are interchangeable."""
    return json.dumps([call.id, call.name, call.arguments], sort_keys=True, default=str)


def _plain(result: ToolResult) -> dict[str, Any]:
    """A result as JSON; what is none is kept as it reads."""
    return {str(name): _plain_value(value) for name, value in result.items()}


def _plain_value(value: Any) -> Any:
    try:
        return json.loads(json.dumps(value, default=readable, skipkeys=True))
    except (ValueError, RecursionError):
        return readable(value)  # it contains itself, or is nested too deeply


class HeldResults:
    """The results of calls that were made before a message was held: each takes the place of its call once."""

    def __init__(self, held: Mapping[str, Any] | None) -> None:
        done: list[dict[str, Any]] = [] if held is None else held["done"]
        self.places = {one["place"] for one in done}
        self._results = [(one["key"], ToolResult(one["result"])) for one in done]

    def take(self, call: ParsedCall) -> ToolResult | None:
        """The result of this call, if it was made."""
        key = call_key(call)
        for at, (known, result) in enumerate(self._results):
            if known == key:
                del self._results[at]
                return result
        return None


class ChatState:
    """What a run counts; a pause keeps it."""

    def __init__(self, state: Mapping[str, Any] | None) -> None:
        kept = cast("Mapping[str, Any]", {} if state is None else state.get("talk") or {})
        self.rounds: int = kept.get("rounds") or 0
        self.empty: int = kept.get("empty") or 0
        self.refused: int = kept.get("refused") or 0
        self.repeats: int = kept.get("repeats") or 0
        self.last: str = kept.get("last") or ""
        self.made = RepeatedCalls(kept.get("made") or ())
        self.text: str = kept.get("text") or ""
        self.evidence: list[dict[str, Any]] = list(kept.get("evidence") or ())
        self.held: dict[str, Any] | None = kept.get("held")
        """A message whose calls wait for a decision, with the results of those that do not."""
        self.stop: RunStop | None = None

    def refuse(self, name: str, stop: RunStop) -> ToolResult:
        """The result of a call after which the run ends; the other calls of the message still get their results."""
        self.stop = stop
        return failed_result(name, "limit", str(stop))

    def hold(self, message: Any, outcome: "RunOutcome") -> "list[Waiting]":
        """Keep a message if some of its calls wait for a decision; these calls."""
        made = list(enumerate(zip(outcome.calls, outcome.results, strict=True)))
        waiting = [
            waiting_call(call.name, result)
            for _, (call, result) in made
            if ended_unsent(result, ErrorKind.PAUSED)
        ]
        if waiting:
            done = [
                {"place": place, "key": call_key(call), "result": _plain(result)}
                for place, (call, result) in made
                if not ended_unsent(result, ErrorKind.PAUSED, ErrorKind.NOT_SENT)
            ]
            self.held = {"message": message, "done": done}
        return waiting

    def undone(self, run: str, view: AgentView) -> Iterator[dict[str, Any]]:
        """The calls of a run that may act, did not succeed, and were not made good.

        A call with equal arguments makes one good, before it or after it: it is the same deed. So does a later call that
        corrects one that was refused before anything was sent. Another call of the same tool is another deed.
        """
        calls = [one for one in self.evidence if one.get("run") == run and isinstance(one.get("tool"), str)]
        for at, one in enumerate(calls):
            name = view.hub.original_name(one["tool"])
            if one.get("success") is True or view.safety(name) == "harmless":
                continue
            given = one.get("arguments")
            is_missing, acts = view.hub.get(name) is None, view.safety(name) == "may_act"
            good = [
                (place > at, other.get("arguments"))
                for place, other in enumerate(calls)
                if other.get("success") is True
                # A call that cannot be read has no name. One that does not exist may have been misspelt or, if its name
                # does not say that it acts, be called something else.
                if not name
                or other["tool"] == one["tool"]
                or (is_missing and is_spelling(name, other["tool"]))
                or (is_missing and not acts and other.get("arguments") == given)
            ]
            if not any(
                given == made or (later and one.get("refused") is True and _corrects(made, given))
                for later, made in good
            ):
                yield one

    def state(self) -> dict[str, Any]:
        """The counts as plain data."""
        counts = {name: value for name, value in vars(self).items() if name != "stop"}
        return {"talk": {**counts, "made": self.made.entries}}


def _corrects(made: Any, refused: Any) -> bool:
    """Whether arguments may be others that were refused, corrected: of several, one has kept its value."""
    values = list(cast("Mapping[str, Any]", refused or {}).values())
    return len(values) < 2 or any(one in cast("Mapping[str, Any]", made or {}).values() for one in values)


_LONGEST = 4
"""The number of calls in the longest circle that is recognised."""

_KEPT = 100
"""The number of the last calls that are remembered."""


class RepeatedCalls:
    """The last calls of a run, and how often they went in a circle. A polling loop is none, as long as its results change.

    >>> calls = RepeatedCalls()
    >>> for call in "ABABAB":
    ...     calls.add(call)
    >>> calls.circle("A"), calls.circle("C")
    ((2, 2), (0, 0))
    """

    def __init__(self, kept: Iterable[Any] = ()) -> None:
        self.entries: list[list[str | None]] = [list(entry) for entry in kept]

    def add(self, call: str) -> None:
        """A call is made; its result is not known yet."""
        self.entries.append([call, None])
        del self.entries[:-_KEPT]

    def refused(self) -> None:
        """The last call is not made, so it has no result to compare."""
        self.entries[-1][1] = ""

    def ended(self, call: str, result: str) -> None:
        """The first call of this kind without a result has this one."""
        for entry in self.entries:
            if entry == [call, None]:
                entry[1] = hashlib.sha256(result.encode("utf-8", "replace")).hexdigest()[:16]
                return

    def circle(self, call: str) -> tuple[int, int]:
        """How often the calls before this one repeat themselves with it, and how many they are; (0, 0) if they do not."""
        row = [*self.entries, [call, None]]
        best = (0, 0)
        for length in range(2, _LONGEST + 1):
            if len({entry[0] for entry in row[-length:]}) > 1:
                rounds = _alike(row, length) // length
                best = max(best, (rounds, length)) if rounds else best
        return best


def _alike(row: list[list[str | None]], length: int) -> int:
    """How many of the last calls are those that were made `length` calls before them, with the same results."""
    for count, at in enumerate(range(len(row) - 1, length - 1, -1)):
        (call, result), (before, known) = row[at], row[at - length]
        if call != before or (result and known and result != known):
            return count
    return max(0, len(row) - length)
