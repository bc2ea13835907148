"""The methods of `ToolHub` for its own resources and prompts. The core checks, matches and calls them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, overload

from .. import _core
from .._checks import check_mapping, check_text
from .._unknown_options import known_options, unknown_options
from ._state import HubState

F = TypeVar("F", bound=Callable[..., Any])
Completions = Mapping[str, "Iterable[str] | Callable[..., Any]"]
"""For each argument, the known values, or a function that gets what the user has begun and returns a list of texts."""


class NativeMethods:
    """`resource`, `add_resource`, `remove_resource`, `resource_updated`, `prompt`, `add_prompt`, `remove_prompt`."""

    _core: _core.Hub
    _state: HubState

    def resource(
        self,
        uri: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        annotations: Mapping[str, Any] | None = None,
        icons: Sequence[Mapping[str, Any]] | None = None,
        meta: Mapping[str, Any] | None = None,
        completions: Completions | None = None,
        replace: bool = False,
    ) -> Callable[[F], F]:
        """Offer what the decorated function returns as a resource, to clients of a served hub and to `read_resource`.

        A URI with variables is a template, and they are the parameters of the function: `{name}` is one part of a path,
        `{+name}` any text, and `{?a,b}` at the end are optional parameters of a query. Values are decoded and converted to
        the types of the parameters. One that leads out of a folder (`..`, an absolute path) is not found.

        The function is sync or async. It returns a text, `bytes`, JSON data, or `{"text": …}` and `{"blob": …}` with a
        `mimeType` and a `uri` of their own, also several of them in a list. `name` and `description` are those of the
        function unless given. `completions` suggests values for the variables of a template.

        Raises `ValueError` for a URI without a scheme, a template that could be read in several ways, variables that are not
        parameters, and a URI that another function has already, unless `replace` is true.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> @hub.resource("notes://{year}/{month}", mime_type="text/markdown")
        ... def notes(year: int, month: int) -> str:
        ...     "The notes of a month."
        ...     return f"# {month:02}/{year}"
        >>> hub.read_resource_sync("notes://2026/7")[0].text
        '# 07/2026'
        """

        def offer(function: F) -> F:
            self.add_resource(
                uri,
                function,
                name=name,
                title=title,
                description=description,
                mime_type=mime_type,
                annotations=annotations,
                icons=icons,
                meta=meta,
                completions=completions,
                replace=replace,
            )
            return function

        check_text("uri", uri)
        return offer

    def add_resource(
        self,
        uri: str,
        content: Any,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        annotations: Mapping[str, Any] | None = None,
        icons: Sequence[Mapping[str, Any]] | None = None,
        meta: Mapping[str, Any] | None = None,
        completions: Completions | None = None,
        replace: bool = False,
    ) -> None:
        """Offer a resource: a function as for `resource`, or the content itself (text, `bytes` or JSON data).

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> hub.add_resource("app://motto", "Less, but better.")
        >>> hub.resources_sync()[0].uri, hub.read_resource_sync("app://motto")[0].text
        ('app://motto', 'Less, but better.')
        """
        check_text("uri", uri)
        function = content if callable(content) else partial(_same, content)
        own = getattr(content, "__name__", None) if callable(content) else None
        entry = {"name": name or own or uri, "title": title, "mimeType": mime_type}
        self._offer(
            "resources", uri, function, entry, description, annotations, icons, meta, completions, replace
        )

    def remove_resource(self, uri: str) -> bool:
        """Remove a resource or a template of the hub by its URI; False if it has none of this URI."""
        check_text("uri", uri)
        return _core.remove_offer(self._core, "resources", uri)

    def resource_updated(self, uri: str) -> None:
        """Tell clients that have subscribed to a resource of the hub that its content has changed.

        Raises `ToolError` of kind `not_found` if the hub has no such resource. Never waits.
        """
        check_text("uri", uri)
        _core.resource_updated(self._core, uri)

    @overload
    def prompt(
        self,
        function: str | None = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: Sequence[Mapping[str, Any]] | None = None,
        meta: Mapping[str, Any] | None = None,
        completions: Completions | None = None,
        replace: bool = False,
    ) -> Callable[[F], F]: ...

    @overload
    def prompt(self, function: F, /) -> F: ...

    def prompt(self, function: Any = None, /, **options: Any) -> Any:
        """Offer the decorated function as a prompt, to clients of a served hub and to `get_prompt`.

        `@hub.prompt`, `@hub.prompt("name")` and `@hub.prompt(name=…, …)` all work. The arguments of the prompt are the
        parameters of the function; clients send texts, which are converted to the types of the parameters. The function is
        sync or async. It returns a text, which is a message of the user, a content block of MCP (such as an image), a message
        (`{"role": "user" | "assistant", "content": …}`), or a list of these. `completions` suggests values for arguments.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> @hub.prompt(completions={"language": ["Python", "Rust"]})
        ... def review(code: str, language: str = "Python") -> str:
        ...     "Ask for a review."
        ...     return f"Review this {language} code: {code}"
        >>> hub.get_prompt_sync("review", {"code": "1 + 1"}).messages[0]["content"]["text"]
        'Review this Python code: 1 + 1'
        >>> hub.complete_sync("language", "r", prompt="review")
        ['Rust']
        """
        known = [key for key in known_options(NativeMethods.add_prompt) or () if key != "function"]
        if unknown := [key for key in options if key not in known]:
            raise unknown_options(self, "prompt", unknown, known)
        if isinstance(function, str):
            if options.get("name") is not None:
                raise TypeError("prompt takes the name once, as its first argument or as name=")
            function, options = None, {**options, "name": function}
        if function is None:
            return partial(self.prompt, **options)
        self.add_prompt(function, **options)
        return function

    def add_prompt(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: Sequence[Mapping[str, Any]] | None = None,
        meta: Mapping[str, Any] | None = None,
        completions: Completions | None = None,
        replace: bool = False,
    ) -> None:
        """Offer a function as a prompt; see `prompt`."""
        if not callable(function):
            raise TypeError(f"a prompt is a function, got {type(function).__name__}")
        key = name or getattr(function, "__name__", "")
        if name is None and key in ("", "<lambda>"):
            raise ValueError("A lambda has no name of its own: pass name=.")
        entry = {"title": title}
        self._offer("prompts", key, function, entry, description, None, icons, meta, completions, replace)

    def remove_prompt(self, name: str) -> bool:
        """Remove a prompt of the hub; False if it has none of this name."""
        check_text("name", name)
        return _core.remove_offer(self._core, "prompts", name)

    def _offer(
        self,
        kind: str,
        key: str,
        function: Any,
        entry: dict[str, Any],
        description: str | None,
        annotations: Mapping[str, Any] | None,
        icons: Sequence[Mapping[str, Any]] | None,
        meta: Mapping[str, Any] | None,
        completions: Completions | None,
        replace: bool,
    ) -> None:
        self._state.require_open()
        from .._signature import describe

        for what, text in (("title", entry.get("title")), ("mime_type", entry.get("mimeType"))):
            if text is not None:
                check_text(what, text)
        described = describe(function, name=key, description=description)
        is_content = isinstance(function, partial) and function.func is _same
        entry["description"] = description if is_content else described.description or None
        for member, given in (("annotations", annotations), ("_meta", meta)):
            if given is not None:
                check_mapping(member.strip("_"), given)
                entry[member] = dict(given)
        if icons is not None:
            entry["icons"] = [dict(icon) for icon in icons]
        if completions is not None:
            check_mapping("completions", completions)
        suggested = [
            (argument, describe(given, name=argument) if callable(given) else _texts(argument, given), given)
            for argument, given in (completions or {}).items()
        ]
        shown = {member: value for member, value in entry.items() if value is not None}
        _core.add_offer(self._core, kind, key, described, function, shown, suggested, replace)


def _same(content: Any) -> Any:
    return content


def _texts(argument: str, given: Any) -> list[str]:
    values: list[Any] | None = None if isinstance(given, str | bytes) else list(given)
    if values is None or not all(isinstance(value, str) for value in values):
        raise TypeError(f"the completions of {argument!r} must be a list of texts or a function")
    return values
