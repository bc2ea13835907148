"""How answers say that the verb of a tool's name was done: `lock_door` is done when something was locked."""

import functools

_IRREGULAR = {
    "begin": "began|begun",
    "bind": "bound",
    "break": "broke|broken",
    "bring": "brought",
    "build": "built",
    "burn": "burnt",
    "burst": "burst",
    "buy": "bought",
    "cast": "cast",
    "catch": "caught",
    "choose": "chose|chosen",
    "cut": "cut",
    "deal": "dealt",
    "do": "did|done",
    "draw": "drew|drawn",
    "drive": "drove|driven",
    "feed": "fed",
    "fly": "flew|flown",
    "forget": "forgot|forgotten",
    "freeze": "froze|frozen",
    "give": "gave|given",
    "grind": "ground",
    "grow": "grew|grown",
    "hang": "hung",
    "hide": "hid|hidden",
    "hold": "held",
    "keep": "kept",
    "lay": "laid",
    "lead": "led",
    "leave": "left",
    "lend": "lent",
    "let": "let",
    "light": "lit",
    "lose": "lost",
    "make": "made",
    "meet": "met",
    "overwrite": "overwrote|overwritten",
    "pay": "paid",
    "put": "put",
    "rebuild": "rebuilt",
    "redo": "redid|redone",
    "repay": "repaid",
    "rerun": "reran",
    "resend": "resent",
    "reset": "reset",
    "rewrite": "rewrote|rewritten",
    "ride": "rode|ridden",
    "ring": "rang|rung",
    "run": "ran|run",
    "sell": "sold",
    "send": "sent",
    "set": "set",
    "shake": "shook|shaken",
    "shut": "shut",
    "sing": "sang|sung",
    "sink": "sank|sunk",
    "speak": "spoke|spoken",
    "spend": "spent",
    "spin": "spun",
    "split": "split",
    "spread": "spread",
    "stick": "stuck",
    "sweep": "swept",
    "swing": "swung",
    "take": "took|taken",
    "teach": "taught",
    "tear": "tore|torn",
    "tell": "told",
    "throw": "threw|thrown",
    "undo": "undid|undone",
    "unset": "unset",
    "wake": "woke|woken",
    "wear": "wore|worn",
    "win": "won",
    "wind": "wound",
    "withdraw": "withdrew|withdrawn",
    "write": "wrote|written",
}
_VOWELS = "aeiou"


@functools.cache
def past_forms(verb: str) -> tuple[str, ...]:
    """The past forms of an English verb; where spelling differs, all of them. Of another word, nothing that is one.

    >>> past_forms("lock"), past_forms("archive"), past_forms("copy"), past_forms("cancel"), past_forms("write")
    (('locked',), ('archived',), ('copied',), ('canceled', 'cancelled'), ('wrote', 'written'))
    """
    if verb in _IRREGULAR:
        return tuple(_IRREGULAR[verb].split("|"))
    if len(verb) < 3 or not (verb.isascii() and verb.isalpha()):
        return ()
    last, before = verb[-1], verb[-2]
    if last == "e":
        return (f"{verb}d",)
    if last == "y" and before not in _VOWELS:
        return (f"{verb[:-1]}ied",)
    if last == "c":
        return (f"{verb}ked", f"{verb}ed")
    doubles = last not in "aeiouwxyh" and before in _VOWELS and verb[-3] not in _VOWELS
    return (f"{verb}ed", f"{verb}{last}ed") if doubles else (f"{verb}ed",)
