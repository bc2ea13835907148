"""Budgets: how much an agent may use, and how much it has used."""

from collections.abc import Mapping
from typing import Any

from ..kit import check_mapping, check_whole
from ..permissions import Permissions


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
            self._add("calls", 1)
            budget: Budget | None = self
            while budget is not None:
                budget._used[tool] = budget._used.get(tool, 0) + 1
                budget = budget._parent
        return refusal

    def give_back_call(self, tool: str) -> None:
        """Count a call less: one that was taken and not made."""
        self._add("calls", -1)
        budget: Budget | None = self
        while budget is not None:
            budget._used[tool] = max(0, budget._used.get(tool, 0) - 1)
            budget = budget._parent

    def restore(self, spent: Mapping[str, Any]) -> None:
        """Go on from what a paused run had used. What this budget has counted itself is never forgotten."""
        for name, count in self._spent.items():
            self._spent[name] = max(count, check_whole(name, spent.get(name) or 0, 0))
        used: Mapping[str, int] = spent.get("uses") or {}
        for tool, count in used.items():
            self._used[tool] = max(self._used.get(tool, 0), check_whole(f"uses[{tool!r}]", count, 0))

    def _add(self, what: str, count: int) -> None:
        budget: Budget | None = self
        while budget is not None:
            budget._spent[what] += count
            budget = budget._parent

    def _refusal(self, what: str) -> str | None:
        budget: Budget | None = self
        while budget is not None:
            limit = budget.limits[what]
            if limit is not None and budget._spent[what] >= limit:
                return f"The budget is used up: {limit:,} {what if limit != 1 else what[:-1]}."
            budget = budget._parent
        return None

    def _overused(self, tool: str) -> str | None:
        budget: Budget | None = self
        while budget is not None:
            for pattern, most in budget.uses.items():
                matches = budget._patterns[pattern]
                if not matches.may_allow(tool):
                    continue
                used = sum(count for name, count in budget._used.items() if matches.may_allow(name))
                if used >= most:
                    if most == 1:
                        return f"The budget is used up: 1 use of {pattern!r}."
                    return f"The budget is used up: {most:,} uses of {pattern!r}."
            budget = budget._parent
        return None
