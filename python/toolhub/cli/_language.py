"""The language of a page that a command writes: that of the user's locale, as far as there is one.

Commands themselves speak English.
"""

import os

_VARIABLES = ("TOOLHUB_LANG", "LC_ALL", "LC_MESSAGES", "LANG")


def language() -> str:
    """`zh` for a Chinese locale, else `en`. `TOOLHUB_LANG` comes before the locale."""
    named = next((value for name in _VARIABLES if (value := os.environ.get(name))), "")
    return "zh" if named.lower().startswith("zh") else "en"
