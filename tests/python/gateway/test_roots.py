"""The roots of the one client of a hub that is served on stdio reach the servers behind it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from support.warm import warm

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "mcp"))  # the catalogue is not installed

import catalogue  # noqa: E402

pytestmark = pytest.mark.anyio


@pytest.fixture
def configured(tmp_path: Path) -> Path:
    """The protocol's own demonstration server, which has a tool that shows roots if its client has any."""
    try:
        start = catalogue.command("everything", "stdio")
    except catalogue.NotInstalled as missing:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(str(missing))
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"everything": start}}))
    return config


async def test_a_server_gets_the_roots_of_the_only_client_and_hears_of_changes(
    configured: Path, tmp_path: Path
) -> None:
    first, second = ((tmp_path / name).as_uri() for name in ("first", "second"))
    serve = [sys.executable, "-m", "toolhub", "serve", "--config", str(configured), "--search-mode", "off"]
    client = [*warm("mcp1"), str(HERE / "roots_client.py"), first, second, *serve]
    pipe = asyncio.subprocess.PIPE
    running = await asyncio.create_subprocess_exec(*client, stdout=pipe, stderr=pipe)
    output, errors = await running.communicate()
    assert running.returncode == 0, errors.decode()
    before, after = json.loads(output)
    assert first in before
    assert second not in before
    assert second in after
    assert first not in after
