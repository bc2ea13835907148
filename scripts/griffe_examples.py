"""An extension of griffe: examples in docstrings (`>>>` up to a blank line) become code blocks of the site.

Without it they are plain text for mkdocs, and a result such as `[0]` a link to nowhere.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

# Whole lines: the first with a prompt, the rest up to a blank line; not one that is in a fence already.
EXAMPLE = re.compile(r"^(?P<indent>[ \t]*)>>> .*(?:\n[ \t]*\S.*)*", re.MULTILINE)


def fence(text: str) -> str:
    """`text` with its examples in fences."""
    return EXAMPLE.sub(lambda found: f"{found['indent']}```pycon\n{found[0]}\n{found['indent']}```", text)


class Examples(griffe.Extension):
    """Rewrites each docstring once it is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe for each module, class, function and attribute."""
        if obj.docstring is not None and "```" not in obj.docstring.value:
            obj.docstring.value = fence(obj.docstring.value)
