"""`hub.prompts`: the prompts of the hub and of its MCP servers."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar, Unpack, overload

from .. import _core, offers
from .._background import blocking
from .._checks import check_text
from .._unknown_options import explain_unknown_options
from ..offers import Offers, Prompt, PromptText
from ..options import OfferOptions
from ._offered import Offered

F = TypeVar("F", bound=Callable[..., Any])
Texts = list[str]  # inside the class, `list` is a method


@explain_unknown_options
class Prompts(Offered):
    """`hub.prompts`: lists and fills in the prompts of the hub and of its MCP servers, and adds some of the hub's own."""

    _shown_as = "hub.prompts"
    _instead = "await hub.prompts.list(), or hub.prompts.list_sync()"

    async def list(self, ids: Iterable[str] | None = None, *, timeout: float | None = None) -> Offers[Prompt]:
        """The prompts of the hub and of all servers, or of those named, like `hub.resources.list`."""
        return await self._listed("prompts", Prompt, ids, timeout)

    list_sync = blocking(list)
    """`list`, blocking."""

    async def get(
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
        query = _core.OfferQuery.get(name, dict(arguments or {}))
        source, answer = await self._ask(query, server, timeout)
        return offers.as_prompt_text(name, source, answer)

    get_sync = blocking(get)
    """`get`, blocking."""

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
    ) -> Texts:
        """Values that the hub or a server suggests for an argument of a `prompt` or of a resource `template`.

        `value` is what the user has typed so far, `context` the other arguments.
        """
        key = prompt if template is None else template
        if key is None or (prompt is not None and template is not None):
            raise TypeError("complete takes either a prompt or a template")
        kind = "resourceTemplates" if prompt is None else "prompts"
        query = _core.OfferQuery.complete(kind, key, argument, value, dict(context or {}))
        _, answer = await self._ask(query, server, timeout)
        return offers.as_values(answer)

    complete_sync = blocking(complete)
    """`complete`, blocking."""

    @overload
    def add(self, function: str | None = None, /, **options: Unpack[OfferOptions]) -> Callable[[F], F]: ...

    @overload
    def add(self, function: F, /, **options: Unpack[OfferOptions]) -> F: ...

    def add(self, function: Any = None, /, **options: Unpack[OfferOptions]) -> Any:
        """Offer a function as a prompt, to clients of a served hub and to `get`.

        `@hub.prompts.add`, `@hub.prompts.add("name")`, `@hub.prompts.add(name=…, …)` and `hub.prompts.add(function, …)` all
        work. The arguments of the prompt are the parameters of the function; clients send texts, which are converted to the
        types of the parameters. The function is sync or async. It returns a text, which is a message of the user, a content
        block of MCP (such as an image), a message (`{"role": "user" | "assistant", "content": …}`), or a list of these.
        `completions` suggests values for arguments.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> @hub.prompts.add(completions={"language": ["Python", "Rust"]})
        ... def review(code: str, language: str = "Python") -> str:
        ...     "Ask for a review."
        ...     return f"Review this {language} code: {code}"
        >>> hub.prompts.get_sync("review", {"code": "1 + 1"}).messages[0]["content"]["text"]
        'Review this Python code: 1 + 1'
        >>> hub.prompts.complete_sync("language", "r", prompt="review")
        ['Rust']
        """
        if isinstance(function, str):
            if options.get("name") is not None:
                raise TypeError("hub.prompts.add takes the name once, as its first argument or as name=")
            function, options["name"] = None, function
        if function is None:
            return partial(self.add, **options)
        if not callable(function):
            raise TypeError(f"a prompt is a function, got {type(function).__name__}")
        name = options.pop("name", None)
        key = name or getattr(function, "__name__", "")
        if name is None and key in ("", "<lambda>"):
            raise ValueError("A lambda has no name: pass name=.")
        self._offer("prompts", key, function, False, options)
        return function

    def remove(self, name: str) -> bool:
        """Remove a prompt of the hub; False if it has none of this name."""
        check_text("name", name)
        return _core.remove_offer(self._core, "prompts", name)
