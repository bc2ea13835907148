"""`toolhub import` keeps what a client forbids, and says what it cannot keep."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support.cli import SHOP, User
from toolhub import ToolHub

COMMAND = sys.executable
ARGS = [str(SHOP)]
ENTRY: dict[str, Any] = {"command": COMMAND, "args": ARGS}
ALL = {"price", "order", "refuse", "wait", "count_up"}
LEFT = ALL - {"order", "refuse"}


def toml(**keys: Any) -> str:
    """The shop for Codex, with more keys."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in {**ENTRY, **keys}.items()]
    return "\n".join(["[mcp_servers.shop]", *lines, ""])


def yaml(**keys: Any) -> str:
    entry = {"type": "stdio", "cmd": COMMAND, "args": ARGS, "enabled": True, **keys}
    return json.dumps({"extensions": {"shop": entry}})


def opencode(version: int = 1, **root: Any) -> str:
    servers: dict[str, Any] = {"shop": {"type": "local", "command": [COMMAND, *ARGS]}}
    return json.dumps({"mcp": servers if version == 1 else {"servers": servers}, **root})


def usual(**keys: Any) -> str:
    return json.dumps({"mcpServers": {"shop": {**ENTRY, **keys}}})


CODEX, GOOSE = ".codex/config.toml", ".config/goose/config.yaml"
OPENCODE, GEMINI, ZED = (
    ".config/opencode/opencode.jsonc",
    ".gemini/settings.json",
    ".config/zed/settings.json",
)
CLAUDE = ".claude.json"


def zed(**agent: Any) -> str:
    return json.dumps({"context_servers": {"shop": ENTRY}, "agent": agent})


def gemini(**root: Any) -> str:
    return json.dumps({"mcpServers": {"shop": ENTRY}, **root})


# A client, its files, and the tools that are offered afterwards.
KEPT: dict[str, tuple[str, dict[str, str], set[str]]] = {
    "codex disabled": ("codex", {CODEX: toml(disabled_tools=["order", "refuse"])}, LEFT),
    "codex enabled": ("codex", {CODEX: toml(enabled_tools=["price", "wait"])}, {"price", "wait"}),
    "codex none": ("codex", {CODEX: toml(enabled_tools=[])}, set()),
    "codex both": (
        "codex",
        {CODEX: toml(enabled_tools=["price", "wait"], disabled_tools=["wait"])},
        {"price"},
    ),
    "codex tool off": (
        "codex",
        {CODEX: toml() + "[mcp_servers.shop.tools.order]\nenabled = false\n"},
        ALL - {"order"},
    ),
    "goose": ("goose", {GOOSE: yaml(available_tools=["price"])}, {"price"}),
    "goose all": ("goose", {GOOSE: yaml(available_tools=[])}, ALL),
    "goose never": (
        "goose",
        {
            GOOSE: yaml(),
            ".config/goose/permission.yaml": "user:\n  never_allow: [shop__order, other__price]\n",
        },
        ALL - {"order"},
    ),
    "gemini": ("gemini", {GEMINI: usual(excludeTools=["order"])}, ALL - {"order"}),
    "gemini excluded": ("gemini", {GEMINI: gemini(mcp={"excluded": ["shop"]})}, set()),
    "gemini allowed": ("gemini", {GEMINI: gemini(mcp={"allowed": ["other"]})}, set()),
    "gemini tools": ("gemini", {GEMINI: gemini(tools={"exclude": ["mcp_shop_order", "refuse"]})}, LEFT),
    "gemini policy": (
        "gemini",
        {
            GEMINI: gemini(),
            ".gemini/policies/mine.toml": '[[rule]]\nmcpName = "shop"\ntoolName = "order"\ndecision = "deny"\n',
        },
        ALL - {"order"},
    ),
    "opencode tools": (
        "opencode",
        {OPENCODE: opencode(tools={"shop_*": False, "shop_price": True})},
        {"price"},
    ),
    "opencode permission": (
        "opencode",
        {OPENCODE: opencode(permission={"*_order": "deny", "shop_re*": "deny"})},
        LEFT,
    ),
    "opencode all": ("opencode", {OPENCODE: opencode(permission={"shop*": "deny"})}, set()),
    "opencode last": (
        "opencode",
        {OPENCODE: opencode(permission={"shop_order": "deny", "shop_*": "allow"})},
        ALL,
    ),
    "opencode 2": (
        "opencode",
        {OPENCODE: opencode(2, permissions=[{"action": "shop_order", "resource": "*", "effect": "deny"}])},
        ALL - {"order"},
    ),
    "claude deny": (
        "claude-code",
        {
            CLAUDE: usual(),
            ".claude/settings.json": json.dumps({"permissions": {"deny": ["mcp__shop__order", "Bash"]}}),
        },
        ALL - {"order"},
    ),
    "claude deny server": (
        "claude-code",
        {CLAUDE: usual(), ".claude/settings.json": json.dumps({"permissions": {"deny": ["mcp__shop"]}})},
        set(),
    ),
    "cursor": (
        "cursor",
        {
            ".cursor/mcp.json": usual(),
            ".cursor/cli-config.json": '{"permissions": {"deny": ["Mcp(shop:order)"]}}',
        },
        ALL - {"order"},
    ),
    "zed permissions": (
        "zed",
        {ZED: zed(tool_permissions={"tools": {"mcp:shop:order": {"default": "deny"}}})},
        ALL - {"order"},
    ),
    "zed profile": (
        "zed",
        {
            ZED: zed(
                profiles={
                    "write": {
                        "enable_all_context_servers": False,
                        "context_servers": {"shop": {"tools": {"price": True}}},
                    }
                }
            )
        },
        {"price"},
    ),
    "windsurf": (
        "windsurf",
        {".codeium/windsurf/mcp_config.json": usual(disabledTools=["order"])},
        ALL - {"order"},
    ),
    "copilot": ("copilot", {".copilot/mcp-config.json": usual(tools=["price"])}, {"price"}),
    "copilot off": (
        "copilot",
        {".copilot/mcp-config.json": usual(), ".copilot/config.json": '{"disabledMcpServers": ["shop"]}'},
        set(),
    ),
    "kiro": ("kiro", {".kiro/settings/mcp.json": usual(disabledTools=["order"])}, ALL - {"order"}),
    "continue": (
        "continue",
        {
            ".continue/config.yaml": json.dumps({"mcpServers": [{"name": "shop", **ENTRY}]}),
            ".continue/permissions.yaml": "exclude: [order]\n",
        },
        ALL - {"order"},
    ),
}


def write(home: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def imported(user: User, client: str) -> tuple[dict[str, Any], str]:
    """The entry of the shop, and what is said."""
    done = user.run("import", client, "--to", "mine.json")
    assert done.returncode == 0, done.stderr
    return json.loads((user.home / "mine.json").read_text("utf-8"))["mcpServers"]["shop"], done.stderr


def offered_by(user: User) -> set[str]:
    """The tools of a hub that uses what was imported."""
    with ToolHub() as hub:
        assert hub.load_mcp(user.home / "mine.json").errors == []
        hub.connect_sync()
        return {tool.name for tool in hub.tools()}


@pytest.mark.parametrize("name", KEPT)
def test_what_is_forbidden_stays_forbidden(name: str, user: User) -> None:
    client, files, offered = KEPT[name]
    write(user.home, files)
    imported(user, client)
    assert offered_by(user) == offered


def test_what_is_forbidden_cannot_be_called(user: User) -> None:
    write(user.home, {CODEX: toml(disabled_tools=["order"])})
    imported(user, "codex")
    called = user.run("call", "shop.order", "items=tea", "--config", "mine.json", "--store", "")
    assert (called.returncode, called.stdout) == (5, "")


# What a hub cannot keep: the files, what is said, and the tools that are offered.
SAID: dict[str, tuple[str, dict[str, str], str, set[str]]] = {
    "codex asks": (
        "codex",
        {CODEX: toml(default_tools_approval_mode="prompt")},
        "'shop' is imported disabled, because codex asks before each call of its tools, and toolhub does not",
        set(),
    ),
    "codex asks for one": (
        "codex",
        {CODEX: toml() + '[mcp_servers.shop.tools.order]\napproval_mode = "prompt"\n'},
        "tools of 'shop' that are left out, because codex asks before they run and toolhub does not: order",
        ALL - {"order"},
    ),
    "goose asks": (
        "goose",
        {GOOSE: yaml(), ".config/goose/permission.yaml": "user: {ask_before: [shop__order]}"},
        "tools of 'shop' that are left out, because goose asks before they run and toolhub does not: order",
        ALL - {"order"},
    ),
    "sandbox": (
        "vscode",
        {".config/Code/User/mcp.json": json.dumps({"servers": {"shop": {**ENTRY, "sandboxEnabled": True}}})},
        "'shop' is imported disabled, because toolhub does not support its `sandbox`",
        set(),
    ),
    "unreadable": (
        "goose",
        {GOOSE: yaml(), ".config/goose/permission.yaml": "user: ["},
        "'shop' is imported disabled, because settings that may forbid its tools cannot be read: ",
        set(),
    ),
    "unknown key": (
        "codex",
        {CODEX: toml(new_key=1)},
        "keys of 'shop' that are not imported: new_key",
        ALL,
    ),
    "keyring": (
        "goose",
        {GOOSE: yaml(env_keys=["A_KEY"])},
        "set these variables of 'shop' in the environment, because goose keeps them in its keyring: A_KEY",
        ALL,
    ),
    "file": (
        "opencode",
        {
            OPENCODE: json.dumps(
                {"mcp": {"shop": {"command": [COMMAND, *ARGS], "environment": {"K": "{file:~/key}"}}}}
            )
        },
        "'shop' is imported disabled, because it uses `{file:…}`; write the value, or a variable as `${NAME}`",
        set(),
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_what_cannot_be_kept_is_said(name: str, user: User) -> None:
    client, files, sentence, offered = SAID[name]
    write(user.home, files)
    _, said = imported(user, client)
    assert f"toolhub: {sentence}" in said
    told = user.run("import", client, "--to", "mine.json", "--json")
    assert any(one.startswith(sentence) for one in json.loads(told.stdout)["problems"])
    assert offered_by(user) == offered


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"type": "inline_python", "code": "x"}, "only goose can run a server of the type 'inline_python'"),
        (
            {"type": "streamable_http", "uri": "http://a/", "socket": "@x"},
            "goose reaches it through a socket",
        ),
    ],
)
def test_what_cannot_be_run_is_left_out(keys: dict[str, Any], says: str, user: User) -> None:
    write(user.home, {GOOSE: yaml(**keys)})
    done = user.run("import", "goose", "--to", "mine.json")
    assert done.returncode == 5
    assert f"toolhub: 'shop' is left out, because {says}\n" in done.stderr


@pytest.mark.parametrize(
    ("client", "files"),
    [
        ("codex", {CODEX: toml(env_vars=["SHOP_CHANGED"])}),
        ("codex", {CODEX: toml() + 'env_vars = [{name = "SHOP_CHANGED", source = "local"}]'}),
        ("goose", {GOOSE: yaml(env_keys=["SHOP_CHANGED"])}),
        (
            "opencode",
            {
                OPENCODE: opencode().replace(
                    '"type"', '"environment": {"SHOP_CHANGED": "{env:SHOP_CHANGED}"}, "type"'
                )
            },
        ),
    ],
)
def test_variables_arrive(client: str, files: dict[str, str], user: User) -> None:
    """The shop has another description of a tool where the variable is set."""
    write(user.home, files)
    imported(user, client)
    words = ("show", "price", "--config", "mine.json", "--store", "")
    usual_text, other = user.run(*words), user.run(*words, SHOP_CHANGED="1")
    assert (usual_text.returncode, other.returncode) == (0, 0)
    assert usual_text.stdout != other.stdout
