"""The sentences of the command line: all of them are in the core's table of wording."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import toolhub.cli
from toolhub import _core
from toolhub.cli._language import language, said

FOLDER = Path(toolhub.cli.__file__).parent
SPEAKING = {"say", "Failure", "fail", "note", "disable", "leave_out"}


def text_of(node: ast.expr) -> str | None:
    """A text that is written in the code, with `x` for each value; None for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "x" for part in node.values]
        return "".join(map(str, parts))
    return None


def sentences() -> list[tuple[str, str]]:
    """The texts that are given to the functions that speak, and the advice of the doctor."""
    found: list[tuple[str, str]] = []
    for path in sorted(FOLDER.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            given: list[ast.expr] = []
            if isinstance(node, ast.Call):
                name = (
                    node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                )
                given = node.args if name in SPEAKING else []
            elif isinstance(node, ast.Assign):
                given = [node.value] if ast.unparse(node.targets[0]) == "advice" else []
            elif isinstance(node, ast.Return) and path.stem == "_diagnosis":
                given = [] if node.value is None else [node.value]
            for one in given:
                text = text_of(one)
                if text is not None and " " in text:
                    found.append((path.stem, text))
    return found


def test_every_sentence_has_a_chinese_one() -> None:
    known = sentences()
    assert len(known) > 50
    assert [one for one in known if _core.notice_in_language(one[1], "zh") == one[1]] == []


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "de_DE.UTF-8", "LC_MESSAGES": "zh_TW"}, "zh"),
        ({"LANG": "en_GB.UTF-8", "TOOLHUB_LANG": "zh"}, "zh"),
        ({"LC_ALL": "zh_CN", "TOOLHUB_LANG": "en"}, "en"),
        ({"LC_ALL": "", "LANG": "zh_CN"}, "zh"),
    ],
)
def test_the_language_of_the_user(
    variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TOOLHUB_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert language() == expected
    assert said("no server was found") == ("没有找到服务器" if expected == "zh" else "no server was found")
