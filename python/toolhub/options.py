"""The types of options, for annotations of your own: `def f(hub: ToolHub, **options: Unpack[CallOptions])`.

`CallOptions` are the keyword arguments of `hub.execute` and of everything that calls a tool by name or capability;
`DispatchOptions` those of `hub.dispatch` and `hub.run`, where the request decides about source and server; `ServerOptions`
those of `hub.add_server`, which are also the keys of `toolhub` in an `mcpServers` file.
"""

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Literal, Protocol, TypedDict

from .exceptions import Strategy
from .permissions import Approve, Permissions
from .principal import Principal

__all__ = [
    "DEFAULT",
    "CallOptions",
    "CapabilityOptions",
    "Completions",
    "Default",
    "DispatchOptions",
    "HeaderFunction",
    "Lang",
    "Limits",
    "Login",
    "Model",
    "OfferOptions",
    "Prefer",
    "Progress",
    "Reasoning",
    "RegisterOptions",
    "RequestOptions",
    "ResourceOptions",
    "ResultFormat",
    "ServerOptions",
    "Shadow",
    "Source",
    "StrategyName",
    "Transport",
    "Trust",
]


class Limits(TypedDict, total=False):
    """The keys of `ToolHub(limits=…)`. Times are in seconds."""

    hub: int
    """Calls of the hub that run at the same time; further ones queue. Likewise `tools`, `skills` and `mcps`, for a source."""
    tools: int
    skills: int
    mcps: int
    max_waiting: int
    """Calls that may queue at one limit (10,000)."""
    cancel_grace: float
    """How long cancelled candidates are awaited (1)."""
    breaker_threshold: int
    """Failures in a row after which a candidate is suspended (5; 0: never)."""
    breaker_rest: float
    """How long it is suspended at first (5)."""
    lookup_timeout: float
    """How long servers are asked for a tool that none of them has listed (10)."""
    approval_lifetime: float
    """How long an approval can be used (3,600)."""
    store_results_max_bytes: int
    """The size of all full results in a store (32 MB; 0: none)."""
    result_limits: Mapping[str, int]
    """Characters of a result that `format` shows, by kind of tool: calculation, time, search, history, other."""
    embed_weight: float
    """The weight of meaning in `recommend` and `search` with `embed` (0.3, from 0 to 1)."""


class Login(TypedDict, total=False):
    """The keys of `ToolHub(login=…)`."""

    token_file: str | os.PathLike[str] | None
    """A file that only the user can read (by default in the user's configuration folder); None keeps tokens in memory."""
    open_url: Callable[[str, str], Any]
    """Is called with the server's id and the address of a login, instead of opening the user's browser."""


class Default(Enum):
    """The type of `DEFAULT`."""

    DEFAULT = "default"


DEFAULT = Default.DEFAULT
"""The default of an option for which None has a meaning of its own."""

StrategyName = Strategy | Literal["auto", "first", "all", "fallback"]
"""How several candidates of one name are used."""

Source = Literal["tools", "skills", "mcps"]
"""Where a candidate comes from: Python, skills, MCP servers."""

Prefer = Literal["priority", "mcps"]
"""Which candidates come first: those with the highest priority, or those of MCP servers."""

Shadow = Literal["report", "deny"]
"""What happens to a server's tool that has the name of a native one."""

Trust = Literal["full", "hints", "none"]
"""How far a server's own hints about its tools count."""

Transport = Literal["http", "sse"]
"""How a server with a URL is reached."""

HeaderFunction = Callable[[Principal | None], Mapping[str, str] | Awaitable[Mapping[str, str] | None] | None]
"""Returns the headers of a request to a server for the caller of a served hub, or for the hub itself (None)."""

Lang = Literal["en", "zh"]
"""The language of the hub's own words."""

Reasoning = Literal["auto", "open", "closed"]
"""Where a model's text begins: inside of reasoning (`open`), outside of it (`closed`), or to be found out."""

ResultFormat = Literal["auto", "tags", "openai", "openai_responses", "anthropic", "gemini"]
"""How results are written for a model."""

Progress = Callable[[dict[str, Any]], Any]
"""Gets each progress report of a server: `{"progress": 3, "total": 10, "message": …}`."""


class _Generates(Protocol):
    def generate(self, prompt: str, /) -> Any: ...


class _GeneratesAsync(Protocol):
    async def generate_async(self, prompt: str, /) -> Any: ...


class _Invokes(Protocol):
    async def ainvoke(self, prompt: str, /) -> Any: ...


Model = Callable[[str], Any] | _Generates | _GeneratesAsync | _Invokes
"""A language model: a sync or async callable, or an object with `generate`, `generate_async` or `ainvoke`."""


class _CommonOptions(TypedDict, total=False):
    strategy: StrategyName
    hedge_after: float | None
    llm: Model | None
    cache_ttl: float | None
    single_flight: bool
    validate: bool
    coerce: bool
    progress: Progress | None
    meta: Mapping[str, Any] | None
    run: str | None
    llm_client: Model | None


class RequestOptions(_CommonOptions, total=False):
    """`DispatchOptions` without those that `hub.dispatch` names itself."""

    max_parallel: int | None


class DispatchOptions(RequestOptions, total=False):
    """The options of `hub.dispatch` and `hub.run`."""

    prefer: Prefer | None
    timeout: float | None
    deadline: float | None


class CapabilityOptions(_CommonOptions, total=False):
    """`CallOptions` without `max_parallel`, which `hub.execute_by_capability` names itself."""

    approve: "Approve | Permissions | None"
    source: Source | None
    server: str | None
    prefer: Prefer | None
    timeout: float | None
    deadline: float | None


class CallOptions(CapabilityOptions, total=False):
    """The options of `hub.execute`, `hub.execute_many` and their blocking twins."""

    max_parallel: int | None


SearchMode = Literal["auto", "on", "off"]
"""Whether a served hub lists its tools one by one, or offers `search_tools`, `describe_tool` and `call_tool`."""


class ViewOptions(TypedDict, total=False):
    """What the callers of one view of a served hub see and may do."""

    tools: Sequence[str] | None
    resources: Sequence[str] | None
    prompts: Sequence[str] | None
    effects: Literal["all", "not_acting", "harmless"]
    calls_per_minute: int | None
    core: Sequence[str]
    search_mode: SearchMode
    instructions: str | None
    token: str | None


class TokenOptions(TypedDict, total=False):
    """A bearer token that callers of a served hub may have. `upstream_token` is one for all servers, or one for each."""

    token: str
    view: str | None
    upstream_token: str | Mapping[str, str] | None


class JwtOptions(TypedDict, total=False):
    """Which signed tokens a served hub accepts. `jwks` is a file, an https URL, or the set of keys itself."""

    jwks: str | os.PathLike[str] | Mapping[str, Any]
    issuer: str
    audience: str | Sequence[str]
    algorithms: Sequence[str]
    scopes: str | Sequence[str]
    principal_claim: str
    view_claim: str | None


Authenticate = Callable[[str | None, dict[str, str]], Any]
"""Names the caller of a request from its bearer token and its headers (with names in lower case): returns a name, a mapping
with `name` and perhaps `view`, `claims` and `upstream_token`, or None to refuse. Sync or async."""


class ServeOptions(TypedDict, total=False):
    """The options of `hub.serve`, `hub.aserve` and `hub.asgi` that describe and limit the server. Times are in seconds."""

    sse_path: str | None
    name: str
    instructions: str | None
    allowed_hosts: Sequence[str]
    allowed_origins: Sequence[str]
    max_body: int | None
    max_result: int | None
    search_mode: SearchMode
    core: Sequence[str]
    token: str | Mapping[str, str | TokenOptions] | None
    jwt: JwtOptions | None
    authenticate: Authenticate | None
    authenticate_timeout: float | None
    resource_metadata: str | None
    metrics_token: str | None
    max_connections: int | None
    max_in_flight: int | None
    max_streams: int | None
    max_headers: int | None
    max_buffered: int | None
    header_timeout: float | None
    body_timeout: float | None
    write_timeout: float | None
    session_lifetime: float | None
    session_keys: str | Sequence[str]
    views: Mapping[str, ViewOptions] | None
    audit: str | os.PathLike[str] | None


class RegisterOptions(TypedDict, total=False):
    """The options of a tool that `hub.register` takes by keyword only. `timeout` is in seconds."""

    description: str | None
    effects: bool | None
    idempotent: bool | None
    read_only: bool | None
    examples: Iterable[Any] | None
    category: str | None
    version: str | None
    timeout: float | None
    strategy: StrategyName | None
    annotations: Mapping[str, Any] | None
    max_concurrency: int | None


Completions = Mapping[str, "Iterable[str] | Callable[..., Any]"]
"""For each argument, the known values, or a function that gets what the user has begun and returns a list of texts."""


class OfferOptions(TypedDict, total=False):
    """The options of `hub.prompts.add`."""

    name: str | None
    title: str | None
    description: str | None
    icons: Sequence[Mapping[str, Any]] | None
    meta: Mapping[str, Any] | None
    completions: Completions | None
    replace: bool


class ResourceOptions(OfferOptions, total=False):
    """The options of `hub.resources.add`."""

    mime_type: str | None
    annotations: Mapping[str, Any] | None


class ServerOptions(TypedDict, total=False):
    """The options of one MCP server. Times are in seconds."""

    timeout: float | None
    startup_timeout: float | None
    retries: int | None
    max_concurrency: int | None
    include: Sequence[str] | None
    exclude: Sequence[str] | None
    prefix: str | None
    candidates: Sequence[str] | None
    capabilities: Sequence[str] | None
    effects: bool | None
    assume_read_only: bool | None
    trust: Trust | None
    pin: bool | None
    max_message_bytes: int | None
    idle_timeout: float | None
    roots: Sequence[str] | None
    allow_sampling: bool | None
    inherit_env: Sequence[str] | None
