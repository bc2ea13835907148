"""One identity of a call: all who recognise calls find them by the same key, and judge them by the same definition."""

import asyncio
import contextlib
import json
import random
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub
from toolhub.permissions import Approval
from toolhub.testing import ReplayError, record, replay

BANK = """
import json, sys
NAME, EFFECTS, DESCRIPTION = sys.argv[1:4]
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    answer = {"jsonrpc": "2.0", "id": request["id"]}
    match request["method"]:
        case "initialize":
            answer["result"] = {
                "protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": NAME, "version": "1"}
            }
        case "tools/list":
            tool = {"name": "send_payment", "description": DESCRIPTION, "inputSchema": {"type": "object"}}
            answer["result"] = {"tools": [tool]}
        case "tools/call":
            tenant = request["params"].get("_meta", {}).get("tenant")
            with open(EFFECTS, "a") as file:
                file.write(f"{NAME} {json.dumps(request['params']['arguments'])} {tenant}\\\\n")
            answer["result"] = {"content": [{"type": "text", "text": f"paid at {NAME} for {tenant}"}]}
        case _:
            answer["error"] = {"code": -32601, "message": "no"}
    print(json.dumps(answer), flush=True)
""".replace("\\\\n", "\\n")


class Banks:
    """Servers with a tool that pays, the store of the hubs that use them, and what was paid."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.effects = folder / "effects"
        (folder / "bank.py").write_text(BANK)
        (folder / "other.py").write_text(BANK)

    def program(self, name: str, script: str = "bank.py", description: str = "Pays.") -> dict[str, Any]:
        args = [str(self.folder / script), name, str(self.effects), description]
        return {"command": sys.executable, "args": args}

    def hub(self, *names: str, **changes: Any) -> ToolHub:
        servers = {name: self.program(name, **changes) for name in names}
        return ToolHub({"mcpServers": servers}, store=self.folder / "store.db")

    def paid(self) -> list[str]:
        return self.effects.read_text().splitlines() if self.effects.exists() else []


@pytest.fixture
def banks(tmp_path: Path) -> Banks:
    return Banks(tmp_path)


def text(args: dict[str, Any], source: str | None = None, name: str = "send_payment") -> str:
    call = {"name": name, "arguments": args} | ({"source": source} if source else {})
    return f"<tool_call>{json.dumps(call)}</tool_call>"


def asked(hub: ToolHub, args: dict[str, Any], source: str | None = None, **options: Any) -> Any:
    return hub.run_sync(text(args, source), approve="ask", **options).results[0]


def test_an_approval_that_was_asked_for_holds_for_the_program_that_was_shown(banks: Banks) -> None:
    """The hub's server is replaced while the question waits."""
    with banks.hub("b") as hub:
        hub.refresh_sync()
        questions: list[Approval] = []

        async def approve(question: Approval) -> bool:
            questions.append(question)
            hub.add_server("b", **banks.program("b", "other.py"))
            await hub.refresh()
            return True

        result = hub.run_sync(text({"x": 5}), approve=approve, meta={"tenant": 7}).results[0]
    assert result.kind == "not_allowed"
    assert "it changed while its approval was awaited" in str(result.error)
    assert banks.paid() == []
    # Both parts are shown: what is sent, and who gets it.
    (question,) = questions
    assert (question.servers, dict(question.meta)) == (("b",), {"tenant": 7})
    (program,) = question.programs
    assert program.startswith(f"b: {sys.executable} {banks.folder / 'bank.py'} b ")


def test_a_server_that_lists_the_same_again_keeps_an_approval_that_was_asked_for(banks: Banks) -> None:
    with banks.hub("b") as hub:
        hub.refresh_sync()

        async def approve(question: Approval) -> bool:
            await hub.refresh()
            return True

        assert hub.run_sync(text({"x": 5}), approve=approve).results[0].success
    assert len(banks.paid()) == 1


RUN_VARIANTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "routed source": ({"routed": "bank_b"}, {"routed": "bank_a"}),
    "meta": ({"server": "bank_a", "meta": {"tenant": 2}}, {"server": "bank_a", "meta": {"tenant": 1}}),
    "source": ({"source": "tools"}, {"source": "mcps"}),
    "server": ({"server": "bank_b"}, {"server": "bank_a"}),
}


@pytest.mark.parametrize("variant", RUN_VARIANTS)
def test_a_run_tells_calls_apart_by_all_that_they_ask_for(banks: Banks, variant: str) -> None:
    """A call that is made first in the second life of a run is not answered with what another one gave in the first."""
    made_before, made_after = RUN_VARIANTS[variant]

    def call(routed: str | None = None, **options: Any) -> Any:
        with banks.hub("bank_a", "bank_b") as hub:

            def send_payment(x: int) -> str:
                with banks.effects.open("a") as file:
                    file.write("native\n")
                return "paid here"

            hub.register(send_payment)
            if routed:
                return hub.run_sync(text({"x": 5}, routed), run="payday", **options).results[0]
            return hub.call("send_payment", {"x": 5}, run="payday", **options)

    first, second = call(**made_before), call(**made_after)
    assert first.success, first.error
    assert second.success, second.error
    assert (first.meta.get("replayed"), second.meta.get("replayed")) == (None, None)
    assert len(set(banks.paid())) == len(banks.paid()) == 2
    again = call(**made_before)
    assert again.meta["replayed"]
    assert again.result == first.result
    assert len(banks.paid()) == 2


def test_a_stored_approval_is_bound_to_meta_and_shows_it_with_the_program(banks: Banks) -> None:
    with banks.hub("bank") as hub:
        hub.refresh_sync()
        waiting = asked(hub, {"x": 5}, meta={"tenant": "acme", "progressToken": 1})
        (question,) = hub.pending()
        shown, values = question.shown.split(", bound to the values of ")
        assert shown == (
            'send_payment on bank {"x":5}, meta {"tenant":"acme"}, run by bank: '
            f"{sys.executable} {banks.folder / 'bank.py'} bank {banks.effects} Pays., version 1"
        )
        assert re.fullmatch(r"bank: folder \(…[0-9a-f]{4}\)", values)
        hub.approve(waiting.paused)
        assert asked(hub, {"x": 5}, meta={"tenant": "mallory"}).kind == "paused"
        assert asked(hub, {"x": 5}).kind == "paused"
        assert banks.paid() == []
        # A progress token is new for each request.
        assert asked(hub, {"x": 5}, meta={"tenant": "acme", "progressToken": 2}).success
        assert banks.paid() == ['bank {"x": 5} acme']


def test_a_stored_approval_needs_a_definition(banks: Banks) -> None:
    """A tool that its server has not listed is looked up before anybody is asked; the approval counts for what was listed."""
    with banks.hub("bank") as hub:
        waiting = asked(hub, {"x": 5}, "bank")
        assert waiting.kind == "paused", waiting.error
        hub.approve(waiting.paused)
    with banks.hub("bank", description="Pays twice.") as hub:
        assert asked(hub, {"x": 5}, "bank").kind == "paused"
    with banks.hub("bank") as hub:
        assert asked(hub, {"x": 5}, "bank").success
    assert len(banks.paid()) == 1


def test_a_thousand_mutations_are_refused(banks: Banks) -> None:
    """One byte of an argument, another version of the tool, another program, another meta, another run, a second use."""
    rng = random.Random(9)
    args, meta = {"to": "ann@example.org", "cents": 1200, "note": ["a", {"b": None}]}, {"tenant": "acme"}
    calls: dict[str, Any] = {"run": "r", "meta": meta}
    with (
        banks.hub("bank") as hub,
        banks.hub("bank", description="Pays at once.") as newer,
        banks.hub("bank", script="other.py") as moved,
    ):
        for one in (hub, newer, moved):
            one.refresh_sync()
        hub.approve(asked(hub, args, **calls).paused)
        for number in range(1_000):
            where = hub
            options: dict[str, Any] = dict(calls)
            tried: Any = args
            match number % 6:
                case 0 | 1:
                    spoilt = list(json.dumps(args))
                    while True:
                        at = rng.randrange(len(spoilt))
                        byte = chr(rng.randrange(32, 127))
                        try:
                            tried = json.loads("".join([*spoilt[:at], byte, *spoilt[at + 1 :]]))
                        except ValueError:
                            continue
                        if isinstance(tried, dict) and tried != args:
                            break
                case 2:
                    # Runs belong to one hub at a time.
                    where, options = newer, {"meta": meta}
                case 3:
                    where, options = moved, {"meta": meta}
                case 4:
                    other: list[Any] = [
                        {},
                        {"tenant": "Acme"},
                        {"tenant": "acme", "x": number},
                        {"tenant": ["acme"]},
                    ]
                    options["meta"] = rng.choice(other)
                case _:
                    options["run"] = f"r{number}"
            result = asked(where, tried, **options)
            assert result.kind == "paused", (number, tried, options, result)
        assert banks.paid() == []
        spelt = {"note": ["a", {"b": None}], "cents": 1200.0, "to": "ann@example.org"}
        assert asked(hub, spelt, **calls).success
        assert asked(hub, args, **calls).kind == "paused"
        assert len(banks.paid()) == 1


def test_a_run_names_both_definitions_and_never_calls_again(banks: Banks) -> None:
    with banks.hub("bank") as hub:
        assert hub.call("send_payment", {"x": 5}, run="r").success
    with banks.hub("bank", script="other.py") as hub:
        result = hub.call("send_payment", {"x": 5}, run="r")
    assert result.kind == "paused"
    assert "a different definition" in str(result.error)
    assert str(banks.folder / "bank.py") in str(result.error)
    assert str(banks.folder / "other.py") in str(result.error)
    assert "it differs in program" in str(result.error)
    assert len(banks.paid()) == 1


def test_a_run_does_not_read_again_with_another_definition(tmp_path: Path) -> None:
    """The program has gone on with what it read."""
    reads: list[int] = []
    for description in ("Reads.", "Reads more."):
        with ToolHub(store=tmp_path / "store.db") as hub:
            hub.register(
                lambda: reads.append(1) or "read", name="look", description=description, read_only=True
            )
            result = hub.call("look", run="r")
    assert result.kind == "paused"
    assert "it differs in description" in str(result.error)
    assert reads == [1]


def test_a_cassette_answers_for_another_definition_with_a_notice(tmp_path: Path) -> None:
    path = tmp_path / "calls.ndjson"

    def read(description: str) -> Any:
        hub = ToolHub()
        hub.register(lambda: description, name="look", description=description, read_only=True)
        return hub.call("look").result

    with record(path):
        read("Reads.")
    with replay(path) as same:
        read("Reads.")
    assert same.notices == []
    with replay(path) as other:
        assert read("Reads more.") == "Reads."
    (notice,) = other.notices
    assert notice == (
        f"'look' (tools) was answered from '{path}', though its definition has changed: it differs in description."
    )


CALLS: dict[str, dict[str, Any]] = {
    "plain": {"args": {"a": 1, "b": [2, {"c": None}]}},
    "key order": {"args": {"b": [2, {"c": None}], "a": 1}},
    "1.0": {"args": {"a": 1.0, "b": [2.0, {"c": None}]}},
    "text 1": {"args": {"a": "1", "b": [2, {"c": None}]}},
    "order of a list": {"args": {"a": 1, "b": [{"c": None}, 2]}},
    "without null": {"args": {"a": 1, "b": [2, {}]}},
    "é": {"args": {"a": "caf\u00e9"}},
    "e and accent": {"args": {"a": "cafe\u0301"}},
    "meta": {"args": {"a": 1, "b": [2, {"c": None}]}, "meta": {"tenant": 1}},
    "meta 1.0": {"args": {"a": 1, "b": [2, {"c": None}]}, "meta": {"tenant": 1.0}},
    "other meta": {"args": {"a": 1, "b": [2, {"c": None}]}, "meta": {"tenant": 2}},
    "trace": {"args": {"a": 1, "b": [2, {"c": None}]}, "meta": {"traceparent": "00-1", "progressToken": 3}},
    "source": {"args": {"a": 1, "b": [2, {"c": None}]}, "routed": "tools"},
}
SAME = [
    {"plain", "key order", "1.0", "trace"},
    {"meta", "meta 1.0"},
]  # fmt: skip


class Judges:
    """What each user of the identity says: whether the second of two calls is the first one."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.number = folder, 0

    def hub(self, runs: list[Any], *, read_only: bool, wait: asyncio.Event | None = None) -> ToolHub:
        hub = ToolHub(store=self.folder / "store.db")

        async def touch(a: Any, b: Any = None) -> str:
            runs.append((a, b))
            if wait:
                await wait.wait()
            return "done"

        hub.register(touch, read_only=read_only)
        return hub

    def call(self, hub: ToolHub, call: dict[str, Any], **options: Any) -> Any:
        request = {"tool_name": "touch", "arguments": call["args"], "source": call.get("routed")}
        return hub.dispatch(request, meta=call.get("meta"), **options)

    def cache(self, one: dict[str, Any], other: dict[str, Any]) -> bool:
        async def scene() -> bool:
            runs: list[Any] = []
            with self.hub(runs, read_only=True) as hub:
                for call in (one, other):
                    assert (await self.call(hub, call, cache_ttl=1000)).success
            return len(runs) == 1

        return asyncio.run(scene())

    def single_flight(self, one: dict[str, Any], other: dict[str, Any]) -> bool:
        async def scene() -> bool:
            runs, go = list[Any](), asyncio.Event()
            with self.hub(runs, read_only=True, wait=go) as hub:
                calls = [
                    asyncio.ensure_future(self.call(hub, call, single_flight=True)) for call in (one, other)
                ]
                for _ in range(20):
                    await asyncio.sleep(0)
                go.set()
                assert all(result.success for result in await asyncio.gather(*calls))
            return len(runs) == 1

        return asyncio.run(scene())

    def run(self, one: dict[str, Any], other: dict[str, Any]) -> bool:
        async def scene() -> bool:
            runs, name = list[Any](), f"r{self.number}"
            for call in (one, other):
                with self.hub(runs, read_only=False) as hub:
                    assert (await self.call(hub, call, run=name)).success
            return len(runs) == 1

        return asyncio.run(scene())

    def approval(self, one: dict[str, Any], other: dict[str, Any]) -> bool:
        runs: list[Any] = []
        options: dict[str, Any] = {"approve": "ask", "run": f"a{self.number}"}
        with self.hub(runs, read_only=False) as hub:
            for place, call in enumerate((one, other)):
                message = text(call["args"], call.get("routed"), "touch")
                result = hub.run_sync(message, meta=call.get("meta"), **options).results[0]
                if place == 0:
                    hub.approve(str(result.paused))
        return len(runs) == 1

    def cassette(self, one: dict[str, Any], other: dict[str, Any]) -> bool:
        async def scene() -> bool:
            runs, path = list[Any](), self.folder / "calls.ndjson"
            with self.hub(runs, read_only=False) as hub, record(path):
                assert (await self.call(hub, one)).success
            with contextlib.suppress(ReplayError), self.hub(runs, read_only=False) as hub, replay(path):
                result = await self.call(hub, other)
                assert len(runs) == 1, "nothing runs in a replay"
                return result.success
            return False

        return asyncio.run(scene())

    def ledger(self, one: dict[str, Any], other: dict[str, Any]) -> bool:
        async def scene() -> bool:
            with self.hub([], read_only=False) as hub:
                for call, name in ((one, None), (other, None), (other, f"l{self.number}")):
                    assert (await self.call(hub, call, run=name)).success
                first, second, in_run = hub.ledger(limit=3)
            assert second.key == in_run.key, "a run is not a part of the key"
            return first.key == second.key

        return asyncio.run(scene())

    def verdicts(self, one: dict[str, Any], other: dict[str, Any]) -> dict[str, bool]:
        self.number += 1
        users = (self.cache, self.single_flight, self.run, self.approval, self.cassette, self.ledger)
        return {user.__name__: user(one, other) for user in users}


@pytest.mark.parametrize("one", CALLS)
def test_all_who_recognise_a_call_agree(tmp_path: Path, one: str) -> None:
    judges = Judges(tmp_path)
    for other in CALLS:
        if one > other:
            continue
        is_same = one == other or any({one, other} <= same for same in SAME)
        verdicts = judges.verdicts(CALLS[one], CALLS[other])
        assert set(verdicts.values()) == {is_same}, (one, other, verdicts)
