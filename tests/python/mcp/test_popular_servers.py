"""Servers that people use: they do real work on real files, each in its own way."""

from __future__ import annotations

import json
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub

pytestmark = pytest.mark.anyio

Installed = Callable[..., dict[str, Any]]
Connected = Callable[..., Any]


async def value(hub: ToolHub, name: str, **arguments: Any) -> Any:
    """The result of a call that must succeed."""
    return (await hub.execute(name, arguments)).unwrap()


def sheet(workbook: Path) -> str:
    """The first sheet of a workbook as it lies on the disk."""
    with zipfile.ZipFile(workbook) as file:
        return file.read("xl/worksheets/sheet1.xml").decode()


async def test_excel_as_many_still_have_it(
    hub: ToolHub, installed: Installed, connected: Connected, tmp_path: Path
) -> None:
    server = await connected(hub, "excel", **installed("excel-old"))
    assert server.era == "legacy"
    book = {"filepath": str(tmp_path / "sales.xlsx"), "sheet_name": "Sheet1"}
    await value(hub, "create_workbook", filepath=book["filepath"])
    await value(hub, "write_data_to_excel", **book, data=[["fruit", "price"], ["apple", 1], ["pear", 2.5]])
    await value(hub, "apply_formula", **book, cell="B4", formula="=SUM(B2:B3)")
    assert "<f>SUM(B2:B3)</f>" in sheet(tmp_path / "sales.xlsx")
    read = await hub.execute("read_data_from_excel", book)
    cells = {cell["address"]: cell["value"] for cell in json.loads(read.content[0]["text"])["cells"]}
    assert (cells["A3"], cells["B3"], cells["B4"]) == ("pear", 2.5, "=SUM(B2:B3)")
    missing = await hub.execute("read_data_from_excel", {**book, "sheet_name": "Nowhere"})
    assert missing.kind == "tool_error"
    assert "Nowhere" in str(missing.error)


async def test_excel_of_today(
    hub: ToolHub, installed: Installed, connected: Connected, tmp_path: Path
) -> None:
    server = await connected(hub, "excel", **installed("excel", EXCEL_FILES_PATH=tmp_path))
    assert server.era == "modern"
    book = {"path": "sales.xlsx", "sheet": "Sheet1"}
    await value(hub, "create_workbook", path="sales.xlsx")
    rows = [["fruit", "price"], ["apple", 1], ["pear", 2.5], ["sum", "=SUM(B2:B3)"]]
    assert (await value(hub, "write_range", **book, at="A1", rows=rows))["cells_written"] == 8
    assert "<f>SUM(B2:B3)</f>" in sheet(tmp_path / "sales.xlsx")
    assert (await value(hub, "read_range", **book))["values"] == [*rows[:3], ["sum", 3.5]]


async def test_word_prints_noise_and_works(
    hub: ToolHub, installed: Installed, connected: Connected, tmp_path: Path
) -> None:
    await connected(hub, "word", **installed("word", MCP_TRANSPORT="stdio"))
    file = str(tmp_path / "letter.docx")
    await value(hub, "create_document", filename=file, title="Letter")
    await value(hub, "add_paragraph", filename=file, text="Grüße aus 東京")
    assert await value(hub, "get_document_text", filename=file) == "Grüße aus 東京"


async def test_filesystem(hub: ToolHub, installed: Installed, connected: Connected, tmp_path: Path) -> None:
    await connected(hub, "files", **installed("filesystem", tmp_path))
    file = tmp_path / "note.txt"
    await value(hub, "write_file", path=str(file), content="eins\nzwei\n")
    assert file.read_text() == "eins\nzwei\n"
    assert await value(hub, "read_text_file", path=str(file)) == {"content": "eins\nzwei\n"}
    media = await hub.execute("read_media_file", {"path": str(file)})
    assert media.content[0]["resource"]["uri"] == file.as_uri()
    outside = await hub.execute("read_text_file", {"path": "/etc/hostname"})
    assert outside.kind == "tool_error"
    assert "outside allowed directories" in str(outside.error)


async def test_memory_is_there_after_a_restart(
    installed: Installed, connected: Connected, tmp_path: Path
) -> None:
    start = installed("memory", MEMORY_FILE_PATH=tmp_path / "memory.jsonl")
    ada = {"name": "Ada", "entityType": "person", "observations": ["wrote the first program"]}
    async with ToolHub() as hub:
        await connected(hub, "memory", **start)
        await value(hub, "create_entities", entities=[ada])
    async with ToolHub() as hub:
        await connected(hub, "memory", **start)
        assert (await value(hub, "read_graph"))["entities"] == [ada]


async def test_time_from_a_configuration(hub: ToolHub, installed: Installed) -> None:
    """The file that other clients use, and no word about connecting: the first call does it."""
    assert hub.load_mcp({"mcpServers": {"time": installed("time")}}).loaded == ["time"]
    await hub.connect()
    converted = await value(
        hub, "convert_time", source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo"
    )
    assert converted["target"]["datetime"].endswith("T21:00:00+09:00")
    assert (await hub.execute("get_current_time", {"timezone": "Mars/Base"})).kind == "tool_error"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one file that git does not know yet."""
    settings = [("user.name", "Ada"), ("user.email", "ada@example.org")]
    for words in (["init", "-q"], *(["config", *setting] for setting in settings)):
        subprocess.run(["git", "-C", tmp_path, *words], check=True)
    (tmp_path / "a.txt").write_text("a\n")
    return tmp_path


async def test_git(hub: ToolHub, installed: Installed, connected: Connected, repository: Path) -> None:
    await connected(hub, "git", **installed("git"))
    repo = {"repo_path": str(repository)}
    assert "a.txt" in (await hub.execute("git_status", repo)).text
    await value(hub, "git_add", **repo, files=["a.txt"])
    await value(hub, "git_commit", **repo, message="Say a")
    assert "Say a" in (await hub.execute("git_log", repo)).text


async def test_one_of_two_time_servers_answers_a_model(
    hub: ToolHub, installed: Installed, connected: Connected
) -> None:
    """Both tell the time of their own place: an answer that is made of both, or of the faster one, would be wrong."""
    for place in ("Asia/Tokyo", "Europe/Berlin"):
        await connected(hub, place, **installed("time", f"--local-timezone={place}"))
    text = '<tool_call>{"name": "get_current_time", "arguments": {"timezone": "UTC"}}</tool_call>'
    for _ in range(3):
        (result,) = (await hub.run(text)).results
        assert result.meta["server"] == "Asia/Tokyo"
        assert [attempt["server"] for attempt in result.meta["attempts"]] == ["Asia/Tokyo"]
    assert hub.explain({"tool_name": "get_current_time"}).strategy == "fallback"
    assert hub.explain("get_current_time").strategy == "first", "a program's call is a race"
