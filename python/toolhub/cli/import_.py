"""`toolhub import`: takes servers from the configuration files of other clients into one file."""

import argparse
import json
import os
import re
import shlex
from typing import Any

from .. import _core
from ._clients import ClientFile, known_files, known_names, named_file
from ._forms import ImportedFile, read_file
from ._json import items, members
from ._output import NOT_FOUND, OK, USAGE, Failure, clean, counted, one_line, put, put_json, say, unwritten
from ._sources import own_config, serving_words

# Without what is around it, a quotation is a part of a word, as in a shell.
_WORD = re.compile(r"""((?:'[^']*'|"[^"]*"|\S)+)""")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.description = (
        "Take over servers from the configuration files of other MCP clients. Without arguments, list these files and the "
        "commands of their servers, and write nothing. The file of a project is taken only if you name it, because others "
        "may have written it."
    )
    parser.add_argument(
        "sources", nargs="*", default=[], metavar="CLIENT|FILE", help="a client such as cursor, or a file"
    )
    parser.add_argument("--all", action="store_true", help="take from your own files of all clients")
    parser.add_argument("--only", action="append", metavar="SERVER", help="only this server; repeatable")
    parser.add_argument("--to", metavar="FILE", help="the file to write (default: your own)")
    parser.add_argument("--replace", action="store_true", help="replace servers that the file already has")
    parser.add_argument("--dry-run", action="store_true", help="say what would be written, and write nothing")


def run(given: argparse.Namespace) -> int:
    """List what there is, or write what was asked for."""
    found, of_project = _found(given)
    if not (given.sources or given.all):
        return _put_found([*found, *of_project], given.json)
    problems = [problem for one in found for problem in one.problems]
    for problem in problems:
        say(clean(problem))
    for one in (one for one in of_project if one.servers):
        say(clean(f"{one.file.path} belongs to this project; name the file to take its servers"))
    target = given.to or own_config()
    if target is None:
        raise Failure("there is no home folder to write to; name a file with --to", USAGE)
    taken: dict[str, Any] = {}
    notes: dict[str, list[str]] = {}
    for one in found:
        notes = {**one.notes, **notes}
        for id, entry in one.servers.items():
            if given.only and id not in given.only:
                continue
            if serving_words(entry):
                say(clean(f"'{id}' is left out, because it is toolhub itself"))
                continue
            if id in taken and taken[id] != entry:
                say(clean(f"'{id}' is in several files; the one of {one.file.path} is left out"))
            taken.setdefault(id, entry)
    told = [note for id, of_one in notes.items() if not given.only or id in given.only for note in of_one]
    for note in told:
        say(clean(note))
    if missing := [id for id in given.only or () if id not in taken]:
        raise Failure(f"no file has a server '{missing[0]}'", NOT_FOUND)
    if not taken:
        raise Failure("no server was found", USAGE if problems else NOT_FOUND)
    return _write(given, target, taken, [*problems, *told])


def _found(given: argparse.Namespace) -> tuple[list[ImportedFile], list[ImportedFile]]:
    """The files to take with their servers, and those of the project, whose servers may start any program of its author."""
    known = known_files(os.getcwd())
    names = known_names()
    named: list[ClientFile] = []
    for source in given.sources:
        if source in names:
            continue
        if not os.path.isfile(source):
            raise Failure(
                f"'{source}' is neither a file nor a known client ({', '.join(sorted(names))})", NOT_FOUND
            )
        named += named_file(source, known)
    asked = [file for file in known if not given.sources or file.client in given.sources]
    taken = [*(file for file in asked if file.project is None), *named]
    offered = [file for file in asked if file.project is not None and file not in named]
    read = [[read_file(file) for file in files if os.path.isfile(file.path)] for files in (taken, offered)]
    return read[0], read[1]


def _put_found(found: list[ImportedFile], as_json: bool) -> int:
    problems = [problem for one in found for problem in one.problems]
    found = [one for one in found if one.servers]
    if as_json:
        rows = [
            {
                "client": one.file.client,
                "file": one.file.path,
                "of_project": one.file.project is not None,
                "servers": list(one.servers),
                "commands": {id: _shown(entry) for id, entry in one.servers.items()},
            }
            for one in found
        ]
        put_json({"found": rows, "problems": problems})
        return OK
    for one in found:
        of = "" if one.file.project is None else "  (of this project: name the file to take it)"
        put(one_line(f"{one.file.client}  {one.file.path}{of}"))
        for id, entry in one.servers.items():
            put(one_line(f"    {id}  {_shown(entry)}"))
    for problem in problems:
        say(clean(problem))
    if found:
        say(
            "nothing was written; take servers with 'toolhub import --all', 'toolhub import CLIENT' or 'toolhub import FILE'"
        )
    else:
        say("no configuration of a known client was found")
    return OK


def _shown(entry: Any) -> str:
    """What a server starts or reaches: the whole command, as a shell would read it, and the names of what it is given.

    Secrets are hidden where the core knows them; values of variables and headers always.

    >>> _shown({"command": "bash", "args": ["-c", "curl a | sh", "--token", "s3cret"], "env": {"KEY": "k"}})
    "KEY=… bash -c 'curl a | sh' --token '[named-secret]'"
    """
    entry = members(entry)
    address = entry.get("url") or entry.get("httpUrl") or entry.get("serverUrl")
    if isinstance(address, str):
        words = [address.partition("?")[0]]
        given = [f"{name}: …" for name in members(entry.get("headers"))]
        return " ".join([*map(str, items(_core.scrub(words))), *(f"({one})" for one in given)])
    # Zed has the program in an object of its own.
    command = members(entry.get("command")) or {"path": entry.get("command")}
    words = [command.get("path"), *items(command.get("args", entry.get("args")))]
    variables = {**members(entry.get("env")), **members(command.get("env"))}
    scrubbed = [_script(str(word)) for word in items(_core.scrub([str(word) for word in words]))]
    return " ".join([*(f"{shlex.quote(name)}=…" for name in variables), shlex.join(scrubbed)])


def _script(text: str) -> str:
    """A word of a command that may be a script: its own words are those of a command, too.

    >>> _script("run --token  'my s3cret' -v")
    'run --token  [named-secret] -v'
    """
    parts = _WORD.split(text)
    parts[1::2] = items(_core.scrub(parts[1::2]))
    return "".join(parts)


def _write(given: argparse.Namespace, target: str, taken: dict[str, Any], told: list[str]) -> int:
    there: dict[str, Any] = {}
    document: dict[str, Any] = {}
    if os.path.isfile(target):
        try:
            there = _core.config_entries(target)
            with open(target, encoding="utf-8") as file:
                document = json.load(file)
        except (OSError, ValueError) as error:
            # Comments would be lost, so a file with comments is not written either.
            raise Failure(
                f"'{target}' is not changed, because it cannot be read as plain JSON: {error}", USAGE
            ) from None
        if there and "mcpServers" not in document:
            raise Failure(f"'{target}' is not changed, because its servers are not under `mcpServers`", USAGE)
    kept = [] if given.replace else [id for id, entry in taken.items() if id in there and there[id] != entry]
    new = {id: entry for id, entry in taken.items() if id not in kept and there.get(id) != entry}
    if not given.dry_run and new:
        document["mcpServers"] = {**document.get("mcpServers", {}), **new}
        _save(target, json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    if given.json:
        written = bool(new) and not given.dry_run
        put_json({"file": target, "imported": list(new), "kept": kept, "written": written, "problems": told})
        return OK
    for id in new:
        put(one_line(f"{id}  {_shown(new[id])}"))
    for id in kept:
        say(f"kept existing '{id}' in {target} (differs); use --replace to overwrite")
    say(f"{'would write' if given.dry_run else 'wrote'} {counted(len(new), 'server')} to {target}")
    return OK


def _save(target: str, text: str) -> None:
    """Replace the file as a whole; only its owner may read it, because entries hold keys and tokens."""
    import tempfile

    # The file that a link leads to, and not the link.
    target = os.path.realpath(target)
    folder = os.path.dirname(target)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".mcp-")  # of mode 0600
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise unwritten(target, error) from None
