"""`hub.resources`: the resources of the hub and of its MCP servers."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar, Unpack, overload

from .. import _core, offers
from .._background import blocking
from .._checks import check_text
from .._unknown_options import explain_unknown_options
from ..offers import Offers, Resource, ResourceContent, ResourceTemplate
from ..options import DEFAULT, ResourceOptions
from ._offered import Offered

F = TypeVar("F", bound=Callable[..., Any])
Contents = list[ResourceContent]  # inside the class, `list` is a method


@explain_unknown_options
class Resources(Offered):
    """`hub.resources`: lists and reads the resources of the hub and of its MCP servers, and adds some of the hub's own.

    >>> from toolhub import ToolHub
    >>> hub = ToolHub()
    >>> hub.resources.add("app://motto", "Less, but better.")
    >>> hub.resources.list_sync()[0].uri, hub.resources.read_sync("app://motto")[0].text
    ('app://motto', 'Less, but better.')
    """

    _shown_as = "hub.resources"
    _instead = "await hub.resources.list(), or hub.resources.list_sync()"

    async def list(
        self, ids: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> Offers[Resource]:
        """The resources of the hub and of all servers, or of those named; servers are connected if needed.

        The `server` of the hub's own is `"native"`, which is also how `ids` names them. A server that cannot list them is in
        `failed` of the result, with the reason. `timeout` (30 s) is for each server.
        """
        return await self._listed("resources", Resource, ids, timeout)

    list_sync = blocking(list)
    """`list`, blocking."""

    async def templates(
        self, ids: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> Offers[ResourceTemplate]:
        """The templates for addresses of resources, like `list`."""
        return await self._listed("resourceTemplates", ResourceTemplate, ids, timeout)

    templates_sync = blocking(templates)
    """`templates`, blocking."""

    async def read(self, uri: str, *, server: str | None = None, timeout: float | None = None) -> Contents:
        """Read a resource. Without `server`, the hub's own, or from the only server that lists it or has a template for it.

        Raises `ToolError`: of kind `not_found` if no server lists it, `invalid_arguments` if several do.
        """
        query = _core.OfferQuery.read(uri)
        source, answer = await self._ask(query, server, timeout)
        return offers.as_contents(uri, source, answer)

    read_sync = blocking(read)
    """`read`, blocking."""

    @overload
    def add(self, uri: str, **options: Unpack[ResourceOptions]) -> Callable[[F], F]: ...

    @overload
    def add(self, uri: str, content: Any, **options: Unpack[ResourceOptions]) -> None: ...

    def add(self, uri: str, content: Any = DEFAULT, **options: Unpack[ResourceOptions]) -> Any:
        """Offer a resource to clients of a served hub and to `read`: what the decorated function returns, or a `content`.

        A URI with variables is a template, and they are the parameters of the function: `{name}` is one part of a path,
        `{+name}` any text, and `{?a,b}` at the end are optional parameters of a query. Values are decoded and converted to
        the types of the parameters. One that leads out of a folder (`..`, an absolute path) is not found.

        The function is sync or async. It returns a text, `bytes`, JSON data, or `{"text": …}` and `{"blob": …}` with a
        `mimeType` and a `uri` of their own, also several of them in a list. `name` and `description` are those of the
        function unless given. `completions` suggests values for the variables of a template. A `content` is such a function,
        or the text, `bytes` or JSON data itself.

        Raises `ValueError` for a URI without a scheme, a template that could be read in several ways, variables that are not
        parameters, and a URI that another function has already, unless `replace` is true.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> @hub.resources.add("notes://{year}/{month}", mime_type="text/markdown")
        ... def notes(year: int, month: int) -> str:
        ...     "The notes of a month."
        ...     return f"# {month:02}/{year}"
        >>> hub.resources.read_sync("notes://2026/7")[0].text
        '# 07/2026'
        """
        check_text("uri", uri)
        if content is DEFAULT:
            return partial(self._decorate, uri, options)
        is_content = not callable(content)
        function = (lambda: content) if is_content else content
        own = None if is_content else getattr(content, "__name__", None)
        named = {**options, "name": options.get("name") or own or uri}
        self._offer("resources", uri, function, is_content, named)

    def _decorate(self, uri: str, options: ResourceOptions, function: F) -> F:
        self.add(uri, function, **options)
        return function

    def remove(self, uri: str) -> bool:
        """Remove a resource or a template of the hub by its URI; False if it has none of this URI."""
        check_text("uri", uri)
        return _core.remove_offer(self._core, "resources", uri)

    def updated(self, uri: str) -> None:
        """Tell clients that have subscribed to a resource of the hub that its content has changed.

        Raises `ToolError` of kind `not_found` if the hub has no such resource. Never waits.
        """
        check_text("uri", uri)
        _core.resource_updated(self._core, uri)
