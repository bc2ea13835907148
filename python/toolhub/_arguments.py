"""Arguments that a validator refuses: what can be left out, and what is said about the rest."""

from typing import Any


def without_nulls(error: BaseException, given: dict[str, Any], described: Any) -> dict[str, Any] | None:
    """The arguments without the nulls that do not fit and may be left out; None when there is no such null."""
    from pydantic_core import ValidationError

    if not isinstance(error, ValidationError):
        return None
    schema = described.parameters
    optional = schema.get("properties", {}).keys() - set(schema.get("required", ()))
    wrong = {line["loc"][0] for line in error.errors(include_url=False, include_context=False) if line["loc"]}
    nulls = {name for name, value in given.items() if value is None and name in wrong & optional}
    return {name: value for name, value in given.items() if name not in nulls} if nulls else None


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
