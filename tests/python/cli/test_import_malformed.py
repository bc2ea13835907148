"""`toolhub import` of files that are not as their clients write them: a sentence for what is wrong, and the rest goes on."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.cli import User
from toolhub.cli import main

PLACES = {
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "claude-code": ".claude.json",
    "vscode": ".config/Code/User/mcp.json",
    "windsurf": ".codeium/windsurf/mcp_config.json",
    "gemini": ".gemini/settings.json",
    "codex": ".codex/config.toml",
    "opencode": ".config/opencode/opencode.json",
    "goose": ".config/goose/config.yaml",
    "continue": ".continue/config.yaml",
    "zed": ".config/zed/settings.json",
    "kiro": ".kiro/settings/mcp.json",
    "copilot": ".copilot/mcp-config.json",
}
TABLES = {
    "vscode": "servers",
    "zed": "context_servers",
    "opencode": "mcp",
    "goose": "extensions",
    "codex": "mcp_servers",
}
# Files beside them that say what is forbidden.
BESIDE = (
    ".claude/settings.json",
    ".cursor/cli-config.json",
    ".config/goose/permission.yaml",
    ".continue/permissions.yaml",
    ".gemini/policies/a.toml",
    ".copilot/config.json",
)
KEYS = (
    *(
        "command",
        "args",
        "env",
        "cwd",
        "url",
        "headers",
        "type",
        "name",
        "cmd",
        "envs",
        "uri",
        "environment",
        "timeout",
    ),
    *(
        "enabled",
        "disabled",
        "env_vars",
        "env_keys",
        "available_tools",
        "enabled_tools",
        "disabled_tools",
        "tools",
    ),
    *(
        "http_headers",
        "env_http_headers",
        "bearer_token_env_var",
        "startup_timeout_sec",
        "requestOptions",
        "apiKey",
    ),
    *(
        "default_tools_approval_mode",
        "approval_mode",
        "scopes",
        "oauth",
        "socket",
        "sandboxEnabled",
        "excludeTools",
    ),
    *(
        "servers",
        "mcpServers",
        "mcp",
        "projects",
        "permission",
        "permissions",
        "agent",
        "profiles",
        "tool_permissions",
    ),
    *(
        "deny",
        "ask",
        "user",
        "never_allow",
        "rule",
        "toolName",
        "decision",
        "allowed",
        "excluded",
        "envFile",
        "x",
    ),
)
TEXTS = (
    "stdio",
    "remote",
    "local",
    "a",
    "./a",
    "${A}",
    "${workspaceFolder}",
    "{env:A}",
    "https://a.example",
    "*",
    "",
)


def json_values() -> st.SearchStrategy[Any]:
    leaves = st.one_of(
        st.none(), st.booleans(), st.integers(-3, 5000), st.sampled_from(TEXTS), st.text(max_size=4)
    )
    keys = st.one_of(st.sampled_from(KEYS), st.text(max_size=3))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=4)),
        max_leaves=12,
    )


def as_toml(value: Any) -> str:
    """A value as an inline value of TOML, without what it cannot have."""
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{as_toml(key)} = {as_toml(one)}" for key, one in value.items() if one is not None)
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(as_toml(one) for one in value if one is not None) + "]"
    return json.dumps(value).replace("\\ud", "\\\\ud")


def as_file(path: str, root: dict[str, Any]) -> str:
    if path.endswith(".toml"):
        return "".join(
            f"{as_toml(key)} = {as_toml(value)}\n" for key, value in root.items() if value is not None
        )
    return json.dumps(root)


def run(home: Path, *words: str) -> tuple[int, str, str]:
    """A command in this process, for many runs."""
    kept = {"HOME": str(home), "PATH": os.environ["PATH"]}
    here = os.getcwd()
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.dict(os.environ, kept, clear=True),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        os.chdir(home)
        try:
            code = main(words)
        finally:
            os.chdir(here)
    return code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("client", PLACES)
@settings(max_examples=15)
@given(
    table=json_values(),
    root=st.dictionaries(st.sampled_from(KEYS), json_values(), max_size=2),
    beside=json_values(),
)
@example(table={"command": "stdio"}, root={}, beside=None)
def test_any_json_is_survived(client: str, table: Any, root: dict[str, Any], beside: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        files = {".cursor/mcp.json": '{"mcpServers": {"fine": {"command": "x"}}}'}
        files |= {
            path: as_file(path, {**root, "permissions": beside, "user": beside, "rule": beside})
            for path in BESIDE
        }
        files[PLACES[client]] = as_file(PLACES[client], {**root, TABLES.get(client, "mcpServers"): table})
        for name, text in files.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text, "utf-8", "replace")
        code, out, _ = run(home, "import", "--json")
        assert code == 0
        found = {row["client"]: row["servers"] for row in json.loads(out)["found"]}
        assert found["cursor"] == ["fine"]
        code, out, err = run(home, "import", "--all", "--to", "mine.json", "--json")
        assert code == 0, err
        written = json.loads((home / "mine.json").read_text("utf-8"))["mcpServers"]
        assert written["fine"]["command"] == "x"
        # What is written can be read; what a variable lacks is said then.
        code, out, err = run(home, "connect", "--config", "mine.json", "--store", "", "no such server")
        assert code in (2, 5), err


GOOD: dict[str, Any] = {"command": "fine"}
# A file with one good entry and one that is wrong, and what is said about that.
WRONG: dict[str, tuple[str, str, str]] = {
    "opencode": (
        ".config/opencode/opencode.json",
        json.dumps({"mcp": {"good": {"command": ["fine"]}, "bad": {"type": "local"}}}),
        "server 'bad' needs a `command` to start or a `url` to reach.",
    ),
    "opencode 2": (
        ".config/opencode/opencode.json",
        json.dumps({"mcp": {"servers": {"good": {"command": ["fine"]}, "bad": {"command": 5}}}}),
        "server 'bad': `command` must be a string, not a number.",
    ),
    "continue": (
        ".continue/config.yaml",
        "mcpServers:\n  - {command: x}\n  - {name: good, command: fine}\n",
        "server '' must have a name: its id is empty.",
    ),
    "goose": (
        ".config/goose/config.yaml",
        "extensions: {bad: {type: stdio}, good: {type: stdio, cmd: fine}}",
        "server 'bad' needs a `command` to start or a `url` to reach.",
    ),
    "codex": (
        ".codex/config.toml",
        'mcp_servers = {bad = 5, good = {command = "fine"}}',
        "server 'bad' must be an object with `command` or `url`, not a number.",
    ),
    "cursor": (
        ".cursor/mcp.json",
        json.dumps({"mcpServers": {"bad": {"command": "x", "args": "y"}, "good": GOOD}}),
        "server 'bad': `args` must be a list of strings, not a string.",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_entry_is_named_and_the_others_go_on(name: str, user: User) -> None:
    place, text, says = WRONG[name]
    path = user.home / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    done = user.run("import", "--all", "--to", "mine.json")
    assert done.returncode == 0
    assert f"toolhub: {path}: {says}\n" in done.stderr
    written = json.loads((user.home / "mine.json").read_text("utf-8"))["mcpServers"]
    assert {id: entry["command"] for id, entry in written.items()} == {"good": "fine"}
