"""The servers of a client's file in the form of `mcpServers`.

    file ─► its entries (the core reads `mcpServers`, VS Code and Zed; Codex, opencode, Goose and Continue by tables of names)
         ─► what the client forbids (_rules) ─► paths of the project (_places) ─► the core checks each entry ─► ImportedFile

Converters hand values on as they are: the core says what is wrong with them. An entry that is wrong is left out and named; the
others go on. A restriction that the hub cannot keep turns its server off, with a sentence.
"""

import os
import re
from collections.abc import Callable
from typing import Any

from .. import _core
from ._clients import ClientFile
from ._draft import Draft, settle
from ._json import items, kind, members, read_settings, texts, with_texts
from ._rules import forbid

Entry = dict[str, Any]

# Under which key settings have servers, where these are only a part of them.
_KEYS = {
    "claude-code": "mcpServers",
    "gemini": "mcpServers",
    "zed": "context_servers",
    "codex": "mcp_servers",
    "opencode": "mcp",
    "goose": "extensions",
    "continue": "mcpServers",
}
_SAME = {name: name for name in ("command", "args", "env", "cwd", "url", "headers", "oauth")}
# Their names of keys, and ours; see `Draft.translate`.
_NAMES: dict[str, dict[str, str]] = {
    "codex": {
        **_SAME,
        "http_headers": "headers",
        "enabled_tools": "includeTools",
        "disabled_tools": "excludeTools",
        "env_vars": "toolhub.inherit_env",
        "startup_timeout_ms": "toolhub.startup_timeout ms",
        "startup_timeout_sec": "toolhub.startup_timeout",
        "tool_timeout_sec": "toolhub.timeout",
        **dict.fromkeys(("env_http_headers", "bearer_token_env_var", "scopes"), ""),
        **dict.fromkeys(("tools", "default_tools_approval_mode", "experimental_environment"), ""),
        **dict.fromkeys(("name", "required", "supports_parallel_tool_calls"), ""),
    },
    "opencode": {**_SAME, "environment": "env", "timeout": "toolhub.startup_timeout ms", "type": ""},
    "goose": {
        **_SAME,
        "cmd": "command",
        "envs": "env",
        "env_keys": "toolhub.inherit_env",
        "uri": "url",
        "timeout": "toolhub.timeout",
        "available_tools": "includeTools",
        **dict.fromkeys(("type", "name", "description", "display_name", "bundled", "socket"), ""),
    },
    "continue": {
        **_SAME,
        "envFile": "envFile",
        "type": "type",
        "requestOptions.headers": "headers",
        "connectionTimeout": "toolhub.startup_timeout ms",
        **dict.fromkeys(("apiKey", "name", "faviconUrl", "sourceFile", "sourceSlug"), ""),
    },
}
# They keep a server, or a tool, from doing something, and have no effect here.
_NOT_KEPT = ("sandbox", "include_tags", "exclude_tags")


class ImportedFile:
    """What came of a file."""

    def __init__(self, file: ClientFile) -> None:
        self.file = file
        self.servers: dict[str, Entry] = {}
        # What cannot be read; and, by server, what is not as it was in the client.
        self.problems: list[str] = []
        self.notes: dict[str, list[str]] = {}


def read_file(file: ClientFile) -> ImportedFile:
    """The servers of a file, and what there is to say about them."""
    found = ImportedFile(file)
    try:
        for id, server, project in _entries(file):
            _take(found, id, server, project)
    except OSError as error:
        found.problems.append(f"{file.path}: cannot be read: {error.strerror}.")
    except ValueError as error:
        found.problems.append(str(error))
    return found


def _take(found: ImportedFile, id: str, server: Any, project: str | None) -> None:
    file = found.file._replace(project=project)
    draft = Draft(id, file.client)
    if file.client in _NAMES and not _is_plain(file) and isinstance(server, dict):
        _CONVERTERS[file.client](draft, members(server))
    else:
        draft.entry = dict(members(server)) if isinstance(server, dict) else server
    if isinstance(draft.entry, dict) and draft.entry:
        for key in _NOT_KEPT:
            if draft.entry.get(key) or (key == "sandbox" and draft.entry.get("sandboxEnabled") is True):
                draft.disable(f"'{id}' is imported disabled, because toolhub does not support its `{key}`")
        forbid(draft, file)
        settle(draft, file)
    if draft.notes:
        found.notes[id] = draft.notes
    if draft.is_left_out:
        return
    if wrong := _core.config_problem(file.path, id, _checkable(draft.entry)):
        found.problems.append(wrong)
        found.notes.pop(id, None)
    else:
        found.servers[id] = draft.entry


def _checkable(entry: Any) -> Any:
    """An entry as the core can check it here: a variable that is not set now, or a file that is missing, is not an error."""
    if not isinstance(entry, dict):
        return entry
    checkable = {key: value for key, value in members(entry).items() if key != "envFile"}
    for key in ("url", "httpUrl", "serverUrl"):
        if "${" in str(checkable.get(key)):
            checkable[key] = "https://example.com"
    return with_texts(checkable, lambda text: re.sub(r"\$\{[^{}]*\}", "x", text))


# ---------------------------------------------------------------- where the entries are


def _is_plain(file: ClientFile) -> bool:
    """Whether the core reads the file: it has servers and nothing else."""
    of_project = file.client == "claude-code" and file.path.endswith(".mcp.json")
    return (
        file.client not in _KEYS or of_project or (file.client == "continue" and file.path.endswith(".json"))
    )


def _entries(file: ClientFile) -> list[tuple[str, Any, str | None]]:
    """The id of each server, its entry, and the folder of the project that it belongs to."""
    if _is_plain(file):
        return [(id, entry, file.project) for id, entry in _core.config_entries(file.path).items()]
    root, key = read_settings(file.path), _KEYS[file.client]
    found = [(id, entry, file.project) for id, entry in _table(root, key, file.path)]
    if file.client == "claude-code":
        # `claude mcp add` writes servers of a project that only this user has.
        here = os.getcwd()
        for folder, settings in members(root.get("projects")).items():
            if here == folder or here.startswith(os.path.join(folder, "")):
                found += [(id, entry, folder) for id, entry in _table(members(settings), key, file.path)]
    if file.client == "goose":
        own = ("builtin", "platform", "frontend")
        found = [one for one in found if members(one[1]).get("type") not in own]
    return found


def _table(root: Entry, key: str, path: str) -> list[tuple[str, Any]]:
    table = root.get(key)
    if isinstance(table, list):
        # The core says that one without a name must have one.
        names = [members(server).get("name") for server in items(table)]
        ids = (name if isinstance(name, str) else "" for name in names)
        return list(zip(ids, items(table), strict=True))
    if table is not None and not isinstance(table, dict):
        raise ValueError(
            f"{path}: `{key}` must be an object with one entry for each server, not {kind(table)}."
        )
    # opencode has them under `mcp.servers` since version 2; a server of version 1 may have this name too.
    inner = members(table).get("servers")
    if key == "mcp" and "servers" in members(table) and not {"command", "url", "type"} & set(members(inner)):
        return _table(members(table), "servers", path)
    return list(members(table).items())


# ---------------------------------------------------------------- what an entry becomes


def _codex(draft: Draft, server: Entry) -> None:
    variables = server.get("env_vars")
    if isinstance(variables, list):
        server = {**server, "env_vars": [members(one).get("name", one) for one in items(variables)] or None}
    draft.translate(server, _NAMES["codex"])
    added = {name: f"${{{of}}}" for name, of in members(server.get("env_http_headers")).items()}
    if (variable := server.get("bearer_token_env_var")) is not None:
        added["Authorization"] = f"Bearer ${{{variable}}}"
    if added and isinstance(draft.entry.setdefault("headers", {}), dict):
        draft.entry["headers"] = {**draft.entry["headers"], **added}
    if scopes := server.get("scopes"):
        draft.entry["oauth"] = {"scopes": scopes, **members(server.get("oauth"))}
    is_elsewhere = any(members(one).get("source") == "remote" for one in items(variables))
    if is_elsewhere or server.get("experimental_environment") not in (None, "local"):
        draft.leave_out(f"'{draft.id}' is left out, because it runs on another machine in codex")
    modes = {"*": server.get("default_tools_approval_mode")}
    for name, tool in members(server.get("tools")).items():
        off = members(tool).get("enabled") is False
        modes[name] = "deny" if off else members(tool).get("approval_mode")
    effects = {"prompt": "ask", "deny": "deny"}
    draft.obey([(name, effects.get(str(mode), "allow")) for name, mode in modes.items() if mode])


def _opencode(draft: Draft, server: Entry) -> None:
    if words := items(server.get("command")):
        server = {**server, "command": words[0], "args": words[1:] or None}
    draft.translate(server, _NAMES["opencode"])
    draft.entry = with_texts(draft.entry, lambda text: re.sub(r"\{env:(\w+)\}", r"${\1:-}", text))
    if re.search(r"\{file:[^}]*\}", str(draft.entry)):
        draft.disable(
            f"'{draft.id}' is imported disabled, because it uses `{{file:…}}`; write the value, or a variable as `${{NAME}}`"
        )


def _goose(draft: Draft, server: Entry) -> None:
    kind_of = server.get("type")
    draft.translate({key: value for key, value in server.items() if value not in ([], {})}, _NAMES["goose"])
    if kind_of in ("sse", "streamable_http"):
        values = members(draft.entry.pop("env", None))
        draft.entry = with_texts(
            draft.entry,
            lambda text: re.sub(
                r"\$(?:\{(\w+)\}|(\w+))", lambda name: str(values.get(name[1] or name[2], name[0])), text
            ),
        )
    elif kind_of != "stdio":
        draft.leave_out(
            f"'{draft.id}' is left out, because only goose can run a server of the type '{kind_of}'"
        )
    if server.get("socket"):
        draft.leave_out(f"'{draft.id}' is left out, because goose reaches it through a socket")
    if unset := [key for key in texts(server.get("env_keys")) if key not in os.environ]:
        names = ", ".join(unset)
        draft.note(
            f"set these variables of '{draft.id}' in the environment, because goose keeps them in its keyring: {names}"
        )


def _continue(draft: Draft, server: Entry) -> None:
    options = members(server.get("requestOptions"))
    rest = {key: value for key, value in server.items() if key != "requestOptions"}
    draft.translate(rest | {f"requestOptions.{key}": one for key, one in options.items()}, _NAMES["continue"])
    if key := server.get("apiKey"):
        draft.entry["headers"] = {"Authorization": f"Bearer {key}", **members(draft.entry.get("headers"))}
    # Their secrets and inputs are variables of the environment for us.
    variable = r"\$\{\{\s*(?:secrets|inputs)\.(\w+)\s*\}\}"
    draft.entry = with_texts(draft.entry, lambda text: re.sub(variable, r"${\1}", text))


_CONVERTERS: dict[str, Callable[[Draft, Entry], None]] = {
    "codex": _codex,
    "opencode": _opencode,
    "goose": _goose,
    "continue": _continue,
}
