"""What a client forbids in its settings, apart from its entries. It stays forbidden after the import.

Rules are pairs of a pattern for names of tools and an effect, the last that fits wins:

- `deny`: the tools are excluded, or the server is disabled if that are all of them;
- `ask`: the client asks its user before a call of these tools. A hub asks nobody unless its program says so, so they are
  excluded too, with a sentence. What a client asks before each call of any tool is its own matter;
- `allow`: an exception.
"""

import os
import re
from functools import lru_cache
from typing import Any, NamedTuple

from ._clients import ClientFile, paths_of
from ._draft import Draft, Rules
from ._json import items, members, read_settings, texts


class _Said(NamedTuple):
    """Where a client says something about its tools: files, and a path in them.

    The files are written as in `_clients`; `=` is the file of the servers, `=/` its folder.
    `names` are the ways to write a tool of the server before its own name; without that, the server. An empty one allows a
    bare name, which means the tools of every server. Without an `effect` the values say it; `only` lists what is allowed.
    """

    files: tuple[str, ...]
    path: str
    names: tuple[str, ...]
    effect: str = ""


_SERVERS = ("{id}:",)
_BARE = ("mcp__{id}__", "mcp_{id}_", "{id}__", "")
_CLAUDE = ("~/.claude/settings.json", "./.claude/settings.json", "./.claude/settings.local.json")
_CURSOR = ("~/.cursor/cli-config.json", "./.cursor/cli.json")
_GEMINI = ("~/.gemini/settings.json", "=")
_GEMINI_POLICIES = ("~/.gemini/policies/*.toml", "./.gemini/policies/*.toml")
_GOOSE = ("=/permission.yaml",)
_CONTINUE = ("~/.continue/permissions.yaml",)
_ZED = ("{config}/zed/settings.json", "=")
_COPILOT = ("~/.copilot/config.json", "~/.copilot/settings.json")
_SAID = {
    "claude-code": (
        *(
            _Said(files, f"{at}{key}", _SERVERS, "deny")
            for files, at in ((_CLAUDE, ""), (("~/.claude.json",), "projects.{project}."))
            for key in ("disabledMcpServers", "disabledMcpjsonServers", "deniedMcpServers")
        ),
        _Said(_CLAUDE, "permissions.ask", ("mcp__{safe}__",), "ask"),
        _Said(_CLAUDE, "permissions.deny", ("mcp__{safe}__",), "deny"),
    ),
    "cursor": (_Said(_CURSOR, "permissions.deny", ("Mcp({id}:",), "deny"),),
    # The order of priorities of policies is not kept: what one of them forbids stays forbidden.
    "gemini": (
        _Said(_GEMINI, "mcp.allowed", _SERVERS, "only"),
        _Said(_GEMINI, "allowMCPServers", _SERVERS, "only"),
        _Said(_GEMINI, "mcp.excluded", _SERVERS, "deny"),
        _Said(_GEMINI, "excludeMCPServers", _SERVERS, "deny"),
        _Said(_GEMINI, "excludeTools", _BARE, "deny"),
        _Said(_GEMINI, "tools.exclude", _BARE, "deny"),
        _Said(_GEMINI_POLICIES, "rule", _BARE),
    ),
    # The last one is of version 2.
    "opencode": tuple(_Said(("=",), key, ("{safe}_",)) for key in ("tools", "permission", "permissions")),
    "goose": (
        _Said(_GOOSE, "user.ask_before", ("{goose}__",), "ask"),
        _Said(_GOOSE, "user.never_allow", ("{goose}__",), "deny"),
    ),
    "continue": (_Said(_CONTINUE, "ask", _BARE, "ask"), _Said(_CONTINUE, "exclude", _BARE, "deny")),
    "zed": (
        _Said(_ZED, "agent.profiles.{profile}.enable_all_context_servers", ("",)),
        _Said(_ZED, "agent.profiles.{profile}.context_servers.{id}.tools", ("",)),
        _Said(_ZED, "agent.tool_permissions.default", ("",)),
        _Said(_ZED, "agent.tool_permissions.tools", ("mcp:{id}:",)),
    ),
    "copilot": (
        _Said(_COPILOT, "disabledMcpServers", _SERVERS, "deny"),
        _Said(_COPILOT, "disabled_mcp_servers", _SERVERS, "deny"),
    ),
}
# What clients write for an effect.
_EFFECTS = {
    "deny": "deny",
    "ask": "ask",
    "ask_user": "ask",
    "confirm": "ask",
    "allow": "allow",
    False: "deny",
    True: "allow",
}


def forbid(draft: Draft, file: ClientFile) -> None:
    """Obey the settings of the client that are not in the entry."""
    try:
        draft.obey([rule for said in _SAID.get(file.client, ()) for rule in _rules(said, draft.id, file)])
    except (OSError, ValueError, RecursionError) as error:
        draft.disable(
            f"'{draft.id}' is imported disabled, because settings that may forbid its tools cannot be read: {error}"
        )


def _rules(said: _Said, id: str, file: ClientFile) -> Rules:
    project = file.project or os.getcwd()
    words = {
        "id": id,
        "project": project,
        "safe": re.sub(r"[^a-zA-Z0-9_-]", "_", id),
        "goose": re.sub(r"[^a-z0-9_-]", "", id.lower()),
    }
    prefixes = [name.format(**words) for name in said.names]
    rules: Rules = []
    for path in dict.fromkeys(path for place in said.files for path in _paths(place, project, file.path)):
        value: Any = read_settings(path) if os.path.exists(path) else {}
        words["profile"] = str(members(members(value).get("agent")).get("default_profile", "write"))
        for key in said.path.split("."):
            value = members(value).get(key.format(**words))
        if said.effect == "only":
            rules += [("*", "deny")] if isinstance(value, list) and id not in items(value) else []
            continue
        for name, effect in _pairs(value, said.effect, id):
            # What it asks about every tool is its own matter.
            if effect and (name, effect) != ("*", "ask"):
                rules += [(rest, effect) for rest in _rests(name, prefixes)]
    return rules


def _paths(place: str, project: str, file: str) -> list[str]:
    if not place.startswith("="):
        return paths_of(place, project)
    return [os.path.join(os.path.dirname(file), place[2:] or os.path.basename(file))]


def _pairs(value: Any, effect: str, id: str) -> list[tuple[str, str | None]]:
    """The names and effects of what is said: one effect for all, names with their effects, or a list of names or rules."""
    if isinstance(value, (str, bool)):
        meant = _effect(value)
        return [] if meant == "allow" else [("*", meant)]
    if isinstance(value, dict):
        return [(name, _effect(one)) for name, one in members(value).items()]
    found: list[tuple[str, str | None]] = [(name, effect) for name in texts(value)]
    for rule in map(members, items(value)):
        names = rule.get("toolName", rule.get("action", rule.get("serverName", "*" if rule else None)))
        meant = effect or _effect(rule.get("decision", rule.get("effect")))
        server = rule.get("mcpName", "*")
        # What is allowed for some resources only is not allowed.
        if server not in ("*", id) or (meant == "allow" and rule.get("resource", "*") != "*"):
            continue
        before = f"{id}__" if server == id else ""
        found += [(before + name, meant) for name in texts(names if isinstance(names, list) else [names])]
    return found


def _effect(value: Any) -> str | None:
    """The strictest effect of a value, which may have several of them by pattern."""
    words = [value, *members(value).values()]
    effects = {_EFFECTS.get(word) for word in words if isinstance(word, (str, bool))}
    return next((effect for effect in ("deny", "ask", "allow") if effect in effects), None)


def _rests(name: str, prefixes: list[str]) -> list[str]:
    """The patterns for tools of the server that a name means."""
    # `mcp__git__log(arguments)`, but `Mcp(git:log)`.
    name = name.rstrip(")") if "(" in prefixes[0] else name.partition("(")[0]
    found: list[str] = []
    for prefix in filter(None, prefixes):
        found += ["*"] if name == prefix.rstrip("_:") else rest_after(name, prefix)
    is_bare = prefixes == [""] or ("" in prefixes and not found and not name.startswith("mcp_"))
    return [name] if is_bare and name else list(dict.fromkeys(found))


def rest_after(pattern: str, prefix: str) -> list[str]:
    """The patterns that fit what comes after a prefix, in the names that a pattern fits.

    >>> rest_after("git_*", "git_"), rest_after("*_log", "git_"), rest_after("other", "git_")
    (['*'], ['*_log', 'log'], [])
    """
    return sorted(rest for rest in _left_over(re.sub(r"\*+", "*", pattern), prefix) if rest)


@lru_cache
def _left_over(pattern: str, prefix: str) -> frozenset[str]:
    """What of a pattern is left when its beginning fits all of a prefix, in each way in which it can."""
    first, rest = pattern[:1], pattern[1:]
    if not prefix:
        return frozenset({pattern})
    if first == "*":
        return _left_over(pattern, prefix[1:]) | _left_over(rest, prefix)
    return _left_over(rest, prefix[1:]) if first in ("?", prefix[0]) else frozenset()
