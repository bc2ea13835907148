"""Where other MCP clients keep their servers: files of the user, and files of a project."""

import os
import sys
from typing import NamedTuple

_FOLDERS = (
    ".vscode",
    ".cursor",
    ".roo",
    ".gemini",
    ".kiro",
    ".codex",
    ".opencode",
    ".continue",
    ".claude",
    ".zed",
)
_INNER = ("settings", "mcpServers")
_IN_PROJECT = (".mcp.json", "opencode.json", "opencode.jsonc")


class ClientFile(NamedTuple):
    """A file of a client. `project` is the folder in which the client starts its servers; None for a file of the user.

    Without `is_known` it is some file in that folder, of which nobody knows where its servers are started.
    """

    client: str
    path: str
    project: str | None = None
    is_known: bool = True


def known_files(project: str) -> list[ClientFile]:
    """The files of known clients that may be there. In the home folder, the files of the project are those of the user."""
    found: dict[tuple[str, str], ClientFile] = {}
    for file in [*_of_user(), *_of_project(project)]:
        found.setdefault((file.client, file.path), file)
    return list(found.values())


def known_names() -> set[str]:
    """The names of all clients."""
    return {file.client for file in known_files(".")}


def named_file(path: str, known: list[ClientFile]) -> list[ClientFile]:
    """A file that the user names: one of those that are known, or one whose name tells its form."""
    path = os.path.abspath(path)
    same = [file for file in known if os.path.abspath(file.path) == path]
    folder = folder_of(path)
    is_known = folder != os.path.dirname(path) or os.path.basename(path) in _IN_PROJECT
    return same or [ClientFile(client_of(path), path, folder, is_known)]


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
    if name == "settings.json":
        return {".gemini": "gemini", "zed": "zed"}.get(os.path.basename(os.path.dirname(path)), "mcp")
    return "mcp"


def folder_of(path: str) -> str:
    """The folder that relative paths of a file mean: its own, or that of the project around the folder of a client.

    >>> folder_of("/p/.vscode/mcp.json"), folder_of("/p/.continue/mcpServers/a.yaml"), folder_of("/p/mcp.json")
    ('/p', '/p', '/p')
    """
    folder = os.path.dirname(os.path.abspath(path))
    outer, name = os.path.split(folder)
    if name in _INNER and os.path.basename(outer) in _FOLDERS:
        folder, name = outer, os.path.basename(outer)
    return os.path.dirname(folder) if name in _FOLDERS else folder


def home_folder() -> str:
    """The user's home."""
    return os.path.expanduser("~")


def config_folder() -> str:
    """Where programs of a terminal keep their settings."""
    return os.environ.get("XDG_CONFIG_HOME") or os.path.join(home_folder(), ".config")


def _of_user() -> list[ClientFile]:
    home, dot_config = home_folder(), config_folder()
    settings = dot_config
    if sys.platform == "darwin":
        settings = os.path.join(home, "Library", "Application Support")
    elif sys.platform == "win32":
        settings = os.environ.get("APPDATA", settings)
    extensions = ("Code", "User", "globalStorage")
    codex = os.environ.get("CODEX_HOME") or os.path.join(home, ".codex")
    places: list[tuple[str, str, tuple[str, ...]]] = [
        ("claude-desktop", settings, ("Claude", "claude_desktop_config.json")),
        ("claude-code", home, (".claude.json",)),
        ("cursor", home, (".cursor", "mcp.json")),
        ("vscode", settings, ("Code", "User", "mcp.json")),
        ("cline", home, (".cline", "data", "settings", "cline_mcp_settings.json")),
        ("cline", settings, (*extensions, "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json")),
        ("roo", settings, (*extensions, "rooveterinaryinc.roo-cline", "settings", "mcp_settings.json")),
        ("windsurf", home, (".codeium", "windsurf", "mcp_config.json")),
        ("gemini", home, (".gemini", "settings.json")),
        ("codex", codex, ("config.toml",)),
        ("opencode", dot_config, ("opencode", "opencode.json")),
        ("opencode", dot_config, ("opencode", "opencode.jsonc")),
        ("goose", dot_config, ("goose", "config.yaml")),
        ("continue", home, (".continue", "config.yaml")),
        ("zed", dot_config, ("zed", "settings.json")),
        ("lmstudio", home, (".lmstudio", "mcp.json")),
        ("amazonq", home, (".aws", "amazonq", "mcp.json")),
        ("kiro", home, (".kiro", "settings", "mcp.json")),
        ("copilot", home, (".copilot", "mcp-config.json")),
    ]
    files = [ClientFile(client, os.path.join(folder, *parts)) for client, folder, parts in places]
    return [*files, *_blocks(os.path.join(home, ".continue"), None)]


def _of_project(project: str) -> list[ClientFile]:
    places: list[tuple[str, tuple[str, ...]]] = [
        ("claude-code", (".mcp.json",)),
        ("cursor", (".cursor", "mcp.json")),
        ("vscode", (".vscode", "mcp.json")),
        ("roo", (".roo", "mcp.json")),
        ("gemini", (".gemini", "settings.json")),
        ("codex", (".codex", "config.toml")),
        ("opencode", ("opencode.json",)),
        ("opencode", ("opencode.jsonc",)),
        ("opencode", (".opencode", "opencode.json")),
        ("opencode", (".opencode", "opencode.jsonc")),
        ("zed", (".zed", "settings.json")),
        ("amazonq", (".amazonq", "mcp.json")),
        ("kiro", (".kiro", "settings", "mcp.json")),
        ("copilot", (".github", "mcp.json")),
    ]
    files = [ClientFile(client, os.path.join(project, *parts), project) for client, parts in places]
    return [*files, *_blocks(os.path.join(project, ".continue"), project)]


def _blocks(folder: str, project: str | None) -> list[ClientFile]:
    """The files of Continue with one server or a few each."""
    folder = os.path.join(folder, "mcpServers")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    ends = (".yaml", ".yml", ".json")
    return [
        ClientFile("continue", os.path.join(folder, name), project) for name in names if name.endswith(ends)
    ]
