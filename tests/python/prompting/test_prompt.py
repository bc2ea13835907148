"""`system_prompt`: which tools, in which order, how much of each."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

import pytest

import toolhub
from toolhub import ToolHub


def hub_of(*names: str, **options: Any) -> ToolHub:
    hub = ToolHub()
    for name in names:
        hub.register(lambda x: x, name=name, description=f"Does {name.replace('_', ' ')}.", **options)
    return hub


def shown(prompt: str) -> list[str]:
    return re.findall(r"^(?:\d+\.|-) \*\*(.+?)\*\*", prompt, re.MULTILINE)


def test_a_prompt_shows_everything_known_about_a_tool() -> None:
    hub = ToolHub()

    @hub.tool(
        read_only=True,
        idempotent=True,
        category="files",
        version="2.1",
        examples=[{"path": "a.txt"}, "Read the notes."],
    )
    def read(path: str, mode: toolhub.Strategy | None = None, lines: int = 10) -> str:  # type: ignore[valid-type]
        """Read a file.

        Args:
            path: Where it is.
            lines: How many.
        """
        return path

    assert hub.tools(category="files")[0].version == "2.1"
    prompt = hub.system_prompt()
    assert (
        "1. **read**\n  Read a file.\n  Parameters:\n    - path (string): Where it is. [required]\n" in prompt
    )
    assert "    - lines (integer): How many. (default 10) [optional]\n" in prompt
    assert "  Hints: read-only, idempotent\n  Category: files\n  Version: 2.1\n" in prompt
    assert '  Examples:\n    - {"path":"a.txt"}\n    - Read the notes.\n' in prompt
    chinese = hub.system_prompt(lang="zh")
    assert "  参数：\n    - path (string): Where it is. [必需]\n" in chinese
    assert "  提示：只读、幂等\n  类别：files\n  版本：2.1\n  示例：\n" in chinese
    assert "**你有 1 个可用工具。**" in chinese


def test_only_declared_hints_are_shown() -> None:
    hub = ToolHub()
    for name, options in {
        "a": {"effects": True},
        "b": {"annotations": {"readOnlyHint": False, "destructiveHint": False}},
        "c": {"annotations": {"destructiveHint": True, "idempotentHint": True}},
        "send_mail": {},
    }.items():
        hub.register(len, name=name, **options)  # type: ignore[arg-type]
    entries = re.split(r"\n\d\. ", hub.system_prompt())[1:]
    hints = [re.findall(r"Hints: (.*)", entry) for entry in entries]
    assert hints == [["destructive"], [], ["destructive, idempotent"], []]


def test_the_protocol_forbids_a_source_and_is_what_the_hub_parses() -> None:
    for lang, words in (("en", "Do NOT give a `source`"), ("zh", "不要提供 `source`")):
        prompt = hub_of("add").system_prompt("Base.", lang=lang)  # type: ignore[arg-type]
        assert prompt.startswith("Base.\n\n## 🔧")
        assert words in prompt
        (call,) = toolhub.parse(prompt.partition("\n- ")[0]).calls
        assert call.error is None
        assert call.source is None
        assert call.id == "call_001"


def test_the_order_of_registration_does_not_matter() -> None:
    names = [f"tool_{number}" for number in range(50)] + ["calculate", "none"]
    one = hub_of(*names).system_prompt()
    random.Random(1).shuffle(names)
    assert hub_of(*names).system_prompt() == one
    assert shown(one)[:3] == ["none", "calculate", "tool_0"]


def test_the_core_tools_are_an_option_of_the_hub() -> None:
    hub = ToolHub(core=["paint_wall"])
    for name in ("paint_wall", "send_mail", "calculate"):
        hub.register(lambda: 1, name=name, description=name)
    shown = hub.system_prompt(query="mail", limit=1, style="names")
    assert "paint_wall" in shown
    assert "send_mail" in shown
    assert "calculate" not in shown
    with pytest.raises(TypeError, match="core must be a list of names"):
        ToolHub(core="paint_wall")


def test_core_tools_then_relevant_ones_then_the_count() -> None:
    hub = hub_of("send_mail", "read_mail", "draw_circle", "paint_wall", "get_time", "search_web")
    prompt = hub.system_prompt(query="read my mail", limit=1)
    assert shown(prompt) == ["search_web", "get_time", "read_mail"]
    assert "\n(3 more tools can be called by name)\n\n**You have 6 tools available.**\n" in prompt
    assert "\n(还有 3 个其他工具，可通过工具名称直接调用)\n" in hub.system_prompt(
        query="read my mail", limit=1, lang="zh"
    )
    own = hub.system_prompt(query="mail", limit=2, core=["paint_wall", "unknown"])
    assert shown(own)[0] == "paint_wall"
    assert set(shown(own)[1:]) == {"send_mail", "read_mail"}
    assert shown(hub.system_prompt(query="circle", tools=["draw_circle", "read_mail"])) == ["draw_circle"]


@pytest.mark.parametrize("shape", ["prompt", "api"])
@pytest.mark.parametrize(("others", "gone"), [(0, 5), (0, 10), (4, 3), (4, 1)])
def test_tools_may_go_while_the_relevant_ones_are_looked_for(shape: str, others: int, gone: int) -> None:
    names = [f"chosen_{number}" for number in range(10)]
    hub = hub_of(*names)
    for number in range(others):
        hub.register(len, name=f"mail_{number}", description="Reads mail: the mail of the mail box.")

    def chosen() -> Iterator[str]:
        # Read after the hub was asked which tools there are.
        yield from names
        for name in names[:gone]:
            hub.unregister(name)

    if shape == "prompt":
        found = shown(hub.system_prompt(query="read chosen mail", limit=1, tools=chosen()))
    else:
        found = [one["function"]["name"] for one in hub.as_openai("read chosen mail", 1, tools=chosen())]
    left = names[gone:]
    assert len(found) == min(1, len(left))
    assert set(found) <= set(left)


def test_styles() -> None:
    hub = ToolHub()

    @hub.tool(read_only=True)
    def find(words: list[str], limit: int = 5) -> str:
        """Find notes. With a long explanation behind it."""
        return ""

    compact = hub.system_prompt(style="compact")
    assert "\n- **find**(words: string[], limit?: integer): Find notes. [read-only]\n" in compact
    hub.register(len, name="length")
    assert "## 🔧 Available Tools\n\nfind, length\n\n**You have 2 tools available.**" in hub.system_prompt(
        style="names"
    )


def test_a_hub_without_tools_adds_nothing() -> None:
    assert ToolHub().system_prompt("Only this.") == "Only this."


def tokens(text: str) -> int:
    return toolhub.truncate(text, 0, unit="tokens").total


def test_a_budget_holds_and_the_first_tools_keep_the_most() -> None:
    hub = ToolHub()
    for number in range(200):
        hub.register(
            lambda path, mode="r": path,
            name=f"tool_{number:03}",
            description=f"Does number {number}. " + "It takes some words to say what. " * 5,
        )
    whole = hub.system_prompt("Base.")
    assert hub.system_prompt("Base.", budget_tokens=10**6) == whole
    seen: list[tuple[int, int, int]] = []
    for budget in (15_000, 8_000, 4_000, 2_000, 1_000, 600):
        prompt = hub.system_prompt("Base.", budget_tokens=budget)
        assert len(prompt) < len(whole)
        assert estimate(prompt) <= budget
        assert "**You have 200 tools available.**" in prompt
        assert prompt.startswith("Base.")
        detailed = len(re.findall(r"^\d+\. \*\*", prompt, re.MULTILINE))
        compact = len(re.findall(r"^- \*\*tool", prompt, re.MULTILINE))
        # In their order, so that the first have the most.
        named = re.findall(r"tool_\d{3}", prompt)
        assert named == [f"tool_{number:03}" for number in range(len(named))]
        seen.append((detailed, compact, len(named)))
        if len(named) < 200:
            assert f"({200 - len(named)} more tools can be called by name)" in prompt
    assert seen == sorted(seen, key=lambda one: (one[2], one[0] + one[1], one[0]), reverse=True)
    assert seen[0][0] > 0
    assert seen[-1][0] == 0
    assert seen[-1][2] < 200


def test_a_larger_budget_never_shows_less() -> None:
    hub = ToolHub()
    for number in range(25):
        # Lines of different lengths: what is left may be too little for the next line, and enough for some details.
        hub.register(lambda: 0, name=f"tool_{number:02}", description="Some words. " * (1 + number % 3 * 9))
    shown: list[tuple[int, int, int]] = []
    for budget in range(300, 2_000, 7):
        prompt = hub.system_prompt(budget_tokens=budget)
        detailed = len(re.findall(r"^\d+\. \*\*tool", prompt, re.MULTILINE))
        compact = len(re.findall(r"^- \*\*tool", prompt, re.MULTILINE))
        assert detailed == 0 or detailed + compact == 25, "details come after all lines"
        shown.append((len(re.findall(r"tool_\d\d", prompt)), detailed + compact, detailed))
    assert shown == sorted(shown)
    assert shown[-1] == (25, 25, 25)


def estimate(text: str) -> int:
    """Tokens as the hub counts them: the smallest limit that cuts nothing."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high) // 2
        if toolhub.truncate(text, middle, unit="tokens").truncated:
            low = middle + 1
        else:
            high = middle
    return low


def test_the_fullest_prompt_within_a_budget_is_shown() -> None:
    hub = hub_of("aa", "bb")
    styles = ("names", "compact", "detailed")
    whole = {style: hub.system_prompt(style=style) for style in styles}  # type: ignore[arg-type]
    assert sorted(styles, key=lambda style: estimate(whole[style])) == list(styles)
    for style in styles:
        # Exactly so much is enough, and names cost less than the words that they can be called by name.
        assert hub.system_prompt(budget_tokens=estimate(whole[style])) == whole[style]
    for budget in range(estimate(whole["names"]), estimate(whole["detailed"]) + 1):
        listed = hub.system_prompt(budget_tokens=budget).partition("**You")[0]
        assert set(re.findall("aa|bb", listed)) == {"aa", "bb"}


def test_no_name_is_dropped_that_would_fit() -> None:
    names = [f"tool_{number:03}" for number in range(300)]
    hub = hub_of(*names)
    most = estimate(hub.system_prompt(style="names"))
    assert hub.system_prompt(budget_tokens=most) == hub.system_prompt(style="names")
    for budget in (most // 2, most - 30):
        prompt = hub.system_prompt(budget_tokens=budget)
        count = len(re.findall(r"tool_\d{3}", prompt))
        assert 0 < count < 300
        one_more = prompt.replace(names[count - 1], f"{names[count - 1]}, {names[count]}")
        assert estimate(one_more) > budget


@pytest.mark.parametrize(
    ("names", "base"),
    [
        (["aa", "bb"], ""),
        (["add"], "A long base. " * 20),
        ([f"a_tool_with_a_long_name_{number}" for number in range(40)], "Base."),
        ([f"工具{number}" for number in range(11)], ""),
    ],
)
@pytest.mark.parametrize("style", ["names", "compact", "detailed"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_reported_minimum_is_exact(names: list[str], base: str, style: Any, lang: Any) -> None:
    hub = hub_of(*names)

    def prompt(budget: int) -> str:
        return hub.system_prompt(base, style=style, lang=lang, budget_tokens=budget)

    for given in (0, 50):
        with pytest.raises(ValueError, match="must be at least") as error:
            prompt(given)
        least = int(re.findall(r"at least (\d+)", str(error.value))[0])
        assert estimate(prompt(least)) == least
        with pytest.raises(ValueError, match=f"must be at least {least}, .* got {least - 1}"):
            prompt(least - 1)


def test_a_budget_that_is_too_small_raises() -> None:
    hub = hub_of("add")
    with pytest.raises(ValueError, match=r"budget_tokens must be at least \d+, .* got 20"):
        hub.system_prompt("A long base. " * 100, budget_tokens=20)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"style": "fancy"}, "style must be 'names', 'compact' or 'detailed', got \"fancy\""),
        ({"lang": "de"}, "lang must be 'en' or 'zh'"),
        ({"limit": -1}, "limit"),
        ({"budget_tokens": "many"}, "budget_tokens"),
        ({"core": "none"}, "core must be a list of names"),
        ({"tools": "none"}, "tools must be a list of names"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        hub_of("add").system_prompt(**options)


def test_a_changed_version_is_an_event() -> None:
    hub = ToolHub()
    heard: list[Any] = []
    hub.on_event(heard.append)
    hub.register(len, name="length", version="1")
    hub.register(len, name="length", version="1")
    hub.register(len, name="length", version="1", source="skills")
    assert heard == []
    hub.register(len, name="length", version="2")
    (event,) = heard
    assert (event.type, event.tool, event.source, event.before, event.after) == (
        "version_changed",
        "length",
        "tools",
        "1",
        "2",
    )
