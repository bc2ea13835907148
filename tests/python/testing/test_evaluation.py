"""`toolhub eval`: cases against cassettes."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from toolhub import ToolHub
from toolhub.cli import main
from toolhub.testing import record
from toolhub.testing.evaluation import CaseResult, CasesError, evaluate, junit

OWN = Path(__file__).parents[3] / "examples" / "eval" / "cases.yaml"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    hub = ToolHub()

    @hub.tool(read_only=True)
    def add(a: int, b: int = 0) -> int:
        return a + b

    @hub.tool(read_only=True)
    def fail(why: str) -> int:
        raise ValueError(why)

    with record(tmp_path / "run.ndjson"):
        hub.call("add", {"a": 1, "b": 2})
        hub.call("fail", {"why": "no"})
        hub.call("add", {"a": 2})
    return tmp_path


def cases(folder: Path, *checks: str) -> Path:
    rows = [
        f"  - name: case {at}\n    cassette: run.ndjson\n    {check}\n" for at, check in enumerate(checks)
    ]
    path = folder / "cases.yaml"
    path.write_text("cases:\n" + "".join(rows))
    return path


def test_the_project_s_own_cases_pass() -> None:
    results = evaluate(OWN)
    assert len(results) == 20
    assert [(one.name, one.failures) for one in results if not one.passed] == []


@pytest.mark.parametrize(
    ("holds", "fails", "says"),
    [
        ("called: [add]", "called: [add, sub]", "Tool 'sub' was not called."),
        (
            "order: [add, fail, add]",
            "order: [fail, fail]",
            "Tool 'fail' was not called in the order ['fail', 'fail']; the calls were",
        ),
        (
            "arguments: {add: {a: 2}}",
            "arguments: {add: {a: 3}}",
            "Tool 'add' was called with other arguments: args.a: 3 was expected, 1 was given.",
        ),
        ("arguments: {fail: {why: 'no'}}", "arguments: {sub: {a: 1}}", "Tool 'sub' was not called."),
        ("not_called: [sub]", "not_called: [fail]", "Tool 'fail' was called, and must not be."),
        ("at_most: {add: 2}", "at_most: {add: 1}", "Tool 'add' was called 2 times, more than 1."),
        (
            "outcome: {fail: tool_error, add: ok}",
            "outcome: {fail: ok}",
            "Tool 'fail' ended with tool_error, not ok.",
        ),
        ("tokens: 0", "outcome: {sub: ok}", "Tool 'sub' ended with no call, not ok."),
    ],
)
def test_each_check_holds_and_fails(folder: Path, holds: str, fails: str, says: str) -> None:
    good, bad = evaluate(cases(folder, holds, fails))
    assert (good.passed, good.calls) == (True, 3)
    (failure,) = bad.failures
    assert says in failure


def test_the_command_reports_compares_and_exits(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, saved, xml = (
        cases(folder, "called: [add]", "called: [add]"),
        folder / "run.json",
        folder / "junit.xml",
    )
    assert main(["eval", str(path), "--save", str(saved), "--junit", str(xml)]) == 0
    assert "2 of 2 cases passed" in capsys.readouterr().out
    cases(folder, "called: [add]", "called: [sub]")
    assert main(["eval", str(path), "--compare", str(saved), "--junit", str(xml)]) == 1
    shown = capsys.readouterr().out
    assert "FAILED case 1\n       Tool 'sub' was not called.\nbroken: case 1\n" in shown
    suite = ET.fromstring(xml.read_text())
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [case.get("name") for case in suite if case.find("failure") is not None] == ["case 1"]
    saved.write_text("[]")
    assert main(["eval", str(path), "--compare", str(saved)]) == 2


def test_a_failure_with_control_characters_is_xml() -> None:
    failure = "a\x00\x1b[2Jb\ud800\uffffc\td\U0001f600"
    (case,) = ET.fromstring(junit([CaseResult("n\x01", [failure])]))
    shown = case.find("failure")
    assert case.get("name") == "n\\x01"
    assert shown is not None
    assert shown.text == "a\\x00\\x1b[2Jb\\ud800\\uffffc\td\U0001f600"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cases: []", "must have a list 'cases'"),
        ("cases: [{name: a}]", "must have a text 'cassette'"),
        ("cases: [{name: a, cassette: b}]", "checks nothing"),
        ("cases: [{name: a, cassette: b, cald: [x]}]", "has 'cald'; it may have called"),
        ("cases: [{name: a, cassette: b, called: x}]", "'called' must be a list"),
        (
            "cases: [{name: a, cassette: b, tokens: 1}, {name: a, cassette: b, tokens: 1}]",
            "same name as another case",
        ),
        ("[", "cannot be read"),
        ("cases: [{name: a, cassette: b, called: [5]}]", "'called' has 5, which is not a tool name"),
        ("cases: [{name: a, cassette: b, called: []}]", "'called' must be a list of at least one tool name"),
        (
            "cases: [{name: a, cassette: b, order: {x: 1}}]",
            "'order' must be a list of at least one tool name",
        ),
        (
            "cases: [{name: a, cassette: b, not_called: ['send_*']}]",
            "'not_called' has \"send_.*\", which is not",
        ),
        (
            "cases: [{name: a, cassette: b, at_most: 3}]",
            "'at_most' must be a mapping with at least one tool name",
        ),
        (
            "cases: [{name: a, cassette: b, at_most: {x: '2'}}]",
            "'at_most.x' must be a whole number .*, got \"2\"",
        ),
        (
            "cases: [{name: a, cassette: b, at_most: {x: -1}}]",
            "'at_most.x' must be a whole number .*, got -1",
        ),
        (
            "cases: [{name: a, cassette: b, at_most: {x: true}}]",
            "'at_most.x' must be a whole number .*, got true",
        ),
        ("cases: [{name: a, cassette: b, at_most: {x: 1.5}}]", "'at_most.x' must be a whole number"),
        (
            "cases: [{name: a, cassette: b, tokens: -5}]",
            "'tokens' must be a whole number of at least 0, got -5",
        ),
        ("cases: [{name: a, cassette: b, tokens: lots}]", "'tokens' must be a whole number"),
        ("cases: [{name: a, cassette: b, outcome: {x: okay}}]", "'outcome.x' must be one of ok, not_found, "),
        ("cases: [{name: a, cassette: b, outcome: {x: [ok]}}]", "'outcome.x' must be one of ok"),
        (
            "cases: [{name: a, cassette: b, arguments: {x: 5}}]",
            "'arguments.x' must be a mapping of arguments",
        ),
    ],
)
def test_wrong_cases(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "cases.yaml").write_text(text)
    with pytest.raises(CasesError, match=says):
        evaluate(tmp_path / "cases.yaml")
    assert main(["eval", str(tmp_path / "cases.yaml")]) == 2


@pytest.mark.parametrize("saved", [b"[]", b"\xff\xfe", b'{"cases": [{"name": "case 0"}]}', b'{"cases": 5}'])
def test_a_run_that_cannot_be_compared(
    folder: Path, saved: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "before.json").write_bytes(saved)
    path = cases(folder, "called: [add]")
    assert main(["eval", str(path), "--compare", str(folder / "before.json")]) == 2
    assert "was not written by `toolhub eval --save`" in capsys.readouterr().err


def test_the_command_prints_no_commands_to_the_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "cases.yaml").write_text(
        'cases: [{name: "a\\e[2Jb", cassette: run.ndjson, arguments: {fail: {why: "\\e[2J"}}}]'
    )
    assert main(["eval", str(folder / "cases.yaml")]) == 1
    shown = capsys.readouterr().out
    assert "FAILED a" in shown
    assert "\x1b" not in shown


def test_a_cassette_that_is_missing_fails_its_case(tmp_path: Path) -> None:
    (result,) = evaluate(cases(tmp_path, "called: [add]"))
    assert "There is no cassette" in result.failures[0]
