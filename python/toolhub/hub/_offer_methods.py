"""The methods of `ToolHub` that list and read resources and prompts: its own and those of MCP servers.

`toolhub.offers` is imported on first use: most programs need no resources, and making its classes takes time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .. import _background
from ._servers import ServerManager

if TYPE_CHECKING:
    from ..offers import Offers, Prompt, PromptText, Resource, ResourceContent, ResourceTemplate


class OfferMethods:
    """`resources`, `resource_templates`, `read_resource`, `prompts`, `get_prompt`, `complete`, and their blocking twins."""

    _servers: ServerManager

    async def resources(
        self, ids: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> Offers[Resource]:
        """The resources of the hub and of all servers, or of those named; servers are connected if needed.

        The `server` of the hub's own is `"native"`, which is also how `ids` names them. A server that cannot list them is in
        `failed` of the result, with the reason. `timeout` (30 s) is for each server.
        """
        from .. import offers

        return offers.Offers(*await self._servers.offers("resources", offers.as_resource, ids, timeout))

    def resources_sync(
        self, ids: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> Offers[Resource]:
        """`resources`, blocking.

        >>> from toolhub import ToolHub
        >>> ToolHub().resources_sync()
        []
        """
        return _background.run(self.resources(ids, timeout=timeout))

    async def resource_templates(
        self, ids: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> Offers[ResourceTemplate]:
        """The templates for addresses of resources, like `resources`."""
        from .. import offers

        return offers.Offers(
            *await self._servers.offers("resourceTemplates", offers.as_template, ids, timeout)
        )

    def resource_templates_sync(
        self, ids: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> Offers[ResourceTemplate]:
        """`resource_templates`, blocking."""
        return _background.run(self.resource_templates(ids, timeout=timeout))

    async def read_resource(
        self, uri: str, *, server: str | None = None, timeout: float | None = None
    ) -> list[ResourceContent]:
        """Read a resource. Without `server`, the hub's own, or from the only server that lists it or has a template for it.

        Raises `ToolError`: of kind `not_found` if no server lists it, `invalid_arguments` if several do.
        """
        from .. import offers

        source, answer = await self._servers.read_resource(uri, server, timeout)
        return offers.as_contents(uri, source, answer)

    def read_resource_sync(
        self, uri: str, *, server: str | None = None, timeout: float | None = None
    ) -> list[ResourceContent]:
        """`read_resource`, blocking."""
        return _background.run(self.read_resource(uri, server=server, timeout=timeout))

    async def prompts(
        self, ids: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> Offers[Prompt]:
        """The prompts of the hub and of all servers, or of those named, like `resources`."""
        from .. import offers

        return offers.Offers(*await self._servers.offers("prompts", offers.as_prompt, ids, timeout))

    def prompts_sync(
        self, ids: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> Offers[Prompt]:
        """`prompts`, blocking."""
        return _background.run(self.prompts(ids, timeout=timeout))

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        server: str | None = None,
        timeout: float | None = None,
    ) -> PromptText:
        """Fill in a prompt. Without `server`, the hub's own, or by the only server that lists it.

        Required arguments must be there.
        """
        from .. import offers

        source, answer = await self._servers.get_prompt(name, arguments or {}, server, timeout)
        return offers.as_prompt_text(name, source, answer)

    def get_prompt_sync(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        server: str | None = None,
        timeout: float | None = None,
    ) -> PromptText:
        """`get_prompt`, blocking."""
        return _background.run(self.get_prompt(name, arguments, server=server, timeout=timeout))

    async def complete(
        self,
        argument: str,
        value: str,
        *,
        prompt: str | None = None,
        template: str | None = None,
        context: Mapping[str, str] | None = None,
        server: str | None = None,
        timeout: float | None = None,
    ) -> list[str]:
        """Values that the hub or a server suggests for an argument of a `prompt` or of a resource `template`.

        `value` is what the user has typed so far, `context` the other arguments.
        """
        from .. import offers

        key: Any = prompt if template is None else template
        if key is None or (prompt is not None and template is not None):
            raise TypeError("complete takes either a prompt or a template")
        kind = "resourceTemplates" if prompt is None else "prompts"
        return offers.as_values(
            await self._servers.complete(kind, key, argument, value, context or {}, server, timeout)
        )

    def complete_sync(
        self,
        argument: str,
        value: str,
        *,
        prompt: str | None = None,
        template: str | None = None,
        context: Mapping[str, str] | None = None,
        server: str | None = None,
        timeout: float | None = None,
    ) -> list[str]:
        """`complete`, blocking."""
        return _background.run(
            self.complete(
                argument,
                value,
                prompt=prompt,
                template=template,
                context=context,
                server=server,
                timeout=timeout,
            )
        )
