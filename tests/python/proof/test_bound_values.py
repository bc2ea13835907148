"""An approval is for what runs: the code of a function, and the values that a server gets from its configuration."""

import dataclasses
import enum
import functools
import hashlib
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pydantic
import pytest

from toolhub import ToolHub
from toolhub._signature.identity import code_digest
from toolhub.serving import Serving

SERVER = """
import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    database = os.environ.get("DATABASE_URL", "none")
    results = {
        "initialize": {
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}
        },
        "tools/list": {"tools": [{"name": "send_payment", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": f"paid in {database}"}]},
    }
    answer = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] in results:
        answer["result"] = results[request["method"]]
    else:
        answer["error"] = {"code": -32601, "message": "no"}
    print(json.dumps(answer), flush=True)
"""


class Shop:
    """A store, and hubs with one server that uses it one after another, as processes do."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "store.db"
        (folder / "bank.py").write_text(SERVER)
        self.program: dict[str, Any] = {"command": sys.executable, "args": [str(folder / "bank.py")]}

    def asked(self, config: dict[str, Any], **options: Any) -> Any:
        with ToolHub({"mcpServers": {"bank": config}}, store=self.store) as hub:
            return hub.call("send_payment", {}, approve="ask", **options)

    def approved(self, config: dict[str, Any], **options: Any) -> str:
        """The text of the question about a call that is approved now."""
        with ToolHub({"mcpServers": {"bank": config}}, store=self.store) as hub:
            waiting = hub.call("send_payment", {}, approve="ask", **options)
            assert waiting.paused is not None, waiting.error
            (shown,) = [one.shown for one in hub.pending() if one.id == waiting.paused]
            hub.approve(waiting.paused)
            return shown


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


@pytest.fixture(scope="module")
def bank() -> Iterator[str]:
    """The address of a bank over HTTP."""
    hub, ready, opened = ToolHub(), threading.Event(), list[Serving]()
    hub.register(lambda: "paid", name="send_payment")
    thread = threading.Thread(
        target=lambda: hub.serve("http", port=0, ready=lambda one: opened.append(one) or ready.set())
    )
    thread.start()
    ready.wait()
    yield opened[0].url
    opened[0].stop()
    thread.join()


VALUES: dict[str, Callable[[Shop, Path, str], dict[str, Any]]] = {
    "env": lambda shop, _, value: {**shop.program, "env": {"DATABASE_URL": f"db://{value}"}},
    "variable": lambda shop, _, value: {**shop.program, "env": {"DATABASE_URL": "db://${BANK}"}},
    "env_file": lambda shop, folder, value: {**shop.program, "envFile": str(folder / "env")},
    "argument": lambda shop, _, value: {
        **shop.program,
        "args": [*shop.program["args"], "--password", value],
    },
}


@pytest.mark.parametrize("place", VALUES)
def test_an_approval_is_bound_to_the_values_that_a_program_gets(
    place: str, shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def config(value: str) -> dict[str, Any]:
        monkeypatch.setenv("BANK", value)
        (tmp_path / "env").write_text(f"DATABASE_URL=db://{value}\n")
        return VALUES[place](shop, tmp_path, value)

    shown = shop.approved(config("test"))
    other = shop.asked(config("production"))
    assert (other.kind, other.result) == ("paused", None)
    assert shop.asked(config("test")).success
    name = "arguments" if place == "argument" else "DATABASE_URL"
    assert f", bound to the values of bank: {name} (…" in shown


PLACES: dict[str, tuple[dict[str, Any], str]] = {
    "name on PATH": ({"command": "bank"}, "program"),
    "path to a program": ({"command": "./bank"}, "folder"),
    "path to a script": ({"command": sys.executable, "args": ["bank.py"]}, "folder"),
    "name on a PATH of its own": ({"command": "bank", "env": {"PATH": "."}}, "program"),
}


@pytest.mark.skipif(sys.platform == "win32", reason="a script with a first line is no program there")
@pytest.mark.parametrize("place", PLACES)
def test_an_approval_is_bound_to_the_program_that_runs(
    place: str, shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same words of the configuration are another program with another `PATH`, or in another folder."""
    config, name = PLACES[place]
    path = os.environ["PATH"]

    def in_folder(folder: str) -> None:
        here = tmp_path / folder
        here.mkdir(exist_ok=True)
        (here / "bank.py").write_text(SERVER.replace("paid in", f"paid by {folder} in"))
        (here / "bank").write_text(f"#!/bin/sh\nexec {sys.executable} {here / 'bank.py'}\n")
        (here / "bank").chmod(0o755)
        if place == "name on PATH":
            monkeypatch.setenv("PATH", f"{here}{os.pathsep}{path}")
        else:
            monkeypatch.chdir(here)

    in_folder("first")
    shown = shop.approved(config)
    in_folder("second")
    other = shop.asked(config)
    assert (other.kind, other.result) == ("paused", None)
    in_folder("first")
    assert shop.asked(config).result == "paid by first in none"
    assert f"{name} (…" in shown.split(", bound to the values of bank: ")[1]
    assert str(tmp_path) not in shown


@pytest.mark.skipif(sys.platform == "win32", reason="as above")
def test_a_server_starts_in_the_folder_of_its_configuration(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process goes elsewhere between the approval and the start of the server."""
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "bank.py").write_text(SERVER.replace("paid in", f"paid by {folder} in"))
    config = {"command": sys.executable, "args": ["bank.py"]}
    monkeypatch.chdir(tmp_path / "first")
    shop.approved(config)
    with ToolHub({"mcpServers": {"bank": config}}, store=shop.store) as hub:
        monkeypatch.chdir(tmp_path / "second")
        assert hub.call("send_payment", {}, approve="ask").result == "paid by first in none"


HEADERS: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "header x-account": lambda url, value: {"url": url, "headers": {"X-Account": value}},
    "header authorization": lambda url, value: {"url": url, "headers": {"Authorization": f"Basic {value}"}},
    "auth": lambda url, value: {"url": url, "auth": value},
    "url": lambda url, value: {"url": f"{url}?api_key={value}"},
}


@pytest.mark.parametrize("name", HEADERS)
def test_an_approval_is_bound_to_what_identifies_the_caller_of_a_server(
    name: str, shop: Shop, bank: str
) -> None:
    shown = shop.approved(HEADERS[name](bank, "abcdefghij12345"))
    assert shop.asked(HEADERS[name](bank, "klmnopqrst67890")).kind == "paused"
    assert shop.asked(HEADERS[name](bank, "abcdefghij12345")).success
    assert f", bound to the values of bank: {name} (…" in shown
    assert "abcdefghij12345" not in shown


def test_the_values_are_kept_as_keyed_digests(shop: Shop) -> None:
    """Whoever sees a question or its digest cannot try out values; another store has another key."""
    config = {**shop.program, "env": {"DATABASE_URL": "db://hush", "LEVEL": "7"}}
    shown = [shop.approved(config, run=run) for run in ("one", "two")]
    texts = [text.split(", bound to the values of ")[1] for text in shown]
    assert texts[0] == texts[1], "the same values"
    other = Shop(shop.store.parent / "..")
    other.store = shop.store.with_name("other.db")
    assert other.approved(config).split(", bound to the values of ")[1] != texts[0]
    files = b"".join(path.read_bytes() for path in shop.store.parent.glob("store.db*"))
    for value in (b"db://hush", b"7"):
        assert hashlib.sha256(value).hexdigest().encode() not in files
    assert b"db://hush" not in files


def test_a_renewed_value_keeps_what_a_run_has_done(shop: Shop) -> None:
    def made(value: str) -> Any:
        config = {**shop.program, "env": {"DATABASE_URL": value}}
        with ToolHub({"mcpServers": {"bank": config}}, store=shop.store) as hub:
            return hub.call("send_payment", {}, run="monday")

    assert made("db://one").result == "paid in db://one"
    again = made("db://two")
    assert (again.result, again.meta["replayed"]) == ("paid in db://one", True)


def test_a_question_holds_for_the_values_that_were_asked_about(shop: Shop) -> None:
    """The server is configured otherwise while somebody decides."""
    with ToolHub(store=shop.store) as hub:
        hub.add_server("bank", **shop.program, env={"DATABASE_URL": "db://test"})
        hub.connect_sync()

        async def approve(_: Any) -> bool:
            hub.add_server("bank", **shop.program, env={"DATABASE_URL": "db://production"})
            await hub.connect()
            return True

        result = hub.call("send_payment", {}, approve=approve)
    assert (result.kind, result.result) == ("not_allowed", None)
    assert "it changed while its approval was awaited" in str(result.error)


FIRST = """
def send_mail(to: str) -> str:
    return f"sent to {to}"
"""
SAME = {"same": FIRST, "another place": "import os\n\n" + FIRST}
OTHERS = {
    "body": FIRST.replace("sent to", "burnt for"),
    "names": FIRST.replace('f"sent to {to}"', "to.upper()"),
    "inner function": FIRST.replace("return", "def inner(): return 2\n    return"),
    "closure": """
def make(account):
    def send_mail(to: str) -> str:
        return account
    return send_mail
send_mail = make("a")
""",
}


def function(source: str) -> Any:
    names: dict[str, Any] = {"__name__": "mailing"}
    exec(compile(source, f"<cell {len(source)}>", "exec"), names)
    return names["send_mail"]


def hub_with(store: Path, tool: Any) -> ToolHub:
    hub = ToolHub(store=store)
    hub.register(tool, name="send_mail", description="Send it.")
    return hub


def approve_once(store: Path, tool: Any) -> None:
    with hub_with(store, tool) as hub:
        hub.approve(hub.call("send_mail", {"to": "ann"}, approve="ask").paused or "")


def use(store: Path, tool: Any) -> Any:
    with hub_with(store, tool) as hub:
        return hub.call("send_mail", {"to": "ann"}, approve="ask")


@pytest.mark.parametrize("other", OTHERS)
def test_an_approval_is_bound_to_the_code_of_a_function(other: str, tmp_path: Path) -> None:
    approve_once(tmp_path / "store.db", function(FIRST))
    assert use(tmp_path / "store.db", function(OTHERS[other])).kind == "paused"
    assert use(tmp_path / "store.db", function(FIRST)).success


@pytest.mark.parametrize("same", SAME)
def test_a_cell_that_is_run_again_keeps_its_approvals(same: str, tmp_path: Path) -> None:
    with hub_with(tmp_path / "store.db", function(FIRST)) as hub:
        hub.approve(hub.call("send_mail", {"to": "ann"}, approve="ask").paused or "")
        hub.register(function(SAME[same]), name="send_mail", description="Send it.")
        assert hub.call("send_mail", {"to": "ann"}, approve="ask").success


def test_an_approval_is_not_used_by_another_function_of_the_same_definition(tmp_path: Path) -> None:
    with hub_with(tmp_path / "store.db", function(FIRST)) as hub:
        hub.approve(hub.call("send_mail", {"to": "ann"}, approve="ask").paused or "")
        hub.register(function(OTHERS["body"]), name="send_mail", description="Send it.")
        assert len(hub.get("send_mail").candidates) == 1  # type: ignore[union-attr]
        assert hub.call("send_mail", {"to": "ann"}, approve="ask").kind == "paused"


def test_the_code_is_known_again_in_another_process(tmp_path: Path) -> None:
    """Compiled in one process, read from its cache in the next."""
    (tmp_path / "mailing.py").write_text(
        FIRST + "\nBULK = (1, 2.5, 'x', b'y', ...)\ndef other(to: str): return to in {'a', 'b', 'c'}\n"
    )
    program = textwrap.dedent("""
        import sys
        from toolhub import ToolHub
        import mailing
        with ToolHub(store="store.db") as hub:
            for tool in (mailing.send_mail, mailing.other):
                hub.register(tool, name=f"send_{tool.__name__}")
                result = hub.call(f"send_{tool.__name__}", {"to": "ann"}, approve="ask")
                print(result.kind)
                if result.paused:
                    hub.approve(result.paused)
    """)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(tmp_path)])}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    ends = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**environment, "PYTHONHASHSEED": seed},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for seed in ("1", "2", "3")
    ]
    assert ends == [["paused"] * 2, ["None"] * 2, ["paused"] * 2]


class Mailer:
    name, description = "send_mail", "Send it."

    def __init__(self, account: str) -> None:
        self.account = account
        self.log: list[Any] = []

    def execute(self, input: Any) -> dict[str, Any]:
        self.log.append(input)
        return {"success": True, "result": self.account}

    def send(self, to: str) -> str:
        return self.account


class Polite(Mailer):
    def execute(self, input: Any) -> dict[str, Any]:
        return super().execute(input)


def closing_over(account: Any, log: list[Any]) -> Callable[[str], str]:
    def send_mail(to: str) -> str:
        log.append(to)
        return account

    return send_mail


def defaulting(account: str) -> Callable[..., str]:
    def send_mail(to: str, *, _account: str = account) -> str:
        return _account

    return send_mail


def wrapped(word: str) -> Callable[[str], str]:
    @functools.wraps(function(FIRST))
    def send_mail(to: str) -> str:
        return word

    return send_mail


def partial(account: str) -> Callable[[str], str]:
    def send_mail(account: str, to: str) -> str:
        return account

    return functools.partial(send_mail, account)


def cached(source: str) -> Any:
    return functools.cache(function(source))


@dataclasses.dataclass(slots=True)
class Slotted:
    account: str

    def send(self, to: str) -> str:
        return self.account


class Record(NamedTuple):
    account: str

    def send(self, to: str) -> str:
        return self.account


class Text(str):
    def send(self, to: str) -> str:
        return str(self)


class Whole(int):
    def __call__(self, to: str) -> str:
        return str(int(self))


class Account(enum.Enum):
    ONE = "a"
    TWO = "b"

    def send(self, to: str) -> str:
        return self.value


class Named(enum.StrEnum):
    ONE = "a"
    TWO = "b"


class Private(pydantic.BaseModel):
    _account: str = pydantic.PrivateAttr("")

    def send(self, to: str) -> str:
        return self._account


def private(account: str) -> Callable[[str], str]:
    model = Private()
    model._account = account  # pyright: ignore[reportPrivateUsage]
    return model.send


CLASS = """
class Base:
    account = "a"

class Mailer(Base):
    def send(self, to: str) -> str:
        return self.account

    @classmethod
    def send_all(cls, to: str) -> str:
        return cls.account

send_mail = Mailer().send
"""
OTHER_CLASS = CLASS.replace('"a"', '"b"')
METHOD = CLASS.replace("Mailer().send", "Mailer.send_all")


def with_attribute(account: str) -> Any:
    tool = function(FIRST)
    tool.account = account
    return tool


def closings(first: Any, same: Any, other: Any) -> tuple[Any, Any, Any]:
    return closing_over(first, []), closing_over(same, []), closing_over(other, [])


MADE: dict[str, tuple[Any, Any, Any]] = {
    "slots": (Slotted("a").send, Slotted("a").send, Slotted("b").send),
    "named tuple": (Record("a").send, Record("a").send, Record("b").send),
    "kind of text": (Text("a").send, Text("a").send, Text("b").send),
    "kind of number": (Whole(1), Whole(1), Whole(2)),
    "enum": (Account.ONE.send, Account.ONE.send, Account.TWO.send),
    "enum in a closure": closings(Account.ONE, Account.ONE, Account.TWO),
    "text enum in a closure": closings(Named.ONE, Named.ONE, Named.TWO),
    "path in a closure": closings(Path("a"), Path("a"), Path("b")),
    "private attribute": (private("a"), private("a"), private("b")),
    "class attribute": (function(CLASS), function(CLASS), function(OTHER_CLASS)),
    "class method": (function(METHOD), function(METHOD), function(METHOD.replace('"a"', '"b"'))),
    "function attribute": (with_attribute("a"), with_attribute("a"), with_attribute("b")),
    "object": (Mailer("a"), Mailer("a"), Mailer("b")),
    "method": (Mailer("a").send, Mailer("a").send, Mailer("b").send),
    "class": (Mailer("a"), Mailer("a"), Polite("a")),
    "closure": (closing_over("a", []), closing_over("a", [1]), closing_over("b", [])),
    "default": (defaulting("a"), defaulting("a"), defaulting("b")),
    "wrapper": (wrapped("a"), wrapped("a"), function(FIRST)),
    "partial": (partial("a"), partial("a"), partial("b")),
    "cache": (cached(FIRST), cached(FIRST), cached(OTHERS["body"])),
}


@pytest.mark.parametrize("kind", MADE)
def test_an_approval_is_bound_to_the_plain_values_that_a_tool_was_made_with(
    kind: str, tmp_path: Path
) -> None:
    first, same, other = MADE[kind]
    approve_once(tmp_path / "store.db", first)
    assert use(tmp_path / "store.db", other).kind == "paused"
    assert use(tmp_path / "store.db", same).success


def test_no_code_of_an_object_runs_to_read_its_values() -> None:
    class Proxy:
        __slots__ = ("__dict__", "account", "unset")
        kinds = (1, 2)

        def __init__(self) -> None:
            self.account = "a"

        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(name)

        @property
        def balance(self) -> int:
            raise AssertionError

        def __call__(self, to: str) -> str:
            return to

    one, other = Proxy(), Proxy()
    assert code_digest(one) == code_digest(other)
    other.account = "b"
    assert code_digest(one) != code_digest(other)


def test_no_code_of_a_member_runs_to_read_a_class_or_a_set() -> None:
    class Guarded:
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(name)

        def __repr__(self) -> str:
            raise AssertionError

    class Holder:
        member = Guarded()

        def send(self, to: str) -> str:
            return to

    assert code_digest(Holder().send) == code_digest(Holder().send)

    def sender(known: frozenset[Any]) -> Any:
        def send(to: str) -> bool:
            return to in known

        return send

    values = (10**5_000, (1, "a"), frozenset({2, 3}), None)
    same = [code_digest(sender(frozenset({Guarded(), *values}))) for values in (values, values[::-1])]
    assert same[0] == same[1]
    assert same[0] != code_digest(sender(frozenset({Guarded(), *values[1:]})))


def test_a_run_replays_what_a_function_did_before_it_was_mended(tmp_path: Path) -> None:
    results = list[Any]()
    for source in (FIRST, OTHERS["body"]):
        with hub_with(tmp_path / "store.db", function(source)) as hub:
            results.append(hub.call("send_mail", {"to": "ann"}, run="monday"))
    assert [result.result for result in results] == ["sent to ann"] * 2


@pytest.mark.parametrize("store", ["file", "memory"])
@pytest.mark.parametrize("change", ["code", "definition"])
def test_a_run_does_not_repeat_an_effect_with_another_tool(change: str, store: str, tmp_path: Path) -> None:
    """The second equal call in one life of a run, without an approval."""
    with ToolHub(store=tmp_path / "store.db" if store == "file" else None) as hub:
        hub.register(function(FIRST), name="send_mail", description="Send it.")
        assert hub.call("send_mail", {"to": "ann"}, run="monday").success
        assert hub.call("send_mail", {"to": "ann"}, run="monday").success, "the same tool may"
        source, description = (OTHERS["body"], "Send it.") if change == "code" else (FIRST, "Burn it.")
        hub.register(function(source), name="send_mail", description=description)
        refused = hub.call("send_mail", {"to": "ann"}, run="monday")
        assert (refused.kind, refused.result) == ("paused", None)
        why = (
            "its code, or a value that its server gets, has changed"
            if change == "code"
            else "differs in description"
        )
        assert why in str(refused.error)
        assert hub.call("send_mail", {"to": "bob"}, run="monday").success, "another call"
        assert hub.call("send_mail", {"to": "ann"}, run="tuesday").success, "another run"
        assert hub.call("send_mail", {"to": "ann"}).success, "no run"


def test_a_run_reads_again_with_another_tool(tmp_path: Path) -> None:
    with ToolHub(store=tmp_path / "store.db") as hub:
        for number in ("1", "2"):
            names: dict[str, Any] = {"__name__": "reading"}
            exec(f"def get_number() -> int: return {number}", names)
            hub.register(names["get_number"], description=number, read_only=True)
            assert hub.call("get_number", {}, run="monday").result == int(number)


def test_a_provider_that_joins_does_not_stop_a_run(tmp_path: Path) -> None:
    with hub_with(tmp_path / "store.db", function(FIRST)) as hub:
        assert hub.call("send_mail", {"to": "ann"}, run="monday").success
        hub.register(function(FIRST), name="send_mail", source="skills", description="Another one.")
        assert hub.call("send_mail", {"to": "ann"}, run="monday").success
