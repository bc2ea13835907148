"""`limit=` bounds the tools of a prompt, with a query and without one."""

import pytest

from toolhub import ToolHub


def hub_of(count: int) -> ToolHub:
    hub = ToolHub()
    for number in range(count):
        hub.register(lambda: None, name=f"tool_{number:02}", description="A tool.")
    return hub


@pytest.mark.parametrize("limit", [0, 1, 3, 20])
def test_a_limit_without_a_query(limit: int) -> None:
    hub = hub_of(12)
    shown = min(limit, 12)
    prompt = hub.system_prompt(limit=limit, style="names")
    assert sum(f"tool_{number:02}" in prompt for number in range(12)) == shown
    for declared in (hub.as_openai(limit=limit), hub.as_anthropic(limit=limit), hub.as_gemini(limit=limit)):
        assert len(declared) == shown


def test_without_a_limit_all_tools_are_shown() -> None:
    hub = hub_of(12)
    prompt = hub.system_prompt(style="names")
    assert all(f"tool_{number:02}" in prompt for number in range(12))
    assert len(hub.as_openai()) == 12


def test_core_tools_come_on_top_of_the_limit() -> None:
    prompt = hub_of(5).system_prompt(limit=1, core=["tool_04"], style="names")
    assert [f"tool_{number:02}" in prompt for number in range(5)] == [True, False, False, False, True]
