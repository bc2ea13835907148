"""The servers of a client's file in the form of `mcpServers`.

    file ─► its entries (the core reads `mcpServers`, VS Code and Zed; Codex, opencode, Goose and Continue are converted here)
         ─► what the client forbids (_rules) ─► paths of the project (_places) ─► the core checks each entry ─► ImportedFile

Converters hand values on as they are: the core says what is wrong with them. An entry that is wrong is left out and named; the
others go on. A restriction that the hub cannot keep turns its server off, with a sentence.
"""

import os
import re

from .. import _core
from ._clients import ClientFile
from ._documents import read_document, read_toml, read_yaml
from ._draft import Draft
from ._json import items, kind, members
from ._places import settle
from ._rules import forbid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Entry = dict[str, Any]
    # Id, entry, and the folder of the project that it belongs to.
    Entries = list[tuple[str, Any, str | None]]

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
        for id, server, project in _TABLES.get(file.client, _plain)(file):
            _take(found, id, server, project)
    except OSError as error:
        found.problems.append(f"{file.path}: cannot be read: {error.strerror}.")
    except ValueError as error:
        found.problems.append(str(error))
    return found


def _take(found: ImportedFile, id: str, server: "Any", project: str | None) -> None:
    file = found.file._replace(project=project)
    draft = Draft(id, file.client)
    convert = _CONVERTERS.get(file.client)
    is_plain = convert is None or (convert is _continue and file.path.endswith(".json"))
    if convert is None or is_plain or not isinstance(server, dict):
        draft.entry = dict(members(server)) if isinstance(server, dict) else server
    else:
        convert(draft, members(server))
    if isinstance(draft.entry, dict) and draft.entry:
        for key in _NOT_KEPT:
            if draft.entry.get(key) or (key == "sandbox" and draft.entry.get("sandboxEnabled") is True):
                draft.disable(
                    f"'{id}' is imported disabled, because toolhub does not do what its `{key}` says"
                )
        forbid(draft, file)
        settle(draft, file)
    if wrong := _core.config_problem(file.path, id, _checkable(draft.entry)):
        found.problems.append(wrong)
        return
    if not draft.is_left_out:
        found.servers[id] = draft.entry
    if draft.notes:
        found.notes[id] = draft.notes


def _checkable(entry: "Any") -> "Any":
    """An entry as the core can check it here: a variable that is not set now, or a file that is missing, is not an error."""
    if not isinstance(entry, dict):
        return entry
    return {key: _filled(value, key) for key, value in members(entry).items() if key != "envFile"}


def _filled(value: "Any", key: str = "") -> "Any":
    """A value with something in place of its variables."""
    if isinstance(value, str):
        if "${" in value and key in ("url", "httpUrl", "serverUrl"):
            return "https://example.com"
        return re.sub(r"\$\{[^{}]*\}", "x", value)
    if isinstance(value, list):
        return [_filled(one) for one in items(value)]
    if isinstance(value, dict):
        return {name: _filled(one) for name, one in members(value).items()}
    return value


# ---------------------------------------------------------------- where the entries are


def _plain(file: ClientFile) -> "Entries":
    return [(id, entry, file.project) for id, entry in _core.config_entries(file.path).items()]


def _claude_code(file: ClientFile) -> "Entries":
    """The user's servers, and those of the current project that only this user has (`claude mcp add` writes them)."""
    if file.project is not None:
        return _plain(file)
    root = read_document(file.path)
    found: Entries = [(id, entry, None) for id, entry in _table(root, "mcpServers", file.path)]
    here = os.getcwd()
    for folder, settings in members(root.get("projects")).items():
        if here == folder or here.startswith(os.path.join(folder, "")):
            found += [(id, entry, folder) for id, entry in _table(members(settings), "mcpServers", file.path)]
    return found


def _settings(key: str) -> "Callable[[ClientFile], Entries]":
    """Settings of a program, of which the servers are only a part."""

    def entries(file: ClientFile) -> "Entries":
        return [(id, entry, file.project) for id, entry in _table(read_document(file.path), key, file.path)]

    return entries


def _of_codex(file: ClientFile) -> "Entries":
    return [(id, entry, file.project) for id, entry in _table(read_toml(file.path), "mcp_servers", file.path)]


def _of_opencode(file: ClientFile) -> "Entries":
    root = read_document(file.path)
    entries = dict(_table(root, "mcp", file.path))
    # Since version 2 they are under `mcp.servers`; a server of version 1 may have this name too.
    inner = members(entries.get("servers"))
    if "servers" in entries and not {"command", "url", "type"} & set(inner):
        entries = dict(_table(entries, "servers", file.path))
    return [(id, entry, file.project) for id, entry in entries.items()]


def _of_goose(file: ClientFile) -> "Entries":
    own = ("builtin", "platform", "frontend")
    entries = _table(read_yaml(file.path), "extensions", file.path)
    return [(id, entry, file.project) for id, entry in entries if members(entry).get("type") not in own]


def _of_continue(file: ClientFile) -> "Entries":
    if file.path.endswith(".json"):
        return _plain(file)
    found: Entries = []
    listed = read_yaml(file.path).get("mcpServers")
    if listed is not None and not isinstance(listed, list):
        raise ValueError(f"{file.path}: `mcpServers` must be a list of servers, not {kind(listed)}.")
    for server in items(listed):
        id = members(server).get("name")
        # The core says that one without a name must have one.
        found.append((id if isinstance(id, str) else "", server, file.project))
    return found


def _table(root: "Entry", key: str, path: str) -> "list[tuple[str, Any]]":
    table = root.get(key)
    if table is not None and not isinstance(table, dict):
        raise ValueError(
            f"{path}: `{key}` must be an object with one entry for each server, not {kind(table)}."
        )
    return list(members(table).items())


_TABLES: "dict[str, Callable[[ClientFile], list[tuple[str, Any, str | None]]]]" = {
    "claude-code": _claude_code,
    "gemini": _settings("mcpServers"),
    "zed": _settings("context_servers"),
    "codex": _of_codex,
    "opencode": _of_opencode,
    "goose": _of_goose,
    "continue": _of_continue,
}

# ---------------------------------------------------------------- what an entry becomes


def _codex(draft: Draft, server: "Entry") -> None:
    draft.copy(server, "command", "args", "env", "cwd", "url", "oauth")
    draft.copy(server, "name", "required", "supports_parallel_tool_calls", take=False)
    headers = server.get("http_headers", {})
    if isinstance(headers, dict):
        headers = dict(members(headers))
        for header, variable in members(server.get("env_http_headers")).items():
            headers[header] = f"${{{variable}}}"
        if (variable := server.get("bearer_token_env_var")) is not None:
            headers["Authorization"] = f"Bearer ${{{variable}}}"
    if headers != {}:
        draft.entry["headers"] = headers
    draft.used("http_headers", "env_http_headers", "bearer_token_env_var")
    draft.on_or_off(server)
    draft.option("startup_timeout", server, "startup_timeout_sec")
    draft.option("startup_timeout", server, "startup_timeout_ms", 0.001)
    draft.option("timeout", server, "tool_timeout_sec")
    draft.rename(server, "enabled_tools", "includeTools")
    draft.rename(server, "disabled_tools", "excludeTools")
    names = [members(one).get("name", one) for one in items(server.get("env_vars"))]
    draft.inherit(names if isinstance(server.get("env_vars", []), list) else server["env_vars"])
    draft.used("env_vars", "scopes", "tools", "default_tools_approval_mode")
    if scopes := server.get("scopes"):
        draft.entry["oauth"] = {"scopes": scopes, **members(server.get("oauth"))}
    if any(members(one).get("source") == "remote" for one in items(server.get("env_vars"))) or (
        server.get("experimental_environment") not in (None, "local")
    ):
        draft.leave_out(f"'{draft.id}' is left out, because it runs on another machine in codex")
    draft.used("experimental_environment")
    modes = {"*": server.get("default_tools_approval_mode")}
    for name, tool in members(server.get("tools")).items():
        off = members(tool).get("enabled") is False
        modes[name] = "deny" if off else members(tool).get("approval_mode")
    draft.obey(
        [
            (name, {"prompt": "ask", "deny": "deny"}.get(str(mode), "allow"))
            for name, mode in modes.items()
            if mode
        ]
    )
    draft.name_unused(server)


def _opencode(draft: Draft, server: "Entry") -> None:
    command = server.get("command")
    if server.get("type") == "remote":
        draft.copy(server, "url", "headers", "oauth")
        draft.used("type")
    else:
        words = items(command)
        draft.entry = {"command": words[0] if words else command}
        if words[1:]:
            draft.entry["args"] = words[1:]
        draft.used("command", "type")
        draft.copy(server, "cwd")
        draft.rename(server, "environment", "env")
    draft.on_or_off(server)
    draft.option("startup_timeout", server, "timeout", 0.001)
    draft.entry = _with(draft.entry, r"\{env:(\w+)\}", r"${\1:-}")
    if re.search(r"\{file:[^}]*\}", str(draft.entry)):
        draft.disable(
            f"'{draft.id}' is imported disabled, because it uses `{{file:…}}`; write the value, or a variable as `${{NAME}}`"
        )
    draft.name_unused(server)


def _goose(draft: Draft, server: "Entry") -> None:
    kind_of = server.get("type")
    draft.used("type")
    draft.copy(server, "name", "description", "display_name", "bundled", take=False)
    variables = server.get("envs", {})
    if kind_of == "stdio":
        draft.rename(server, "cmd", "command")
        draft.copy(server, "args")
        if variables != {}:
            draft.entry["env"] = variables
        draft.inherit(server.get("env_keys"))
    elif kind_of in ("sse", "streamable_http"):
        draft.rename(server, "uri", "url")
        draft.copy(server, "headers")
        for name, value in members(variables).items():
            draft.entry = _with(
                draft.entry,
                rf"\$\{{{re.escape(name)}\}}|\${re.escape(name)}\b",
                lambda _, value=value: str(value),
            )
    else:
        draft.leave_out(
            f"'{draft.id}' is left out, because only goose can run a server of the type '{kind_of}'"
        )
        draft.entry = {"command": "goose"}
    draft.used("envs", "env_keys")
    unset = [key for key in items(server.get("env_keys")) if isinstance(key, str) and key not in os.environ]
    if unset:
        names = ", ".join(unset)
        draft.note(
            f"variables of '{draft.id}' that must be set in the environment, because goose keeps them in its keyring: {names}"
        )
    if server.get("socket"):
        draft.leave_out(f"'{draft.id}' is left out, because goose reaches it through a socket")
    draft.used("socket")
    draft.on_or_off(server)
    draft.option("timeout", server, "timeout")
    if server.get("available_tools"):
        draft.rename(server, "available_tools", "includeTools")
    draft.used("available_tools")
    draft.name_unused(server)


def _continue(draft: Draft, server: "Entry") -> None:
    draft.copy(server, "command", "args", "env", "envFile", "cwd", "type", "url")
    draft.copy(server, "name", "faviconUrl", "sourceFile", "sourceSlug", take=False)
    options = members(server.get("requestOptions"))
    headers = {**members(options.get("headers"))}
    if key := server.get("apiKey"):
        headers.setdefault("Authorization", f"Bearer {key}")
    if headers:
        draft.entry["headers"] = headers
    draft.used("requestOptions", "apiKey")
    draft.option("startup_timeout", server, "connectionTimeout", 0.001)
    draft.on_or_off(server)
    # Their secrets and inputs are variables of the environment for us.
    draft.entry = _with(draft.entry, r"\$\{\{\s*(?:secrets|inputs)\.(\w+)\s*\}\}", r"${\1}")
    draft.name_unused({**server, **{f"requestOptions.{key}": 1 for key in options if key != "headers"}})


def _with(value: "Any", pattern: str, by: "str | Callable[[re.Match[str]], str]") -> "Any":
    """A value whose texts have something else in place of a pattern."""
    if isinstance(value, str):
        return re.sub(pattern, by, value)
    if isinstance(value, list):
        return [_with(one, pattern, by) for one in items(value)]
    if isinstance(value, dict):
        return {key: _with(one, pattern, by) for key, one in members(value).items()}
    return value


_CONVERTERS: "dict[str, Callable[[Draft, Entry], None]]" = {
    "codex": _codex,
    "opencode": _opencode,
    "goose": _goose,
    "continue": _continue,
}
