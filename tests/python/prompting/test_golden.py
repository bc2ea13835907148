"""What real servers have listed, as models get it. The servers' lists and the texts are files beside the tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import vendors

from toolhub import ToolHub

SERVERS = ["server-everything", "server-filesystem", "excel-mcp-server", "excel-mcp-server-0.1"]
APIS = {
    "openai": (lambda hub: hub.as_openai(), vendors.openai),
    "openai_strict": (lambda hub: hub.as_openai(strict=True), vendors.openai_strict),
    "anthropic": (lambda hub: hub.as_anthropic(), vendors.anthropic),
    "gemini": (lambda hub: hub.as_gemini(), vendors.gemini),
}


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("style", ["detailed", "compact"])
def test_prompt(listed: Any, golden: Any, server: str, lang: Any, style: Any) -> None:
    text = listed(server).system_prompt(style=style, lang=lang)
    golden(f"{server}.{style}.{lang}.txt", text + "\n")
    assert "$ref" not in text
    assert '"type":' not in text


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("api", APIS)
def test_api(listed: Any, golden: Any, server: str, api: str) -> None:
    declare, check = APIS[api]
    hub: ToolHub = listed(server)
    tools: Any = declare(hub)
    assert tools.skipped == []
    assert len(tools) == len(hub)
    assert [wrong for tool in tools for wrong in check(tool)] == []
    golden(f"{server}.{api}.json", json.dumps(tools, ensure_ascii=False, indent=1) + "\n")


def test_the_entry_of_the_contract(listed: Callable[[str], ToolHub]) -> None:
    prompt = listed("excel-mcp-server-0.1").system_prompt(tools=["read_data_from_excel"])
    assert prompt.startswith(
        """## 🔧 Available Tools (Detailed Information)

1. **read_data_from_excel**
  Read data from Excel worksheet with cell metadata including validation rules.
  Parameters:
    - filepath (string): Path to Excel file [required]
    - sheet_name (string): Name of worksheet [required]
    - start_cell (string): Starting cell (default A1) [optional]
"""
    )
    assert "\n  Hints: read-only\n" in prompt


def test_the_checks_can_fail() -> None:
    bad = {
        "type": "object",
        "properties": {"a[]": {"$ref": "#/x"}},
        "anyOf": [],
        "additionalProperties": True,
    }
    function = {"name": "a.b", "description": "x" * 1025, "parameters": bad, "strict": True}
    assert len(vendors.openai({"type": "function", "function": function})) >= 4
    assert len(vendors.openai_strict({"type": "function", "function": function})) >= 6
    assert len(vendors.anthropic({"name": "a.b", "input_schema": bad})) >= 4
    assert len(vendors.gemini({"name": "a.b", "description": "", "parameters": bad})) >= 4
