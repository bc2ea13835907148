"""Checking results: consistency, logic, evidence."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from support.agents import office
from toolhub.agents import VerificationAgent
from toolhub.agents.facts import numbers_of

TRANSCRIPTS = json.loads((Path(__file__).parent / "transcripts.json").read_text(encoding="utf-8"))


IN_KIND = json.loads((Path(__file__).parent / "transcripts_in_kind.json").read_text(encoding="utf-8"))


def verify(result: Any, *earlier: Any, **options: Any) -> Any:
    return VerificationAgent().verify_result_sync(result, earlier, **options)


@pytest.mark.parametrize(
    "result",
    [
        "It costs 999,999,999,999.",
        "Meet on 2024-02-29 at 23:59.",
        1e14,
        {"at": "09:30", "n": [1, -2.5]},
        "十月三十一日是2024年10月31日",
    ],
)
def test_possible_results_are_verified(result: Any) -> None:
    checked = verify(result)
    assert checked == {"verified": True, "confidence": 1.0, "issues": []}


@pytest.mark.parametrize(
    ("result", "issue"),
    [
        (float("nan"), "The number nan is not finite."),
        (float("inf"), "The number inf is not finite."),
        ("The result is 1e400.", "The number 1e400 is not finite."),
        (10**15, "The number 1000000000000000 is too large."),
        ("It has 12,000,000,000,000,000 stars.", "The number 12,000,000,000,000,000 is too large."),
        ("On February 30, 2024.", "The date February 30, 2024 does not exist."),
        ("Due 2023-02-29", "The date 2023-02-29 does not exist."),
        ("2024年13月1日", "The date 2024年13月1日 does not exist."),
        ("At 25:10", "The time 25:10 does not exist."),
        ("At 12:61:00", "The time 12:61:00 does not exist."),
        ({"nested": [{"when": "2024-04-31"}]}, "The date 2024-04-31 does not exist."),
        ("", "The result is empty."),
        (None, "The result is empty."),
        ({"success": False, "error": "no network"}, "The result is an error: no network"),
    ],
)
def test_impossible_results_are_not(result: Any, issue: str) -> None:
    checked = verify(result)
    assert (checked.verified, checked.issues) == (False, [issue])
    assert checked.confidence == 0.7


def test_a_result_of_the_hub_is_read() -> None:
    hub, _ = office()
    assert verify(hub.call("calculate", "6 * 7")).verified
    assert not verify(hub.call("no_such_tool_here", {})).verified


@pytest.mark.parametrize(
    ("earlier", "now", "agree"),
    [
        ("The population of Paris is 2,102,650.", "The population of Paris is 3,500,000.", False),
        ("The population of Paris is 2,102,650.", "Paris has 2102650 people.", True),
        ("The population of Paris is 2,102,650.", "It rains 641 mm a year in London.", True),
        ("巴黎的人口是210万。", "巴黎的人口是350万。", False),
        ("巴黎的人口是210万。", "伦敦每年下雨641毫米。", True),
        ("36", "42", True),
    ],
)
def test_contradictions(earlier: str, now: str, agree: bool) -> None:
    assert verify(now, earlier).verified is agree


def test_results_of_different_tasks_do_not_contradict_each_other() -> None:
    def result(description: str, text: str) -> dict[str, Any]:
        return {"success": True, "result": text, "description": description}

    first = result("Add the apples of the first basket", "The result is 36.")
    assert verify(result("Multiply the price of bread", "The result is 42."), first).verified
    assert not verify(result("Add the apples of the first basket again", "The result is 42."), first).verified


def test_confidence_grows_with_what_earlier_results_say() -> None:
    near = verify("Paris has 2102650 people.", "Paris has about 2102650 people.").confidence
    far = verify("Paris has 2102650 people.", "Bread is made of flour.").confidence
    assert far < near <= 1.0


def test_transcripts_are_told_apart() -> None:
    caught, alarms = [], []
    for one in TRANSCRIPTS:
        about = {"evidence": one["evidence"], "question": one["question"]}
        caught.append(not verify(one["false"], **about).verified)
        alarms.append(not verify(one["true"], **about).verified)
    assert len(TRANSCRIPTS) == 30
    assert sum(caught) / len(caught) >= 0.9
    assert sum(alarms) / len(alarms) <= 0.05


def test_transcripts_of_other_kinds_are_told_apart() -> None:
    """Units, negation, counts, swapped names, dates, percent, deeds that failed. What is missed is listed in the docs."""
    caught, alarms = [], []
    for one in IN_KIND:
        about = {"evidence": one["evidence"], "question": one["question"]}
        caught.append(not verify(one["false"], **about).verified)
        alarms.append(not verify(one["true"], **about).verified)
    assert len(IN_KIND) == 30
    assert sum(caught) / len(caught) >= 0.85
    assert sum(alarms) / len(alarms) <= 0.05


def test_a_deed_that_failed_is_not_done_in_any_wording() -> None:
    failed = [{"tool": "delete_file", "arguments": {"path": "a.txt"}, "success": False, "error": "denied"}]
    done = [{**failed[0], "success": True, "error": None, "result": "ok"}]
    for told in (
        "a.txt was deleted successfully.",
        "The file a.txt is deleted.",
        "I deleted a.txt.",
        "a.txt has been deleted.",
        "Successfully deleted a.txt.",
        "a.txt 删除成功。",
    ):
        assert not verify(told, evidence=failed).verified, told
        assert verify(told, evidence=done).verified, told
    both = [*done, {**failed[0], "arguments": {"path": "b.txt"}}]
    assert verify("I deleted a.txt.", evidence=both).verified
    assert "'b.txt' did not succeed" in verify("I deleted a.txt and b.txt.", evidence=both).issues[0]
    # What others did before needs no call.
    assert verify("The file was created by Ann.", evidence=["The file was created by Ann."]).verified


def test_numbers_that_were_changed_are_caught() -> None:
    caught = []
    for one in TRANSCRIPTS:
        for _, written in numbers_of(one["true"]):
            digits = re.match(r"[\d,]*\d(?:\.\d+)?", written)
            if digits is None:
                continue
            value, places = float(digits[0].replace(",", "")), len(digits[0].partition(".")[2])
            for changed in (value + 3, value * 1.3, value - 1):
                text = one["true"].replace(written, f"{changed:.{places}f}{written[digits.end() :]}", 1)
                checked = verify(text, evidence=one["evidence"], question=one["question"])
                caught.append(not checked.verified)
    assert len(caught) > 100
    assert sum(caught) / len(caught) >= 0.9


@pytest.mark.parametrize(
    "record",
    [
        {"tool": "send_mail", "arguments": {"to": "a@x.test"}, "state": "done", "result": "ok"},
        {"tool": "send_mail", "arguments": {"to": "a@x.test"}, "success": True, "result": "ok"},
        {"tool": "mailbox", "arguments": {"action": "send", "to": "a@x.test"}, "result": "ok"},
    ],
)
def test_records_of_several_shapes_are_evidence(record: dict[str, Any]) -> None:
    answer = "I have sent the mail to a@x.test."
    assert verify(answer, evidence=[record]).verified
    for state in ("started", "failed", "unknown"):
        assert not verify(answer, evidence=[{**record, "state": state}]).verified
    assert not verify(
        answer, evidence=[{"tool": "read_mail", "arguments": {"to": "a@x.test"}, "result": "ok"}]
    ).verified


@given(
    some.text(max_size=120),
    some.lists(
        some.dictionaries(
            some.text(max_size=8), some.text(max_size=20) | some.floats() | some.lists(some.integers())
        )
    ),
)
@example("", [{"tool": []}])
@example("", [{"result": {"tool": {}}, "arguments": [], "success": "yes"}])
def test_any_answer_and_any_evidence_can_be_checked(answer: str, evidence: list[Any]) -> None:
    checked = verify(answer, answer, evidence=evidence)
    assert 0 <= checked.confidence <= 1
    assert checked.verified is not bool(checked.issues)
    json.dumps(checked)


@given(some.text(alphabet="0123456789-/:. 年月日,eE+M", max_size=60))
def test_any_digits_can_be_read(text: str) -> None:
    assert 0 <= verify(text).confidence <= 1


@pytest.mark.parametrize("run", ["x", "7", "af09", "1.", "a-", "a/", "_a1", "@a.b"])
def test_long_runs_of_characters_take_linear_time(run: str) -> None:
    """Eight times the text takes eight times the work, and 64 times in quadratic time."""

    def work(characters: int) -> float:
        """Processor time of this thread: what other processes do does not count."""
        text = run * (characters // len(run))
        begun = time.thread_time()
        verify("It has 5 lines.", evidence=[{"tool": "dump", "success": True, "result": text}])
        verify(text, evidence=[{"tool": "count", "success": True, "result": "5"}])
        return time.thread_time() - begun

    work(1_000)
    short = min(work(25_000) for _ in range(3))
    assert min(work(200_000) for _ in range(2)) < 24 * short


@pytest.mark.parametrize(
    "one", ["{n:04}-{m:02}-05 ", "{m:02}:{s:02}:07 ", "{n}.5 ", "{n} kg ", "INC-{n} not here. "]
)
def test_many_facts_take_linear_time(one: str) -> None:
    """The same for many facts."""

    def work(facts: int) -> float:
        text = "".join(one.format(n=1000 + n, m=n % 12 + 1, s=n % 60) for n in range(facts))
        begun = time.thread_time()
        verify(text, evidence=[{"tool": "dump", "success": True, "result": text}])
        return time.thread_time() - begun

    work(10)
    short = min(work(500) for _ in range(3))
    assert min(work(4_000) for _ in range(2)) < 24 * short
