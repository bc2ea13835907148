"""`toolhub eval cases.yaml`: what recorded runs must have done, checked on their cassettes.

A file of cases is a YAML mapping with a list `cases`; each has a `name`, a `cassette` (a path beside the file) and some of
`called`, `order`, `arguments`, `not_called`, `at_most`, `outcome` and `tokens`.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from .. import _core
from ..exceptions import ErrorKind
from ..text import truncate
from .cassettes import events_of


@dataclass(frozen=True)
class CaseResult:
    """What came of one case."""

    name: str
    failures: list[str] = field(default_factory=list[str])
    calls: int = 0
    tokens: int = 0

    @property
    def passed(self) -> bool:
        """Whether the run did all that the case wants."""
        return not self.failures


class CasesError(ValueError):
    """A file of cases is wrong; the text says where."""


def evaluate(path: Path) -> list[CaseResult]:
    """Check each case of a file. A cassette that is missing or wrong fails its case."""
    return [_evaluated(case, path.parent) for case in read_cases(path)]


def read_cases(path: Path) -> list[dict[str, Any]]:
    """The cases of a file, each with a name of its own and no unknown word."""
    try:
        given: Any = _core.read_yaml(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise CasesError(f"The cases in '{path}' cannot be read: {error}") from None
    cases: Any = given.get("cases")
    if not isinstance(cases, list) or not cases:
        raise CasesError(f"'{path}' must have a list 'cases' with at least one case.")
    names = set[str]()
    for number, case in enumerate(cast("list[Any]", cases), 1):
        where = f"Case {number} in '{path}'"
        if not isinstance(case, dict):
            raise CasesError(f"{where} must be a mapping.")
        entries = cast("dict[str, Any]", case)
        for word in ("name", "cassette"):
            if not isinstance(entries.get(word), str):
                raise CasesError(f"{where} must have a text '{word}'.")
        if entries["name"] in names:
            raise CasesError(f"{where} has the same name as another case: {entries['name']!r}.")
        names.add(entries["name"])
        for word, value in entries.items():
            if word not in ("name", "cassette") and word not in _CHECKS:
                raise CasesError(f"{where} has {word!r}; it may have {', '.join(_CHECKS)}.")
            if word in _CHECKS and (trouble := _CHECKS[word][0](word, value)) is not None:
                raise CasesError(f"{where} is wrong: {trouble}.")
        if len(entries) == 2:
            raise CasesError(f"{where} checks nothing; it may have {', '.join(_CHECKS)}.")
    return cast("list[dict[str, Any]]", cases)


def _names_wrong(word: str, value: Any) -> str | None:
    """Why a value is not a list of names; None if it is one. A check that holds for every run is a mistake."""
    if not isinstance(value, list) or not value:
        return f"{word!r} must be a list of at least one tool name, got {_shown(value)}"
    return next((_name_wrong(word, one) for one in cast("list[Any]", value) if not _is_name(one)), None)


def _mapping_wrong(word: str, value: Any) -> str | None:
    if not isinstance(value, dict) or not value:
        return f"{word!r} must be a mapping with at least one tool name, got {_shown(value)}"
    for name, entry in cast("dict[str, Any]", value).items():
        trouble = _entry_wrong(f"{word}.{name}", entry) if _is_name(name) else _name_wrong(word, name)
        if trouble is not None:
            return trouble
    return None


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and bool(name.strip()) and not set(name) & set("*?[")


def _name_wrong(word: str, name: Any) -> str:
    return f"{word!r} has {_shown(name)}, which is not a tool name; patterns are not allowed here"


def _entry_wrong(word: str, value: Any) -> str | None:
    """Why the value of a word, or of a tool in it, is not of the kind that the word has."""
    fits, wanted = _KINDS[word.partition(".")[0]]
    return None if fits(value) else f"{word!r} must be {wanted}, got {_shown(value)}"


_OUTCOMES = ["ok", *ErrorKind]
_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "arguments": (lambda value: isinstance(value, dict), "a mapping of arguments"),
    **dict.fromkeys(
        ("at_most", "tokens"),
        (lambda value: type(value) is int and value >= 0, "a whole number of at least 0"),
    ),
    "outcome": (lambda value: value in _OUTCOMES, f"one of {', '.join(_OUTCOMES)}"),
}


def _shown(value: Any) -> str:
    """A value of the file, as it reads there."""
    return truncate(json.dumps(value, ensure_ascii=False), 60).text


def _evaluated(case: Mapping[str, Any], folder: Path) -> CaseResult:
    try:
        events = events_of(str(folder / case["cassette"]))
    except ValueError as error:
        return CaseResult(case["name"], [str(error)])
    # A candidate that was given up has done nothing that counts.
    calls = [event for event in events if event["type"] == "call" and event["outcome"] != "stopped"]
    calls.sort(key=lambda event: event["began"])
    tokens = sum(_tokens(event) for event in events if event["type"] == "model")
    failures = [
        failure
        for word, (_, check) in _CHECKS.items()
        if word in case
        for failure in check(case[word], calls, tokens)
    ]
    return CaseResult(case["name"], failures, len(calls), tokens)


Calls = list[dict[str, Any]]


def _called(wanted: list[str], calls: Calls, tokens: int) -> list[str]:
    made = {call["tool"] for call in calls}
    return [f"Tool '{tool}' was not called." for tool in wanted if tool not in made]


def _order(wanted: list[str], calls: Calls, tokens: int) -> list[str]:
    made = [call["tool"] for call in calls]
    rest = iter(made)
    missing = next((tool for tool in wanted if tool not in rest), None)
    if missing is None:
        return []
    return [f"Tool '{missing}' was not called in the order {wanted}; the calls were {made}."]


def _arguments(wanted: dict[str, Any], calls: Calls, tokens: int) -> list[str]:
    failures: list[str] = []
    for tool, expected in wanted.items():
        given = [call["arguments"] for call in calls if call["tool"] == tool]
        differences = [_difference(expected, one) for one in given]
        if not differences:
            failures.append(f"Tool '{tool}' was not called.")
        elif None not in differences:
            failures.append(f"Tool '{tool}' was called with other arguments: {differences[0]}.")
    return failures


def _difference(expected: Any, given: Any) -> str | None:
    """Only the arguments that a case names are compared."""
    if isinstance(expected, dict) and isinstance(given, dict):
        given = {key: value for key, value in cast("dict[str, Any]", given).items() if key in expected}
    found = _core.first_difference(expected, given)
    return found and found.replace("was recorded", "was expected")


def _not_called(unwanted: list[str], calls: Calls, tokens: int) -> list[str]:
    made = {call["tool"] for call in calls}
    return [f"Tool '{tool}' was called, and must not be." for tool in unwanted if tool in made]


def _at_most(limits: dict[str, Any], calls: Calls, tokens: int) -> list[str]:
    counts = {tool: sum(call["tool"] == tool for call in calls) for tool in limits}
    return [
        f"Tool '{tool}' was called {counts[tool]} times, more than {most}."
        for tool, most in limits.items()
        if counts[tool] > most
    ]


def _outcome(wanted: dict[str, Any], calls: Calls, tokens: int) -> list[str]:
    last = {call["tool"]: call["outcome"] for call in calls}
    return [
        f"Tool '{tool}' ended with {last.get(tool, 'no call')}, not {outcome}."
        for tool, outcome in wanted.items()
        if last.get(tool) != outcome
    ]


def _most_tokens(most: int, calls: Calls, tokens: int) -> list[str]:
    return [f"{tokens} tokens were used, more than {most}."] if tokens > most else []


_CHECKS: dict[str, tuple[Callable[[str, Any], str | None], Callable[[Any, Calls, int], list[str]]]] = {
    "called": (_names_wrong, _called),
    "order": (_names_wrong, _order),
    "arguments": (_mapping_wrong, _arguments),
    "not_called": (_names_wrong, _not_called),
    "at_most": (_mapping_wrong, _at_most),
    "outcome": (_mapping_wrong, _outcome),
    "tokens": (_entry_wrong, _most_tokens),
}
"""By word: what is wrong with its value, and what a run did against it."""


def _tokens(event: Mapping[str, Any]) -> int:
    """What the model counted itself; otherwise the tokens of the texts."""
    match event.get("result"):
        case {"value": {"usage": {"total_tokens": int(total)}}}:
            return total
        case result:
            texts = [event["arguments"], result or ""]
            return sum(
                truncate(json.dumps(text, ensure_ascii=False), 0, unit="tokens").total for text in texts
            )


def junit(results: list[CaseResult]) -> str:
    """The results as JUnit's XML."""
    failed = sum(not result.passed for result in results)
    suite = ET.Element("testsuite", name="toolhub eval", tests=str(len(results)), failures=str(failed))
    for result in results:
        case = ET.SubElement(suite, "testcase", classname="toolhub.eval", name=_for_xml(result.name))
        if result.failures:
            texts = [_for_xml(failure) for failure in result.failures]
            ET.SubElement(case, "failure", message=texts[0]).text = "\n".join(texts)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True)


_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _for_xml(text: str) -> str:
    """XML has no form for control characters and lone surrogates: they are shown as in Python.

    >>> print(_for_xml("a" + chr(0) + "b"))
    a\\x00b
    """
    return _NOT_XML.sub(lambda found: ascii(found[0])[1:-1], text)


def as_json(results: list[CaseResult]) -> str:
    """The results of a run, to be compared with another one."""
    return json.dumps({"cases": [asdict(one) for one in results]}, indent=1, ensure_ascii=False)


def compared(before: str, results: list[CaseResult]) -> tuple[list[str], bool]:
    """A line for each case that differs from an earlier run (the text of `as_json`), and whether one has become worse."""
    try:
        earlier = {
            row["name"]: CaseResult(row["name"], row["failures"], row["calls"], row["tokens"])
            for row in json.loads(before)["cases"]
        }
    except (ValueError, KeyError, TypeError):
        raise CasesError("The run to compare with was not written by `toolhub eval --save`.") from None
    lines: list[str] = []
    is_worse = False
    for now in results:
        then = earlier.pop(now.name, None)
        if then is None:
            lines.append(f"new: {now.name}")
            continue
        if now.passed != then.passed:
            lines.append(f"{'mended' if now.passed else 'broken'}: {now.name}")
            is_worse |= not now.passed
        for word in ("calls", "tokens"):
            if (old := getattr(then, word)) != (new := getattr(now, word)):
                lines.append(f"{word}: {now.name}: {old} before, {new} now")
    lines.extend(f"gone: {name}" for name in earlier)
    return lines, is_worse
