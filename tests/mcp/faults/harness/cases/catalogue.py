"""What a case is, and the shapes that most cases have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

from ..trial import CALL, CONNECT, Outcome, Scenario, Trial
from .outcomes import OUTCOMES

BOTH = ("stdio", "http")
SECRET = "SECRET-TOKEN-f00dfeed"
UNICODE = "a\u2028b\u2029c\u0085d\u200be\ufefff\U0001f600\u0000g"


@dataclass(frozen=True)
class Case:
    id: str
    group: str
    transport: str
    fault: str
    trigger: str
    correct: str
    scenario: Scenario
    outcome: str = ""                         # result, or which kind of error is wanted
    bound: str = ""                           # by when
    tier: str = "core"
    limit: float = 60.0                       # the worker process is killed after this
    rss_mib: int | None = None                # how much the peak may grow
    forbid_in_logs: tuple[str, ...] = ()      # must not appear in what the process writes
    debug_logs: bool = False
    script: str | None = None                 # a process-level case, see process_cases.py

    @property
    def key(self) -> str:
        return f"{self.id}@{self.transport}"


CASES: list[Case] = []


class Expect:
    """A check of one outcome that can also say what it expects (for the catalogue)."""

    def __init__(self, check: Callable[[Trial, Outcome], Any], says: str, within: float | None = None) -> None:
        self._check, self.says, self.within = check, says, within

    def __call__(self, t: Trial, o: Outcome) -> Any:
        return self._check(t, o)


def case(id: str, group: str, correct: str, *, on: tuple[str, ...] | str = BOTH, fault: str = "ok",
         trigger: str = "", **options: Any) -> Callable[[Scenario], Scenario]:
    """Register a scenario once per transport."""

    if "outcome" not in options and id in OUTCOMES:
        options["outcome"], options["bound"] = OUTCOMES[id]

    def register(scenario: Scenario) -> Scenario:
        for transport in (on,) if isinstance(on, str) else on:
            where = f"FAULT={fault}" if transport == "stdio" else f"/{fault}/{'sse' if transport == 'sse' else 'mcp'}"
            CASES.append(Case(id, group, transport, fault, trigger or where, correct, scenario, **options))
        return scenario

    return register


def ok(text: str | None = None) -> Expect:
    return Expect(lambda t, o: t.ok(o, text), "result")


def err(*kinds: str, within: float | None = None) -> Expect:
    return Expect(lambda t, o: t.error(o, *kinds, within=within), "error: " + (" / ".join(kinds) or "any kind"), within)


settled = Expect(lambda t, o: t.settled(o), "result or error")


def call_case(id: str, group: str, correct: str, expect: Expect, *, tool: str | None = None,
              args: dict[str, Any] | None = None, on: tuple[str, ...] | str = BOTH, timeout: float = CALL,
              usable: bool = True, list_first: bool = False, fault: str = "ok", **options: Any) -> None:
    """connect, call one misbehaving tool, check, then see whether the connection is still good."""
    tool = tool or id

    async def scenario(t: Trial) -> None:
        client, _ = await t.connect()
        if list_first:
            t.ok(await t.list(client))
        expect(t, await t.call(client, tool, args, timeout=timeout))
        if usable:
            await t.usable(client)

    shown = "" if not args else " " + ", ".join(f"{k}={v!r:.40}" for k, v in args.items())
    bound = f"{expect.within:g} s" if expect.within else f"{timeout:g} s deadline + slack"
    case(id, group, correct, on=on, fault=fault, trigger=f"tool `{tool}`{shown}",
         outcome=expect.says + (", then usable" if usable else ""), bound=bound, **options)(scenario)


def connect_fails(id: str, group: str, correct: str, *kinds: str, on: tuple[str, ...] | str, fault: str | None = None,
                  timeout: float = CONNECT, within: float | None = None, **options: Any) -> None:
    async def scenario(t: Trial) -> None:
        client, outcome = await t.connect(timeout=timeout, must=False)
        t.error(outcome, *kinds, within=within)
        await t.close(client)
        t.check(not t.events("evil_hit"), "contacted another origin on the server's word")

    case(id, group, correct, on=on, fault=fault or id, outcome="connect error: " + (" / ".join(kinds) or "any kind"),
         bound=f"{within:g} s" if within else f"{timeout:g} s deadline + slack", **options)(scenario)


def connect_works(id: str, group: str, correct: str, *, on: tuple[str, ...] | str, fault: str | None = None,
                  timeout: float = CONNECT, **options: Any) -> None:
    async def scenario(t: Trial) -> None:
        client, _ = await t.connect(timeout=timeout)
        await t.usable(client)

    case(id, group, correct, on=on, fault=fault or id, outcome="connects, usable", bound=f"{timeout:g} s; close 10 s",
         **options)(scenario)
