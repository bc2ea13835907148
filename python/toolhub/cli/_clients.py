"""The configuration files of other MCP clients: where they are, and their servers in the form of `mcpServers`.

Files in the form of `mcpServers`, of VS Code and of Zed are read by the core, as `--config` reads them. Codex, opencode, Goose
and Continue write something else, which is converted here.
"""

import os
import sys

from .. import _core
from ._json import items, members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Entries = dict[str, Any]


def known_clients(project: str) -> list[tuple[str, str]]:
    """The files of known clients that may be there: client and path. Those of a project are in its folder."""
    home = os.path.expanduser("~")
    settings = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    if sys.platform == "darwin":
        settings = os.path.join(home, "Library", "Application Support")
    elif sys.platform == "win32":
        settings = os.environ.get("APPDATA", settings)
    dot_config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    extensions = os.path.join(settings, "Code", "User", "globalStorage")
    return [
        ("claude-desktop", os.path.join(settings, "Claude", "claude_desktop_config.json")),
        ("claude-code", os.path.join(home, ".claude.json")),
        ("claude-code", os.path.join(project, ".mcp.json")),
        ("cursor", os.path.join(home, ".cursor", "mcp.json")),
        ("cursor", os.path.join(project, ".cursor", "mcp.json")),
        ("vscode", os.path.join(settings, "Code", "User", "mcp.json")),
        ("vscode", os.path.join(project, ".vscode", "mcp.json")),
        ("cline", os.path.join(home, ".cline", "data", "settings", "cline_mcp_settings.json")),
        ("cline", os.path.join(extensions, "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json")),
        ("roo", os.path.join(extensions, "rooveterinaryinc.roo-cline", "settings", "mcp_settings.json")),
        ("roo", os.path.join(project, ".roo", "mcp.json")),
        ("windsurf", os.path.join(home, ".codeium", "windsurf", "mcp_config.json")),
        ("gemini", os.path.join(home, ".gemini", "settings.json")),
        ("gemini", os.path.join(project, ".gemini", "settings.json")),
        ("codex", os.path.join(home, ".codex", "config.toml")),
        ("opencode", os.path.join(dot_config, "opencode", "opencode.json")),
        ("opencode", os.path.join(project, "opencode.json")),
        ("goose", os.path.join(dot_config, "goose", "config.yaml")),
        ("continue", os.path.join(home, ".continue", "config.yaml")),
        ("zed", os.path.join(dot_config, "zed", "settings.json")),
        ("lmstudio", os.path.join(home, ".lmstudio", "mcp.json")),
        ("amazonq", os.path.join(home, ".aws", "amazonq", "mcp.json")),
        ("kiro", os.path.join(home, ".kiro", "settings", "mcp.json")),
        ("kiro", os.path.join(project, ".kiro", "settings", "mcp.json")),
        ("copilot", os.path.join(home, ".copilot", "mcp-config.json")),
    ]


def read_servers(client: str, path: str) -> "Entries":
    """The servers of a file by id; `ValueError` with a sentence if it cannot be read."""
    convert = _CONVERTERS.get(client)
    if convert is None:
        return _core.config_entries(path)
    try:
        return convert(path)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}.") from None
    except (AttributeError, TypeError) as error:
        raise ValueError(f"{path}: its servers are not written as {client} writes them: {error}.") from None


def client_of(path: str) -> str:
    """The client whose form a file has, by its name; the usual one for all others.

    >>> client_of("/x/.codex/config.toml"), client_of("mcp.json")
    ('codex', 'mcp')
    """
    name = os.path.basename(path)
    if name.endswith(".toml"):
        return "codex"
    if name in ("opencode.json", "opencode.jsonc"):
        return "opencode"
    if name.endswith((".yaml", ".yml")):
        return "goose" if "goose" in path else "continue"
    return "mcp"


def _codex(path: str) -> "Entries":
    import tomllib

    with open(path, "rb") as file:
        try:
            table = tomllib.load(file)
        except ValueError as error:
            raise ValueError(f"{path}: is not valid TOML: {error}.") from None
    entries: Entries = {}
    for id, server in table.get("mcp_servers", {}).items():
        entry = {key: server[key] for key in ("command", "args", "env", "cwd", "url") if key in server}
        headers = dict(server.get("http_headers", {}))
        for header, variable in server.get("env_http_headers", {}).items():
            headers[header] = f"${{{variable}}}"
        if variable := server.get("bearer_token_env_var"):
            headers["Authorization"] = f"Bearer ${{{variable}}}"
        if headers:
            entry["headers"] = headers
        if server.get("enabled") is False:
            entry["disabled"] = True
        if (seconds := server.get("startup_timeout_sec")) is not None:
            entry["toolhub"] = {"startup_timeout": seconds}
        entries[id] = entry
    return entries


def _opencode(path: str) -> "Entries":
    # The core reads comments and trailing commas; it calls every member of `mcp` a server when that is the root.
    entries: Entries = {}
    for id, server in _section(path, "mcp").items():
        if server.get("type") == "remote":
            entry = {key: server[key] for key in ("url", "headers") if key in server}
        else:
            command, *args = server["command"]
            entry = {"command": command, "args": args}
            if "environment" in server:
                entry["env"] = server["environment"]
        if server.get("enabled") is False:
            entry["disabled"] = True
        entries[id] = entry
    return entries


def _goose(path: str) -> "Entries":
    entries: Entries = {}
    for id, server in _yaml(path).get("extensions", {}).items():
        kind = server.get("type")
        if kind == "stdio":
            entry = {"command": server["cmd"], "args": server.get("args", []), "env": server.get("envs", {})}
        elif kind in ("sse", "streamable_http"):
            entry = {"url": server["uri"], "headers": server.get("headers", {})}
        else:
            continue  # part of Goose itself
        if server.get("enabled") is False:
            entry["disabled"] = True
        entries[id] = {key: value for key, value in entry.items() if value != {} and value != []}
    return entries


def _continue(path: str) -> "Entries":
    entries: Entries = {}
    for server in items(_yaml(path).get("mcpServers")):
        keys = ("command", "args", "env", "cwd", "type", "url")
        entry = {key: server[key] for key in keys if key in server}
        headers = members(members(server.get("requestOptions")).get("headers"))
        if headers:
            entry["headers"] = headers
        entries[server["name"]] = _with_variables(entry)
    return entries


def _with_variables(value: "Any") -> "Any":
    """Continue's `${{ secrets.NAME }}` is a variable of the environment for us."""
    import re

    if isinstance(value, str):
        return re.sub(r"\$\{\{\s*(?:secrets|inputs)\.(\w+)\s*\}\}", r"${\1}", value)
    if isinstance(value, list):
        return [_with_variables(one) for one in items(value)]
    if isinstance(value, dict):
        return {key: _with_variables(one) for key, one in members(value).items()}
    return value


def _yaml(path: str) -> "dict[str, Any]":
    with open(path, encoding="utf-8") as file:
        try:
            return _core.read_yaml(file.read())
        except ValueError as error:
            raise ValueError(f"{path}: is not valid YAML: {error}") from None


def _section(path: str, key: str) -> "dict[str, Any]":
    with open(path, encoding="utf-8") as file:
        text = file.read()
    value, _, _ = _core.read_json(text)
    return members(members(value).get(key))


_CONVERTERS: "dict[str, Callable[[str], Entries]]" = {
    "codex": _codex,
    "opencode": _opencode,
    "goose": _goose,
    "continue": _continue,
}
