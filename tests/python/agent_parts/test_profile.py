"""The profile of an agent, its prompts and its budget."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from toolhub.agents import AgentProfile, AgentPrompts, Budget

YAML = """\
name: clerk
prompt: |
  You are a clerk.
  Be brief.
available_tools: [read_*, "!read_secret"]
max_rounds: 4
max_uses: {send_mail: 1}
views:
  reader:
    available_tools: [read_invoice]
    effects: harmless
"""


def test_a_profile_has_the_defaults_of_the_contract() -> None:
    profile = AgentProfile()
    assert (profile.enable_tool_calling, profile.available_tools) == (True, ())
    assert profile.max_tool_result_length == 4000


def test_a_profile_loads_from_yaml_and_json_and_goes_back(tmp_path: Path) -> None:
    (tmp_path / "clerk.yaml").write_text(YAML, encoding="utf-8")
    profile = AgentProfile.load(tmp_path / "clerk.yaml")
    assert profile.prompt == "You are a clerk.\nBe brief.\n"
    assert profile.available_tools == ("read_*", "!read_secret")
    assert profile.view("reader").effects == "harmless"
    (tmp_path / "clerk.json").write_text(json.dumps(profile.to_dict()), encoding="utf-8")
    assert AgentProfile.load(tmp_path / "clerk.json") == profile == AgentProfile.of(profile.to_dict())


def test_an_empty_list_of_tools_is_filled() -> None:
    assert AgentProfile().filled(["a", "b"]).available_tools == ("a", "b")
    assert AgentProfile(available_tools=("c",)).filled(["a", "b"]).available_tools == ("c",)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"max_tool_result_length": 999}, "max_tool_result_length must be at least 1000, got 999"),
        ({"max_rounds": 0}, "max_rounds must be at least 1, got 0"),
        ({"available_tools": "read_*"}, "available_tools must be a list of names, got 'read_\\*'"),
        ({"enable_tool_calling": "yes"}, "enable_tool_calling must be true or false, got 'yes'"),
        ({"effects": "some"}, "effects must be one of harmless, not_acting, all; got 'some'"),
        ({"views": {"a": {"max_round": 3}}}, "has no field 'max_round'; did you mean 'max_rounds'"),
        ({"toolz": []}, "AgentProfile has no field 'toolz'"),
    ],
)
def test_a_wrong_profile_is_one_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        AgentProfile.from_dict(given)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.yaml", "- a", "it is not a mapping"),
        ("a.yaml", "a: &x [1]\nb: *x", "YAML alias"),
        ("a.json", "{", "cannot be read"),
        ("a.json", "[]", "it is not a mapping"),
    ],
)
def test_a_broken_file_says_why(tmp_path: Path, name: str, text: str, why: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=why):
        AgentProfile.load(tmp_path / name)


def test_prompts_are_replaced_file_by_file(tmp_path: Path) -> None:
    (tmp_path / "zh").mkdir()
    (tmp_path / "empty.md").write_text("Say something.", encoding="utf-8")
    (tmp_path / "zh" / "reason.md").write_text("步骤：$step", encoding="utf-8")
    english, chinese = AgentPrompts(tmp_path), AgentPrompts(tmp_path, "zh")
    assert english.text("empty") == chinese.text("empty") == "Say something."
    assert chinese.text("reason", step="算 $5") == "步骤：算 $5"
    assert "Earlier results" in english.text("reason", step="", results="", profile="")


@pytest.mark.parametrize("name", ["chat", "plan", "reason", "arguments", "empty", "repeated"])
def test_both_languages_have_every_prompt_with_the_same_places(name: str) -> None:
    import re

    places = [set(re.findall(r"\$\w+", AgentPrompts(lang=lang).text(name))) for lang in ("en", "zh")]
    assert places[0] == places[1]


def test_a_budget_counts_in_the_budgets_around_it_and_never_beyond_them() -> None:
    whole = Budget(calls=3, uses={"send_*": 1})
    part = whole.child(calls=100, uses={"send_*": 100})
    assert [part.take_call(name) for name in ("read", "send_mail")] == [None, None]
    assert part.take_call("send_note") == "The budget is used up: 1 use of 'send_*'."
    assert whole.take_call("read") is None
    assert part.take_call("read") == "The budget is used up: 3 calls."
    assert whole.spent["calls"] == 3
    assert part.spent["calls"] == 2


def test_a_restored_budget_goes_on() -> None:
    first = Budget(rounds=2, tokens=100)
    first.take_round()
    first.take_tokens(40)
    second = Budget(rounds=2, tokens=100)
    second.restore(json.loads(json.dumps(first.spent)))
    assert second.take_round() is None
    assert second.take_round() == "The budget is used up: 2 rounds."
    second.restore({"rounds": 0})
    assert second.spent["rounds"] == 2


@given(
    some.lists(some.sampled_from(["read", "send_mail", "send_note", "resume"]), max_size=30),
    some.integers(0, 8),
    some.integers(0, 4),
)
def test_no_order_of_calls_and_resumes_gets_more_than_the_budget(
    names: list[str], calls: int, uses: int
) -> None:
    def budgets() -> tuple[Budget, Budget]:
        outer = Budget(calls=calls, uses={"send_*": uses})
        return outer, outer.child(calls=5)

    made: list[str] = []
    outer, inner = budgets()
    for n, name in enumerate(names):
        if name == "resume":
            state = json.loads(json.dumps(inner.state))
            outer, inner = budgets()
            inner.restore(state)
        elif (outer, inner)[n % 2].take_call(name) is None:
            made.append(name)
    assert len(made) <= calls
    assert sum(name.startswith("send_") for name in made) <= uses
    assert inner.spent["calls"] <= 5


def test_a_profile_that_cannot_be_read_says_so_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"^the profile '.*none\.yaml' cannot be read: "):
        AgentProfile.load(tmp_path / "none.yaml")
    with pytest.raises(OSError, match=r"^the profile '.*' cannot be read: "):
        AgentProfile.load(tmp_path)
    (tmp_path / "twice.json").write_text('{"name": "a", "name": "b"}')
    with pytest.raises(ValueError, match="the key 'name' is given twice"):
        AgentProfile.load(tmp_path / "twice.json")
