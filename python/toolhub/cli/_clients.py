"""Where other MCP clients keep their servers: files of the user, and files of a project."""

import glob
import os
import sys
from typing import NamedTuple

# `~/` is the user's home, `./` the folder of a project. `{config}` is where programs of a terminal keep their settings, and
# `{settings}` where those with windows do. The blocks of Continue have one server or a few each.
_FILES = {
    "claude-desktop": ("{settings}/Claude/claude_desktop_config.json",),
    "claude-code": ("~/.claude.json", "./.mcp.json"),
    "cursor": ("~/.cursor/mcp.json", "./.cursor/mcp.json"),
    "vscode": ("{settings}/Code/User/mcp.json", "./.vscode/mcp.json"),
    "cline": (
        "~/.cline/data/settings/cline_mcp_settings.json",
        "{extensions}/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    ),
    "roo": ("{extensions}/rooveterinaryinc.roo-cline/settings/mcp_settings.json", "./.roo/mcp.json"),
    "windsurf": ("~/.codeium/windsurf/mcp_config.json",),
    "gemini": ("~/.gemini/settings.json", "./.gemini/settings.json"),
    "codex": ("{codex}/config.toml", "./.codex/config.toml"),
    "opencode": (
        "{config}/opencode/opencode.json",
        "{config}/opencode/opencode.jsonc",
        "./opencode.json",
        "./opencode.jsonc",
        "./.opencode/opencode.json",
        "./.opencode/opencode.jsonc",
    ),
    "goose": ("{config}/goose/config.yaml",),
    "continue": (
        "~/.continue/config.yaml",
        *(f"{root}/.continue/mcpServers/*.{end}" for root in "~." for end in ("yaml", "yml", "json")),
    ),
    "zed": ("{config}/zed/settings.json", "./.zed/settings.json"),
    "lmstudio": ("~/.lmstudio/mcp.json",),
    "amazonq": ("~/.aws/amazonq/mcp.json", "./.amazonq/mcp.json"),
    "kiro": ("~/.kiro/settings/mcp.json", "./.kiro/settings/mcp.json"),
    "copilot": ("~/.copilot/mcp-config.json", "./.github/mcp.json"),
}
_OF_PROJECT = [place.split("/")[1] for places in _FILES.values() for place in places if place[0] == "."]
_FOLDERS = {name for name in _OF_PROJECT if "." not in name[1:]} | {".claude"}


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
    for of_project in (False, True):
        for client, places in _FILES.items():
            for place in places:
                if (place[0] == ".") is of_project:
                    for path in paths_of(place, project):
                        file = ClientFile(client, path, project if of_project else None)
                        found.setdefault((client, path), file)
    return list(found.values())


def paths_of(place: str, project: str) -> list[str]:
    """The paths that a place of a table stands for: one, or the files there that fit its `*`."""
    home = os.path.expanduser("~")
    config = settings = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    if sys.platform == "darwin":
        settings = os.path.join(home, "Library", "Application Support")
    elif sys.platform == "win32":
        settings = os.environ.get("APPDATA", settings)
    roots = {
        "~": home,
        ".": project,
        "{config}": config,
        "{settings}": settings,
        "{extensions}": os.path.join(settings, "Code", "User", "globalStorage"),
        "{codex}": os.environ.get("CODEX_HOME") or os.path.join(home, ".codex"),
    }
    root, *parts = place.split("/")
    if "*" in place:
        return sorted(glob.glob(os.path.join(glob.escape(roots[root]), *parts)))
    return [os.path.join(roots[root], *parts)]


def known_names() -> set[str]:
    """The names of all clients."""
    return set(_FILES)


def named_file(path: str, known: list[ClientFile]) -> list[ClientFile]:
    """A file that the user names: one of those that are known, or one whose name tells its form."""
    path = os.path.abspath(path)
    same = [file for file in known if os.path.abspath(file.path) == path]
    folder = folder_of(path)
    is_known = folder != os.path.dirname(path) or os.path.basename(path) in _OF_PROJECT
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
    own = os.path.dirname(os.path.abspath(path))
    for folder in (own, os.path.dirname(own)):
        if os.path.basename(folder) in _FOLDERS:
            return os.path.dirname(folder)
    return own
