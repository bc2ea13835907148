"""Described calls of a tool that acts do not run unasked; meant calls that stand alone or last do."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub

TEXTS = Path(__file__).parents[2] / "parse" / "meant"
ARGUMENTS = '{"path": "a"}'
JSON = f'{{"name": "delete_file", "arguments": {ARGUMENTS}}}'
PARAMETER = "<parameter=path>\na\n</parameter>"
MARKED = {
    "hermes": f"<tool_call>\n{JSON}\n</tool_call>",
    "qwen3_coder": f"<tool_call>\n<function=delete_file>\n{PARAMETER}\n</function>\n</tool_call>",
    "kimi_k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.delete_file:0<|tool_call_argument_begin|>"
    f"{ARGUMENTS}<|tool_call_end|><|tool_calls_section_end|>",
    "deepseek_v31": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>delete_file<｜tool▁sep｜>"
    f"{ARGUMENTS}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "mistral_json": f"[TOOL_CALLS][{JSON}]",
}
BARE = {
    "json_bare": JSON,
    "json_fence": f"```json\n{JSON}\n```",
    "pythonic": '[delete_file(path="a")]',
}


@pytest.fixture
def hub() -> Iterator[ToolHub]:
    with ToolHub() as hub:
        hub.register(lambda path: f"deleted {path}", name="delete_file", description="Delete a file")
        yield hub


def texts(half: str, meant: bool) -> list[dict[str, Any]]:
    lines = (TEXTS / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["meant"] is meant]


def ran(hub: ToolHub, text: str, **options: Any) -> bool:
    return any(result.success for result in hub.run_sync(text, **options).results)


@pytest.mark.parametrize("half", ["development", "held_out"])
def test_described_calls_do_not_run_unasked(hub: ToolHub, half: str) -> None:
    forms = MARKED | BARE
    described = [row["before"] + call + row["after"] for row in texts(half, False) for call in forms.values()]
    unasked = [text for text in described if ran(hub, text)]
    print(f"{half}: {len(unasked)} of {len(described)} described calls ran unasked")
    assert len(described) >= 200
    assert len(unasked) <= len(described) * 0.1, unasked


@pytest.mark.parametrize("half", ["development", "held_out"])
def test_meant_calls_run(hub: ToolHub, half: str) -> None:
    meant = [(row["before"] + call, "auto") for row in texts(half, True) for call in MARKED.values()]
    forms = (MARKED | BARE).items()
    meant += [(row["before"] + call, format) for row in texts(half, True) for format, call in forms]
    unmade = [(text, format) for text, format in meant if not ran(hub, text, format=format)]
    print(f"{half}: {len(meant) - len(unmade)} of {len(meant)} meant calls ran without approve")
    assert len(meant) >= 150
    assert len(unmade) <= len(meant) * 0.02, unmade
    refused = [one for one, format in meant if not ran(hub, one, format=format, approve=lambda call: True)]
    assert refused == []
