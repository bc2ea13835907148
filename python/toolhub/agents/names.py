"""When two names mean the same tool."""

from .. import kit


def is_spelling(one: str, other: str) -> bool:
    """Whether two names differ only in how they are written.

    >>> is_spelling("sendMail()", "send_mail"), is_spelling("mail_send", "send_mail")
    (True, False)
    """
    words = kit.words(one)
    return bool(words) and words == kit.words(other)


def is_reordered(one: str, other: str) -> bool:
    """Whether two names have the same words in another order; `get` does not count."""
    words = _words(one)
    return words != _words(other) and set(words) == set(_words(other))


def moves_its_verb(one: str, other: str) -> bool:
    """Whether two names differ only in the end at which the verb stands, a reading one.

    Any other order may mean the contrary.

    >>> moves_its_verb("web_search", "search_web"), moves_its_verb("convert_usd_to_eur", "convert_eur_to_usd")
    (True, False)
    """
    pairs = ((_words(one), _words(other)), (_words(other), _words(one)))
    return any(a and [*a[1:], a[0]] == b and kit.acting_verb(a[0]) is None for a, b in pairs)


def _words(name: str) -> list[str]:
    return [word for word in kit.words(name) if word != "get"]
