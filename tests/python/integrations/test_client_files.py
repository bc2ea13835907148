"""`docs/how-to/clients.md`: each file is read as `toolhub import` reads it, and what it names is started and called."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support import wire
from support.pages import blocks
from toolhub import ToolHub
from toolhub.cli._clients import ClientFile, known_files
from toolhub.cli._forms import read_file

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "clients.md"
TOKEN = "token-of-ann"  # the page has it where a client has no variables
NAMES = {
    "Claude Desktop": "claude-desktop",
    "Claude Code": "claude-code",
    "Cursor": "cursor",
    "VS Code": "vscode",
    "Zed": "zed",
    "Windsurf": "windsurf",
    "Codex": "codex",
    "Gemini CLI": "gemini",
    "Goose": "goose",
    "LM Studio": "lmstudio",
    "Cline": "cline",
    "Continue": "continue",
}


class Example(NamedTuple):
    client: str
    line: int
    text: str

    @property
    def is_remote(self) -> bool:
        return "127.0.0.1:8000" in self.text


def examples() -> list[Example]:
    text = PAGE.read_text("utf-8")
    lines = text.splitlines()
    found: list[Example] = []
    for block in blocks(text):
        heading = next(line[3:] for line in reversed(lines[: block.line]) if line.startswith("## "))
        if heading in NAMES:
            found.append(Example(NAMES[heading], block.line, block.code))
        else:
            assert block.language == "sh", f"line {block.line}: a block that is not checked"
    return found


EXAMPLES = examples()


def label(example: Example) -> str:
    return f"{example.client}:{example.line}"


def servers_of(example: Example, folder: Path) -> dict[str, Any]:
    """The servers of a file, which has the name that it has at the client."""
    place = next(Path(file.path) for file in known_files(str(folder)) if file.client == example.client)
    path = folder / place.name
    path.write_text(example.text, "utf-8")
    found = read_file(ClientFile(example.client, str(path)))
    assert (found.problems, found.notes) == ([], {})
    return found.servers


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that stands for `/home/ann`."""
    home = tmp_path_factory.mktemp("ann")
    (home / "tools").mkdir()
    (home / "tools" / "greet.py").write_text(
        'import toolhub\n\n@toolhub.tool\ndef greet(name: str) -> str:\n    "Greet."\n    return f"hello {name}"\n'
    )
    (home / "mcp.json").write_text('{"mcpServers": {}}')
    return home


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    """A hub that runs already, for all files with an address."""
    arguments = ("--config", str(home / "mcp.json"), "--tools", str(home / "tools"))
    with wire.command(*arguments, TOOLHUB_TOKEN=TOKEN) as program:
        yield program.url


def greets(servers: dict[str, Any]) -> None:
    with ToolHub() as hub:
        report = hub.load_mcp({"mcpServers": servers})
        assert (report.loaded, report.errors) == (["toolhub"], [])
        assert hub.call("greet", {"name": "ann"}).result == "hello ann"


def test_every_client_has_its_files() -> None:
    assert {example.client for example in EXAMPLES} == set(NAMES.values())
    programs = [example.client for example in EXAMPLES if not example.is_remote]
    assert sorted(programs) == sorted(NAMES.values()), "one file of each client starts the hub"
    addresses = [example.client for example in EXAMPLES if example.is_remote]
    assert sorted(addresses) == sorted(set(NAMES.values()) - {"claude-desktop"})


PROGRAMS = [example for example in EXAMPLES if not example.is_remote]


@pytest.mark.parametrize("example", PROGRAMS, ids=label)
def test_a_file_names_the_command(example: Example, tmp_path: Path) -> None:
    """All clients start the same command, so it is enough to start it once, below."""
    entry = servers_of(example, tmp_path)["toolhub"]
    arguments = ["serve", "--config", "/home/ann/mcp.json", "--tools", "/home/ann/tools"]
    assert (entry["command"], entry["args"]) == ("toolhub", arguments)
    assert set(entry) <= {"command", "args", "env", "type", "disabled", "toolhub"}


def test_the_command_is_started(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    text = PROGRAMS[0].text.replace("/home/ann", str(home))
    servers = servers_of(PROGRAMS[0]._replace(text=text), tmp_path)
    servers["toolhub"]["env"] = {"TOOLHUB_STORE": ""}
    greets(servers)


@pytest.mark.parametrize("example", [one for one in EXAMPLES if one.is_remote], ids=label)
def test_a_file_reaches_a_hub_that_runs(
    example: Example, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLHUB_TOKEN", TOKEN)
    text = example.text.replace("http://127.0.0.1:8000/mcp", address)
    greets(servers_of(example._replace(text=text), tmp_path))
