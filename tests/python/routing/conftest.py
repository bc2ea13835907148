"""What the tests of routing share: servers that say who they are and write down what they were asked."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from toolhub import ToolHub

SERVER = Path(__file__).parent / "server.py"


class Lab:
    """A hub, and servers of one file in a folder."""

    def __init__(self, hub: ToolHub, folder: Path) -> None:
        self.hub, self.folder = hub, folder

    def add(self, label: str, *tools: str, mode: str = "", **options: object) -> None:
        """Configures a server with these tools; nothing is started."""
        self.offer(label, *tools)
        self.hub.add_server(
            label, command=sys.executable, args=[str(SERVER), label, str(self.folder), mode], **options
        )

    def offer(self, label: str, *tools: str) -> None:
        """What the server lists from now on, without a notification."""
        (self.folder / f"{label}.tools").write_text(" ".join(tools))

    def describe(self, label: str, tools: Mapping[str, Mapping[str, object]]) -> None:
        """More fields for tools of a server: their descriptions, schemas and annotations."""
        (self.folder / f"{label}.json").write_text(json.dumps(tools))

    def asked(self, label: str, what: str) -> int:
        """How often the server was asked for that (`start`: how often it was started)."""
        log = self.folder / f"{label}.log"
        return log.read_text().split().count(what) if log.exists() else 0


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    async with ToolHub(limits={"lookup_timeout": 30}) as hub:
        yield Lab(hub, tmp_path)
