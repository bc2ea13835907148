"""Budgets and deadlines: how much an agent may use, and how much it has used."""

import time
from collections.abc import Iterator, Mapping
from itertools import chain, repeat
from typing import Any

from ..kit import Message, check_mapping, check_whole
from ..permissions import Permissions

_USED_UP = {
    "rounds": ("The budget is used up: {} round.", "The budget is used up: {} rounds."),
    "calls": ("The budget is used up: {} call.", "The budget is used up: {} calls."),
    "tokens": ("The budget is used up: {} token.", "The budget is used up: {} tokens."),
    "uses": ("The budget is used up: {} use of {}.", "The budget is used up: {} uses of {}."),
}


def _used_up(what: str, limit: int, *of: str) -> str:
    return Message(_USED_UP[what][limit != 1], f"{limit:,}", *of)


class Budget:
    """What an agent may use in all: rounds (requests to the model), calls, tokens, and uses of each tool. None: no limit.

    The keys of `uses` are names or patterns of tools. What is used counts on over pauses and resumes, in this process and in
    another one (`state` and `restore`). The budget of a sub-agent (`child`) has limits of its own, and everything that it uses
    counts for its parent too.

    >>> budget = Budget(calls=3, uses={"send_*": 1})
    >>> budget.take_call("send_mail"), budget.take_call("read_mail")
    (None, None)
    >>> budget.take_call("send_note")
    "The budget is used up: 1 use of 'send_*'."
    >>> budget.spent
    {'rounds': 0, 'calls': 2, 'tokens': 0, 'uses': {'send_mail': 1, 'read_mail': 1}}
    """

    def __init__(
        self,
        rounds: int | None = None,
        calls: int | None = None,
        tokens: int | None = None,
        uses: Mapping[str, int] | None = None,
        *,
        parent: "Budget | None" = None,
    ) -> None:
        given = {"rounds": rounds, "calls": calls, "tokens": tokens}
        self.limits = {
            name: None if limit is None else check_whole(name, limit, 0) for name, limit in given.items()
        }
        check_mapping("uses", uses or {})
        self.uses = {tool: check_whole(f"uses[{tool!r}]", most, 0) for tool, most in (uses or {}).items()}
        self._patterns = {pattern: Permissions([pattern]) for pattern in self.uses}
        self._parent = parent
        self._spent = dict.fromkeys(given, 0)
        self._used: dict[str, int] = {}

    def child(
        self,
        rounds: int | None = None,
        calls: int | None = None,
        tokens: int | None = None,
        uses: Mapping[str, int] | None = None,
    ) -> "Budget":
        """A budget inside this one: it can be tighter, never wider."""
        return Budget(rounds, calls, tokens, uses, parent=self)

    @property
    def spent(self) -> dict[str, Any]:
        """What was used so far, as plain data."""
        return {**self._spent, "uses": dict(self._used)}

    @property
    def state(self) -> dict[str, Any]:
        """`spent`, and what each budget around this one has used; with `restore`, all of them go on elsewhere."""
        return {**self.spent, "above": [budget.spent for budget in self._levels()][1:]}

    def take_round(self) -> str | None:
        """Count a request to the model; a sentence if the budget does not allow it, and then nothing is counted."""
        refusal = self._refusal("rounds") or self._refusal("tokens")
        if refusal is None:
            self._add("rounds", 1)
        return refusal

    def take_tokens(self, tokens: int) -> None:
        """Count tokens that were used. A request that began within the budget may end beyond it; the next is refused."""
        self._add("tokens", tokens)

    def take_call(self, tool: str) -> str | None:
        """Count a call; a sentence if the budget does not allow it, and then nothing is counted."""
        refusal = self._refusal("calls") or self._overused(tool)
        if refusal is None:
            self._add("calls", 1, tool)
        return refusal

    def give_back_call(self, tool: str) -> None:
        """Count a call less: one that was taken and not made."""
        self._add("calls", -1, tool)

    def restore(self, spent: Mapping[str, Any]) -> None:
        """Go on from the `state` of a paused run. What this budget and those around it have counted is never forgotten."""
        saved: list[Mapping[str, Any]] = [spent, *(spent.get("above") or ())]
        # A budget that the state does not know has at least what was used inside of it.
        for budget, known in zip(self._levels(), chain(saved, repeat(saved[-1])), strict=False):
            for name, count in budget._spent.items():
                budget._spent[name] = max(count, check_whole(name, known.get(name) or 0, 0))
            used: Mapping[str, int] = known.get("uses") or {}
            for tool, count in used.items():
                least = check_whole(f"uses[{tool!r}]", count, 0)
                budget._used[tool] = max(budget._used.get(tool, 0), least)

    def _levels(self) -> "Iterator[Budget]":
        """This budget and those around it."""
        budget: Budget | None = self
        while budget is not None:
            yield budget
            budget = budget._parent

    def _add(self, what: str, count: int, tool: str | None = None) -> None:
        for budget in self._levels():
            budget._spent[what] += count
            if tool is not None:
                budget._used[tool] = max(0, budget._used.get(tool, 0) + count)

    def _refusal(self, what: str) -> str | None:
        for budget in self._levels():
            limit = budget.limits[what]
            if limit is not None and budget._spent[what] >= limit:
                return _used_up(what, limit)
        return None

    def _overused(self, tool: str) -> str | None:
        for budget in self._levels():
            for pattern, most in budget.uses.items():
                matches = budget._patterns[pattern]
                if not matches.may_allow(tool):
                    continue
                used = sum(count for name, count in budget._used.items() if matches.may_allow(name))
                if used >= most:
                    return _used_up("uses", most, repr(pattern))
        return None


class Deadline:
    """The seconds that a run may take, and what is left of them. With a `parent` never more than it has left.

    >>> inner = Deadline(60, Deadline(10))
    >>> inner.left(), Deadline(None).left()
    (10, None)
    """

    def __init__(self, seconds: float | None, parent: "Deadline | None" = None) -> None:
        self._seconds = seconds
        self._parent = parent
        self._ends: float | None = None
        """When the run ends that is going on; None without one, or without a limit."""
        self._running = 0

    def start(self, seconds: float | None = None) -> None:
        """A run begins: from now on its time counts, within that of the parent. `seconds`: what a paused run had left."""
        limit = _least(self._seconds, seconds, self._above())
        self._ends = None if limit is None else time.monotonic() + limit
        self._running += 1

    def finish(self) -> None:
        """A run has ended: the next one has all of the time again."""
        self._running -= 1
        if self._running == 0:
            self._ends = None

    def left(self) -> float | None:
        """The seconds that are left, at least 0; all of them while nothing runs. None without a limit."""
        own = self._seconds if self._ends is None else max(0.0, self._ends - time.monotonic())
        return _least(own, self._above())

    def _above(self) -> float | None:
        return None if self._parent is None else self._parent.left()


def _least(*limits: float | None) -> float | None:
    return min((one for one in limits if one is not None), default=None)
