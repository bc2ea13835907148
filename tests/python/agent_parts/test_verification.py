"""Checking results: consistency, logic, evidence."""

from __future__ import annotations

import asyncio
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from support.agents import office
from toolhub import ToolHub
from toolhub.agents import VerificationAgent
from toolhub.agents.facts import numbers_of

TRANSCRIPTS = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in Path(__file__).parent.glob("*.json")
}


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
    assert checked.confidence <= 0.3


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


@pytest.mark.parametrize(
    ("kept", "caught", "doubted"),
    [
        # Numbers, dates, quotations, addresses and deeds; then what is for a model in growing part.
        ("transcripts", 0.95, 0.0),
        ("transcripts_held_out", 0.85, 0.03),
        ("answers_unseen", 0.9, 0.0),
        ("transcripts_in_kind", 0.65, 0.0),
        ("transcripts_free", 0.3, 0.02),
        ("sentences_free", 0.3, 0.02),
    ],
)
def test_false_answers_are_told_from_true_ones(kept: str, caught: float, doubted: float) -> None:
    """What is doubted is wrong; what is not caught is listed in the docs."""
    found, alarms = [], []
    for one in TRANSCRIPTS[kept]:
        about = {"evidence": one["evidence"], "question": one["question"]}
        found += [not verify(said, **about).verified for said in _several(one["false"])]
        alarms += [not verify(said, **about).verified for said in _several(one["true"])]
    assert len(found) >= 30
    assert sum(found) / len(found) >= caught
    assert sum(alarms) / len(alarms) <= doubted


@pytest.mark.parametrize("one", TRANSCRIPTS["answers"], ids=lambda one: str(one["answer"])[:30])
def test_answers_as_agents_give_them(one: dict[str, Any]) -> None:
    """Deeds under other names, several of them in a sentence, calculated and converted numbers; in both languages."""
    checked = verify(one["answer"], evidence=one["evidence"], question=one["question"])
    assert checked.verified is one["is_true"], checked.issues


def _several(said: str | list[str]) -> list[str]:
    return [said] if isinstance(said, str) else said


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ("pay", "I have transferred the money."),
        ("send_mail", "Priya has been informed."),
        ("delete_files", "旧日志已经清理完毕。"),
        ("book_room", "我已经为您预订了会议室。"),
    ],
)
def test_a_call_that_failed_is_not_told_as_done_in_other_words(tool: str, told: str) -> None:
    assert not verify(told, evidence=[record(tool, False)]).verified
    assert verify(told, evidence=[record(tool, False), record(tool, True)]).verified
    assert verify("It did not work.", evidence=[record(tool, False)]).verified


def test_all_rows_of_a_long_run_are_evidence() -> None:
    async def scenario() -> None:
        async with ToolHub() as hub:

            @hub.tool
            async def archive(page: int) -> str:
                return f"page {page} is in box {page + 70_000}"

            await hub.execute("archive", {"page": 0}, run="long")
            await asyncio.gather(
                *(hub.execute("archive", {"page": page}, run="long") for page in range(1, 1_005))
            )
            agent = VerificationAgent(hub=hub, run="long")
            first = await agent.verify_result("The first page is in box 70000.")
            assert first.verified, first.issues
            assert not (await agent.verify_result("The first page is in box 69000.")).verified

    asyncio.run(scenario())


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


def record(tool: str, success: bool, *result: Any, **arguments: Any) -> dict[str, Any]:
    """A call; one that fails without a result was denied."""
    (told,) = result or ("ok" if success else "denied",)
    return {"tool": tool, "arguments": arguments, "success": success, "result" if success else "error": told}


@pytest.mark.parametrize(
    ("tool", "done"),
    [
        ("git_push", "pushed the branch"),
        ("merge_pr", "merged the pull request"),
        ("invite_user", "invited the user"),
        ("ban_user", "banned the user"),
        ("lockDoor", "locked the door"),
        ("turn_off_light", "turned off the light"),
        ("reset_password", "reset the password"),
        ("shred_paper", "shredded the paper"),
        ("apply_patch", "applied the patch"),
        ("cancel_order", "cancelled the order"),
    ],
)
def test_a_deed_is_known_by_the_verb_of_its_tool(tool: str, done: str) -> None:
    verb, _, thing = done.partition(" ")
    for told in (f"I have {done}.", f"{thing.capitalize()} was {verb}.", f"Successfully {done}."):
        assert not verify(told, evidence=[record(tool, False)]).verified, told
        assert verify(told, evidence=[record(tool, True)]).verified, told
    assert verify(f"I have not {done}.", evidence=[record(tool, False)]).verified
    titled = {**record("tool_7", False), "title": tool}
    assert not verify(f"I have {done}.", evidence=[titled]).verified


@pytest.mark.parametrize(
    "done", ["pushed the branch", "locked the door", "installed it", "approved the request"]
)
def test_other_deeds_need_a_call_that_may_act(done: str) -> None:
    for nothing in ([], [record("list_things", True)]):
        assert "no call did that" in verify(f"I have {done}.", evidence=nothing).issues[0]
    assert verify(f"I have {done}.", evidence=[record("shell", True)]).verified


def test_why_a_call_failed_may_be_told() -> None:
    locked = [record("lock_door", False, "the door is already locked")]
    assert verify("The door is already locked.", evidence=locked).verified
    assert not verify("I have locked the door.", evidence=locked).verified
    pushed = [record("git_push", False, "rejected")]
    for told in (
        "Nothing was pushed.",
        "Once it is pushed, CI runs.",
        "The push was rejected by the remote.",
    ):
        assert verify(told, evidence=pushed).verified, told
    # What a tool is about is not a deed of it, nor is what it reads.
    cancelled = [record("cancel_order", False)]
    assert verify("The pizza was ordered yesterday.", evidence=cancelled).verified
    assert verify("The door was locked.", evidence=[record("get_lock", False)]).verified


LOGS = [record("delete_file", True, path="/srv/a.log"), record("delete_file", False, path="/srv/b.log")]
MAILS = [record("send_mail", True, to="ann"), record("send_mail", False, to="bob")]


@pytest.mark.parametrize(
    ("answer", "evidence", "is_true"),
    [
        ("I deleted a.log.", LOGS, True),
        ("I deleted b.log.", LOGS, False),
        ("b.log was deleted.", LOGS, False),
        ("I deleted a.log and b.log.", LOGS, False),
        ("I deleted web.log.", [*LOGS, record("delete_file", True, path="/srv/web.log")], True),
        ("Both mails were sent.", MAILS, False),
        ("All mails have been sent.", MAILS, False),
        ("I have sent all the mails.", MAILS, False),
        ("I have sent all details to ann; the other mail failed.", MAILS, True),
        ("All right, I have sent the mail to ann.", MAILS, True),
        ("Both mails were sent.", [*MAILS, record("send_mail", True, to="bob")], True),
        ("两封邮件都已发送。", MAILS, False),
        ("我已经把消息发给李雷了。", [record("send_message", False, to="李雷")], False),
        ("我已经把消息发给李雷了。", [record("send_message", True, to="李雷")], True),
        ("我把文件删掉了。", [record("delete_file", False, path="a")], False),
        ("我没把文件删掉。", [record("delete_file", False, path="a")], True),
    ],
)
def test_targets_of_calls_that_failed(answer: str, evidence: list[Any], is_true: bool) -> None:
    assert verify(answer, evidence=evidence).verified is is_true


@pytest.mark.parametrize(
    ("answer", "result", "is_true"),
    [
        ("It is 20 °C.", "It is 20 °C.", True),
        ("It is 20 °F.", "It is 20 °C.", False),
        ("It is 20 degrees Fahrenheit.", {"temp_c": 20}, False),
        ("It is 68 °F.", {"temp_c": 20}, True),
        ("It is -4°F.", "It is minus 20 degrees Celsius.", True),
        ("It takes 1 hour and 35 minutes.", "It takes 95 minutes.", True),
        ("It takes 1 hour and 45 minutes.", "It takes 95 minutes.", False),
        ("It takes 95 minutes.", "It takes 1 h 35 min.", True),
        ("It takes 1 hour, 35 minutes.", {"duration_minutes": 95}, True),
        ("全程1小时35分钟。", "全程95分钟。", True),
        ("北京零下3.5度。", {"temp": -3.5}, True),
        ("北京零下3.5度。", {"temp": 3.5}, False),
        ("It is 3.5 degrees below zero.", {"temp": -3.5}, True),
        ("It is minus 3.5 degrees.", {"temp": -3.5}, True),
        ("7 minus 3 is 4.", [7, 3, 4], True),
    ],
)
def test_temperatures_and_times_in_several_units(answer: str, result: Any, is_true: bool) -> None:
    assert verify(answer, evidence=[record("measure", True, result)]).verified is is_true


def test_numbers_that_were_changed_are_caught() -> None:
    caught = []
    for one in TRANSCRIPTS["transcripts"]:
        for _, written in numbers_of(one["true"]):
            digits = re.match(r"[\d,]*\d(?:\.\d+)?", written)
            if digits is None or written not in one["true"]:
                continue
            value, places = float(digits[0].replace(",", "")), len(digits[0].partition(".")[2])
            for changed in (value + 3, value * 1.3, value - 1):
                text = one["true"].replace(written, f"{changed:.{places}f}{written[digits.end() :]}", 1)
                checked = verify(text, evidence=one["evidence"], question=one["question"])
                caught.append(not checked.verified)
    assert len(caught) > 100
    assert sum(caught) / len(caught) >= 0.85


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
