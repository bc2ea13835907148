"""Writes calls as each family of models does, after its chat template; the other half of a round trip."""

import json
from collections.abc import Callable, Iterator
from typing import Any

Call = tuple[str, dict[str, Any]]
Writer = Callable[[list[Call]], str]


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def plain(value: Any) -> str:
    """A value between tags: text as it is, the rest as JSON."""
    return value if isinstance(value, str) else dumps(value)


def objects(calls: list[Call], name: str = "name", arguments: str = "arguments") -> list[str]:
    return [dumps({name: tool, arguments: given}) for tool, given in calls]


def each(before: str, after: str, between: str = "", arguments: str = "arguments") -> Writer:
    """Every call between its own tags."""
    return lambda calls: between.join(before + call + after for call in objects(calls, arguments=arguments))


def listed(before: str, after: str) -> Writer:
    """All calls in one JSON list."""
    return lambda calls: f"{before}[{', '.join(objects(calls))}]{after}"


def invoked(outer: str, call: str, value: str, call_end: str, outer_end: str) -> Writer:
    """Elements with a value each; `{}` are the names."""

    def written(calls: list[Call]) -> Iterator[str]:
        yield outer
        for tool, given in calls:
            yield call.replace("{}", tool)
            yield from (value.replace("{}", key).replace("[]", plain(one)) for key, one in given.items())
            yield call_end
        yield outer_end

    return lambda calls: "".join(written(calls))


def wrapped(one: Writer, between: str = "") -> Writer:
    return lambda calls: between.join(one([call]) for call in calls)


def tagged(tag: str, attribute: Callable[[Any], str], close: str) -> Callable[[dict[str, Any]], str]:
    """Parameters that say themselves what they are."""
    return lambda given: "".join(
        f"{tag.format(key, attribute(one))}{plain(one)}{close}" for key, one in given.items()
    )


def dsml(outer: str, space: str = "", namespace: str = "DSML") -> Writer:
    mark = f"｜{namespace}｜{space}"
    values = tagged(
        f'<{mark}parameter name="{{}}" string="{{}}">',
        lambda one: "true" if isinstance(one, str) else "false",
        f"</{mark}parameter>\n",
    )
    return lambda calls: (
        f"<{mark}{outer}>\n"
        + "".join(f'<{mark}invoke name="{tool}">\n{values(given)}</{mark}invoke>\n' for tool, given in calls)
        + f"</{mark}{outer}>"
    )


def hunyuan(calls: list[Call]) -> str:
    pairs = invoked(
        "<tool_call>",
        "{}<tool_sep>\n",
        "<arg_key>{}</arg_key>\n<arg_value>[]</arg_value>\n",
        "",
        "</tool_call>\n",
    )
    return f"<tool_calls>\n{wrapped(pairs)(calls)}</tool_calls>"


def k2_horizon(calls: list[Call]) -> str:
    pairs = invoked(
        "<ifm|tool_call>",
        "{}\n",
        "<ifm|arg_key>{}</ifm|arg_key>\n<ifm|arg_value>[]</ifm|arg_value>\n",
        "",
        "</ifm|tool_call>\n",
    )
    return f"<ifm|tool_calls>\n{wrapped(pairs)(calls)}</ifm|tool_calls>"


def plamo3(calls: list[Call]) -> str:
    def between(name: str, inside: str) -> str:
        return f"<|plamo:begin_{name}:plamo|>{inside}<|plamo:end_{name}:plamo|>"

    announced = "<|plamo:constrain|>json<|plamo:msg|>"
    written = (
        between(
            "tool_request", between("tool_name", tool) + between("tool_arguments", announced + dumps(given))
        )
        for tool, given in calls
    )
    return between("tool_requests", "".join(written))


def minicpm5(calls: list[Call]) -> str:
    def value(one: Any) -> str:
        return f"<![CDATA[{plain(one)}]]>"

    return "\n".join(
        f'<function name="{tool}">'
        + "".join(f'<param name="{key}">{value(one)}</param>' for key, one in given.items())
        + "</function>"
        for tool, given in calls
    )


def inkling(calls: list[Call]) -> str:
    return "".join(
        f"<|message_model|>{tool}<|content_invoke_tool_json|>{body}<|end_message|>"
        for (tool, _), body in zip(calls, objects(calls, arguments="args"), strict=True)
    )


def kimi_k3(calls: list[Call]) -> str:
    kinds = {str: "string", bool: "boolean", int: "number", float: "number"}
    values = tagged(
        '<|open|>argument key="{}" type="{}"<|sep|>',
        lambda one: kinds.get(type(one), "json"),
        "<|close|>argument<|sep|>",
    )
    written = (
        f'<|open|>call tool="{tool}" index="{index}"<|sep|>{values(given)}<|close|>call<|sep|>'
        for index, (tool, given) in enumerate(calls)
    )
    return f"<|open|>tools<|sep|>{''.join(written)}<|close|>tools<|sep|>"


def minimax_m3(calls: list[Call]) -> str:
    mark = "]<]minimax[>["

    def element(name: str, value: Any) -> str:
        return f"{mark}<{name}>{inner(value)}{mark}</{name}>"

    def inner(value: Any) -> str:
        if isinstance(value, dict) and value:
            return "".join(element(key, one) for key, one in value.items())
        if isinstance(value, list) and value:
            return "".join(element("item", one) for one in value)
        return plain(value)

    written = (
        f'{mark}<invoke name="{tool}">{inner(given) if given else ""}{mark}</invoke>\n'
        for tool, given in calls
    )
    return f"{mark}<tool_call>\n{''.join(written)}{mark}</tool_call>"


def gemma(opening: str, quote: str, closing: str) -> Writer:
    def value(one: Any) -> str:
        if isinstance(one, str):
            return quote + one + quote
        if isinstance(one, dict):
            return "{" + ",".join(f"{key}:{value(inner)}" for key, inner in one.items()) + "}"
        if isinstance(one, list):
            return "[" + ",".join(value(inner) for inner in one) + "]"
        return dumps(one)

    return lambda calls: "".join(f"{opening}call:{tool}{value(given)}{closing}" for tool, given in calls)


def pythonic(call: Call) -> str:
    tool, given = call
    return f"{tool}({', '.join(f'{key}={value!r}' for key, value in given.items())})"


def kimi_k2(calls: list[Call]) -> str:
    written = (
        f"<|tool_call_begin|>functions.{tool}:{index}<|tool_call_argument_begin|>{dumps(given)}<|tool_call_end|>"
        for index, (tool, given) in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{''.join(written)}<|tool_calls_section_end|>"


def deepseek(one: str, between: str) -> Writer:
    begin, end = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"
    return lambda calls: (
        "<｜tool▁calls▁begin｜>"
        + between.join(
            begin + one.replace("{}", tool).replace("[]", dumps(given)) + end for tool, given in calls
        )
        + "<｜tool▁calls▁end｜>"
    )


def by_name(one: str, between: str) -> Writer:
    return lambda calls: between.join(
        one.replace("{}", tool).replace("[]", dumps(given)) for tool, given in calls
    )


GLM45 = invoked(
    "<tool_call>", "{}\n", "<arg_key>{}</arg_key>\n<arg_value>[]</arg_value>\n", "", "</tool_call>"
)
GLM47 = invoked("<tool_call>", "{}", "<arg_key>{}</arg_key><arg_value>[]</arg_value>", "", "</tool_call>")
QWEN = invoked(
    "<tool_call>\n",
    "<function={}>\n",
    "<parameter={}>\n[]\n</parameter>\n",
    "</function>\n",
    "</tool_call>",
)
SEED = invoked(
    "<seed:tool_call>\n",
    "<function={}>\n",
    "<parameter={}>[]</parameter>\n",
    "</function>\n",
    "</seed:tool_call>",
)
STEP = invoked(
    "<｜tool_call_begin｜>function<｜tool_sep｜>",
    '<steptml:invoke name="{}">',
    '<steptml:parameter name="{}">[]</steptml:parameter>',
    "</steptml:invoke>",
    "<｜tool_call_end｜>",
)
INVOKE = ('<invoke name="{}">\n', '<parameter name="{}">[]</parameter>\n', "</invoke>\n")

# Strings may hold anything here: they are quoted.
QUOTED: dict[str, Writer] = {
    "hermes": each("<tool_call>\n", "\n</tool_call>", "\n"),
    "longcat": each("<longcat_tool_call>\n", "\n</longcat_tool_call>", "\n"),
    "internlm": each("<|action_start|><|plugin|>\n", "<|action_end|>", arguments="parameters"),
    "llama3_json": lambda calls: "<|python_tag|>" + "; ".join(objects(calls, arguments="parameters")),
    "json_bare": lambda calls: objects(calls)[0] if len(calls) == 1 else listed("", "")(calls),
    "json_fence": lambda calls: f"```json\n{listed('', '')(calls)}\n```",
    "jamba": listed("<tool_calls>", "</tool_calls>"),
    "nemotron": listed("<TOOLCALL>", "</TOOLCALL>"),
    "granite": listed("<|tool_call|>", ""),
    "granite_20b_fc": each("<function_call> ", "", "\n"),
    "gigachat3": each("<|message_sep|>function call<|role_sep|>\n", ""),
    "functionary_v32": by_name(">>>{}\n[]", "\n"),
    "inkling": inkling,
    "phi4": listed("functools", ""),
    "mirothinker": by_name(
        "<use_mcp_tool>\n<server_name>tools</server_name>\n<tool_name>{}</tool_name>\n"
        "<arguments>\n[]\n</arguments>\n</use_mcp_tool>",
        "\n",
    ),
    "sarashina": lambda calls: (
        f"<|tool_calls|>{[{'name': tool, 'arguments': given} for tool, given in calls]!r}"
    ),
    "mistral_json": listed("[TOOL_CALLS] ", ""),
    "mistral_args": by_name("[TOOL_CALLS]{}[ARGS][]", ""),
    "cohere": lambda calls: (
        f"<|START_ACTION|>[\n    {', '.join(objects(calls, 'tool_name', 'parameters'))}\n]<|END_ACTION|>"
    ),
    "apertus": lambda calls: (
        f"<|tools_prefix|>{dumps([{tool: given} for tool, given in calls])}<|tools_suffix|>"
    ),
    "deepseek_v3": deepseek("function<｜tool▁sep｜>{}\n```json\n[]\n```", "\n"),
    "deepseek_v31": deepseek("{}<｜tool▁sep｜>[]", ""),
    "kimi_k2": kimi_k2,
    "plamo3": plamo3,
    "harmony": by_name(
        "<|channel|>commentary to=functions.{} <|constrain|>json<|message|>[]<|call|>", "<|start|>assistant"
    ),
    "pythonic": lambda calls: f"[{', '.join(map(pythonic, calls))}]",
    "lfm2": lambda calls: f"<|tool_call_start|>[{', '.join(map(pythonic, calls))}]<|tool_call_end|>",
    "olmo3": lambda calls: "<function_calls>\n" + "\n".join(map(pythonic, calls)) + "\n</function_calls>",
    "react": lambda calls: by_name("Action: {}\nAction Input: []", "")(calls[:1]),
}

# Strings are literal here: they cannot hold the marks of their own dialect.
LITERAL: dict[str, Writer] = {
    "qwen3_coder": wrapped(QWEN, "\n"),
    "seed_oss": wrapped(SEED),
    "glm45": wrapped(GLM45, "\n"),
    "glm47": wrapped(GLM47),
    "hunyuan": hunyuan,
    "iquest_coder": wrapped(
        invoked(
            "<iquestcoder_tool_call>",
            "{}\n",
            "<arg_key>{}</arg_key>\n<arg_value>[]</arg_value>\n",
            "",
            "</iquestcoder_tool_call>",
        ),
        "\n",
    ),
    "k2_horizon": k2_horizon,
    "solar_open2": wrapped(
        invoked(
            "<|tool_call:start|>",
            "{}\n",
            "<|tool_arg:start|>{}<|tool_arg:value|>[]<|tool_arg:end|>\n",
            "",
            "<|tool_call:end|>",
        ),
        "\n",
    ),
    "minicpm5": minicpm5,
    "muse": invoked(
        "<atem:function_calls>\n",
        '<atem:invoke name="{}">\n',
        '<atem:parameter name="{}">[]</atem:parameter>\n',
        "</atem:invoke>\n",
        "</atem:function_calls>",
    ),
    "dots": invoked("<dots_function_call>\n", *INVOKE, "</dots_function_call>"),
    "anthropic_xml": invoked("<function_calls>\n", *INVOKE, "</function_calls>"),
    "minimax_m2": invoked("<minimax:tool_call>\n", *INVOKE, "</minimax:tool_call>"),
    "minimax_m3": minimax_m3,
    "step3": lambda calls: "<｜tool_calls_begin｜>" + wrapped(STEP)(calls) + "<｜tool_calls_end｜>",
    "deepseek_dsml": dsml("function_calls"),
    "deepseek_dsml_v4": dsml("tool_calls"),
    "deepseek_dsml_v41": dsml("calls", " "),
    "gigachat35": dsml("tool_calls", namespace="GCML"),
    "kimi_k3": kimi_k3,
    "functiongemma": gemma("<start_function_call>", "<escape>", "<end_function_call>"),
    "gemma4": gemma("<|tool_call>", '<|"|>', "<tool_call|>"),
}
