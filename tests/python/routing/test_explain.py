"""What would happen, and why: without calling and without connecting."""

import sys
from typing import Any

import pytest

from toolhub import ToolHub

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda hub: hub, "the tool was registered with this strategy"),
        (lambda hub: ToolHub(strategies={"search_*": "all"}), "the hub has this strategy for 'search_*'"),
    ],
)
def test_the_strategy_of_a_tool_is_shown_for_one_candidate_too(make: Any, why: str) -> None:
    hub = make(ToolHub())
    registered = {} if "hub" in why else {"strategy": "all"}
    hub.register(lambda q: q, name="search_x", **registered)
    lines = hub.explain("search_x").text.splitlines()
    at = lines.index("Strategy: first, because there is one candidate.")
    assert lines[at + 1] == f"With more candidates: all, because {why}."


def hub_with(*places: str, **more: Any) -> tuple[ToolHub, list[str]]:
    """A hub whose `t` writes down when it is called."""
    hub, called = ToolHub(), list[str]()

    def t(n: int) -> int:
        called.append("t")
        return n

    for place in places:
        where: dict[str, Any] = (
            {"source": place} if place in ("tools", "skills") else {"source": "mcps", "server": place}
        )
        hub.register(t, name="t", **where, **more)
    return hub, called


def test_rule_candidates_strategy_and_text() -> None:
    hub, called = hub_with("tools", "excel", read_only=True)
    explained = hub.explain({"tool_name": "t", "arguments": {"n": 1}, "source": "native"})
    assert (explained.rule, explained.strategy, explained.refreshes) == ("alias", "fallback", [])
    assert [(one.source, one.server) for one in explained.candidates] == [("mcps", "excel"), ("tools", None)]
    assert str(explained) == explained.text
    assert explained.text.splitlines() == [
        "'t': 'native' is a label: every source is asked, MCP servers first.",
        "Candidates, in order:",
        "  1. mcps:excel (priority 2, not called yet; harmless: declared at registration)",
        "  2. tools (priority 0, not called yet; harmless: declared at registration)",
        "Approval: not needed; every candidate is known to be harmless.",
        "Strategy: fallback (one after another, until one succeeds), "
        "because the first match answers a model's call, and the others are its fallback.",
        "The arguments fit.",
        "Shadowing: mcps:excel has the name of a native tool; it is still a candidate.",
    ]
    assert called == []


def test_several_shadows_are_reported_in_the_plural() -> None:
    hub, _ = hub_with("tools", "excel", "word")
    text = hub.explain("t").text
    assert "mcps:excel, mcps:word have the name of a native tool; they are still candidates." in text


def test_a_name_is_explained_as_execute_would_do_it() -> None:
    hub, called = hub_with("tools", "excel", effects=True)
    explained = hub.explain("t", {"n": 1})
    assert (explained.rule, explained.strategy) == ("name", "fallback")
    assert [one.source for one in explained.candidates] == ["tools", "mcps"]
    assert "because the tool has effects, so its candidates never run at once." in explained.text
    assert hub.explain("t", strategy="first").strategy == "fallback", "safety always"
    assert "arguments" not in hub.explain("t").text, "what is not given is not judged"
    assert called == []


@pytest.mark.parametrize("request_", [{"name": "t", "arguments": {"n": "x"}}, {"name": "t"}])
def test_arguments_that_would_be_refused_are_reported_with_the_reason(request_: dict[str, Any]) -> None:
    hub, called = hub_with("tools")
    text = hub.explain(request_).text
    assert "tools refuses the arguments and is skipped: Invalid arguments for 't': n" in text
    assert text.endswith("Nothing is called.")
    assert called == []


async def test_health_is_reported() -> None:
    hub = ToolHub(limits={"breaker_threshold": 1})

    async def fails() -> None:
        raise OSError("no")

    hub.register(fails, name="t", source="mcps", server="bad", effects=True)
    hub.register(lambda: 1, name="t", source="mcps", server="good", effects=True)
    for server in ("bad", "good"):
        await hub.execute("t", {}, server=server)
    lines = hub.explain({"name": "t"}).text.splitlines()
    assert "  1. mcps:good (priority 2, 1 of 1 calls succeeded in about " in lines[2]
    assert lines[3] == (
        "  2. mcps:bad (priority 2, 0 of 1 calls succeeded, rests after failures; "
        "may act: declared at registration)"
    )


SQL = {"type": "object", "properties": {"sql": {"type": "string"}}}


@pytest.mark.parametrize(
    ("name", "more", "safety", "evidence"),
    [
        ("find_and_delete", {}, "may_act", "its name contains the acting verb 'delete'"),
        ("get_user", {}, "harmless", "its name has the reading verb 'get'"),
        (
            "almanac",
            {"capabilities": ["weather"]},
            "harmless",
            "declared with the reading capability 'weather'",
        ),
        ("list_set", {}, "unknown", "the word 'set' in its name may be what it does"),
        ("mailing_list_blast", {}, "unknown", "the word 'list' in its name may be a noun"),
        ("find_and_wibble", {}, "unknown", "its name may have another verb after 'and'"),
        (
            "get_mail",
            {"description": "Removes a mail."},
            "unknown",
            "its description has the acting verb 'remove'",
        ),
        ("get_rows", {"parameters": SQL}, "unknown", "its parameters name 'sql', which may ask for a change"),
        ("t", {"annotations": {"readOnlyHint": False}}, "may_act", "annotated `readOnlyHint: false`"),
        ("delete", {"read_only": True}, "harmless", "declared at registration"),
        ("frobnicate", {}, "unknown", "nothing shows whether it changes anything"),
    ],
)
def test_the_evidence_for_effects_is_shown(
    name: str, more: dict[str, Any], safety: str, evidence: str
) -> None:
    hub = ToolHub()
    candidate = hub.register(lambda: 1, name=name, **more)
    tool = hub.get(name)
    assert tool is not None
    assert (candidate.safety, candidate.evidence) == (tool.safety, tool.evidence) == (safety, evidence)
    assert tool.needs_approval == (safety != "harmless")
    words = {"may_act": "may act", "unknown": "unknown effects"}.get(safety, safety)
    assert f"; {words}: {evidence})" in hub.explain(name).text


def test_unknown_effects_of_servers_are_the_reason_for_a_fallback() -> None:
    hub, _ = hub_with("excel", "word")
    for strategy in ("auto", "all", "first"):
        explained = hub.explain("t", strategy=strategy)
        assert explained.strategy == "fallback"
        assert (
            "because the effects of a server's tool are unknown, so its candidates never run at once unless its "
            "server has assume_read_only." in explained.text
        )
    assert hub_with("tools", "skills")[0].explain("t").strategy == "all"


def test_an_unknown_tool_is_reported_with_near_names_and_whom_would_be_asked() -> None:
    hub, _ = hub_with("tools")
    hub.register(len, name="length")
    hub.add_server("files", command=sys.executable, args=["-c", "raise SystemExit('started')"])
    hub.add_server("off", command=sys.executable, disabled=True)
    explained = hub.explain({"name": "lenght"})
    assert (explained.rule, explained.strategy, explained.candidates, explained.refreshes) == (
        "auto",
        "none",
        [],
        ["files"],
    )
    assert explained.text.splitlines()[1:] == [
        "There is no tool named 'lenght'. Did you mean 'length'?",
        "It is not listed yet: one server has not listed its tools (files).",
        "Before the call, these servers are asked for their tools, because their list is missing or old: files.",
    ]
    assert hub.explain({"name": "lenght", "source": "tools"}).refreshes == []
    assert hub.explain({"name": "lenght", "source": "off"}).refreshes == ["off"], "it was named"
    assert [server.state for server in hub.servers()] == ["disconnected", "disabled"]


def test_forbidden_shadows_are_reported() -> None:
    hub = ToolHub(shadow="deny")
    hub.register(len, name="t")
    hub.register(len, name="t", source="mcps", server="evil")
    assert "Shadowing: mcps:evil has the name of a native tool; it is never called" in hub.explain("t").text


def test_an_unknown_source_is_reported() -> None:
    hub, _ = hub_with("tools")
    explained = hub.explain({"name": "t", "source": "nowhere"})
    assert (explained.rule, explained.candidates, explained.strategy) == ("unknown", [], "none")
    assert "There is no source 'nowhere'. Known servers: none." in explained.text
