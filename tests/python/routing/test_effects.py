"""Closed by default: on two real servers, only what is known to be harmless runs twice, is kept or goes unasked."""

import asyncio
import copy
import pickle
from typing import Any, Literal, NamedTuple

import pytest
from pydantic import BaseModel

from toolhub import ErrorKind, ToolError, ToolHub
from toolhub.agents import AgentView
from toolhub.permissions import Approval

from .conftest import Lab

pytestmark = pytest.mark.anyio

ACTING = ["sell_shares", "tweet", "format_disk", "cart_checkout", "forward_mail", "find_and_delete"]
UNKNOWN = [
    "frobnicate",
    "process",
    "time_set",
    "search_toggle",
    "find_and_wibble",
    "fetch_push",
    "get_lock",
    "get_it_sent",
    "countDown",
    "convert",
    "query",
    "parse_prd",
    "export_to_csv",
    "linear_convertIssueToSubtask",
    "threads_mark_read",
    "deleteuser",
]
READING = [
    "get_user",
    "search_web",
    "look_up_word",
    "figma_get_file_nodes",
    "postgres_table_list",
    "issue_get",
]


async def connected(lab: Lab, *tools: str, **options: Any) -> None:
    for label in ("a", "b"):
        lab.add(label, *tools, **options)
    await lab.hub.connect()


def calls(lab: Lab) -> int:
    return lab.asked("a", "tools/call") + lab.asked("b", "tools/call")


async def test_what_may_act_or_is_unknown_runs_on_one_server_only(lab: Lab) -> None:
    await connected(lab, *ACTING, *UNKNOWN, capabilities=["search"])
    for done, name in enumerate(ACTING + UNKNOWN):
        before = calls(lab)
        result = await lab.hub.execute(name, {"text": "x"})
        assert (result.meta["strategy"], result.meta["source_count"]) == ("fallback", 1), name
        await lab.hub.dispatch({"tool_name": name, "arguments": {"text": "x"}})
        assert calls(lab) == before + 2, (name, done)
    before = calls(lab)
    await lab.hub.execute_by_capability("search", {"text": "x"})
    assert calls(lab) == before + 1


async def test_what_reads_runs_on_both(lab: Lab) -> None:
    await connected(lab, *READING)
    for done, name in enumerate(READING, 1):
        result = await lab.hub.execute(name, {"text": "x"})
        assert result.meta["source_count"] == 2, name
        assert calls(lab) == 2 * done


@pytest.mark.parametrize("word", [{"assume_read_only": True}, {"effects": False}])
async def test_the_user_can_vouch_for_a_server(lab: Lab, word: dict[str, bool]) -> None:
    await connected(lab, "process", "find_and_delete", **word)
    assert (await lab.hub.execute("process", {"text": "x"})).meta["source_count"] == 2
    assert (await lab.hub.execute("process", {"text": "x"}, strategy="all")).meta["strategy"] == "all"
    # An assumption fills a gap; it does not contradict a name.
    both = (await lab.hub.execute("find_and_delete", {"text": "x"})).meta["source_count"]
    assert both == (1 if "assume_read_only" in word else 2)


@pytest.mark.parametrize(
    ("trust", "delete_user", "frobnicate"),
    [("full", 2, 2), ("hints", 1, 2), (None, 1, 2), ("none", 1, 1)],
)
async def test_the_users_trust_decides_what_a_hint_of_the_server_is_worth(
    lab: Lab, trust: str | None, delete_user: int, frobnicate: int
) -> None:
    options = {} if trust is None else {"trust": trust}
    for label in ("a", "b"):
        lab.add(label, "delete_user", "frobnicate", "get_user", mode="read_only", **options)
    await lab.hub.connect()
    expected = {"delete_user": delete_user, "frobnicate": frobnicate, "get_user": 1 if trust == "none" else 2}
    for name, servers in expected.items():
        before = calls(lab)
        result = await lab.hub.execute(name, {"text": "x"})
        assert calls(lab) - before == servers, (name, result.meta)
    # A caller who names a strategy gets it for harmless tools.
    for name, servers in expected.items():
        before = calls(lab)
        await lab.hub.execute(name, {"text": "x"}, strategy="all")
        assert calls(lab) - before == servers, name


@pytest.mark.parametrize("strategy", ["first", "all"])
async def test_a_named_strategy_never_runs_what_may_act_or_is_unknown_on_two_servers(
    lab: Lab, strategy: Any
) -> None:
    lab.hub = ToolHub(strategies={"process": strategy})
    await connected(lab, *ACTING, *UNKNOWN, *READING)
    for name in [*ACTING, *UNKNOWN]:
        before = calls(lab)
        result = await lab.hub.execute(name, {"text": "x"}, strategy=strategy)
        assert (calls(lab) - before, result.meta["strategy"]) == (1, "fallback"), name
    before = calls(lab)
    await lab.hub.execute("process", {"text": "x"})
    assert calls(lab) - before == 1, "the hub's own strategy is named too"
    assert (await lab.hub.execute("get_user", {"text": "x"}, strategy=strategy)).meta["strategy"] == strategy


STATEMENT = {"type": "object", "properties": {"text": {"type": "string"}, "sql": {"type": "string"}}}
TALKED_DOWN: dict[str, dict[str, Any]] = {
    # Each had a capability or a noun that read: it ran unasked, at both servers, and its result was kept.
    "documents": {"description": "Convert documents."},
    "almanac": {"description": "Search for the time, the news and the weather, and translate them."},
    "compute_restart": {"description": "Restart a machine."},
    "query": {"description": "Query the database.", "inputSchema": STATEMENT},
    # The name reads, and what belongs to it speaks of a change.
    "search_rows": {"description": "Search the rows of a table.", "inputSchema": STATEMENT},
    "get_next_job": {"description": "Get the next job and remove it from the queue."},
    "read_inbox": {"description": "Reads the inbox. Deletes what was read."},
    "fetch_page": {"description": "读取页面并删除它。"},
}


async def test_no_description_of_a_server_makes_its_tool_harmless(lab: Lab) -> None:
    for label in ("a", "b"):
        lab.describe(label, TALKED_DOWN)
    await connected(lab, *TALKED_DOWN)
    for name in TALKED_DOWN:
        tool = lab.hub.get(name)
        assert tool is not None
        assert (tool.safety != "harmless", tool.needs_approval) == (True, True), (name, tool.evidence)
        before = calls(lab)
        request = f'<tool_call>{{"name": "{name}", "arguments": {{"text": "x"}}}}</tool_call>'
        refused = await lab.hub.run(request, approve=lambda _: False)
        assert (refused.results[0].kind, calls(lab)) == (ErrorKind.NOT_ALLOWED, before), name
        await lab.hub.execute(name, {"text": "x"}, strategy="all", cache_ttl=60)
        assert calls(lab) == before + 1, name
        assert not (await lab.hub.execute(name, {"text": "x"}, cache_ttl=60)).meta["cached"], name


async def test_the_evidence_of_a_server_that_is_not_trusted_is_the_users_word_alone(lab: Lab) -> None:
    lab.add("a", "get_user", mode="read_only", trust="none")
    lab.add("b", "list_users", mode="read_only", trust="none", assume_read_only=True)
    await lab.hub.connect()
    asked: list[str] = []
    for name in ("get_user", "list_users"):
        request = f'<tool_call>{{"name": "{name}", "arguments": {{"text": "x"}}}}</tool_call>'
        await lab.hub.run(request, approve=lambda call: bool(asked.append(call.name)))
    assert asked == ["get_user"]
    assert (lab.asked("a", "tools/call"), lab.asked("b", "tools/call")) == (0, 1)
    assert "its server is not trusted, so only your own word counts" in lab.hub.explain("get_user").text


def _holding(name: str) -> dict[str, dict[str, Any]]:
    """Schemas that have a parameter of this name, by its place."""
    holder: dict[str, Any] = {"type": "object", "properties": {name: {"type": "string"}}}
    return {
        "nested": {"properties": {"a": {"type": "object", "properties": {"b": holder}}}},
        "items": {"properties": {"a": {"type": "array", "items": holder}}},
        "allOf": {"allOf": [holder]},
        "anyOf": {"properties": {"a": {"anyOf": [{"type": "null"}, {"oneOf": [holder]}]}}},
        "$ref": {"properties": {"a": {"$ref": "#/$defs/Inner"}}, "$defs": {"Inner": holder}},
        "then": {"if": {"required": ["a"]}, "then": holder},
        "additional": {"additionalProperties": holder},
        "pattern": {"properties": {"a": {"patternProperties": {f"^{name}$": {"type": "string"}}}}},
        "required": {"properties": {"a": {"type": "object", "required": [name]}}},
        "dependentRequired": {"dependentRequired": {"a": [name]}},
        "dependencies": {"dependencies": {"a": [name]}},
        "propertyNames": {"properties": {"a": {"propertyNames": {"anyOf": [{"const": name}]}}}},
        "names by $ref": {
            "properties": {"a": {"propertyNames": {"$ref": "#/$defs/Names"}}},
            "$defs": {"Names": {"enum": ["other", name]}},
        },
        "pattern of names": {"properties": {"a": {"propertyNames": {"pattern": f"^({name}|other)$"}}}},
        "title of an element": {"properties": {"a": {"type": "array", "prefixItems": [{"title": name}]}}},
        "default": {"properties": {"a": {"type": "object", "default": {name: ""}}}},
        "unknown keyword": {"x-names": [{"deep": name}]},
    }


@pytest.mark.parametrize("where", _holding(""))
@pytest.mark.parametrize(
    ("name", "safety"),
    [
        ("sql", "unknown"),
        ("httpMethod", "unknown"),
        ("http_method", "unknown"),
        ("shell-commands", "unknown"),
        ("s\u200bql", "unknown"),
        ("graphql", "unknown"),
        ("custom_js", "unknown"),
        ("query", "harmless"),
        ("decode", "harmless"),
    ],
)
def test_a_parameter_that_says_what_to_do_counts_wherever_it_stands(
    where: str, name: str, safety: str
) -> None:
    schema = {"type": "object", **_holding(name)[where]}
    tool = ToolHub().register(lambda **_: None, name="get_rows", parameters=schema)
    assert tool.safety == safety, tool.evidence


def test_values_and_prose_of_a_schema_name_no_parameter() -> None:
    format = {"enum": ["sql", "json"], "default": "sql", "description": "A command of the shell"}
    schema = {"type": "object", "title": "read_codeArguments", "properties": {"format": format}}
    assert ToolHub().register(lambda **_: None, name="read_code", parameters=schema).safety == "harmless"


@pytest.mark.parametrize(
    ("parameter", "safety"),
    [
        ("delete", "unknown"),
        ("deleteAfter", "unknown"),
        ("and-remove", "unknown"),
        ("confirm", "unknown"),
        ("deleted_after", "harmless"),
        ("order_by", "harmless"),
        ("make", "harmless"),
    ],
)
def test_a_parameter_with_an_acting_verb_raises_the_level(parameter: str, safety: str) -> None:
    for where in ("nested", "$ref", "anyOf"):
        schema = {"type": "object", **_holding(parameter)[where]}
        tool = ToolHub().register(lambda **_: None, name="get_rows", parameters=schema)
        assert tool.safety == safety, tool.evidence


@pytest.mark.parametrize(
    ("values", "safety"),
    [
        (["GET", "POST", "DELETE"], "unknown"),
        (["GET", "POST"], "unknown"),
        (["get", "patch"], "unknown"),
        (["read", "create"], "unknown"),
        (["GET", "HEAD", "OPTIONS"], "harmless"),
        (["post", "comment", "order"], "harmless"),
        (["created", "updated", "Delete it later"], "harmless"),
    ],
)
@pytest.mark.parametrize("name", ["verb", "kind", "x"])
def test_a_value_that_asks_for_a_change_raises_the_level(name: str, values: list[str], safety: str) -> None:
    for given in ({"enum": values}, {"anyOf": [{"const": value} for value in values]}, {"examples": values}):
        schema = {"type": "object", "properties": {name: given}}
        tool = ToolHub().register(lambda **_: None, name="fetch_url", parameters=schema)
        assert tool.safety == safety, tool.evidence


class Row(NamedTuple):
    """A tuple whose elements have names."""

    sql: str
    limit: int = 10


def test_the_elements_of_a_named_tuple_have_their_names() -> None:
    def get_rows(row: Row) -> str:
        return row.sql

    def get_pairs(pairs: dict[Literal["sql"], str]) -> str:
        return pairs["sql"]

    tool = ToolHub().register(get_rows)
    elements = tool.parameters["$defs"]["Row"]["prefixItems"]
    assert [element["title"] for element in elements] == ["sql", "limit"]
    assert (tool.safety, ToolHub().register(get_pairs).safety) == ("unknown", "unknown")


class Statement(BaseModel):
    """The only parameter of the tool below."""

    sql: str


async def test_a_model_does_not_hide_what_its_tool_is_asked_to_do(lab: Lab) -> None:
    def get_rows(params: Statement) -> str:
        return params.sql

    own = ToolHub().register(get_rows)
    lab.describe("a", {"get_rows": {"inputSchema": own.parameters}})
    lab.add("a", "get_rows")
    await lab.hub.connect()
    (served,) = lab.hub.tools()
    assert (own.safety, served.safety) == ("unknown", "unknown")
    request = '<tool_call>{"name": "get_rows", "arguments": {"params": {"sql": "DROP TABLE x"}}}</tool_call>'
    refused = await lab.hub.run(request, approve=lambda _: False)
    assert (refused.results[0].kind, lab.asked("a", "tools/call")) == (ErrorKind.NOT_ALLOWED, 0)


SPEAKS_OF_ACTING = [
    "This tool deletes files.",
    "It deletes files",
    "The tool will delete files",
    "Use this to delete files",
    "Permanently delete",
    "Tool that removes x",
    "Note: this removes x",
    "Notifies everyone",
    "Transfers funds to an account",
    "Run code",
    "Posts to slack",
    "This function posts to slack",
    "Gets x. Also emails it to bob.",
    "Gets x. It can delete it afterwards.",
    "Gets x.\nDelete x.",
    "<b>Deletes</b> x",
    "De<i>let</i>es x",
    "Gets x<br>deletes it",
    "d\u200belete x",
    "Del\u00adete x",
    "ｄｅｌｅｔｅｓ x",
    "该工具会删除文件",
    "读取后删除报告",
    "查询订单，取消其中一个。",
    "获取文件。之后将文件移动到回收站。",
    "读取并把原件销毁。",
]
SPEAKS_OF_READING = [
    "Get the orders that were deleted, updated or sent.",
    "Returns the posts, messages and emails of a user.",
    "Get a page. Use this before you create or delete one.",
    "Lists transfers. Updates are shown first.",
    "Fetches the manual. You must call another tool first.",
    "获取已删除的文件。",
    "获取最近发送的消息的编号，包括文件的保存路径。",
]


@pytest.mark.parametrize("description", SPEAKS_OF_ACTING)
async def test_a_description_that_speaks_of_acting_raises_the_level(description: str) -> None:
    tool = ToolHub().register(lambda: None, name="get_x", description=description)
    assert tool.safety == "unknown", tool.evidence
    trusted = ToolHub().register(lambda: None, name="get_x", description=description, read_only=True)
    assert trusted.safety == "harmless"


@pytest.mark.parametrize("description", SPEAKS_OF_READING)
async def test_a_description_that_speaks_of_reading_does_not(description: str) -> None:
    tool = ToolHub().register(lambda: None, name="get_x", description=description)
    assert tool.safety == "harmless", tool.evidence


async def test_a_hint_that_is_not_a_boolean_is_not_heard_as_its_opposite(lab: Lab) -> None:
    hints: dict[str, dict[str, Any]] = {
        "get_a": {"destructiveHint": "true"},
        "get_b": {"readOnlyHint": "false"},
        "get_c": {"readOnlyHint": 0},
        "get_d": {"readOnlyHint": True, "destructiveHint": "true"},
        "get_e": {"readOnlyHint": None},
        "delete_f": {"readOnlyHint": "true"},
    }
    lab.describe("a", {name: {"annotations": hint} for name, hint in hints.items()})
    lab.add("a", *hints, trust="full")
    await lab.hub.connect()
    found = {tool.name: tool.safety for tool in lab.hub.tools()}
    assert found == {
        **dict.fromkeys(("get_a", "get_b", "get_c", "get_d"), "unknown"),
        "get_e": "harmless",
        "delete_f": "may_act",
    }
    assert "its hint `destructiveHint` is neither true nor false" in lab.hub.explain("get_a").text


async def test_capabilities_of_a_server_are_no_evidence(lab: Lab) -> None:
    lab.hub.capability_rules.add("time", ["frobnicate"])
    lab.add("a", "frobnicate", capabilities=["search", "calculate"])
    await lab.hub.connect()
    tool = lab.hub.get("frobnicate")
    assert tool is not None
    assert {"time", "search", "calculate"} <= set(tool.capabilities)
    assert tool.safety == "unknown"


async def test_a_view_of_the_harmless_has_no_tool_that_talks_itself_down(lab: Lab) -> None:
    lab.describe("a", TALKED_DOWN)
    lab.add("a", *TALKED_DOWN, "get_user")
    await lab.hub.connect()
    view = AgentView(lab.hub, effects="harmless")
    assert view.names() == ["get_user"]


@pytest.mark.parametrize(
    ("options", "safety"),
    [
        ({"capabilities": ["time"]}, "harmless"),
        ({"capabilities": ["search", "web"]}, "harmless"),
        ({"capabilities": ["email"]}, "unknown"),
        ({"capabilities": ["convert"]}, "unknown"),
        ({"capabilities": ["time"], "description": "Sets the clock. Deletes the old time."}, "unknown"),
        ({"capabilities": ["time"], "effects": True}, "may_act"),
        ({"description": "Search the web for the time."}, "unknown"),
        ({"description": "Delete everything.", "read_only": True}, "harmless"),
    ],
)
def test_a_capability_that_the_user_declares_is_a_word_about_effects(
    options: dict[str, Any], safety: str
) -> None:
    hub = ToolHub()
    assert hub.register(lambda: 1, name="almanac", **{"description": "", **options}).safety == safety


async def test_a_server_that_is_not_trusted_cannot_make_its_tools_repeatable(lab: Lab) -> None:
    lab.add("a", "delete_user", mode="read_only", trust="none")
    lab.add("b", "delete_user", mode="read_only")
    await lab.hub.connect()
    tools = [lab.hub.get(f"{server}__delete_user") for server in "ab"]
    candidates = {one.server: one for tool in tools if tool for one in tool.candidates}
    assert (candidates["a"].idempotent, candidates["b"].idempotent) == (False, True)


async def test_a_wrong_trust_is_refused(lab: Lab) -> None:
    with pytest.raises(ValueError, match="'full', 'hints' or 'none', not 'some'"):
        lab.add("a", trust="some")


async def test_only_what_is_harmless_is_kept_or_shared(lab: Lab) -> None:
    lab.add("a", *ACTING, *UNKNOWN, *READING)
    await lab.hub.connect()
    for name in [*ACTING, *UNKNOWN, *READING]:
        before = calls(lab)
        options: dict[str, Any] = {"cache_ttl": 60, "single_flight": True}
        await asyncio.gather(*(lab.hub.execute(name, {"text": "x"}, **options) for _ in range(3)))
        again = await lab.hub.execute(name, {"text": "x"}, **options)
        assert again.meta["cached"] == (name in READING), name
        assert calls(lab) == before + (1 if name in READING else 4), name


async def test_approval_is_asked_for_all_but_the_harmless(lab: Lab) -> None:
    lab.add("a", *ACTING, *UNKNOWN, *READING)
    await lab.hub.connect()
    asked: list[str] = []

    def approve(approval: Approval) -> bool:
        asked.append(approval.name)
        return False

    for name in [*ACTING, *UNKNOWN, *READING]:
        call = f'<tool_call>{{"name": "{name}", "arguments": {{"text": "x"}}}}</tool_call>'
        outcome = await lab.hub.run(call, approve=approve)
        refused = outcome.results[0].kind is ErrorKind.NOT_ALLOWED
        assert refused == (name not in READING), name
    assert asked == [*ACTING, *UNKNOWN]


async def test_after_an_unknown_failure_of_an_unknown_tool_no_other_server_is_tried(lab: Lab) -> None:
    lab.add("a", "process", mode="silent_calls")
    lab.add("b", "process")
    await lab.hub.connect()
    result = await lab.hub.execute("process", {"text": "x"}, timeout=0.2)
    assert (result.kind, lab.asked("b", "tools/call")) == (ErrorKind.TIMEOUT, 0)


async def test_native_tools_of_one_name_still_run_at_once() -> None:
    hub = ToolHub()
    started: list[str] = []
    both = asyncio.Event()

    def source(label: str) -> Any:
        async def weather(city: str) -> str:
            started.append(label)
            if len(started) == 2:
                both.set()
            await both.wait()
            return label

        return weather

    hub.register(source("one"), name="weather")
    hub.register(source("two"), name="weather", source="skills")
    result = await hub.execute("weather", {"city": "Bern"}, timeout=30)
    assert result.success
    assert sorted(started) == ["one", "two"]


@pytest.mark.parametrize("kind", list(ErrorKind))
async def test_a_failed_call_inside_a_tool_is_no_proof_that_nothing_happened(kind: ErrorKind) -> None:
    ran: list[str] = []
    hub = ToolHub()

    def inner() -> None:
        raise ToolError("refused", kind=kind, code=-32602)

    async def acts() -> Any:
        ran.append("first")
        return (await hub.execute("inner", {})).unwrap()

    hub.register(inner)
    hub.register(acts, name="send_mail")
    hub.register(lambda: ran.append("second"), name="send_mail", source="skills")
    result = await hub.execute("send_mail", {})
    assert (ran, result.success) == (["first"], False)
    assert result.meta["error"]["outcome"] != "not_sent"


async def test_a_call_goes_to_the_providers_that_are_allowed(lab: Lab) -> None:
    for label in ("a", "b", "c"):
        lab.add(label, "get_user")
    await lab.hub.connect()
    request = '<tool_call>{"name": "get_user", "arguments": {"text": "x"}}</tool_call>'
    for allowed in (["*", "!a/*"], ["b/*", "c/*"]):
        outcome = await lab.hub.run(request, allowed=allowed)
        assert outcome.results[0].meta["server"] == "b", allowed
    assert lab.asked("a", "tools/call") == 0


async def test_results_of_servers_can_be_copied_and_pickled(lab: Lab) -> None:
    lab.add("a", "get_user")
    await lab.hub.connect()
    result = await lab.hub.execute("get_user", {"text": "x"})
    for twin in (copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert (twin, twin.content, twin.structured, twin.text) == (
            result,
            result.content,
            result.structured,
            result.text,
        )
