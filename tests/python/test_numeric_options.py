"""Every option that is a number, with odd values: it works, or one sentence names the option."""

import asyncio
import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import pytest

import toolhub
from toolhub import ToolCandidate, ToolError, ToolHub, compat
from toolhub.llm import OpenAI
from toolhub.options import (
    CallOptions,
    CapabilityOptions,
    DispatchOptions,
    RequestOptions,
    ServeOptions,
    ServerOptions,
)
from toolhub.permissions import Permissions
from toolhub.questions import Sampling

HUGE = 10**400
ODD: list[Any] = [
    *(HUGE, -HUGE, 10**5000, -(10**5000), 10**30, -(10**30), 2**63, 2**64, 2**32, -1, 0),
    *(math.nan, math.inf, -math.inf, 1e308, -0.5, 0.5, Decimal("NaN"), Decimal("1e999"), 1j),
    *(True, False, "5", "", "many", None, [5], {}, object()),
]
CALL = '<tool_call>{"name": "echo", "arguments": {"text": "x"}}</tool_call>'


@pytest.fixture
def hub() -> Iterator[ToolHub]:
    with ToolHub() as hub:
        hub.register(lambda text="": text, name="echo", read_only=True, capabilities=["echo"])
        yield hub


def handle(hub: ToolHub) -> str:
    result = hub.call("echo", {"text": "A sentence. " * 400})
    hub.format(result)
    return result.meta["handle"]


Use = Callable[[ToolHub, dict[str, Any]], Any]

USES: dict[str, Use] = {
    "ToolHub": lambda hub, o: ToolHub(**o).close(),
    "limits": lambda hub, o: ToolHub(limits=o).close(),
    "result_limits": lambda hub, o: ToolHub(limits={"result_limits": {"search": o["search"]}}).close(),
    "execute": lambda hub, o: asyncio.run(hub.execute("echo", **o)),
    "call": lambda hub, o: hub.call("echo", **o),
    "compat.call": lambda hub, o: compat.ToolHub().call("echo", **o),
    "execute_by_capability": lambda hub, o: asyncio.run(hub.execute_by_capability("echo", **o)),
    "call_by_capability": lambda hub, o: hub.call_by_capability("echo", **o),
    "compat.call_by_capability": lambda hub, o: compat.ToolHub().call_by_capability("echo", **o),
    "execute_many": lambda hub, o: asyncio.run(hub.execute_many(["echo"] * 2, **o)),
    "call_many of none": lambda hub, o: hub.call_many([], **o),
    "dispatch": lambda hub, o: asyncio.run(hub.dispatch({"tool_name": "echo"}, **o)),
    "dispatch_sync": lambda hub, o: hub.dispatch_sync({"tool_name": "echo"}, **o),
    "run": lambda hub, o: asyncio.run(hub.run(CALL, **o)),
    "run_sync of no calls": lambda hub, o: hub.run_sync("Hello", **o),
    "register": lambda hub, o: hub.register(len, name="length", **o),
    "register_candidate": lambda hub, o: hub.register_candidate(ToolCandidate("t", "tools", len, **o)),
    "hub.tool": lambda hub, o: hub.tool(**o)(len),
    "toolhub.tool": lambda hub, o: toolhub.tool(**o),
    "search": lambda hub, o: hub.search("echo", **o),
    "recommend": lambda hub, o: hub.recommend("echo", **o),
    "system_prompt": lambda hub, o: hub.system_prompt(**o),
    "system_prompt for a query": lambda hub, o: hub.system_prompt(query="echo", **o),
    "as_openai": lambda hub, o: hub.as_openai(**o),
    "as_anthropic": lambda hub, o: hub.as_anthropic("echo", **o),
    "as_gemini": lambda hub, o: hub.as_gemini("echo", **o),
    "format": lambda hub, o: hub.format(hub.call("echo", {"text": "A sentence. " * 400}), **o),
    "read_more": lambda hub, o: hub.read_more(handle(hub), **o),
    "connect": lambda hub, o: hub.connect_sync(**o),
    "refresh": lambda hub, o: hub.refresh_sync(**o),
    "resources.list": lambda hub, o: hub.resources.list_sync(**o),
    "resources.templates": lambda hub, o: hub.resources.templates_sync(**o),
    "resources.read": lambda hub, o: hub.resources.read_sync("note://none", **o),
    "prompts.list": lambda hub, o: hub.prompts.list_sync(**o),
    "prompts.get": lambda hub, o: hub.prompts.get_sync("none", **o),
    "prompts.complete": lambda hub, o: hub.prompts.complete_sync("x", "y", prompt="none", **o),
    "skills.run_script": lambda hub, o: hub.skills.run_script_sync("none", "x.py", **o),
    "add_server": lambda hub, o: hub.add_server("s", command="no-such-program", **o),
    "serve": lambda hub, o: hub.serve("http", ready=lambda serving: serving.stop(), **{"port": 0, **o}),
    "truncate": lambda hub, o: toolhub.truncate("A sentence. " * 400, **o),
    "truncate tokens": lambda hub, o: toolhub.truncate({"a": [1] * 400}, unit="tokens", **o),
    "merge": lambda hub, o: toolhub.merge(["A sentence. " * 400, "Another."], **o),
    "OpenAI": lambda hub, o: OpenAI("http://127.0.0.1:9/v1", model="m", **o),
    "Permissions": lambda hub, o: Permissions(**o),
    "Sampling": lambda hub, o: Sampling("Hello", **o),
    "ledger": lambda hub, o: hub.ledger(**o),
}

SECONDS = ("timeout", "deadline", "hedge_after", "cache_ttl")
CALLED = (*SECONDS, "max_parallel")
OPTIONS: dict[str, tuple[str, ...]] = {
    "ToolHub": ("timeout", "max_parallel", "seed", "result_limit", "limits"),
    "limits": (
        *("hub", "cancel_grace", "max_waiting", "breaker_threshold", "breaker_rest", "lookup_timeout"),
        *("store_results_max_bytes", "embed_weight", "result_limits", "approval_lifetime"),
    ),
    "result_limits": ("search",),
    **dict.fromkeys(("execute", "call", "compat.call"), CALLED),
    **dict.fromkeys(("execute_by_capability", "call_by_capability", "compat.call_by_capability"), CALLED),
    **dict.fromkeys(("execute_many", "call_many of none"), (*CALLED, "concurrency")),
    **dict.fromkeys(("dispatch", "dispatch_sync"), CALLED),
    **dict.fromkeys(("run", "run_sync of no calls"), (*CALLED, "approve_timeout", "concurrency", "limit")),
    **dict.fromkeys(("register", "hub.tool"), ("priority", "timeout", "max_concurrency")),
    "register_candidate": ("priority",),
    "toolhub.tool": ("timeout", "max_concurrency"),
    **dict.fromkeys(("search", "recommend"), ("k",)),
    **dict.fromkeys(("system_prompt", "system_prompt for a query"), ("limit", "budget_tokens")),
    **dict.fromkeys(("as_openai", "as_anthropic", "as_gemini", "format"), ("limit",)),
    "read_more": ("offset", "limit"),
    "ledger": ("limit",),
    **dict.fromkeys(("connect", "refresh", "skills.run_script"), ("timeout",)),
    **dict.fromkeys(("resources.list", "resources.templates", "resources.read"), ("timeout",)),
    **dict.fromkeys(("prompts.list", "prompts.get", "prompts.complete"), ("timeout",)),
    "add_server": (
        *("timeout", "startup_timeout", "idle_timeout"),
        *("retries", "max_concurrency", "max_message_bytes"),
    ),
    "serve": (
        *("port", "grace", "max_body", "max_connections", "max_in_flight", "max_streams", "max_headers"),
        "max_buffered",
        "max_result",
        *("authenticate_timeout", "header_timeout", "body_timeout", "write_timeout", "session_lifetime"),
    ),
    **dict.fromkeys(("truncate", "truncate tokens", "merge"), ("limit",)),
    "OpenAI": ("timeout", "max_retries", "temperature", "max_tokens"),
    "Permissions": ("timeout",),
    "Sampling": ("max_tokens", "temperature"),
}


def is_number(hint: Any) -> bool:
    return re.search(r"\b(int|float)\b", getattr(hint, "__name__", None) or str(hint)) is not None


def test_the_table_has_every_numeric_option() -> None:
    """A new option of a public method has to be added above."""
    methods = dict(inspect.getmembers(ToolHub, inspect.isfunction))
    public = {name: method for name, method in methods.items() if not name.startswith("_")}
    public |= {"ToolHub": ToolHub, "truncate": toolhub.truncate, "merge": toolhub.merge, "OpenAI": OpenAI}
    public["Permissions"] = Permissions
    covered = {name.split()[0].removeprefix("hub.").removesuffix("_sync") for name in USES}
    twins = {"call": "execute", "call_many": "execute_many", "call_by_capability": "execute_by_capability"}
    twins["add_fastmcp"] = "add_server"  # the same options, checked in the same place
    twins |= {"aserve": "serve", "asgi": "serve"}
    keys = {kind: {k for k, h in kind.__annotations__.items() if is_number(h)} for kind in
            (CallOptions, CapabilityOptions, DispatchOptions, RequestOptions, ServeOptions, ServerOptions)}  # fmt: skip
    for name, method in public.items():
        parameters = inspect.signature(method).parameters.values()
        numeric = {p.name for p in parameters if is_number(p.annotation)}
        for parameter in parameters:
            (kind,) = (
                getattr(parameter.annotation, "__args__", (None,))
                if parameter.kind is parameter.VAR_KEYWORD
                else (None,)
            )
            numeric |= keys.get(kind, set())  # type: ignore[arg-type]
        if numeric:
            base = name.removesuffix("_sync")
            row = twins.get(base, base)
            assert row in covered, f"{name} has the numeric options {numeric}, but no row in USES"
            known = {
                o
                for key, options in OPTIONS.items()
                if key.split()[0] in (row, f"{row}_sync")
                for o in options
            }
            assert numeric <= known, f"{name}: {numeric - known} is not in OPTIONS"


@pytest.mark.parametrize(("use", "option"), [(use, option) for use in USES for option in OPTIONS[use]])
def test_an_odd_number_works_or_gets_a_sentence(hub: ToolHub, use: str, option: str) -> None:
    for value in ODD:
        try:
            USES[use](hub, {option: value})
        except (ValueError, TypeError, ToolError) as error:
            sentence = str(error)
            missing = ("There is no skill", "No server lists")  # the option was taken
            refused = option in sentence or sentence.startswith(missing)
            assert refused, f"{type(value).__name__}: {sentence}"
            assert "\n" not in sentence
            assert len(sentence) < 200, sentence
            # A sentence of the package, not of the bridge to the core.
            assert not re.search(
                r"argument '|cannot be (converted|interpreted|cast)|integer string conv", sentence
            )
        else:
            # Values that are no numbers are never taken for one.
            assert value is None or not isinstance(value, bool | str | list | complex), repr(value)
            assert type(value) is not object
            assert not (isinstance(value, float | Decimal) and math.isnan(value))


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (lambda hub: [hit.name for hit in hub.search("echo", k=10**30)], ["echo"]),
        (lambda hub: hub.read_more(handle(hub), 10**30), ""),
        (lambda hub: len(hub.read_more(handle(hub), 0, 10**30)), 4_800),
        (lambda hub: hub.call("echo", {"text": "x"}, deadline=HUGE, timeout=HUGE).result, "x"),
        (lambda hub: hub.call("echo", {"text": "x"}, timeout=math.inf, max_parallel=HUGE).result, "x"),
        (lambda hub: hub.call("echo", {"text": "x"}, deadline=-HUGE).kind, "timeout"),
        (lambda hub: hub.run_sync(CALL, limit=10**30, concurrency=10**30).results[0].result, "x"),
        (lambda hub: toolhub.truncate("text", 10**30).text, "text"),
        (lambda hub: hub.register(len, name="n", priority=10**30).priority, 2**31 - 1),
        (lambda hub: hub.register(len, name="n", priority=-(10**30)).priority, -(2**31 - 1)),
        (lambda hub: len(hub.as_openai(limit=HUGE)), 1),
        (lambda hub: hub.call("read_more", {"handle": handle(hub), "limit": 2**63}).success, True),
        (lambda hub: hub.call("read_more", {"handle": handle(hub), "offset": 2**63}).text[:6], "[end: "),
    ],
)
def test_a_number_beyond_any_need_means_no_limit(
    hub: ToolHub, use: Callable[[ToolHub], Any], expected: Any
) -> None:
    assert use(hub) == expected


def test_a_long_seed_is_a_seed() -> None:
    def picks(seed: int) -> list[str]:
        hub = ToolHub(seed=seed)
        for name in "abcdef":
            hub.register(lambda name=name: name, name=name, capabilities=["letter"], read_only=True)
        return [hub.call_by_capability("letter", max_parallel=1).meta["tool"] for _ in range(20)]

    assert picks(10**40) == picks(10**40)


@pytest.mark.parametrize("value", [5, "print", [print]])
def test_progress_must_be_a_function(hub: ToolHub, value: Any) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: hub.call("echo", progress=value),
        lambda: asyncio.run(hub.execute("echo", progress=value)),
        lambda: hub.call_by_capability("echo", progress=value),
        lambda: hub.call_many([], progress=value),
        lambda: hub.dispatch_sync({"tool_name": "echo"}, progress=value),
        lambda: hub.run_sync("no calls", progress=value),
        lambda: hub.connect_sync(progress=value),
        lambda: compat.ToolHub().call("echo", progress=value),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=f"^progress must be a function, got {type(value).__name__}$"):
            call()


def test_meta_must_be_a_mapping(hub: ToolHub) -> None:
    with pytest.raises(TypeError, match=r"^meta must be a mapping, got list$"):
        hub.call("echo", meta=[1])  # type: ignore[arg-type]


def test_the_numbers_in_a_configuration(hub: ToolHub) -> None:
    def entry(options: Mapping[str, Any]) -> dict[str, Any]:
        return {"mcpServers": {"s": {"command": "x", "toolhub": dict(options)}}}

    for option in OPTIONS["add_server"]:
        for value in (2**63, -1, "5", True, [1], 1e308):
            report = hub.load_mcp(entry({option: value}))
            assert any(f"toolhub.{option}" in error for error in report.errors), (option, value, report)
