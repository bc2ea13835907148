"""What is wrong with a server: steps in the order in which they can fail, and the first that does.

    file ─► command ─► start ─► era ─► auth ─► list ─► schemas ─► names ─► descriptions

The core has decided everything before: what a file says, why a connection failed, what is wrong with a list. Here each of its
findings gets its step and an advice.
"""

import re
from dataclasses import dataclass, field

from .. import _core
from ._output import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..exceptions import ToolError
    from ..servers import ServerInfo

STEPS = ("file", "command", "start", "era", "auth", "list", "schemas", "names", "descriptions")

# The code of JSON-RPC for a method that a server does not have.
_METHOD_NOT_FOUND = -32601
_ENDLESS = "The list never ends: report it to the server's author."
_BAD_SCHEMA = "Report it to the server's author; a model gets this schema, and calls may fail."
_BAD_NAME = "Rename the tool, or set 'prefix' or 'exclude' under 'toolhub' of the entry."
_BAD_DESCRIPTION = "A model chooses by the description: ask the author for one, or 'exclude' the tool."
_HIDDEN = "Invisible characters can hide instructions to a model: ask the author why they are there, or 'exclude' the tool."
# What the APIs of models accept as the name of a function.
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass
class Diagnosis:
    """What was found about one server, or about a whole file."""

    id: str
    failed: str | None = None
    """The first step that failed."""
    message: str = ""
    advice: str = ""
    notes: list[str] = field(default_factory=list[str])
    """What is odd, but works."""
    facts: str = ""

    @property
    def passed(self) -> list[str]:
        """The steps before the one that failed."""
        return list(STEPS if self.failed is None else STEPS[: STEPS.index(self.failed)])

    def fail(self, step: str, message: str, advice: str) -> "Diagnosis":
        """Note the first failure."""
        self.failed, self.message, self.advice = step, message, advice
        return self


def wrong_file(path: str, message: str) -> Diagnosis:
    """A file that gives no server at all."""
    return Diagnosis(path).fail("file", message, _advice(message, _OF_FILES))


def wrong_entry(id: str, message: str) -> Diagnosis:
    """A server whose entry cannot be used."""
    advice = "Correct the key that is named; 'command' starts a program, 'url' is an address."
    if "$" in message and "set" in message:
        advice = "Set the variable, or give it a default with `:-` after its name."
    return Diagnosis(id).fail("file", message, advice)


def not_connected(id: str, transport: str, error: "ToolError") -> Diagnosis:
    """A server that could not be connected."""
    kind, message = str(error.kind), str(error)
    if kind == "auth":
        step, advice = "auth", "Run 'toolhub login SERVER', or correct 'auth' or 'headers' of its entry."
        if error.status == 403:
            advice = (
                "The credentials are known but not allowed to do this: ask for the right, or use other ones."
            )
    elif kind in ("protocol", "rpc"):
        step = "era"
        advice = (
            "Check that this is an MCP server, and update it: it shares no protocol version with toolhub."
        )
    elif transport == "stdio":
        step, advice = "start", "Run the command by hand to see why it ends; check 'args' and 'env'."
        if kind == "connect":
            step, advice = "command", _advice(message, _OF_COMMANDS)
        elif kind == "timeout":
            advice = "Run the command by hand: it must wait for input and print nothing but MCP messages."
    else:
        step = "start"
        advice = _status_advice(error.status or 0) if kind == "http" else _advice(message, _OF_ADDRESSES)
    return Diagnosis(id).fail(step, message, advice)


# What a message has, and what to do about it; the last one is for all others.
_OF_FILES = {
    "does not exist": "Check the path; 'toolhub import' writes a file from those of other clients.",
    "not valid JSON": "Correct the file at that place; comments and trailing commas are allowed.",
    "": "Write an object `mcpServers` with an entry for each server: a name, and `command` or `url`.",
}
_OF_COMMANDS = {
    "may not be executed": "Make the file executable (chmod +x), or write its interpreter as 'command' "
    "and the file into 'args'.",
    "it is a folder": "Write a program as 'command': one in that folder, or another.",
    "not the interpreter": "Install that interpreter, or correct the first line of the file.",
    "the folder '": "Create that folder, or correct 'cwd'.",
    "": "Install the program, or correct 'command' or 'cwd'; a program that is not on PATH needs its full path.",
}
_OF_ADDRESSES = {
    "no TLS at this address": "Write http:// in 'url', or turn TLS on at the server.",
    "TLS certificate": "Use the name that the certificate is for, and a certificate that this machine trusts.",
    "": "Check host, port and scheme of 'url', and whether the server runs.",
}


def _advice(message: str, table: dict[str, str]) -> str:
    return next(advice for part, advice in table.items() if part in message)


def _status_advice(status: int) -> str:
    if status in (404, 405, 410):
        return "Correct the path of 'url'; most servers answer at /mcp or /sse."
    if 300 <= status < 400:
        return "Correct 'url': write the address that the server redirects to."
    if status == 429:
        return "The server is limiting requests: try again later."
    return "The server itself fails: look at its log, or try again later."


def not_listed(id: str, error: "ToolError | None") -> Diagnosis:
    """A server that is connected and does not say what tools it has."""
    message = "the server has not listed its tools" if error is None else str(error)
    if error is not None and error.code == _METHOD_NOT_FOUND:
        advice = "The server has no tools; use its prompts and resources, or remove its entry."
    else:
        advice = "The server fails to list its tools: look at its log."
    return Diagnosis(id).fail("list", message, advice)


def connected(info: "ServerInfo", candidates: "list[_core.Candidate]") -> Diagnosis:
    """A server that has listed its tools."""
    diagnosis = Diagnosis(info.id, facts=f"{info.transport}, {info.era}, {counted(len(candidates), 'tool')}")
    empty = (*info.notices, "the list of tools is empty")[0] if not candidates else ""
    wrong = next((f"'{one.name}': {problem}" for one in candidates if (problem := _schema_problem(one))), "")
    problems = (
        ("list", _notice(info, "the list did not end"), _ENDLESS),
        ("list", empty, "Check the server's own settings, and 'include' and 'exclude' of its entry."),
        ("schemas", wrong or _notice(info, "the inputSchema of "), _BAD_SCHEMA),
        ("names", _name_problem(info, candidates), _BAD_NAME),
        ("descriptions", _description_problem(candidates), _BAD_DESCRIPTION),
        ("descriptions", _notice(info, "invisible characters in "), _HIDDEN),
    )
    for step, problem, advice in problems:
        if problem:
            return diagnosis.fail(step, problem, advice)
    diagnosis.notes += info.notices
    return diagnosis


def note_stray_output(diagnosis: Diagnosis, info: "ServerInfo") -> Diagnosis:
    """Note what a server prints that is not a message, unless it is the reason of the failure."""
    line = info.stray_output
    if line is not None and line not in diagnosis.message:
        wrong = f"stdout is for MCP messages, but it printed '{line}' there"
        diagnosis.notes.append(f"{wrong}; other clients may fail, so let it print to stderr")
    return diagnosis


def _notice(info: "ServerInfo", *beginnings: str) -> str:
    """The first thing that the core says about the lists of a server and that begins like this."""
    return next((notice for notice in info.notices if notice.startswith(beginnings)), "")


def _schema_problem(candidate: "_core.Candidate") -> str:
    if candidate.unchecked:
        return candidate.unchecked[0]
    schema: Any = candidate.parameters
    kind = schema.get("type", "object")
    return "" if kind == "object" else f"its schema must be of type object, not {kind}"


def _name_problem(info: "ServerInfo", candidates: "list[_core.Candidate]") -> str:
    if notice := _notice(info, "a second tool named ", "a tool whose name "):
        return notice
    for one in candidates:
        if not _NAME.fullmatch(one.name):
            shown = one.name if len(one.name) <= 40 else f"{one.name[:40]}…"
            return (
                f"'{shown}' is not a valid name for model APIs, which allow 1 to 64 letters, digits, _ and -"
            )
    return ""


def _description_problem(candidates: "list[_core.Candidate]") -> str:
    for one in candidates:
        if not one.description.strip():
            return f"'{one.name}' has no description"
        if _core.words_of(one.description) == _core.words_of(one.name):
            return f"the description of '{one.name}' only repeats its name"
    return ""
