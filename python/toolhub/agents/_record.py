"""Plain data with attributes: what agents return and report."""

from typing import Any


class Record(dict[str, Any]):
    """A dict whose keys are attributes too. It holds plain data, so that `json.dumps` takes it as it is.

    >>> step = Record(id=1, description="Look it up")
    >>> step.description, step["id"]
    ('Look it up', 1)
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}") from None
