"""Recorded runs as a page for a browser: a timeline with lanes, a filter, and the difference of two runs.

The page has everything inside and loads nothing. It is made in the core; `toolhub inspect run.ndjson` writes it.
"""

import os
from pathlib import Path

from . import _core

__all__ = ["page", "write"]


def page(
    run: str | os.PathLike[str], other: str | os.PathLike[str] | None = None, *, lang: str = "en"
) -> str:
    """The page of a cassette or an audit log as HTML; with `other`, both are compared. `lang` is "en" or "zh".

    `ValueError` if a file is missing or wrong, with the number of the line.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from toolhub import ToolHub, testing
    >>> hub = ToolHub()
    >>> @hub.tool
    ... def double(n: int) -> int:
    ...     "Double a number."
    ...     return 2 * n
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with testing.record(Path(folder, "run.ndjson")):
    ...         _ = hub.call("double", {"n": 4})
    ...     html = page(Path(folder, "run.ndjson"))
    >>> html.startswith("<!doctype html>"), '"double"' in html
    (True, True)
    """
    return _core.recorded_page(run, other, lang)


def write(
    run: str | os.PathLike[str],
    to: str | os.PathLike[str] | None = None,
    *,
    other: str | os.PathLike[str] | None = None,
    lang: str = "en",
) -> Path:
    """Write the page of `page(run, other, lang=lang)` to a file; returns its path.

    The file is `run` with the ending `.html` if none is given.
    """
    target = Path(run).with_suffix(".html") if to is None else Path(to)
    if any(target.absolute() == Path(given).absolute() for given in (run, other) if given is not None):
        raise ValueError(f"The page would replace '{target}'; give another file with -o.")
    target.write_text(page(run, other, lang=lang), "utf-8")
    return target
