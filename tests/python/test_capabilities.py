"""Capabilities: declared or extracted, counted, found, and the table that users extend."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhub import ToolHub, extract_capabilities


@pytest.fixture
def hub() -> ToolHub:
    return ToolHub()


def nothing() -> int:
    return 1


@pytest.mark.parametrize(
    ("name", "description", "expected"),
    [
        ("web_search", "Search the web", {"search", "web"}),
        ("calculator", "Calculate an arithmetic expression", {"calculate"}),
        ("now", "Tell the current time in a city", {"time"}),
        ("搜索工具", "搜索网络上的研究资料", {"search", "web", "research"}),
        ("计算器", "计算数学表达式", {"calculate"}),
        ("时钟", "返回当前时间", {"time"}),
        ("tool", "翻译一段文字", {"translate"}),
    ],
)
def test_capabilities_are_extracted_in_english_and_chinese(
    hub: ToolHub, name: str, description: str, expected: set[str]
) -> None:
    assert expected <= set(extract_capabilities(name, description))
    candidate = hub.register(nothing, name=name, description=description)
    assert expected <= set(candidate.capabilities)
    assert candidate.capabilities == extract_capabilities(name, description)
    assert hub.find_by_capability(next(iter(expected)))[0].name == name


def test_declared_capabilities_take_the_place_of_extracted_ones(hub: ToolHub) -> None:
    assert hub.register(nothing, name="web_search", capabilities=["Other", "other ", ""]).capabilities == [
        "other"
    ]
    assert hub.register(nothing, name="search", capabilities=[]).capabilities == []
    assert hub.find_by_capability("search") == []


def test_nothing_is_extracted_from_nothing() -> None:
    assert extract_capabilities("", "") == []
    assert extract_capabilities("xyzzy", "") == []


def test_capabilities_count_candidates_and_follow_the_registry(hub: ToolHub) -> None:
    assert hub.capabilities() == {}
    hub.register(nothing, name="a", capabilities=["x", "y"])
    hub.register(nothing, name="a", source="skills", capabilities=["x"])
    hub.register(nothing, name="b", capabilities=["y"])
    assert hub.capabilities() == {"x": 2, "y": 2}
    hub.register(nothing, name="b", capabilities=["z"])
    assert hub.capabilities() == {"x": 2, "y": 1, "z": 1}
    hub.unregister("a", source="tools")
    assert hub.capabilities() == {"x": 1, "z": 1}


def test_find_by_capability_orders_by_priority_then_registration(hub: ToolHub) -> None:
    for name, source in [("c", "mcps"), ("a", "tools"), ("b", "skills"), ("d", "tools")]:
        hub.register(nothing, name=name, source=source, capabilities=["x"])
    hub.register(nothing, name="e", source="mcps", priority=-1, capabilities=["x"])
    assert [candidate.name for candidate in hub.find_by_capability("X")] == ["e", "a", "d", "b", "c"]
    assert hub.find_by_capability("nobody") == []


def test_a_tool_shows_the_capabilities_of_all_its_candidates(hub: ToolHub) -> None:
    hub.register(nothing, name="t", capabilities=["x", "y"])
    hub.register(nothing, name="t", source="skills", capabilities=["y", "z"])
    assert hub.get("t").capabilities == ["x", "y", "z"]


def test_rules_can_be_added_in_any_language_for_tools_to_come(hub: ToolHub) -> None:
    before = hub.register(nothing, name="point_telescope", description="")
    hub.capability_rules.add("Astronomy", ["telescope", "望远镜"])
    assert before.capabilities == []
    assert hub.register(nothing, name="point_telescope", description="").capabilities == ["astronomy"]
    assert hub.register(nothing, name="t", description="控制望远镜").capabilities == ["astronomy"]
    assert hub.capability_rules["astronomy"] == ["telescope", "望远镜"]
    assert "astronomy" in hub.capability_rules
    hub.capability_rules.add("astronomy", ["observatory"])
    assert hub.capability_rules.extract("my_observatory") == ["astronomy"]
    assert hub.capability_rules.extract("point_telescope") == ["astronomy"]


def test_rules_can_be_removed(hub: ToolHub) -> None:
    assert "search" in hub.capability_rules.extract("search_notes")
    assert hub.capability_rules.remove("search")
    assert not hub.capability_rules.remove("search")
    assert "search" not in hub.capability_rules
    assert "search" not in hub.capability_rules.extract("search_notes")
    with pytest.raises(KeyError):
        hub.capability_rules["search"]


def test_the_rules_of_one_hub_are_its_own(hub: ToolHub) -> None:
    hub.capability_rules.add("astronomy", ["telescope"])
    hub.capability_rules.remove("time")
    assert "astronomy" not in ToolHub().capability_rules
    assert "time" in ToolHub().capability_rules
    assert extract_capabilities("telescope", "") == []


def test_the_rules_are_a_mapping_of_tags_to_words(hub: ToolHub) -> None:
    rules = dict(hub.capability_rules)
    assert len(rules) == len(hub.capability_rules) == len(list(hub.capability_rules))
    assert "搜索" in rules["search"]
    assert "计算" in rules["calculate"]


@pytest.mark.parametrize("words", ["telescope", [1], [None]], ids=repr)
def test_wrong_words_are_refused(hub: ToolHub, words: Any) -> None:
    with pytest.raises(TypeError):
        hub.capability_rules.add("astronomy", words)
    assert "astronomy" not in hub.capability_rules


texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(name=texts, description=texts)
def test_extraction_takes_any_text_and_gives_known_tags_without_repeats(name: str, description: str) -> None:
    hub = ToolHub()
    tags = extract_capabilities(name, description)
    assert len(tags) == len(set(tags))
    assert set(tags) <= set(hub.capability_rules)
    finer = extract_capabilities(name, description, finer=True)
    assert set(tags) <= set(finer)
    assert finer == hub.capability_rules.extract(name, description)


FITTING = {
    "search": ("find_recipes", "Search recipes by ingredient"),
    "web": ("fetch_page", "Fetch a web page"),
    "research": ("papers", "Search academic papers"),
    "calculate": ("adder", "Add two numbers"),
    "time": ("zone_clock", "The current time in a time zone"),
    "weather": ("forecast_days", "Weather forecast for a city"),
    "document": ("outline_docx", "Read the outline of a Word document"),
    "pdf": ("split_pdf", "Split a PDF into pages"),
    "extract": ("scrape_table", "Extract tables from a page"),
    "analyze": ("churn_analysis", "Analyze why customers leave"),
    "test": ("run_suite", "Run the test suite of a project"),
    "webapp": ("serve_webapp", "Show a web application"),
    "map": ("geocode", "The coordinates of an address on the map"),
    "history": ("recent_chats", "The conversation history of a user"),
}
ASKED = [
    *((tag, tag) for tag in FITTING),
    *((word, "calculate") for word in ("计算", "算", "calc", "Calculator")),
    *((word, "time") for word in ("时间", "日期", "now", "date")),
    *((word, "search") for word in ("搜索", "检索", "查找", "query")),
    *((word, "analyze") for word in ("分析", "总结", "summary")),
    *((word, "history") for word in ("历史", "对话", "conversation")),
    *((word, "map") for word in ("地图", "位置", "location")),
    ("测试", "test"),
    ("天气", "weather"),
    ("文档", "document"),
    ("提取", "extract"),
    ("研究", "research"),
    ("网页", "web"),
    ("网页应用", "webapp"),
]


# Tools that are called by nothing but the words of orchestrators.
NAMED = {
    "search": ("search_items", "搜索", "检索", "查找", "query"),
    "web": ("web", "open_web_page", "网页", "联网搜索"),
    "research": ("research", "literature_research", "研究", "论文"),
    "calculate": ("calc", "calculate", "计算", "算"),
    "time": ("now", "time", "get_date", "时间", "日期"),
    "weather": ("weather", "weather_forecast", "天气"),
    "document": ("document", "read_document", "文档"),
    "pdf": ("pdf", "read_pdf", "pdf文档"),
    "extract": ("extract", "extract_text", "提取", "抽取"),
    "analyze": ("analyze", "summary", "分析", "总结"),
    "test": ("test", "run_tests", "测试"),
    "webapp": ("webapp", "web_app_builder", "web应用"),
    "map": ("map", "location", "地图", "位置"),
    "history": ("history", "chat_history", "历史", "对话"),
}


@pytest.mark.parametrize(("tag", "name"), [(tag, name) for tag, names in NAMED.items() for name in names])
def test_a_name_alone_has_the_tag_that_orchestrators_ask_for(hub: ToolHub, tag: str, name: str) -> None:
    assert tag in hub.register(nothing, name=name, description="", read_only=True).capabilities
    assert hub.call_by_capability(tag).meta["tool"] == name


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("azmcp_logs_translate_natural_language_to_log_query", "Translates natural language to a log query."),
        ("nl2sql", "Translate the user's natural language question into a SQL query"),
        ("ask_data", "将自然语言翻译为SQL查询"),
        ("nat_rules", "Lists network address translation rules"),
    ],
)
def test_only_human_languages_are_translated(name: str, description: str) -> None:
    assert "translate" not in extract_capabilities(name, description)
    assert "translate" in extract_capabilities("translate_text", "Translates text into another language")


@pytest.mark.parametrize(("asked", "tag"), ASKED)
def test_the_words_of_orchestrators_are_given_and_answered(hub: ToolHub, asked: str, tag: str) -> None:
    for name, description in FITTING.values():
        hub.register(nothing, name=name, description=description, read_only=True)
    name, _ = FITTING[tag]
    info = hub.get(name)
    assert info is not None
    assert tag in info.capabilities
    assert name in [candidate.name for candidate in hub.find_by_capability(asked)]
    assert name in [info.name for info in hub.tools(capability=asked)]
    assert hub.call_by_capability(asked).success


@pytest.mark.parametrize(
    ("asked", "has"),
    [
        ("history", "memory"),
        ("calculate", "math"),
        ("document", "pdf"),
        ("document", "spreadsheet"),
        ("pdf", "document"),
        ("analyze", "summarize"),
        ("数学", "calculate"),
        ("calculate", "计算"),
        ("搜索", "web"),
    ],
)
def test_a_close_tag_answers_when_no_tool_has_the_precise_one(hub: ToolHub, asked: str, has: str) -> None:
    hub.register(lambda: "close", name="close_tool", capabilities=[has])
    assert hub.call_by_capability(asked).result == "close"
    hub.register(lambda: "precise", name="precise_tool", capabilities=[asked], priority=9)
    assert [candidate.name for candidate in hub.find_by_capability(asked)] == ["precise_tool", "close_tool"]
    result = hub.call_by_capability(asked)
    assert (result.result, result.meta["tool"]) == ("precise", "precise_tool")


def test_a_word_that_is_close_to_nothing_still_fails(hub: ToolHub) -> None:
    hub.register(nothing, name="t", capabilities=["calculate"])
    assert hub.find_by_capability("weather") == []
    assert hub.call_by_capability("weather").kind == "no_capability"


@pytest.mark.parametrize(
    ("name", "tag"),
    [("now", "time"), ("query", "search"), ("summary", "summarize"), ("calc", "calculate"), ("日期", "time")],
)
def test_a_name_of_one_word_has_its_tag(hub: ToolHub, name: str, tag: str) -> None:
    assert tag in extract_capabilities(name)
    assert tag in hub.register(nothing, name=name, description="").capabilities


@pytest.mark.parametrize("tag", FITTING)
def test_every_tag_of_orchestrators_is_extracted(hub: ToolHub, tag: str) -> None:
    name, description = FITTING[tag]
    tags = extract_capabilities(name, description, finer=True)
    assert tag in tags
    assert tags == hub.capability_rules.extract(name, description)
    broad = extract_capabilities(name, description)
    assert set(broad) == set(tags) - {"pdf", "analyze", "test", "webapp", "history"}


def test_finding_a_user_is_no_web_research(hub: ToolHub) -> None:
    for description in ("", "Find a user by id", "查找用户"):
        assert extract_capabilities("find_user", description) == ["search"]
        hub.register(lambda: 1, name="find_user", description=description or "Finds.", replace=True)
        assert [hub.find_by_capability(tag) for tag in ("web", "research")] == [[], []]
