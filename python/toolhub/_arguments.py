"""Arguments that a validator refuses: what can be left out, and what is said about the rest."""

from typing import Any, cast

Place = tuple[int | str, ...]


def without_nulls(error: BaseException, given: dict[str, Any], described: Any) -> dict[str, Any] | None:
    """The arguments without the nulls that do not fit and may be left out; None when there is no such null."""
    from pydantic_core import ValidationError

    if not isinstance(error, ValidationError):
        return None
    schema = described.parameters
    optional = schema.get("properties", {}).keys() - set(schema.get("required", ()))
    lines = error.errors(include_url=False, include_context=False)
    nulls = {place for line in lines if (place := _place_of_null(given, line["loc"])) is not None}
    # What is inside of an argument may be required: then the validator misses it.
    nulls = {place for place in nulls if place[0] in optional or len(place) > 1}
    return _without(given, nulls) if nulls else None


def _place_of_null(value: Any, location: tuple[int | str, ...]) -> Place | None:
    """Where the null is that a validator speaks of; None if it is no null, or an entry of a list.

    >>> _place_of_null({"shapes": [{"size": None}]}, ("shapes", 0, "Square", "size"))
    ('shapes', 0, 'size')
    """
    place: list[int | str] = []
    for step in location:
        # The names of the branches of unions are steps too, but not in the value.
        if (isinstance(value, dict) and step in value) or (
            isinstance(value, list) and step in range(len(cast("list[Any]", value)))
        ):
            value = cast(Any, value)[step]
            place.append(step)
    return tuple(place) if value is None and isinstance(place[-1], str) else None


def _without(value: Any, places: set[Place]) -> Any:
    """A copy without what is at these places."""

    def below(step: int | str) -> set[Place]:
        return {place[1:] for place in places if place[0] == step}

    if not places:
        return value
    if isinstance(value, list):
        return [_without(item, below(at)) for at, item in enumerate(cast("list[Any]", value))]
    entries = cast("dict[str, Any]", value).items()
    return {name: _without(item, below(name)) for name, item in entries if (name,) not in places}


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
