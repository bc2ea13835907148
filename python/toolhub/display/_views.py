"""What a notebook shows of each object. Nothing is called, connected or waited for."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ..cli._shapes import SHORT, Shapes
from ._html import MOST_ROWS, Bundle, Html, bar, block, bundle, heading, marked, milliseconds, short, table
from ._values import content_html, has_media, value_html

if TYPE_CHECKING:
    from .._core import Candidate, Hit, ToolInfo
    from ..agents.plans import Plan, Step
    from ..hub import RunOutcome, ToolHub
    from ..result import ToolResult
    from ..routing import Explanation
    from ..servers import ConnectReport, ServerInfo

_SAFETY = {"harmless": "good", "may_act": "bad"}
_STATES = {"connected": "good", "failed": "bad", "connecting": "wait"}


def of_hub(hub: "ToolHub") -> Bundle:
    """A hub: its servers and tools."""
    servers = hub.servers()
    tools = hub._core.tools(None, None, None, None)
    counted = f"{len(tools):,} tools, {len(servers):,} servers"
    return bundle(
        heading(marked("b", "ToolHub"), counted),
        server_table(servers) if servers else None,
        _tool_table(tools) if tools else None,
    )


def server_table(servers: "Sequence[ServerInfo]") -> Html:
    """The state of servers."""
    head = ["server", "state", "protocol", "transport", "number of tools", "error"]

    def cells(server: "ServerInfo") -> list[Any]:
        return [
            marked("b", short(server.id)),
            marked("span", server.state, _STATES.get(server.state, "quiet")),
            marked("span", server.version or "", "whole"),
            server.transport,
            server.tools,
            "" if server.error is None else short(server.error, 300),
        ]

    return table(head, servers, cells)


def of_connect_report(report: "ConnectReport") -> Bundle:
    """Which servers are connected, and why the others are not."""
    ends = [(id, "connected", "good", "") for id in report.connected]
    ends += [(id, "failed", "bad", short(error, 300)) for id, error in report.failed.items()]
    rows = [[marked("b", short(id)), marked("span", state, kind), error] for id, state, kind, error in ends]
    return bundle(table(["server", "state", "error"], rows))


def of_tools(tools: "Sequence[ToolInfo]") -> Bundle:
    """A list of tools."""
    return bundle(_tool_table(tools))


def _tool_table(tools: "Sequence[ToolInfo]") -> Html:
    head = ["tool", "from", "safety", "description"]

    def cells(tool: "ToolInfo") -> list[Any]:
        return [
            marked("b", short(tool.name)),
            _origin(tool.candidates),
            _safety(tool),
            short(tool.description),
        ]

    return table(head, tools, cells)


def of_tool(tool: "ToolInfo | Candidate") -> Bundle:
    """A tool or one candidate of it: description, parameters, where it comes from."""
    several = getattr(tool, "candidates", None)
    candidates: list[Candidate] = [cast("Candidate", tool)] if several is None else several
    return bundle(
        heading(marked("b", short(tool.name)), marked("span", _origin(candidates), "quiet"), _safety(tool)),
        block(tool.description) if tool.description else None,
        _parameter_table(tool.parameters),
        _lanes([(candidate, "good") for candidate in candidates]) if len(candidates) > 1 else None,
    )


def _parameter_table(schema: Mapping[str, Any]) -> Html | None:
    def cells(parameter: tuple[str, str, bool, dict[str, Any]]) -> list[Any]:
        name, kind, is_required, part = parameter
        default = short(_json(part["default"]), 60) if "default" in part else ""
        needed = "required" if is_required else default
        return [
            marked("code", short(name)),
            short(kind, 80),
            needed,
            short(part.get("description") or "", 300),
        ]

    parameters = Shapes(dict(schema), SHORT).parameters()
    return table(["parameter", "type", "default", "description"], parameters, cells) if parameters else None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _origin(candidates: "Sequence[Candidate]") -> str:
    named = dict.fromkeys(short(candidate.server or candidate.source, 60) for candidate in candidates)
    return ", ".join(named)


def _safety(tool: "ToolInfo | Candidate") -> Html:
    return marked("span", tool.safety.replace("_", " "), _SAFETY.get(tool.safety, "wait"))


def of_hits(hits: "Sequence[Hit]") -> Bundle:
    """The hits of a search, best first."""
    head = ["score", "tool", "from", "description"]

    def cells(hit: "Hit") -> list[Any]:
        about = _origin(hit.tool.candidates), short(hit.tool.description)
        return [f"{hit.score:.2f}", marked("b", short(hit.name)), *about]

    return bundle(table(head, hits, cells))


def of_result(result: "ToolResult") -> Bundle:
    """A result: the value, and the time of each candidate that was tried."""
    return bundle(_outcome(result), _answer(result), _attempts(result.get("_meta") or {}))


def _outcome(result: "ToolResult") -> Html:
    meta: Mapping[str, Any] = result.get("_meta") or {}
    sign = marked("span", "✓", "good") if result.success else marked("span", "✗", "bad")
    kind = None if result.kind is None else marked("span", result.kind.value, "bad")
    took = marked("span", milliseconds(meta.get("duration_ms")), "quiet")
    return heading(sign, marked("b", short(meta.get("tool") or "")), kind, took)


def _answer(result: "ToolResult") -> Html:
    if not result.success:
        return block(str(result.error))
    blocks = result.content if result._blocks is not None else []
    if has_media(blocks) or (len(blocks) > 1 and result.structured is None):
        return content_html(blocks)
    return value_html(result.result, result.text)


def _attempts(meta: Mapping[str, Any]) -> Html | None:
    """The timeline of a call, small: one lane for each candidate that was tried. A lone one needs none."""
    tried: list[Mapping[str, Any]] = meta.get("attempts") or []
    if len(tried) < 2:
        return None
    one_after_another = meta.get("strategy") == "fallback"
    times = [float(attempt.get("duration_ms") or 0.0) for attempt in tried]
    whole = (sum(times) if one_after_another else max(times)) or 1.0
    rows: list[list[Any]] = []
    begin = 0.0
    for attempt, time in zip(tried, times, strict=True):
        kind = "good" if attempt.get("ok") else "wait" if attempt.get("kind") == "cancelled" else "bad"
        label = short(attempt.get("server") or attempt.get("source") or "", 60)
        error = short(attempt.get("error") or "", 200)
        rows.append([label, bar(kind, begin / whole, time / whole), milliseconds(time), error])
        begin += time if one_after_another else 0.0
    return table(["from", "time", "", "error"], rows)


def of_explanation(explanation: "Explanation") -> Bundle:
    """What a call would do: the candidates in order, with the usual time of each."""
    first = [
        (candidate, "good" if at == 0 else "wait") for at, candidate in enumerate(explanation.candidates)
    ]
    return bundle(
        heading(marked("b", explanation.strategy), marked("span", explanation.rule, "quiet")),
        _lanes(first) if first else None,
        block(explanation.text),
    )


def _lanes(candidates: "Sequence[tuple[Candidate, str]]") -> Html:
    stats: list[Mapping[str, Any]] = [candidate.stats for candidate, _ in candidates]
    longest = max((row.get("latency_p50_ms") or 0.0 for row in stats), default=0.0) or 1.0
    rows = [
        [
            short(candidate.server or candidate.source, 60),
            bar(kind, 0.0, (row.get("latency_p50_ms") or 0.0) / longest),
            milliseconds(row.get("latency_p50_ms")),
            f"{row.get('successes', 0)}/{row.get('calls', 0)}",
        ]
        for (candidate, kind), row in zip(candidates, stats, strict=True)
    ]
    return table(["from", "usual time", "", "successful calls"], rows)


def of_stats(rows: Sequence[Mapping[str, Any]]) -> Bundle:
    """Statistics: one row for each candidate, those that were called most first."""
    rows = sorted(rows, key=lambda row: -row["calls"])
    words = ("tool", "from", "number of calls", "success rate", "median", "95 %", "breaker")
    cells = [
        [
            marked("b", short(row["tool"])),
            short(row["server"] or row["source"], 60),
            str(row["calls"]),
            "" if row["success_rate"] is None else f"{row['success_rate']:.0%}",
            milliseconds(row["latency_p50_ms"]),
            milliseconds(row["latency_p95_ms"]),
            marked("span", row["breaker"], "good" if row["breaker"] == "closed" else "bad"),
        ]
        for row in rows
    ]
    return bundle(table(words, cells))


def of_stats_by_tool(by_tool: Mapping[str, Sequence[Mapping[str, Any]]]) -> Bundle:
    """Statistics by the name of the tool."""
    return of_stats([row for rows in by_tool.values() for row in rows])


def of_run(outcome: "RunOutcome") -> Bundle:
    """A model's message: its text, and what came of its calls."""
    parts: list[Html] = [block(outcome.text)] if outcome.text.strip() else []
    for result in outcome.results[:MOST_ROWS]:
        parts += [_outcome(result), _answer(result)]
    return bundle(*parts)


def of_plan(plan: "Plan") -> Bundle:
    """The steps of a plan, and what was repaired in it."""

    def cells(step: "Step") -> list[Any]:
        after = ", ".join(short(one, 20) for one in step.dependencies)
        return [str(step.id), short(step.description, 300), marked("code", short(step.tool_type)), after]

    problems = [marked("div", short(problem, 300), "wait") for problem in plan.problems[:MOST_ROWS]]
    return bundle(table(["step", "description", "tool", "after"], plan, cells), *problems)
