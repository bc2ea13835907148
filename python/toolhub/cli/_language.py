"""The language in which commands speak: that of the user's locale, as far as there is one.

Sentences are written in English where they are needed. The core has them in Chinese, in its table of wording.
"""

import os

_VARIABLES = ("TOOLHUB_LANG", "LC_ALL", "LC_MESSAGES", "LANG")


def language() -> str:
    """`zh` for a Chinese locale, else `en`. `TOOLHUB_LANG` comes before the locale."""
    named = next((value for name in _VARIABLES if (value := os.environ.get(name))), "")
    return "zh" if named.lower().startswith("zh") else "en"


def said(sentence: str) -> str:
    """A sentence in the language of the user; what the core has no other wording for stays as it is."""
    lang = language()
    if lang == "en":
        return sentence
    from .. import _core

    return _core.notice_in_language(sentence, lang)
