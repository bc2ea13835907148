"""Wording of arguments that do not fit."""

from typing import Any


def explain(tool: str, error: BaseException, described: Any) -> str:
    """One sentence for what a validator raised.

    >>> explain("add", ValueError("a must be even"), None)
    "Invalid arguments for 'add': a must be even"
    """
    from pydantic_core import ValidationError

    if isinstance(error, ValidationError):
        from ._signature import summarize, violations

        return summarize(tool, violations(error, described))
    return f"Invalid arguments for '{tool}': {error}"
