"""The development cases through the Python face, as the evaluation does: calls, text, and streams of every size."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from parsing import adapter

FILES = sorted((Path(__file__).parents[2] / "parse" / "cases").glob("*.jsonl"))


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: a boolean is not a number, 1 is 1.0."""
    if isinstance(one, bool) or isinstance(other, bool):
        return type(one) is type(other) and one == other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def streamed(text: str, size: int, format: str | None, tools: adapter.Tools) -> dict[str, Any]:
    stream = adapter.make_stream(format, tools)
    events = [event for at in range(0, len(text), size) for event in stream.feed(text[at : at + size])]
    events += stream.finish()
    calls: dict[int, dict[str, Any]] = {}
    for event in events:
        if event["type"] == "call_start":
            calls[event["index"]] = {"name": event["name"], "arguments": ""}
        elif event["type"] == "args_delta":
            calls[event["index"]]["arguments"] += event["delta"]
    for call in calls.values():
        call["arguments"] = json.loads(call["arguments"])
    return {
        "calls": list(calls.values()),
        "text": "".join(event["text"] for event in events if event["type"] == "text"),
    }


@pytest.mark.parametrize("detected", [False, True], ids=["named", "detected"])
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_cases(file: Path, detected: bool) -> None:
    format = None if detected else file.stem
    for line in file.read_text("utf-8").splitlines():
        row = json.loads(line)
        found = adapter.parse(row["text"], format, row.get("tools"))
        assert any(same(found["calls"], right) for right in [row["expected"], *row.get("accept", [])]), row[
            "id"
        ]
        if "expected_text" in row:
            assert words(found["text"]) == words(row["expected_text"]), row["id"]
        for size in (1, 3, 7, 64):
            assert streamed(row["text"], size, format, row.get("tools")) == found, (row["id"], size)


def test_there_are_cases() -> None:
    assert len(FILES) == 51


FAMILIES_2026 = [
    "deepseek_dsml",
    "deepseek_dsml_v4",
    "deepseek_dsml_v41",
    "dots",
    "functionary_v32",
    "gemma4",
    "gigachat3",
    "gigachat35",
    "glm47",
    "granite_20b_fc",
    "harmony",
    "hunyuan",
    "inkling",
    "iquest_coder",
    "k2_horizon",
    "kimi_k2",
    "kimi_k3",
    "lfm2",
    "minicpm5",
    "minimax_m3",
    "muse",
    "plamo3",
    "sarashina",
    "solar_open2",
]


@pytest.mark.parametrize("format", FAMILIES_2026)
def test_a_family_of_2026_has_cases_of_our_own(format: str) -> None:
    """Sound and damaged ones; `test_cases` also streams them. Those of the development set have ids that begin with `d-`."""
    (file,) = (file for file in FILES if file.stem == format)
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    own = [row for row in rows if not row["id"].startswith("d-")]
    assert len(own) >= 12
    assert {row["tag"] for row in own} > {"sound"}
    assert len({row["id"] for row in rows}) == len(rows)


@pytest.mark.parametrize(
    ("format", "tag"),
    [
        ("functionary_v32", "first_mark"),
        ("gemma4", "parentheses"),
        ("glm45", "ling3"),
        ("glm47", "poolside_v1"),
        ("iquest_coder", "q1"),
        ("kimi_k2", "bare_counter"),
        ("pythonic", "cut_list"),
        ("qwen3_coder", "berrylm"),
    ],
)
def test_a_form_of_its_own_has_cases_of_our_own(format: str, tag: str) -> None:
    (file,) = (file for file in FILES if file.stem == format)
    tags = [json.loads(line)["tag"] for line in file.read_text("utf-8").splitlines()]
    forms = [one for one in tags if one.startswith(tag)]
    assert len(forms) >= 12
    assert any(one.endswith("damaged") for one in forms)
