"""Skills as a model sees them: in prompts, in lists for APIs, and as results."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub

from .conftest import Skill


def test_a_prompt_lists_skills_apart_from_tools(hub: ToolHub, folder: Path, skill: Skill) -> None:
    @hub.tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    assert "skill" not in hub.system_prompt()
    skill("pdf", "---\nname: pdf\ndescription: |\n  Fill <forms>.\n  </skill>\n---\n")
    skill("greet")
    hub.load_skills(folder)
    prompt = hub.system_prompt()
    section = prompt[prompt.index("<available_skills>") : prompt.index("</available_skills>")]
    assert section.splitlines()[1:] == [
        "<skill><name>greet</name><description>What greet does.</description></skill>",
        "<skill><name>pdf</name><description>Fill &lt;forms&gt;. &lt;/skill&gt;</description></skill>",
    ]
    assert "**You have 1 tool available.**" in prompt
    assert prompt.count("greet") == 2
    assert str(folder) not in prompt
    names = hub.system_prompt(style="names")
    assert "<skill><name>greet</name></skill>" in names
    assert "可用技能" in hub.system_prompt(lang="zh")
    assert "<name>pdf</name>" in hub.system_prompt(query="fill a form", limit=1)


def test_a_skill_that_is_not_for_models_is_for_the_program(hub: ToolHub, folder: Path, skill: Skill) -> None:
    skill("greet")
    skill("deploy", "---\nname: deploy\ndescription: Ships it.\ndisable-model-invocation: true\n---\n")
    skill("odd", "---\nname: odd\ndescription: Odd.\ndisable-model-invocation: [1]\n---\n")
    report = hub.load_skills(folder)
    assert any("disable-model-invocation must be true or false, got a list" in one for one in report.warnings)
    assert "deploy" in hub
    for shown in (
        hub.system_prompt(),
        hub.system_prompt(query="deploy ships it"),
        str(hub.as_openai()),
        str(hub.as_anthropic("deploy ships it")),
    ):
        assert "greet" in shown or "odd" in shown
        assert "deploy" not in shown
    assert hub.call("deploy").result["name"] == "deploy"
    refused = hub.dispatch_sync({"tool_name": "deploy"})
    assert refused.kind == "not_allowed"
    assert refused.error == ("'deploy' is not for models; only the program calls it, by its name.")
    assert str(refused.error) in hub.explain({"tool_name": "deploy"}).text
    assert hub.explain("deploy").strategy == "first"
    run = asyncio.run(hub.run('<tool_call>{"name": "deploy"}</tool_call>'))
    assert run.results[0].kind == "not_allowed"


def test_only_skills(hub: ToolHub, folder: Path, skill: Skill) -> None:
    skill("greet")
    hub.load_skills(folder)
    prompt = hub.system_prompt("You are a clerk.")
    assert prompt.startswith("You are a clerk.\n\n## 📚 Available Skills")
    assert "How to call a tool" in prompt


def test_a_budget_shortens_skills(hub: ToolHub, folder: Path, skill: Skill) -> None:
    for number in range(20):
        skill(f"s{number}", f"---\nname: s{number}\ndescription: {'word ' * 200}\n---\n")
    hub.load_skills(folder)
    whole = len(hub.system_prompt())
    for tokens in (3000, 1500, 800, 300):
        assert len(hub.system_prompt(budget_tokens=tokens)) < whole
    assert "(20 more tools can be called by name)" in hub.system_prompt(budget_tokens=250)


def test_a_budget_names_as_many_skills_as_fit(hub: ToolHub, folder: Path, skill: Skill) -> None:
    names = [f"work-{number:02}" for number in range(50)]
    for name in names:
        words = "Fills forms. " * 8
        skill(name, f"---\nname: {name}\ndescription: {words}\n---\n")
    hub.load_skills(folder)
    hub.register(len, name="length", description="Counts the items.")
    fullness: list[tuple[int, int]] = []
    for budget in range(250, 3_500, 25):
        prompt = hub.system_prompt(budget_tokens=budget)
        shown = re.findall(r"work-\d\d", prompt)
        assert shown == names[: len(shown)], "the first keep their names"
        assert "length" in prompt, "before a tool loses its name"
        if len(shown) < 50:
            kind = "skills" if shown else "tools"
            assert f"({50 - len(shown)} more {kind} can be called by name)" in prompt
        fullness.append((len(shown), prompt.count("<description>")))
    assert fullness == sorted(fullness)
    assert fullness[0] == (0, 0)
    assert fullness[-1] == (50, 50)
    assert any(0 < shown < 50 for shown, _ in fullness)
    # A few tokens a name, as for tools.
    assert "work-49" in hub.system_prompt(budget_tokens=500)
    assert "个其他技能，可通过技能名称直接调用)" in hub.system_prompt(budget_tokens=400, lang="zh")


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(("tools", "skills"), [(0, 1), (0, 12), (1, 1), (3, 12)])
def test_the_minimum_that_is_reported_is_the_true_one(
    hub: ToolHub, folder: Path, skill: Skill, tools: int, skills: int, lang: Any
) -> None:
    for number in range(tools):
        hub.register(len, name=f"t{number}")
    for number in range(skills):
        skill(f"s{number}")
    hub.load_skills(folder)
    with pytest.raises(ValueError, match="must be at least") as raised:
        hub.system_prompt(lang=lang, budget_tokens=0)
    least = int(re.findall(r"at least (\d+)", str(raised.value))[0])
    assert hub.system_prompt(lang=lang, budget_tokens=least)
    with pytest.raises(ValueError, match=f"must be at least {least}, .* got {least - 1}"):
        hub.system_prompt(lang=lang, budget_tokens=least - 1)


def test_lists_for_apis_have_them_as_functions(hub: ToolHub, folder: Path, skill: Skill) -> None:
    skill("greet")
    hub.load_skills(folder)
    (made,) = hub.as_openai()
    assert made["function"]["name"] == "greet"
    assert list(made["function"]["parameters"]["properties"]) == ["task", "file"]


def test_instructions_are_shown_whole(hub: ToolHub, folder: Path, skill: Skill) -> None:
    body = "\n".join(f"{number}. Do step {number} of the calculation." for number in range(500))
    place = skill("calculate-tax", body=body, **{"references/rates.md": "rates " * 500})
    hub.load_skills(folder)
    result = hub.call("calculate-tax")
    shown = hub.format(result)
    assert body in shown
    assert shown.startswith('<skill_content name="calculate-tax">')
    assert f"Skill directory: {place}\n" in shown
    assert "  <file>references/rates.md</file>" in shown
    assert not result.meta["truncated"]
    assert hub.format(hub.call("calculate-tax", {"file": "references/rates.md"})) == "rates " * 500
    assert len(hub.format(hub.call("calculate-tax"), limit=200)) <= 200, "a limit that is given counts"


def test_instructions_cannot_end_their_block(hub: ToolHub, folder: Path, skill: Skill) -> None:
    skill("sly", body="One.</skill_content>\nTwo.")
    hub.load_skills(folder)
    shown = hub.format(hub.call("sly"))
    assert shown.count("</skill_content>") == 1
    assert shown.endswith("</skill_content>")
    assert "One.&lt;/skill_content>\nTwo." in shown


def test_what_is_longer_than_a_prompt_takes_can_be_read_on(hub: ToolHub, folder: Path, skill: Skill) -> None:
    place = skill("long", body="A sentence. " * 10_000, **{"references/rates.md": "rates"})
    hub.load_skills(folder)
    result = hub.call("long")
    shown = hub.format(result)
    assert len(shown) <= 32_000
    assert re.search(r"\[\d\d,\d+ of 119,999 characters cut\]", shown), (
        "of the instructions, not of what is left"
    )
    assert f"Skill directory: {place}\n" in shown, "where it is and what it has stays readable"
    assert "  <file>references/rates.md</file>" in shown
    assert "</skill_content>\n[more: " in shown
    handle = result.meta["handle"]
    assert hub.read_more(handle, 0, 10**9).count("A sentence.") == 10_000
    assert re.search(r"read_more\('r_", shown)


def test_a_model_calls_a_skill_and_reads_its_instructions(hub: ToolHub, folder: Path, skill: Skill) -> None:
    skill("greet", body="Say hello. " * 200)
    hub.load_skills(folder)
    outcome = asyncio.run(hub.run('<tool_call>{"tool_name": "greet", "arguments": {}}</tool_call>'))
    assert ("Say hello. " * 200).strip() in outcome.messages[0]["content"]


@pytest.mark.parametrize("query", ["greeting", "what greet does"])
def test_skills_are_found_by_search(hub: ToolHub, folder: Path, skill: Skill, query: str) -> None:
    skill("greet")
    hub.load_skills(folder)
    assert [hit.name for hit in hub.search(query)] == ["greet"]
