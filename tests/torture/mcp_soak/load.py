"""The callers of the soak: threads with an event loop each, and random calls whose answers are checked at once."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fleet import Spec

from toolhub import ToolHub

# What a server that is restarted or dies may cost a call. A wrong argument or an unreadable answer is never due to that.
LOSSES = {"timeout", "closed", "connect", "http", "limit", "overloaded", "not_found"}
# Half a message, then the end: that is all that a crashing server may have said over HTTP.
CRASH_LOSSES = LOSSES | {"protocol"}
BIG = 200_000


@dataclass
class Record:
    """What the callers have seen."""

    acts: Path
    """One line for each call of `act`: its payload, and what the hub said about the outcome."""
    calls: Counter[str] = field(default_factory=Counter[str])
    wrong: list[str] = field(default_factory=list[str])
    late: list[str] = field(default_factory=list[str])
    slowest: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, what: str) -> None:
        with self.lock:
            self.calls[what] += 1

    def broken(self, text: str) -> None:
        with self.lock:
            self.wrong.append(text[:600])

    def took(self, what: str, seconds: float, limit: float, grace: float) -> None:
        with self.lock:
            self.slowest = max(self.slowest, seconds - limit)
            if seconds > limit + grace:
                self.late.append(f"{what}: {seconds:.1f} s, with a limit of {limit:.2f} s")

    def acted(self, payload: str, outcome: str) -> None:
        with self.lock, self.acts.open("a") as file:
            file.write(f"{payload[:100]} {outcome}\n")


class Caller:
    """One task that calls and checks, again and again."""

    def __init__(
        self, hub: ToolHub, specs: list[Spec], record: Record, name: str, seed: int, grace: float
    ) -> None:
        self._hub, self._specs, self._record, self._name = hub, specs, record, name
        self._rng = random.Random(f"{seed}/{name}")
        self._grace = grace
        self._made = 0

    async def run(self, over: threading.Event) -> None:
        while not over.is_set():
            spec, limit = self._rng.choice(self._specs), self._rng.choice([0.5, 1.0, 3.0, 6.0])
            dice = self._rng.random()
            if dice < 0.55:
                await self.ask("echo", spec, limit)
            elif dice < 0.70:
                await self.ask("act", spec, limit)
            elif dice < 0.80:
                await self.cancel(self._rng.choice(["echo", "act"]), spec)
            elif dice < 0.85:
                await self.ask("echo", spec, self._rng.choice([0.001, 0.02, 0.1]))
            elif dice < 0.92:
                await self.race(limit)
            elif dice < 0.96:
                await self.ask("toggle", spec, limit, name=f"extra_{self._rng.randrange(5)}")
            else:
                await self.ask(f"extra_{self._rng.randrange(5)}", spec, limit)

    def _arguments(self) -> dict[str, Any]:
        self._made += 1
        size = BIG if self._rng.random() < 0.01 else 0
        delay = self._rng.choice([0, 0, 0, 0.01, 0.2])
        return {"payload": f"{self._name}-{self._made}-{'x' * size}", "delay": delay}

    async def ask(self, tool: str, spec: Spec, limit: float, **arguments: Any) -> None:
        """A call of one server, with a limit; the answer is that of this server to this call."""
        arguments = arguments or self._arguments()
        begun = time.monotonic()
        result = await self._hub.execute(tool, arguments, server=spec.label, timeout=limit, deadline=limit)
        self._record.took(f"{tool} of {spec.label}", time.monotonic() - begun, limit, self._grace)
        self._check(result, tool, spec, arguments)
        if tool == "act":
            outcome = "done" if result.success else result.meta["error"]["outcome"]
            self._record.acted(arguments["payload"], outcome)

    async def race(self, limit: float) -> None:
        """Any server may answer, but it must answer this call."""
        arguments, begun = self._arguments(), time.monotonic()
        result = await self._hub.execute("echo", arguments, strategy="first", timeout=limit, deadline=limit)
        self._record.took("a race", time.monotonic() - begun, limit, self._grace)
        self._check(result, "echo", None, arguments)

    async def cancel(self, tool: str, spec: Spec) -> None:
        """The await ends soon after it was cancelled, whatever the server does."""
        arguments = self._arguments()
        call = asyncio.ensure_future(self._hub.execute(tool, arguments, server=spec.label, deadline=30))
        await asyncio.sleep(self._rng.choice([0, 0, 0.005, 0.05, 0.3]))
        begun = time.monotonic()
        if not call.cancel():
            self._check(call.result(), tool, spec, arguments)
            return
        try:
            self._check(await call, tool, spec, arguments)
        except asyncio.CancelledError:
            self._record.count(f"{spec.mode} cancelled")
        self._record.took(f"a cancelled {tool} of {spec.label}", time.monotonic() - begun, 0, self._grace)

    def _check(self, result: Any, tool: str, spec: Spec | None, arguments: dict[str, Any]) -> None:
        where = spec.mode if spec is not None else "race"
        shown = f"{tool} of {spec.label if spec else 'any'} with {str(arguments)[:120]}"
        if result.success:
            self._record.count(f"{where} ok")
            value = result.structured
            expected = {"tool": tool, "payload": arguments.get("payload")}
            if spec is not None:
                expected["server"] = spec.label
            if any(value.get(key) != expected[key] for key in expected):
                self._record.broken(f"{shown}: the answer is {str(value)[:200]}")
            return
        kind = str(result.kind)
        self._record.count(f"{where} {kind}")
        allowed = LOSSES if spec is None or spec.mode != "crash" else CRASH_LOSSES
        if spec is not None and spec.is_steady:
            allowed = {"timeout"}
        if tool.startswith("extra_"):
            allowed = allowed | {"not_found", "rpc"}  # it may just be gone
        if kind not in allowed:
            self._record.broken(f"{shown}: {kind}: {result.error}")


class Callers:
    """The threads, each with a loop of its own and some callers on it."""

    def __init__(self, callers: list[list[Caller]]) -> None:
        self.over = threading.Event()
        self.errors: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._serve, args=(own,), name=f"loop-{n}")
            for n, own in enumerate(callers)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, seconds: float) -> bool:
        """Every caller ends after its present call; False when one does not."""
        self.over.set()
        limit = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, limit - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _serve(self, callers: list[Caller]) -> None:
        async def main() -> None:
            await asyncio.gather(*(caller.run(self.over) for caller in callers))

        try:
            asyncio.run(main())
        except BaseException as error:
            self.errors.append(error)
            self.over.set()
