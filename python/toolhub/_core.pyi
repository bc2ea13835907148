from _typeshed import Incomplete
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, final

@final
class ArrivingRequest:
    """
    A request whose body arrives.
    """
    def answer(self, /) -> BridgeFuture:
        """
        Awaits the reply when the whole body has come. Cancelling the await cancels the call.
        """
    def expire(self, /) -> GatewayReply:
        """
        The reply to a request whose next part has not come in time.
        """
    def take(self, /, part: bytes) -> GatewayReply | None:
        """
        Takes a part of the body. The reply to a request that is refused, before or because of this part; None otherwise.
        """
    @property
    def time_left(self, /) -> float:
        """
        In seconds: the next part has to be here before.
        """

class Awaitable:
    """
    The base class of everything that is [`Awaited`]: the coroutine protocol, written once.
    """
    def __await__(self, /) -> Awaitable: ...
    def __iter__(self, /) -> Awaitable: ...
    def __next__(self, /) -> Any: ...
    def close(self, /) -> None: ...
    def send(self, /, _value: Any) -> Any: ...
    def throw(self, /, typ: Any, val: Any | None = None, tb: Any | None = None) -> Any: ...

@final
class Blocks:
    def __new__(cls, /, content: Any, structured: Any | None, meta: Any | None) -> Blocks:
        """
        For copies and pickles of results.
        """
    def __reduce__(self, /) -> tuple[type, tuple[Any, Any | None, Any | None]]: ...
    @property
    def content(self, /) -> Any: ...
    @property
    def structured(self, /) -> Any | None: ...

@final
class BridgeFuture(Awaitable):
    """
    A Rust future, or a function on a thread, that Python awaits once. Made by [`run`] and [`run_function`].
    """
    def wait(self, /) -> None:
        """
        Blocks this thread, without the GIL, in place of being awaited. What comes of it does not matter.
        """

@final
class BridgeStream:
    """
    A Rust stream that Python iterates. Made by [`stream`].
    """
    def __aiter__(self, /) -> BridgeStream: ...
    def __anext__(self, /) -> BridgeFuture: ...
    def close(self, /) -> None:
        """
        Drops the source. An item that is being awaited still arrives.
        """

@final
class CallDriver(Awaitable):
    """
    One call with everything around its run; await it.
    """

@final
class CallOptions:
    """
    The options of one call, made once and reused.
    """
    def __new__(cls, /, strategy: str | None = None, timeout: float | None = None, deadline: float | None = None, max_parallel: int | None = None, hedge_after: float | None = None, source: str | None = None, server: str | None = None, validate: bool = True, coerce: bool = True, prefer: str | None = None, cache_ttl: float | None = None, single_flight: bool = False, none_is_input: bool = False, run: str | None = None) -> CallOptions: ...

@final
class CallScope:
    """
    The call that the current code is a part of.
    """
    def ask(self, /, questions: Sequence[tuple[str, str, Any]]) -> BridgeFuture:
        """
        Awaits the caller's answers to these questions, in the same order. Each has a key, a method and parameters.
        """
    @property
    def can_ask(self, /) -> bool:
        """
        Whether the caller answers questions.
        """
    @property
    def is_cancelled(self, /) -> bool:
        """
        Whether the caller has cancelled the call, or waits no more.
        """
    def log(self, /, level: str, data: Any, logger: str) -> None:
        """
        Sends a log message to the caller, if it wants messages of this level.
        """
    @staticmethod
    def nowhere() -> CallScope:
        """
        The scope of code that is not part of a call: there is no caller to ask.
        """
    @property
    def principal(self, /) -> Any | None:
        """
        The caller that has shown credentials to a served hub, as the members of `toolhub.Principal`.
        """
    def report(self, /, progress: float, total: float | None = None, message: str | None = None) -> None:
        """
        Sends a progress report to the caller, if it wants any.
        """
    def supports(self, /, method: str, params: Any) -> bool:
        """
        Whether the caller can be asked this.
        """

@final
class CallbackQueue:
    """
    The requests and notices of one hub, for the threads that serve them.
    """
    def __new__(cls, /) -> CallbackQueue: ...
    def close(self, /) -> None:
        """
        Ends the workers and refuses the requests that wait.
        """
    def needs_worker(self, /) -> bool:
        """
        True when no worker is free for the next request; the caller then starts one, and it counts from now on.
        """
    def next(self, /) -> CallbackRequest | None:
        """
        Waits for the next request, without the GIL; None when this worker shall end.
        """
    def next_notices(self, /) -> tuple[list[tuple[str, Any]], list[tuple[str, int, str]], int] | None:
        """
        Waits for events and log lines, without the GIL: `(events, lines, dropped)`. None when there will be no more.
        """
    def set_log_level(self, /, level: int) -> None:
        """
        Log lines below this level of `logging` are dropped before they reach Python.
        """
    def worker_lost(self, /) -> None:
        """
        A worker that was counted could not be started.
        """

@final
class CallbackRequest:
    """
    One request for a function of the user.
    """
    def answer(self, /, value: Any) -> None: ...
    @property
    def function(self, /) -> str: ...
    @property
    def params(self, /) -> Any: ...
    def refuse(self, /, reason: str) -> None: ...
    @property
    def server(self, /) -> str: ...

@final
class Candidate(ToolView):
    """
    One provider of a tool name.
    """
    def __repr__(self, /) -> str: ...
    @property
    def idempotent(self, /) -> bool:
        """
        Whether calling it twice is as good as once, as declared.
        """
    @property
    def meta(self, /) -> dict[str, Any]:
        """
        The notes that came with the registration; at least its capabilities.
        """
    @property
    def name(self, /) -> str:
        """
        The name of the tool.
        """
    @property
    def priority(self, /) -> int:
        """
        The smaller one comes first: 0 for `tools`, 1 for `skills`, 2 for `mcps`, unless it was given.
        """
    @property
    def read_only(self, /) -> bool:
        """
        Whether it was declared to change nothing. See `safety`.
        """
    @property
    def server(self, /) -> str | None:
        """
        The id of its MCP server; None for everything else.
        """
    @property
    def source(self, /) -> str:
        """
        Where it comes from: `tools`, `skills` or `mcps`.
        """
    @property
    def stats(self, /) -> dict[str, Any]:
        """
        What its calls have shown so far; in a served call, those of its caller.
        """
    @property
    def timeout(self, /) -> float | None:
        """
        Seconds that one call may take, when it has a limit of its own.
        """
    @property
    def tool(self, /) -> Any | None:
        """
        What was registered: the function or object; None for a tool that lives elsewhere.
        """

@final
class CassetteQuestion:
    """
    A question to a model on a cassette.
    """
    def answer(self, /) -> "object":
        """
        The recorded answer; raises the recorded error.
        """
    def answered(self, /, answer: Any) -> None:
        """
        Records the answer.
        """
    @property
    def delay(self, /) -> float:
        """
        Seconds that the answer shall take.
        """
    @property
    def exception(self, /) -> Any | None:
        """
        The exception that the model raised when this was recorded: its class and its arguments, as `failed` was given them.
        """
    def failed(self, /, error: BaseException, message: str, exception: Any | None) -> None:
        """
        Records that the model failed, with the details of a `ToolError`, and the class and the arguments of another exception.
        """
    @property
    def is_replayed(self, /) -> bool:
        """
        Whether the answer was recorded: the model is not asked.
        """

@final
class ChatClient:
    """
    A client of one model at one endpoint. What is None comes from the environment or the defaults.
    """
    def __new__(cls, /, model: str, options: dict) -> ChatClient: ...
    def chat(self, /, messages: Any) -> BridgeFuture:
        """
        Awaits the whole answer: `text`, `finish_reason`, `usage`, `model`, `raw`.
        """
    def stream(self, /, messages: Any) -> BridgeStream:
        """
        Iterates over the pieces of text of the answer. The request is sent when the first one is awaited.
        """

@final
class Execution(Awaitable):
    """
    The object that a caller awaits: what it was called with, and its state behind one lock.
    """

@final
class Gateway:
    """
    The hub as one MCP server.
    """
    def __new__(cls, /, hub: Hub, servers: Servers, options: Any, authenticate: Any | None = None) -> Gateway: ...
    def admit(self, /, method: str, target: str, headers: Sequence[tuple[Sequence[int], Sequence[int]]]) -> BridgeFuture:
        """
        Awaits who makes an HTTP request, and whether it may: its body is read after that.
        """
    def bind(self, /, host: str, port: int) -> BridgeFuture:
        """
        Opens the socket; awaits the address that it got, as (host, port).
        """
    def bind_blocking(self, /, host: str, port: int) -> tuple[str, int]:
        """
        `bind`, blocking.
        """
    def drain(self, /) -> None:
        """
        Refuses new requests; what runs may end, then serving ends.
        """
    def enter(self, /) -> None:
        """
        Python tools run on the running event loop from now on.
        """
    def exposure(self, /, host: str, port: int) -> str | None:
        """
        A warning when everyone who reaches this address may call the tools; None on this machine, and with credentials.
        """
    def few_descriptors(self, /) -> str | None:
        """
        A line for the log when the process has too few descriptors for `max_connections`.
        """
    @property
    def inspect_key(self, /) -> str | None:
        """
        The key of the operator for the inspector; None where it is not served.
        """
    def leave(self, /) -> None:
        """
        Python tools run on that loop no more.
        """
    def list_new_servers(self, /) -> None:
        """
        Lists the tools of servers that have not listed them yet, in the background.
        """
    def reload(self, /, options: Any) -> BridgeFuture:
        """
        Applies the credentials, views and limits of these options to requests from now on. The other options stay.
        """
    def reopen_audit(self, /) -> None:
        """
        Opens the audit log again by its name, after it was moved away.
        """
    def rotate_session_key(self, /, key: str, grace: float | None) -> None:
        """
        Signs session ids with this key from now on. Those of older keys are accepted for `grace` seconds more.
        """
    def serve(self, /, grace: float) -> BridgeFuture:
        """
        Serves the socket that `bind` has opened, or else the client that started this process, until its end or `drain`. What
        runs then gets `grace` seconds to end.
        """
    def serve_blocking(self, /, grace: float, open_loop: Any) -> None:
        """
        `serve`, blocking. When Python has something to run for the first time, `open_loop` is called on this thread and gives
        the bridge of the event loop for it.
        """
    def stop(self, /) -> None:
        """
        Ends serving at once; what runs is answered if its client still waits.
        """
    @property
    def write_timeout(self, /) -> float:
        """
        In seconds.
        """

@final
class GatewayReply:
    """
    The reply to one HTTP request.
    """
    def body(self, /) -> "bytes | BridgeStream":
        """
        The body, once: all of it, or the parts of a stream.
        """
    @property
    def headers(self, /) -> list[tuple[bytes, bytes]]:
        """
        As ASGI wants them.
        """
    @property
    def status(self, /) -> int: ...

@final
class Hit:
    """
    A tool that matches a query: its `name`, its `score` (higher is better; scores of different queries do not compare) and the `tool`.
    """
    def __repr__(self, /) -> str: ...
    @property
    def name(self, /) -> str:
        """
        The name of the tool.
        """
    @property
    def score(self, /) -> float:
        """
        How well it fits: higher is better; scores of different queries do not compare.
        """
    @property
    def tool(self, /) -> ToolInfo:
        """
        The tool.
        """

@final
class Hub:
    def __contains__(self, name: Any, /) -> bool: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, options: dict) -> Hub:
        """
        An option that is missing or None has the core's default.
        """
    def add_capability_words(self, /, tag: str, words: Sequence[str]) -> None: ...
    def capabilities(self, /) -> dict[str, int]: ...
    def capability_rules(self, /) -> list[tuple[str, list[str]]]: ...
    def changed_after(self, /, version: int) -> BridgeFuture:
        """
        Awaits the version after the next change of the tools, or the present one if it is later than `version`.
        """
    def close(self, /) -> None:
        """
        Forgets all tools and cached results; every later call is refused.
        """
    def extract_capabilities(self, /, name: str, description: str) -> list[str]: ...
    def find_by_capability(self, /, capability: Any) -> list[Candidate]: ...
    def get(self, /, name: Any) -> ToolInfo | None: ...
    def register(self, /, described: Any, source: str, server: str | None, priority: int | None, options: dict, replace: bool = False, instead_of: Any | None = None) -> tuple[Candidate, Candidate | None]:
        """
        Registers what `toolhub._signature.build.describe` has described; returns the candidate and the one it replaces.

        `replace` removes every candidate of the same name, source and server, `instead_of` the one made from that object.
        """
    def remove_capability(self, /, tag: str) -> bool: ...
    def require_server(self, /, id: str) -> None:
        """
        Raises unless a server of this id is configured, or a registered tool has it.
        """
    def stand_ins(self, /, tool: str) -> list[str]:
        """
        The harmless tools that do the same as one that failed, best first.
        """
    def stats(self, /, name: Any | None = None, caller: str | None = None) -> "dict[str, list[dict[str, Any]]]":
        """
        `caller` is the id of a principal, or `*`; None: the caller of the served call that this code is a part of, or everyone.
        """
    def tools(self, /, source: str | None = None, server: str | None = None, capability: str | None = None, category: str | None = None) -> "list[ToolInfo]": ...
    def tools_for(self, /, said: str) -> list[str]:
        """
        The harmless tools of the kind that words ask for, best first.
        """
    def unknown_server(self, /, id: str) -> str:
        """
        The sentence that no server of this id is configured, with the ids that are.
        """
    def unregister(self, /, name: Any, source: str | None = None, server: str | None = None, object: Any | None = None) -> int:
        """
        Removes candidates of a name; with `object` only those that were made from it.
        """
    @property
    def version(self, /) -> int: ...

@final
class InProcessHost:
    """
    The host of one server. It keeps neither the server nor its hub alive.
    """
    def accept(self, /) -> BridgeFuture:
        """
        Awaits the next session; None when the server was removed, replaced or closed.
        """
    def hand_over(self, /) -> None:
        """
        The host goes on elsewhere: who awaits a session now gets None.
        """
    def set_tools(self, /, tools: str, era: str) -> bool:
        """
        Takes the tools of the server as `tools/list` has them, as JSON text, and the era that its package speaks. False when
        the server is gone.
        """

@final
class InProcessSession:
    """
    The server's side of one session.
    """
    def end(self, /, reason: str | None = None) -> None:
        """
        Ends the session; requests in flight fail with the reason.
        """
    def receive(self, /) -> BridgeFuture:
        """
        Awaits the next message of the client as JSON text; None after the client has closed the session.
        """
    def send(self, /, message: str) -> BridgeFuture:
        """
        Sends a message, as JSON text; awaits False when the session is over.
        """

@final
class LoopBridge:
    """
    The event loop owns its bridge (as the callback of the eventfd reader). When a closed loop is collected, the bridge goes
    with it and releases everything that waits on it, including permits granted after the loop stopped.
    """
    def __call__(self, /) -> None:
        """
        The loop calls this when the bell rings.
        """
    def _sweep(self, /) -> None:
        """
        The loop's timer: expires everything that is due. What becomes due meanwhile waits for the next turn of the loop:
        the tasks that were just cancelled run first, however long this took.
        """
    @property
    def pending_deadlines(self, /) -> int: ...
    @property
    def pending_mail(self, /) -> int: ...

@final
class MessageOrder:
    """
    The order of the calls of one message: who waits for whom, and what is not made.
    """
    def __new__(cls, /, calls: int) -> MessageOrder: ...
    def answered(self, /, place: int, tool: str, result: Any) -> None:
        """
        The call at this place, counted from 0, was answered without being made.
        """

@final
class OfferQuery:
    """
    A question about an offer of the hub or of a server.
    """
    @staticmethod
    def complete(kind: str, key: str, argument: str, value: str, context: Any) -> OfferQuery:
        """
        `completion/complete`
        """
    @staticmethod
    def get(name: str, given: Any) -> OfferQuery:
        """
        `prompts/get`
        """
    @staticmethod
    def read(uri: str) -> OfferQuery:
        """
        `resources/read`
        """

@final
class ParsedCall:
    """
    A tool call found in a text. If it cannot be read, `error` says why and `raw` is its text.
    """
    def __repr__(self, /) -> str: ...
    @property
    def arguments(self, /) -> dict[str, Any]:
        """
        A dict, the same one each time.
        """
    @property
    def certainty(self, /) -> str | None:
        """
        How certain it is that the call was meant, by its form and its place: `"sure"`, `"likely"` or `"doubtful"`; None while the
        text of a stream has not ended.
        """
    @property
    def error(self, /) -> str | None:
        """
        Why it cannot be read. Do not execute such a call.
        """
    @property
    def id(self, /) -> str:
        """
        The model's id, or one made here (`call_1`, …) when it gave none, or gave the same one twice in a text.
        """
    @property
    def id_from_model(self, /) -> bool:
        """
        Whether the id is the model's own. Some APIs reject a result for an id they did not issue.
        """
    @property
    def is_custom(self, /) -> bool:
        """
        Whether it calls a custom tool of OpenAI, whose input is a text.
        """
    @property
    def name(self, /) -> str:
        """
        The tool; empty only when there is an error and no name could be read.
        """
    @property
    def raw(self, /) -> str | None:
        """
        The text of a call that cannot be read.
        """
    @property
    def repairs(self, /) -> list[str]:
        """
        The repairs that were needed to read it.
        """
    @property
    def sentence(self, /) -> str | None:
        """
        The sentence around a call that is not sure.
        """
    @property
    def source(self, /) -> str | None:
        """
        The source of the tool that the model asked for.
        """
    @property
    def span(self, /) -> tuple[int, int]:
        """
        Its place in the text, tags included: `text[start:end]`.
        """
    def to_dict(self, /) -> Any:
        """
        The call as plain data.
        """

@final
class PatternList:
    """
    Patterns that allow and, with `!`, forbid tools.
    """
    def __new__(cls, /, patterns: "list[str]") -> PatternList: ...
    def allows(self, /, name: str, server: str | None) -> bool:
        """
        Whether a tool is allowed on this server; None is a tool that belongs to no server.
        """
    def may_allow(self, /, name: str) -> bool:
        """
        Whether a tool of this name may be allowed on some server.
        """
    @property
    def names_servers(self, /) -> bool:
        """
        Whether a pattern names a server, so that the provider of a tool decides.
        """

@final
class ServedCall:
    """
    What the task of a call has to do with it: the task is a coroutine in `toolhub._served_call`.
    """
    def begin(self, /) -> Any | None:
        """
        What the callable gives, or the call of a plain function on a thread. None if the call is over.
        """
    def raised(self, /, error: BaseException) -> bool:
        """
        True if the error is not the tool's, but ends the task.
        """
    def returned(self, /, value: Any) -> None: ...

@final
class Servers:
    def __new__(cls, /, hub: Hub, queue: CallbackQueue, asks: Sequence[str], tokens: str | PathLike[str] | None) -> Servers:
        """
        The servers of `hub`. `asks` names the callbacks that the user has given.
        """
    def accept_pin(self, /, server: str, tool: str | None = None) -> int:
        """
        Accepts the changed definitions of a server, or of one tool of it; says how many there were.
        """
    def aclose(self, /, seconds: float) -> BridgeFuture:
        """
        Awaits the end of all servers, within `seconds`.
        """
    def add(self, /, id: str, entry: Any, asks_for: str | None = None) -> list[str]:
        """
        Adds one server; gives back what is odd about it. `asks_for`: a function gives its `token`, or its `headers`.
        """
    def ask(self, /, query: OfferQuery, server: str | None, timeout: float | None) -> BridgeFuture:
        """
        Awaits `(server, answer)`; without a server, of the only one that offers it.
        """
    def catch_up(self, /, ids: Sequence[str]) -> BridgeFuture:
        """
        Waits until announced changes of these servers are in their lists, for at most the hub's `lookup_timeout`; without a
        change it does not wait.
        """
    def close(self, /, seconds: float) -> None:
        """
        Ends all servers and waits for it without the GIL, for at most `seconds`.
        """
    def connect(self, /, ids: Sequence[str] | None, timeout: float | None, refresh: bool = False, at_once: int | None = None) -> BridgeStream:
        """
        Iterates over `(id, error or None)`: in the given order, or each as soon as it is known if `at_once` says how many may be
        on their way. With `refresh` they list their tools again.
        """
    def load_file(self, /, path: str | PathLike[str]) -> Any:
        """
        Loads a file: adds what is new, replaces what has changed, removes what is gone, and reports what is wrong.
        """
    def load_value(self, /, value: Any) -> Any: ...
    def offers(self, /, kind: str, ids: Sequence[str] | None, timeout: float | None) -> BridgeFuture:
        """
        Awaits `(entries, failed)`: what servers offer of one kind, and why some could not list it.
        """
    def pins(self, /) -> Any:
        """
        The tools of pinned servers: what was accepted, and what has changed.
        """
    def reload_files(self, /, only_changed: bool, first: Any | None = None) -> list[tuple[Path, Any]]:
        """
        Loads the files again, or those that have changed; a report for each. An error in one of them changes nothing. `first` is
        called when they have none, before any server changes, and nothing does if it raises.
        """
    def remove(self, /, id: str) -> bool:
        """
        False when there is no such server. It ends in the background.
        """
    def rows(self, /) -> list[Any]: ...
    def take_never_listed(self, /) -> list[str]:
        """
        The servers that have never listed their tools; each is returned once.
        """

@final
class SkillFolder:
    """
    A folder of skills, and which of them are in the hub.
    """
    def __new__(cls, /, root: str | PathLike[str]) -> SkillFolder: ...
    def load(self, /, hub: Hub) -> Any:
        """
        Applies what has changed in the folder since it was read last.
        """

@final
class StreamParser:
    """
    Parses a text that arrives in deltas of any size, and returns the events each delta makes certain.

    `reasoning` says where the text begins: `"closed"`, outside of reasoning, so each call counts as soon as it is complete;
    `"open"`, inside, because the prompt template has the opening tag; `"auto"` finds out. Both hold calls back until the text
    ends: before that a closing tag may show that they were only thought of.
    """
    def __new__(cls, /, format: str = "auto", tools: Any | None = None, reasoning: str = "auto") -> StreamParser: ...
    @property
    def calls(self, /) -> list[ParsedCall]:
        """
        The calls so far, including those that cannot be read. The last one may still grow by its end tag, and their `certainty` is
        known after `finish`.
        """
    def feed(self, /, delta: "str | bytes") -> "list[dict[str, Any]]":
        """
        Take the next delta, text or bytes (a character may be split), and return the events that are certain now.
        """
    def finish(self, /) -> "list[dict[str, Any]]":
        """
        End the text and return the events that were held back.
        """
    @property
    def format(self, /) -> str | None:
        """
        The dialect that the text commits to so far: see `ParseResult.format`.
        """

@final
class TelemetryQueue:
    """
    The spans and sessions of a hub that are over. Making one turns telemetry on, closing it turns it off.
    """
    def __len__(self, /) -> int:
        """
        How many records wait.
        """
    def __new__(cls, /, hub: Hub) -> TelemetryQueue: ...
    def add_call(self, /, span: Any) -> bool:
        """
        The span of a call that is over; False if the queue is closed, or has so much that the call has to export it itself.
        """
    def close(self, /) -> None:
        """
        Turns telemetry off. What waits can still be taken.
        """
    def take(self, /, most: int) -> tuple[list[tuple], list[tuple], list[Any], int]:
        """
        The oldest spans, sessions and spans of calls, `most` in all, and how many were dropped since the last time.
        """
    def wait(self, /) -> bool:
        """
        Waits for records, without the GIL; False when there will be no more.
        """

@final
class ThreadedFunction:
    """
    A sync function that runs on a thread of a pool.
    """
    @property
    def is_abandoned(self, /) -> bool:
        """
        Whether its caller has given up.
        """

@final
class Tokenizer:
    """
    Counts tokens with an encoding that the user has.
    """
    def __new__(cls, /, name: str, content: bytes) -> Tokenizer:
        """
        From the content of a tiktoken file or a `tokenizer.json`; the name tells which tiktoken encoding it is.
        """
    def count(self, /, text: str) -> int:
        """
        How many tokens a text has.
        """

@final
class ToolChoice:
    """
    Tools to show: those that come first, and others.
    """
    def __len__(self, /) -> int:
        """
        The number of tools after the first ones.
        """
    def __new__(cls, /, hub: Hub, first: Sequence[str], tools: Sequence[Any] | None = None) -> ToolChoice:
        """
        `first`, then all others by name; with `tools` only those in it.
        """
    def best(self, /, hits: list, most: int, all_of_them: bool, fill: bool = False) -> ToolChoice | None:
        """
        The first ones, and after them the best `most` of the hits that were to choose from; None if there are fewer and these
        were not `all_of_them`. With `fill`, other tools follow until there are `most`.
        """

@final
class ToolInfo(ToolView):
    """
    One tool name and its candidates. What it shows of itself is what its first candidate says.
    """
    def __repr__(self, /) -> str: ...
    @property
    def candidates(self, /) -> list[Candidate]:
        """
        Its providers, in the order in which they come into question.
        """
    @property
    def name(self, /) -> str:
        """
        The name that it is called by.
        """
    @property
    def needs_approval(self, /) -> bool:
        """
        Whether `approve` is asked before a call: for all tools but the harmless ones.
        """
    @property
    def sources(self, /) -> list[str]:
        """
        Where it comes from: the sources of its candidates, in their order.
        """

class ToolView:
    """
    What a tool and each of its candidates say of themselves.
    """
    def _repr_mimebundle_(self, /, include: Any | None = None, exclude: Any | None = None) -> dict[str, Any]:
        """
        What a notebook shows.
        """
    @property
    def annotations(self, /) -> dict[str, Any]:
        """
        The hints that came with it, as MCP names them (`readOnlyHint`, `title`, …).
        """
    @property
    def capabilities(self, /) -> list[str]:
        """
        The tags, declared or seen from name and description; those of all candidates.
        """
    @property
    def category(self, /) -> str | None:
        """
        The group that it was put into, if any.
        """
    @property
    def description(self, /) -> str:
        """
        What it says of itself.
        """
    @property
    def effects(self, /) -> bool:
        """
        Whether it, or any of its candidates, was declared to change something, or its name says so. See `safety`.
        """
    @property
    def evidence(self, /) -> str:
        """
        What `safety` rests on, in words.
        """
    @property
    def examples(self, /) -> list[Any]:
        """
        Arguments that were given as examples.
        """
    @property
    def location(self, /) -> str | None:
        """
        Where the `SKILL.md` of a skill is, a path or a URI; None for everything else.
        """
    @property
    def output_schema(self, /) -> dict[str, Any] | None:
        """
        The JSON Schema of its structured results, if its server gives one.
        """
    @property
    def parameters(self, /) -> dict[str, Any]:
        """
        The JSON Schema of the arguments.
        """
    @property
    def safety(self, /) -> str:
        """
        `harmless` on evidence, `may_act` when it was declared or the name says so, otherwise `unknown`; that of the least safe
        candidate.
        """
    @property
    def unchecked(self, /) -> list[str]:
        """
        Rules of the schema that are not checked before a call, and why: broken ones, and references without an end.
        """
    @property
    def version(self, /) -> str | None:
        """
        Its version, if it has one.
        """

@final
class Worker:
    """
    One thread of a pool. Its loop takes calls and reports how each ended.
    """
    def ended(self, /) -> None:
        """
        The thread ends, whatever the reason: a call that it still runs is lost, and another thread may take its place.
        """
    def next(self, /) -> tuple[tuple, Any] | None:
        """
        The next call: `context.run` and its arguments, and keywords. None when the thread should end.
        """
    def raised(self, /, error: BaseException) -> None: ...
    def returned(self, /, value: Any) -> None: ...

def accept_store(path: str | PathLike[str]) -> bool:
    """
    Accepts a store that is not the one that was here before; false if it is.
    """

def acting_verb(name: str) -> str | None:
    """
    The acting verb in the name of a tool of which nothing else is known: empty if it may act all the same, `None` if the name
    says that it is harmless.
    """

def add_alias(hub: Hub, label: str, target: str | None) -> None:
    """
    Adds a word that routed calls may give as their source.
    """

def add_in_process(servers: Servers, id: str, entry: Any) -> tuple[InProcessHost, list[str]]:
    """
    Adds a server that runs in this process; returns its host and what is odd about its options.
    """

def add_offer(hub: Hub, kind: str, key: str, described: Any, object: Any, entry: Any, completions: Sequence[tuple[str, Any, Any]], replace: bool) -> None:
    """
    Adds a resource, a template or a prompt. `described` is the function, `entry` what lists show, and `completions` has for
    each argument a list of texts, or a described function and the function itself.
    """

def after_fork_in_child() -> None:
    """
    The child of a fork has none of the parent's threads. Dropping the runtime would join them: forget it instead.
    """

def after_fork_in_parent() -> None: ...

def ask_own(hub: Hub, query: OfferQuery, timeout: float | None, is_named: bool) -> BridgeFuture | None:
    """
    Awaits `(server, answer)` of the hub itself; None if it has no such offer, unless it `is_named`. The function runs on the
    running loop, or in the thread pool.
    """

def before_fork() -> None:
    """
    Before a fork: closes all store files, and opens none until the fork is over.
    """

def binary_note(bytes: int) -> str:
    """
    `[1.2 KB of binary data]`
    """

def cassette_events(path: str | PathLike[str]) -> "list[tuple[int, dict[str, object]]]":
    """
    The events of a cassette, each with the number of its line; `ValueError` if it is wrong.
    """

def close_ledger(hub: Hub, seconds: float) -> bool:
    """
    Writes what is queued, and closes the ledger. False if that took too long.
    """

def close_store(hub: Hub, seconds: float) -> bool:
    """
    Writes everything and closes the file.
    """

def config_entries(path: "str") -> "dict[str, Any]":
    """
    The servers of a client's configuration file by id, as they are written there; `ValueError` if it cannot be read.
    """

def config_problem(path: str | PathLike[str], id: str, entry: Any) -> str | None:
    """
    Why the entry of a server in a file cannot be used; `None` if it can.
    """

def current_bridge() -> LoopBridge:
    """
    The bridge of the running event loop.
    """

def current_call_scope() -> CallScope | None:
    """
    The call that this code is a part of; None outside of one that came through the gateway or wants progress.
    """

def current_function() -> ThreadedFunction | None:
    """
    The function that this thread runs; None on threads of others.
    """

def decide_approval(hub: Hub, id: str, approves: bool, reason: str | None = None) -> None:
    """
    Answers a question; raises if that cannot be.
    """

def deeds_in(text: str) -> list[tuple[int, int, str, list[str]]]:
    """
    The verbs of a text that say that something was changed: where each stands, the verb, and what it means in both languages.
    """

def dispatch(hub: Hub, request: Any, options: CallOptions, around: tuple[Any | None, Any | None, Any | None, Any | None, dict | None, Any | None] | None = None, turn: tuple[MessageOrder, int] | None = None) -> Any:
    """
    Calls the tool that a model asked for; await what comes back.
    """

def embed(hub: Hub, name: str, state: int, vector: Sequence[float] | None) -> None:
    """
    Takes the vector of a tool; None when the embedding has no opinion of it.
    """

def empty_meta(tool: str | None = None) -> "dict[str, object]":
    """
    The `_meta` of a result about which nothing is known but, perhaps, its tool.
    """

def end_calls(hub: Hub, blocking: bool) -> BridgeFuture | None:
    """
    Ends the calls of a hub that are in flight, except those inside which it is closed. Returns their end, to be awaited for a
    bounded time; with `blocking` calls on the loop of this thread are left out, because they cannot end while it is blocked.
    """

def enter_call_scope(progress: Any) -> Any:
    """
    From here on, reports of Python tools in this context go to `progress`, on the running loop. Returns what
    `leave_call_scope` takes.
    """

def error_kinds() -> list[tuple[str, bool, str]]:
    """
    The kinds of errors in order: name, whether a retry can help, and the outcome that it implies by default.
    """

def event_error(text: str, arguments: Any | None = None, kind: str | None = None, debug: bool = False) -> str:
    """
    The text of an error for a log or an event. The values of the arguments are hidden, with `debug` only those whose names
    say that they are secret. What servers were given in secret is always hidden.
    """

def event_name(name: str) -> str:
    """
    A name or an id for a log or an event: short, one line, without commands to a terminal.
    """

def execute(hub: Hub, name: Any, args: Any, options: CallOptions, around: tuple[Any | None, Any | None, Any | None, Any | None, dict | None, Any | None] | None = None, by_capability: bool = False) -> Any:
    """
    Calls a tool by name, or the tools with a capability; await what comes back.
    """

def explain(hub: Hub, name: str, args: Any | None, options: CallOptions, routed: bool, source: str | None = None, approvers: Sequence[str] | None = None) -> tuple[str, list[Candidate], str, str, list[str]]:
    """
    Explains a call: a routed one, or one by name. Nothing is called or connected. Arguments that are not given are not
    checked.
    """

def extract_capabilities(name: str, description: str = "", *, finer: bool = False) -> list[str]:
    """
    The tags that the built-in rules find for a tool; with `finer` also those that only registered tools get by default
    (`pdf`, `analyze`, `test`, `webapp`, `history`).
    """

def failed_result(tool: str, kind: str, message: str) -> Any:
    """
    The result of a call that ended before any candidate was tried; the kind decides `retryable` and `outcome`.
    """

def finish_cassette(path: str | PathLike[str]) -> int | None:
    """
    Ends a cassette whose program was killed; how many events it has, or `None` if it has ended by itself.
    """

def first_difference(recorded: Any, given: Any) -> str | None:
    """
    Where two JSON values differ first; `None` if they are equal.
    """

def flush_store(hub: Hub, seconds: float) -> bool:
    """
    Writes everything now. False if that failed or took longer than `seconds`, or if there is no file.
    """

def format_result(hub: Hub, result: dict, limit: int | None = None) -> tuple[str, tuple[str, int, int] | None]:
    """
    A result as text, cut to `limit` or to that of its kind of tool; and what was cut.
    """

def gil_pauses() -> int:
    """
    The number of times that the GIL was released for a long text or between two slices, in this process.
    """

def has_ledger(hub: Hub) -> bool:
    """
    Whether anything was asked of the ledger so far.
    """

def idle_look(seconds: float | None = None) -> float:
    """
    The seconds between two looks at whether threads are idle; tests shorten them.
    """

def in_digits(text: str) -> str:
    """
    A text with its numbers in digits.
    """

def in_language(template: str, lang: str) -> str:
    """
    The template of a sentence in a language, where its places are numbered; a text that is not in the table stays.
    """

def in_thread(function: Any) -> BridgeFuture:
    """
    Runs a function without arguments on a thread of ours; await what comes back.
    """

def is_secret_name(name: str) -> bool:
    """
    Whether a name says that what it stands for must not be shown.
    """

def leave_call_scope(token: Any) -> None:
    """
    Ends what `enter_call_scope` began, in the same context. Reports that wait are delivered before it returns.
    """

def ledger_rows(hub: Hub, run: "str | None", principal: "str | None", state: "str | None", tool: "str | None", limit: "int") -> "list[dict[str, object]]":
    """
    The rows of calls that may have had effects, oldest first.
    """

def meanings(text: str) -> list[str]:
    """
    What the words of a name mean in both languages; two that mean the same have one in common.
    """

def merge_texts(given: Sequence[tuple[str, str]], limit: int) -> tuple[str, bool]:
    """
    Merges (label, text) pairs; the second value tells whether what is shown was cut.
    """

def message_text(message: Any) -> str | None:
    """
    The text of a message of a chat API, or of its blocks, without the thoughts of the model; `None` for other data.
    """

def min_result_limit() -> int:
    """
    The least number of characters that a run gives a model of a result.
    """

def named_caller(answer: Any) -> "dict[str, Any]":
    """
    What the user's function has returned, which is not None, as a mapping. Errors show no value: it may be a token.
    """

def names_more(said: str, known: str) -> bool:
    """
    Whether a text names something that another one does not.
    """

def open_hubs() -> int:
    """
    How many hubs are open in this process.
    """

def open_store(hub: Hub, path: str | PathLike[str], room: int) -> list[str]:
    """
    Opens the store of a hub and gives its content to it; `room` bytes of it are for results. Returns warnings for the user. If the
    file cannot be used, everything stays in memory.
    """

def original_name(hub: Hub, vendor_name: str) -> str | None:
    """
    The tool that has this name in an API alone; None if there is none.
    """

def own_offers(hub: Hub, kind: str) -> "list[tuple[str, dict[str, Any]]]":
    """
    What the hub itself offers of a kind, as `(server, entry)`.
    """

def parse_formats() -> list[str]:
    """
    The names of all formats, without `auto`.
    """

def parse_text(text: Any, format: str = "auto", tools: Any | None = None, reasoning: str = "auto") -> tuple[list[ParsedCall], str, str | None]:
    """
    The calls in a text or in a message of a chat API, the text around them, and the dialect that it commits to.
    """

def pending_approvals(hub: Hub, principal: "str | None") -> "list[dict[str, object]]":
    """
    The questions that wait for an answer, oldest first.
    """

def plan_run(hub: Hub, message: Any, format: str, reasoning: str = "auto") -> tuple[list[ParsedCall], str, str | None]:
    """
    Parses a model's message with the schemas of the tools that it names.
    """

def pool_state() -> tuple[int, int, int]:
    """
    (workers, idle, abandoned) of the pool for tools, for tests and diagnosis.
    """

def prompt_text(hub: Hub, base: str, core: Sequence[str], choice: ToolChoice | None, limit: int | None, style: str, lang: str, budget: int | None = None, tokenizer: Tokenizer | None = None) -> str:
    """
    The prompt with up to `limit` of the chosen tools after the first ones; without a choice `core` first, then all others.
    """

def question_on_cassette(model: str, request: Any) -> "CassetteQuestion | None":
    """
    A question to a model that is recorded or replayed; `None` if there is no cassette.
    """

def read_documents(text: str, reasoning: str = "auto") -> list[tuple[Any, list[str], str | None]]:
    """
    Reads all JSON objects and lists in a model's text, without what it only thought.
    """

def read_json(text: str) -> tuple[Any, list[str], str | None]:
    """
    Reads the JSON value at the start of a model's text: the value, the repairs, and why the rest of a list was left out.
    """

def read_more(hub: Hub, handle: Any, offset: int, limit: int) -> str:
    """
    One page of a result that was cut.
    """

def read_request(hub: Hub, request: Any) -> tuple[str, Any, str | None, str | None]:
    """
    A request as `(name, arguments, source, error)`, with the name and the arguments of the tool.
    """

def read_yaml(text: str) -> Any:
    """
    Reads a YAML mapping as plain data.
    """

def recorded_page(run: str | PathLike[str], other: str | PathLike[str] | None = None, lang: str = "en") -> str:
    """
    The page of a recorded run, or of two that are compared; `ValueError` if a file is wrong.
    """

def release_run(hub: Hub, run: str) -> None:
    """
    Lets other processes have a run.
    """

def remove_offer(hub: Hub, kind: str, key: str) -> bool:
    """
    Removes a resource, a template or a prompt; false if the hub has none of this key.
    """

def resource_updated(hub: Hub, uri: str) -> None:
    """
    Announces that the content of a resource has changed.
    """

def result_text(result: dict) -> str:
    """
    The value of a successful result as text: the same object if it is one.
    """

def resume_run(hub: Hub, run: str) -> None:
    """
    Takes a run that was begun, whose calls are counted from the beginning; raises if that cannot be.
    """

def run_blocking(bridge: LoopBridge, coroutine: Any, scope: CallScope | None = None, function: ThreadedFunction | None = None) -> Any:
    """
    Runs a coroutine on the loop behind `bridge` and blocks this thread until it ends. If it waits for the caller of a tool, it
    is cancelled when the call of `scope` has ended, or when the caller of `function` has given up.
    """

def scrub(value: Any) -> "object":
    """
    A JSON value with placeholders for secrets, as it is recorded.
    """

def search(hub: Hub, query: str, k: int, vector: Sequence[float] | None = None, learnt: bool = False) -> "list[Hit]":
    """
    The tools that fit the words of a query, and its vector where there is an embedding; `learnt`: weighed with what has worked.
    """

def serve_section(path: str | PathLike[str]) -> Any | None:
    """
    The options of `toolhub serve` in a configuration file, as a mapping; None if there are none.
    """

def server_options() -> list[str]:
    """
    The keys of `toolhub` in the entry of a server.
    """

def settle_row(hub: Hub, id: "str", decision: "str", value: "object") -> None:
    """
    Decides about a row: `done`, `failed` or `again`; raises if there is none that can be decided about.
    """

def shown_in_short(shown: str) -> str:
    """
    The text of a question with its long values cut in the middle, each with its length.
    """

def shutdown_runtime(seconds: float) -> None:
    """
    Closes the door to other threads and ends the worker threads, while the interpreter is still whole.
    """

def sides_of(verb: str, rest: str) -> list[tuple[int, bool]]:
    """
    On which sides of pairs of opposites a verb stands, with its "on" or "off" in the rest of a clause or of a name.
    """

def similarity(one: str, other: str) -> float:
    """
    The Jaccard similarity of two texts by their words, Chinese by its characters: from 0 to 1.
    """

def skill_file(folder: str | PathLike[str], path: str) -> Path:
    """
    The real path of a skill's file; raises `PermissionError` if that is outside the skill's folder.
    """

def start_recording(path: str | PathLike[str], hub: Hub | None = None) -> None:
    """
    Begins to record the calls of one hub, or of all hubs of this process.
    """

def start_replay(path: str | PathLike[str], mode: str, hub: Hub | None = None) -> None:
    """
    Begins to answer the calls of one hub, or of all hubs of this process, from a cassette.
    """

def stop_cassette() -> tuple[int, list[str], list[str], list[str]]:
    """
    Ends what was begun.
    """

def stop_workers() -> None:
    """
    Ends all workers after what they are doing. Calls that come later find new pools.
    """

def store_notices(hub: Hub) -> list[str]:
    """
    The problems of the store since the last call.
    """

def telemetry_attributes() -> list[tuple[str, bool]]:
    """
    The names of all attributes, and whether metrics have them too.
    """

def tool_kind(name: str, capabilities: Sequence[str]) -> str:
    """
    The kind of a tool with this name and these capabilities: calculation, time, search, extraction, history or other.
    """

def truncate_text(text: str, limit: int, unit: str, tokenizer: Tokenizer | None) -> tuple[str, int, int, bool, bool]:
    """
    Cuts a text to `limit` characters or tokens: the text, how much was cut of how much, whether these numbers are estimates, and
    whether anything was cut.
    """

def unembedded(hub: Hub, most: int) -> list[tuple[str, int, str]]:
    """
    Up to `most` tools that have no vector yet: name, state, and the text to embed.
    """

def units() -> list[tuple[str, str, float]]:
    """
    Units of measure: the name of each, its kind, and its worth in the base of the kind; 0 for a degree Fahrenheit.
    """

def unknown_options(owner: str, what: str, unknown: Sequence[str], known: Sequence[str], call: str | None = None) -> str:
    """
    Says what to write instead. `owner` has the options (`hub.execute()`), and `what` they are ("option"). `call` is the call
    to write if the names are parameters of the tool; otherwise the nearest option is suggested.
    """

def unreached(clause: str, answer: str, given: Sequence[str], known: str, elsewhere: str) -> str | None:
    """
    The first object that a clause about a deed names and that no call was for. `given` are short arguments of the calls that did
    it, `known` their texts and `elsewhere` those of others, in lower case.
    """

def use_safe_bridge(safe: bool) -> bool:
    """
    Chooses the way across the bridge: fast, or over documented interfaces only. Returns what was chosen before.
    """

def use_search_data(dictionary: str | PathLike[str], word_vectors: str | PathLike[str]) -> None:
    """
    Names the files of the bilingual dictionary and of the word vectors of search.
    """

def usual_token_file() -> str | None:
    """
    The default file for the tokens of logins. As text: a path would import pathlib, which the start of a hub has no time for.
    """

def vendor_tools(hub: Hub, choice: ToolChoice, vendor: str, declared: list, limit: int | None = None) -> list[tuple[str, str]]:
    """
    Appends up to `limit` of the chosen tools to a list, in the form of a vendor's API. Returns the skipped ones, with the
    reason.
    """

def visible_text(text: str) -> str:
    """
    A text as it is seen: without commands to terminals and invisible characters. The same object when it has none.
    """

def words_of(text: str) -> list[str]:
    """
    The words of a name or a text in lower case; a run of Chinese characters is one word.
    """

def write_answers(hub: Hub, answers: Sequence[tuple[str, bool, bool, str, dict]], format: str, found: str | None, limit: int | None = None) -> "tuple[list[dict[str, Any]], list[tuple[str, int, int] | None]]":
    """
    The results of a run as messages in a format, and what was cut of each. `found` is the format of the model's message.
    """

def write_results(answers: Sequence[tuple[str, bool, bool, str, dict]], format: str) -> Any:
    """
    Whole results in a format: a text for tags, otherwise a list.
    """

def __getattr__(name: str) -> Incomplete: ...
