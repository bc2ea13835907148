"""Resources and prompts of a hub and of its MCP servers, as `hub.resources` and `hub.prompts` return them.

The `server` of what the hub itself offers is `"native"`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Generic, TypeVar, cast

from .exceptions import ToolError

__all__ = ["Offers", "Prompt", "PromptText", "Resource", "ResourceContent", "ResourceTemplate"]

_T = TypeVar("_T")


class Offers(list[_T], Generic[_T]):
    """A list with the reasons why some servers are missing in it: `failed` has an error for each of them.

    >>> Offers(["a"], {}).failed
    {}
    """

    def __init__(self, items: Iterable[_T] = (), failed: Mapping[str, ToolError] | None = None) -> None:
        super().__init__(items)
        self.failed: dict[str, ToolError] = dict(failed or {})


@dataclass(frozen=True)
class Resource:
    """A resource that the hub or a server lists. `data` has the entry as it came, with what this class does not name."""

    uri: str
    server: str
    name: str | None = None
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    data: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)


@dataclass(frozen=True)
class ResourceTemplate:
    """A pattern for addresses of resources, such as `file:///{path}`."""

    uri_template: str
    server: str
    name: str | None = None
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    data: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)


@dataclass(frozen=True)
class Prompt:
    """A prompt of the hub or a server. `arguments` are mappings with `name`, and perhaps `description` and `required`."""

    name: str
    server: str
    title: str | None = None
    description: str | None = None
    arguments: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    data: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)


@dataclass(frozen=True)
class ResourceContent:
    """One content of a resource: `text`, or `blob` for everything else."""

    uri: str
    server: str
    mime_type: str | None = None
    text: str | None = None
    blob: bytes | None = None
    data: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)


@dataclass(frozen=True)
class PromptText:
    """A prompt that is filled in: `messages` are mappings with `role` and `content`, as the protocol has them."""

    name: str
    server: str
    messages: list[dict[str, Any]]
    description: str | None = None


_NAMES = {"mime_type": "mimeType", "uri_template": "uriTemplate"}
"""What the protocol calls members of these classes."""


def as_offer(kind: type[_T], server: str, data: dict[str, Any]) -> _T:
    """An entry of a list, such as that of `resources/list`. A member of another type than it should have is left out."""
    given = {one.name: data.get(_NAMES.get(one.name, one.name)) for one in fields(cast("Any", kind))}
    known: dict[str, Any] = {name: value for name, value in given.items() if isinstance(value, str)}
    if isinstance(given.get("size"), int):
        known["size"] = given["size"]
    if "arguments" in given:
        known["arguments"] = _mappings(given["arguments"])
    return kind(**{**known, "server": server, "data": data})


def as_contents(uri: str, server: str, answer: dict[str, Any]) -> list[ResourceContent]:
    """The answer to `resources/read`."""
    import base64
    import binascii

    contents: list[ResourceContent] = []
    for data in _mappings(answer["contents"]):
        blob = _text(data, "blob")
        try:
            decoded = None if blob is None else base64.b64decode(blob, validate=True)
        except binascii.Error:
            decoded = None
        mime_type, text = _text(data, "mimeType"), _text(data, "text")
        contents.append(ResourceContent(_text(data, "uri") or uri, server, mime_type, text, decoded, data))
    return contents


def as_prompt_text(name: str, server: str, answer: dict[str, Any]) -> PromptText:
    """The answer to `prompts/get`."""
    return PromptText(name, server, _mappings(answer["messages"]), _text(answer, "description"))


def as_values(answer: dict[str, Any]) -> list[str]:
    """The answer to `completion/complete`."""
    completion = answer["completion"]
    values: Any = cast("dict[str, Any]", completion).get("values") if isinstance(completion, dict) else None
    entries = cast("list[Any]", values) if isinstance(values, list) else []
    return [value for value in entries if isinstance(value, str)]


def _text(data: Mapping[str, Any], key: str) -> str | None:
    value = data.get(key)
    return value if isinstance(value, str) else None


def _mappings(given: Any) -> list[dict[str, Any]]:
    entries = cast("list[Any]", given) if isinstance(given, list) else []
    return [one for one in entries if isinstance(one, dict)]
