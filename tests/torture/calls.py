"""Random candidates, strategies and endings of calls, against a small model of the contract."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import Any

from toolhub import ErrorKind, ToolHub

BATCH = 3
"""Candidates that start together."""


@dataclass
class Provider:
    """One candidate: what it does, and what happened to it."""

    number: int
    ending: str
    is_async: bool
    begun: int = 0
    ended: int = 0
    cancelled: int = 0

    @property
    def succeeds(self) -> bool:
        return self.ending in ("value", "none")

    def answer(self) -> Any:
        self.ended += 1
        match self.ending:
            case "value":
                return f"answer {self.number}"
            case "none":
                return None
            case "unsuccessful":
                return {"success": False, "error": f"no {self.number}"}
            case _:
                raise ValueError(f"broken {self.number}")

    def tool(self) -> Any:
        def in_thread() -> Any:
            self.begun += 1
            return self.answer()

        async def on_loop() -> Any:
            self.begun += 1
            try:
                if self.ending == "hangs":
                    await asyncio.get_running_loop().create_future()
                for _ in range(self.number % 3):
                    await asyncio.sleep(0)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            return self.answer()

        return on_loop if self.is_async else in_thread


def world(
    rng: random.Random, endings: list[str], most: int = 6, hanging: bool = False
) -> tuple[ToolHub, list[Provider]]:
    """A hub with some candidates of one name, in the order in which they are tried; with `hanging`, one of them hangs."""
    hub = ToolHub(limits={"breaker_threshold": 0, "cancel_grace": 5.0}, seed=rng.randrange(1000))
    providers: list[Provider] = []
    count = rng.randint(1, most)
    hangs = rng.randrange(count) if hanging else None
    for number in range(count):
        ending = "hangs" if number == hangs else rng.choice(endings)
        provider = Provider(number, ending, ending == "hangs" or rng.random() < 0.7)
        # Equal priority: registration order decides.
        hub.register(provider.tool(), name="get_it", source="mcps", server=f"s{number}", read_only=True)
        providers.append(provider)
    return hub, providers


def strategies(rng: random.Random) -> None:
    """Which candidates run and whose answer counts."""
    hub, providers = world(rng, ["value", "none", "unsuccessful", "raises"], hanging=rng.random() < 0.3)
    strategy = rng.choice(["first", "all", "fallback"])
    timeout = 0.5 if any(provider.ending == "hangs" for provider in providers) else 60
    result = asyncio.run(_settled(hub.execute("get_it", strategy=strategy, timeout=timeout, deadline=120)))
    errors = {row["server"]: row["kind"] for row in result.meta.get("errors", [])}
    expected_kinds = {
        f"s{one.number}": "timeout" if one.ending == "hangs" else "tool_error" for one in providers
    }
    if any(kind == "timeout" != expected_kinds[server] for server, kind in errors.items()):
        return  # the machine was so busy that an instant candidate ran out of time
    begun = [provider for provider in providers if provider.begun]
    assert all(provider.begun == 1 for provider in begun), "a candidate ran twice in one call"
    for provider in begun:
        # A loser in a thread is abandoned: it ends by itself.
        assert provider.ended + provider.cancelled == 1 or not provider.is_async, f"left behind: {provider}"
    allowed, least = _model(strategy, providers)
    assert result.success == bool(allowed), (strategy, providers, result)
    for provider in providers[:least]:
        assert provider.begun, f"not tried: {provider} with {strategy} of {providers}"
    if not allowed:
        assert errors == expected_kinds, (providers, errors)
    elif strategy == "all" and len(allowed) > 1:
        for provider in allowed:
            assert provider.ending == "none" or f"answer {provider.number}" in str(result.result), result
    else:
        values = [f"answer {one.number}" if one.ending == "value" else None for one in allowed]
        assert result.result in values, (strategy, providers, result)


def _model(strategy: str, providers: list[Provider]) -> tuple[list[Provider], int]:
    """The candidates whose answer may count, and how many of all have to begin."""
    if strategy == "fallback":
        for position, provider in enumerate(providers):
            if provider.succeeds:
                return [provider], position + 1
        return [], len(providers)
    batch = providers[:BATCH]
    if won := [provider for provider in batch if provider.succeeds]:
        return won, len(batch) if strategy == "all" else 0
    for position, provider in enumerate(providers[len(batch) :], len(batch)):
        if provider.succeeds:
            return [provider], position + 1
    return [], len(providers)


async def _settled(awaitable: Any) -> Any:
    result = await awaitable
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, f"tasks left behind: {left}"
    return result


def cancellations(rng: random.Random) -> None:
    """Cancelling the caller, at any moment, ends everything below before it returns."""
    hub, providers = world(rng, ["hangs", "hangs", "raises"], most=3)
    providers_of_one = [one for one in providers if one.ending == "hangs"]
    strategy, turns = rng.choice(["first", "all", "fallback"]), rng.randrange(6)

    async def main() -> None:
        task = asyncio.ensure_future(hub.execute("get_it", strategy=strategy, timeout=60))
        for _ in range(turns):
            await asyncio.sleep(0)
        if not providers_of_one and task.done():
            return
        # A thread that runs a failing candidate may end the call first.
        cancelled = task.cancel()
        try:
            result = await task
            assert not cancelled or not providers_of_one, "the cancellation was swallowed"
            assert not result.success
        except asyncio.CancelledError:
            assert cancelled
        for provider in providers:
            if provider.ending == "hangs":
                assert provider.begun == provider.cancelled, f"goes on after its caller: {provider}"
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks left behind: {left}"

    asyncio.run(main())
    # A time limit that is over starts nothing.
    # A thread may just be about to begin with a candidate of the call before.
    before = [provider.begun for provider in providers if provider.is_async]
    late = asyncio.run(_settled(hub.execute("get_it", deadline=rng.choice([0, -1, -0.5]))))
    assert late.kind == ErrorKind.TIMEOUT, late
    assert late.meta["error"]["outcome"] == "not_sent", late
    assert before == [provider.begun for provider in providers if provider.is_async]


def registry(rng: random.Random) -> None:
    """Tools come and go while calls are running; a call sees one state or the other."""
    hub, names = ToolHub(limits={"breaker_threshold": 0}), [f"get_{n}" for n in range(5)]
    there: dict[str, int] = {}
    value = 0

    def tool(number: int) -> Any:
        async def answers() -> int:
            await asyncio.sleep(0)
            return number

        return answers

    async def main() -> None:
        nonlocal value
        for _ in range(30):
            name, version = rng.choice(names), hub.version
            expected = there.get(name)
            call = asyncio.ensure_future(hub.execute(name))
            if rng.random() < 0.5:
                await asyncio.sleep(0)
            known = list(there.items())
            if rng.random() < 0.5 and name in there:
                hub.unregister(name)
                del there[name]
                assert hub.version > version
            else:
                value += 1
                hub.unregister(name)
                hub.register(tool(value), name=name)
                there[name] = value
                assert hub.version > version
            result = await call
            allowed = {expected, dict(known).get(name), there.get(name)}
            assert (result.result if result.success else None) in allowed, (result, allowed)
            assert result.success or result.kind == ErrorKind.NOT_FOUND, result
            assert {one.name for one in hub.tools()} == set(there)
            assert all((one in hub) == (one in there) for one in names)

    asyncio.run(main())


def closing(rng: random.Random) -> None:
    """A hub that is closed ends its calls and starts no other."""
    hub, providers = world(rng, ["hangs", "value", "raises"], most=4)
    count = rng.randint(1, 8)

    async def main() -> None:
        calls = [asyncio.ensure_future(hub.execute("get_it", timeout=60)) for _ in range(count)]
        for _ in range(rng.randrange(5)):
            await asyncio.sleep(0)
        await hub.aclose()
        for result in await asyncio.gather(*calls):
            values = [f"answer {one.number}" for one in providers]
            assert result.kind == "closed" or result.success or result.kind in ("tool_error", "timeout"), (
                result
            )
            assert not result.success or any(one in str(result.result) for one in values), result
        for provider in providers:
            assert provider.ending != "hangs" or provider.begun == provider.cancelled, provider
        begun = [provider.begun for provider in providers]
        late = await hub.execute("get_it")
        assert late.kind == "closed", late
        assert begun == [provider.begun for provider in providers]
        await hub.aclose()

    asyncio.run(main())
