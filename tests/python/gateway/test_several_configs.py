"""A served hub whose servers are configured by more than one file."""

from __future__ import annotations

import json
from pathlib import Path

from gateway.test_operating import configure
from support import wire


def test_overrides_that_cannot_be_read_change_nothing(tmp_path: Path) -> None:
    config, local = tmp_path / "mcp.json", tmp_path / "mcp.local.json"
    configure(config, "first", "second")
    off = '{"second": {"disabled": true}}'
    local.write_text(off)
    with wire.command("--config", str(config)) as program:
        assert wire.tools(program.url) == ["first"]
        local.write_text("[")
        program.errors.wait_for(f"the old one stays: {local}: is not valid JSON")
        assert wire.tools(program.url) == ["first"]
        local.unlink()
        local.symlink_to(tmp_path / "nowhere")
        program.errors.wait_for(f"the old one stays: {local}: does not exist")
        assert wire.tools(program.url) == ["first"]
        local.unlink()
        local.write_text("{}")
        program.errors.wait_for(f"reloaded {config}")
        assert wire.tools(program.url) == ["first", "second"]


def test_the_later_file_still_counts_when_the_earlier_one_has_changed(tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    configure(first, "both")
    second.write_text(json.dumps({"mcpServers": {"both": {"command": "x", "disabled": True}}}))
    with wire.command("--config", str(first), "--config", str(second)) as program:
        assert wire.tools(program.url) == []
        configure(first, "both", "new")
        program.errors.wait_for(f"reloaded {first}")
        assert wire.tools(program.url) == ["new"]
