"""What a client forbids: in an entry, or apart from it in its settings. It stays forbidden after the import.

Rules are pairs of a pattern for names of tools and an effect, the last that fits wins:

- `deny`: the tools are excluded, or the server is disabled if that are all of them;
- `ask`: the client asks its user before a call of these tools. A hub asks nobody unless its program says so, so they are
  excluded too, with a sentence. What a client asks before each call of any tool is its own matter;
- `allow`: an exception.
"""

import os
import re
from fnmatch import fnmatchcase

from ._clients import ClientFile, config_folder, home_folder
from ._documents import read_document, read_toml, read_yaml
from ._json import items, members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._draft import Draft, Rules


def rest_after(pattern: str, prefix: str) -> list[str]:
    """The patterns that fit what comes after a prefix, in the names that a pattern fits.

    >>> rest_after("git_*", "git_"), rest_after("*_log", "git_"), rest_after("other", "git_")
    (['*'], ['*_log', 'log'], [])
    """
    states = {0}
    for letter in prefix:
        states = {
            after
            for state in _opened(pattern, states)
            if state < len(pattern) and pattern[state] in ("*", "?", letter)
            for after in (state if pattern[state] == "*" else state + 1,)
        }
    rests = {pattern[state:] for state in states}
    return sorted(re.sub(r"\*+", "*", rest) for rest in rests if rest)


def _opened(pattern: str, states: set[int]) -> set[int]:
    """The states that are reached without a letter: a star may stand for nothing."""
    reached = set(states)
    for state in sorted(states):
        while state < len(pattern) and pattern[state] == "*":
            state += 1
            reached.add(state)
    return reached


# ---------------------------------------------------------------- what clients say apart from their entries


def forbid(draft: "Draft", file: ClientFile) -> None:
    """Obey the settings of the client that are not in the entry."""
    read = _READERS.get(file.client)
    if read is None:
        return
    try:
        draft.obey(read(draft.id, file))
    except (OSError, ValueError) as error:
        draft.disable(
            f"'{draft.id}' is imported disabled, because settings that may forbid its tools cannot be read: {error}"
        )


def _claude_code(id: str, file: ClientFile) -> "Rules":
    """`permissions` of the settings, and the lists of servers that are off."""
    name = f"mcp__{re.sub(r'[^a-zA-Z0-9_-]', '_', id)}"
    project = file.project or os.getcwd()
    places = [(home_folder(), "settings.json"), (project, "settings.json"), (project, "settings.local.json")]
    settings = [_document(os.path.join(folder, ".claude", part)) for folder, part in places]
    state = members(
        members(_document(os.path.join(home_folder(), ".claude.json")).get("projects")).get(project)
    )
    rules: Rules = []
    is_listed = os.path.basename(file.path) == ".mcp.json"
    for one in [*settings, state]:
        off = items(one.get("disabledMcpjsonServers" if is_listed else "disabledMcpServers"))
        off = [*off, *(members(server).get("serverName") for server in items(one.get("deniedMcpServers")))]
        if id in off:
            rules.append(("*", "deny"))
    for effect in ("ask", "deny"):
        for one in settings:
            for rule in _texts(members(one.get("permissions")).get(effect)):
                if rule == name:
                    rules.append(("*", effect))
                rules += [(rest, effect) for rest in rest_after(rule.partition("(")[0], f"{name}__")]
    return rules


def _cursor(id: str, file: ClientFile) -> "Rules":
    places = [os.path.join(home_folder(), ".cursor", "cli-config.json")]
    places.append(os.path.join(file.project or os.getcwd(), ".cursor", "cli.json"))
    rules: Rules = []
    for path in places:
        for rule in _texts(members(_document(path).get("permissions")).get("deny")):
            found = re.fullmatch(r"Mcp\((.+?)(?::(.+))?\)", rule)
            if found and fnmatchcase(id, found[1]):
                rules.append((found[2] or "*", "deny"))
    return rules


def _gemini(id: str, file: ClientFile) -> "Rules":
    """`mcp.allowed`, `mcp.excluded`, the tools that are excluded everywhere, and the policies."""
    own = os.path.join(home_folder(), ".gemini")
    rules: Rules = []
    for path in dict.fromkeys((os.path.join(own, "settings.json"), file.path)):
        root = _document(path)
        servers = members(root.get("mcp"))
        allowed = servers.get("allowed", root.get("allowMCPServers"))
        excluded = [*items(servers.get("excluded")), *items(root.get("excludeMCPServers"))]
        if id in excluded or (isinstance(allowed, list) and id not in items(allowed)):
            rules.append(("*", "deny"))
        names = [*items(root.get("excludeTools")), *items(members(root.get("tools")).get("exclude"))]
        rules += [(rest, "deny") for name in _texts(names) for rest in _bare(name.partition("(")[0], id)]
    for folder in dict.fromkeys((own, os.path.join(file.project or os.getcwd(), ".gemini"))):
        rules += _gemini_policies(id, os.path.join(folder, "policies"))
    return rules


def _gemini_policies(id: str, folder: str) -> "Rules":
    """Their order of priorities is not kept: what one of them forbids stays forbidden."""
    rules: Rules = []
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for name in names:
        listed = items(read_toml(os.path.join(folder, name)).get("rule")) if name.endswith(".toml") else []
        for rule in map(members, listed):
            effect = {"deny": "deny", "ask_user": "ask"}.get(str(rule.get("decision")))
            tools, server = rule.get("toolName", "*"), rule.get("mcpName")
            for tool in _texts(tools if isinstance(tools, list) else [tools]):
                # What it asks about every tool is its own matter.
                if effect and (server == id or (server in (None, "*") and (tool != "*" or effect == "deny"))):
                    rules += [(rest, effect) for rest in _bare(tool, id)]
    return rules


def _opencode(id: str, file: ClientFile) -> "Rules":
    """`tools` and `permission`, and the list `permissions` of version 2; their names of tools are `server_tool`."""
    root = read_document(file.path)
    listed: Rules = []
    tools = members(root.get("tools")).items()
    listed += [(name, "allow" if on is True else "deny") for name, on in tools if isinstance(on, bool)]
    permission = root.get("permission")
    named = {"*": permission} if isinstance(permission, str) else members(permission)
    for name, effect in named.items():
        effects = set(_texts(list(members(effect).values()))) or {effect}
        listed += [(name, next((one for one in ("deny", "ask", "allow") if one in effects), "allow"))]
    for rule in map(members, items(root.get("permissions"))):
        name, effect = rule.get("action"), rule.get("effect")
        if isinstance(name, str) and (effect in ("deny", "ask") or rule.get("resource") == "*"):
            listed.append((name, str(effect)))
    prefix = f"{re.sub(r'[^a-zA-Z0-9_-]', '_', id)}_"
    # What it asks about every tool is its own matter.
    return [
        (rest, effect)
        for name, effect in listed
        if (name, effect) != ("*", "ask")
        for rest in rest_after(name, prefix)
    ]


def _goose(id: str, file: ClientFile) -> "Rules":
    path = os.path.join(os.path.dirname(file.path), "permission.yaml")
    user = members(read_yaml(path).get("user")) if os.path.exists(path) else {}
    effects = (("ask_before", "ask"), ("never_allow", "deny"))
    key = re.sub(r"[^a-z0-9_-]", "", id.lower())
    return [
        (rest, effect)
        for list_of, effect in effects
        for name in _texts(user.get(list_of))
        for rest in rest_after(name, f"{key}__")
    ]


def _continue(id: str, file: ClientFile) -> "Rules":
    path = os.path.join(home_folder(), ".continue", "permissions.yaml")
    root = read_yaml(path) if os.path.exists(path) else {}
    named = [(name, "ask") for name in _texts(root.get("ask"))] + [
        (name, "deny") for name in _texts(root.get("exclude"))
    ]
    return [
        (rest, effect) for name, effect in named if name != "*" for rest in _bare(name.partition("(")[0], id)
    ]


def _zed(id: str, file: ClientFile) -> "Rules":
    """The permissions of tools, and the tools of the profile that is used."""
    agent = members(_document(file.path).get("agent"))
    if not agent:
        agent = members(_document(os.path.join(config_folder(), "zed", "settings.json")).get("agent"))
    rules: Rules = []
    profile = members(members(agent.get("profiles")).get(agent.get("default_profile", "write")))
    servers = members(profile.get("context_servers"))
    if profile.get("enable_all_context_servers") is False:
        rules.append(("*", "deny"))
    tools = members(members(servers.get(id)).get("tools")).items()
    rules += [(name, "allow" if on is True else "deny") for name, on in tools]
    permissions = members(agent.get("tool_permissions"))
    if permissions.get("default") == "deny":
        rules.append(("*", "deny"))
    for name, rule in members(permissions.get("tools")).items():
        effect = {"deny": "deny", "confirm": "ask", "allow": "allow"}.get(str(members(rule).get("default")))
        if name.startswith(f"mcp:{id}:") and effect:
            rules.append((name[len(f"mcp:{id}:") :], effect))
    return rules


def _copilot(id: str, _file: ClientFile) -> "Rules":
    for name in ("config.json", "settings.json"):
        root = _document(os.path.join(home_folder(), ".copilot", name))
        if id in [*items(root.get("disabledMcpServers")), *items(root.get("disabled_mcp_servers"))]:
            return [("*", "deny")]
    return []


def _bare(name: str, id: str) -> list[str]:
    """A name of a tool as the server knows it. One without the server in front is meant for all of them."""
    prefixes = (f"mcp__{id}__", f"mcp_{id}_", f"{id}__")
    found = [rest for prefix in prefixes for rest in rest_after(name, prefix)]
    return list(dict.fromkeys(found or ([name] if name and not name.startswith("mcp_") else [])))


def _texts(value: "Any") -> "list[str]":
    return [one for one in items(value) if isinstance(one, str)]


def _document(path: str) -> "dict[str, Any]":
    """Settings of a client; nothing where there are none."""
    return read_document(path) if os.path.exists(path) else {}


_READERS: "dict[str, Callable[[str, ClientFile], Rules]]" = {
    "claude-code": _claude_code,
    "cursor": _cursor,
    "gemini": _gemini,
    "opencode": _opencode,
    "goose": _goose,
    "continue": _continue,
    "zed": _zed,
    "copilot": _copilot,
}
