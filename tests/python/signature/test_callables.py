"""Each kind of callable is described, and called in the way it wants."""

import asyncio
import contextlib
import functools
import inspect
import types
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any
from unittest.mock import AsyncMock

import pytest
from pydantic import BaseModel, Field, validate_call

from toolhub._signature.build import describe
from toolhub._signature.styles import Described


def add(a: int, b: int = 2) -> int:
    """Add."""
    return a + b


async def add_later(a: int, b: int = 2) -> int:
    """Add, in time."""
    await asyncio.sleep(0)
    return a + b


class Math:
    """Calculates."""

    def add(self, a: int, b: int = 2) -> int:
        """Add in a method."""
        return a + b

    @classmethod
    def class_add(cls, a: int, b: int = 2) -> int:
        """Add in a class method."""
        return a + b

    @staticmethod
    async def static_add(a: int, b: int = 2) -> int:
        """Add in a static method."""
        return a + b

    add_five = functools.partialmethod(add, b=5)


class Adder:
    """An adder."""

    def __init__(self, by: int = 0) -> None:
        self.by = by

    def __call__(self, a: int, b: int = 2) -> int:
        """Add.

        Args:
            a: the first
        """
        return a + b + self.by


class LateAdder:
    async def __call__(self, a: int, b: int = 2) -> int:
        """Add, in time."""
        return a + b


def result_of(tool: Described, arguments: Any) -> Any:
    assert tool.build is not None
    found = tool.call(**tool.build(arguments))
    if not tool.is_async:
        assert not inspect.isawaitable(found)
        return found

    async def wait() -> Any:
        return await found

    return asyncio.run(wait())


def traced(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def async_traced(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        return await found if inspect.isawaitable(found) else found

    return wrapper


class Traced:
    """A decorator that is a class."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


@pytest.mark.parametrize(
    ("obj", "name", "is_async"),
    [
        (add, "add", False),
        (add_later, "add_later", True),
        (Math().add, "add", False),
        (Math.class_add, "class_add", False),
        (Math().class_add, "class_add", False),
        (Math.static_add, "static_add", True),
        (Adder(), "Adder", False),
        (LateAdder(), "LateAdder", True),
        (functools.partial(Adder()), "Adder", False),
        (functools.partial(LateAdder()), "LateAdder", True),
        (functools.partial(add_later), "add_later", True),
        (functools.partial(Math().add), "add", False),
        (traced(add), "add", False),
        (traced(add_later), "add_later", True),
        (traced(traced(functools.partial(add_later))), "wrapper", True),
        (async_traced(add), "add", True),
        (async_traced(add_later), "add_later", True),
        (Traced(add), "add", False),
        (Traced(add_later), "add_later", True),
        (functools.partial(Traced(add_later)), "add_later", True),
        (functools.lru_cache(add), "add", False),
        (validate_call(add), "add", False),
        (validate_call(add_later), "add_later", True),
        (Math.__dict__["static_add"], "static_add", True),
    ],
)
def test_kinds(obj: Any, name: str, is_async: bool) -> None:
    tool = describe(obj)
    assert (tool.name, tool.is_async, tool.style) == (name, is_async, "kwargs")
    assert list(tool.parameters["properties"]) == ["a", "b"]
    assert tool.parameters["required"] == ["a"]
    assert result_of(tool, {"a": 1}) == 3
    assert result_of(tool, {"b": 4, "a": 1}) == 5


def test_words_of_callables() -> None:
    assert describe(Math().add).description == "Add in a method."
    assert describe(functools.partial(add, 1)).description == "Add."
    assert describe(Adder()).description == "An adder."
    assert describe(Adder()).parameters["properties"]["a"]["description"] == "the first"
    assert describe(LateAdder()).description == "Add, in time."


def test_lambdas() -> None:
    tool = describe(lambda a, b=1: a + b, name="plus")
    assert tool.name == "plus"
    assert result_of(tool, {"a": 1}) == 2
    with pytest.raises(ValueError, match="lambda has no name"):
        describe(lambda a: a)


def test_bound_arguments_vanish() -> None:
    def send(to: str, subject: str, body: str = "", *, urgent: bool = False) -> tuple[Any, ...]:
        return to, subject, body, urgent

    by_place = describe(functools.partial(send, "me"))
    assert list(by_place.parameters["properties"]) == ["subject", "body", "urgent"]
    by_name = describe(functools.partial(send, subject="s", urgent=True))
    assert list(by_name.parameters["properties"]) == ["to", "body"]
    assert result_of(by_name, {"to": "me", "body": "b"}) == ("me", "s", "b", True)
    both = describe(functools.partial(functools.partial(send, "me"), body="b"))
    assert list(both.parameters["properties"]) == ["subject", "urgent"]
    wrapped = describe(traced(functools.partial(send, subject="s")), name="send")
    assert list(wrapped.parameters["properties"]) == ["to", "body", "urgent"]
    method = describe(Math().add_five, name="add_five")
    assert list(method.parameters["properties"]) == ["a"]
    assert result_of(method, {"a": 1}) == 6


def test_a_wrapper_that_waits_itself_is_still_awaitable() -> None:
    @functools.wraps(add_later)
    def blocking(a: int, b: int = 2) -> int:
        return a + b

    tool = describe(blocking)
    assert tool.is_async
    assert result_of(tool, {"a": 1}) == 3


def test_a_plain_function_that_says_it_returns_an_awaitable() -> None:
    def start(a: int) -> Awaitable[int]:
        return add_later(a)

    def start_by_text(a: int) -> "Awaitable[int]":
        return add_later(a)

    for function in (start, start_by_text):
        tool = describe(function)
        assert tool.is_async
        assert result_of(tool, {"a": 1}) == 3


def test_generators_are_collected() -> None:
    def count(to: int) -> Iterator[int]:
        yield from range(to)

    tool = describe(count)
    assert not tool.is_async
    assert result_of(tool, {"to": 3}) == [0, 1, 2]
    assert result_of(describe(traced(count)), {"to": 2}) == [0, 1]


def test_async_generators_are_collected() -> None:
    closed: list[str] = []

    async def count(to: int) -> AsyncIterator[int]:
        try:
            for number in range(to):
                await asyncio.sleep(0)
                yield number
        finally:
            closed.append("yes")

    for function in (count, traced(count)):
        tool = describe(function)
        assert tool.is_async
        assert result_of(tool, {"to": 3}) == [0, 1, 2]
    assert closed == ["yes", "yes"]


def test_cancelling_reaches_an_async_generator() -> None:
    seen: list[str] = []

    async def forever() -> AsyncIterator[int]:
        try:
            yield 1
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def main() -> None:
        task = asyncio.ensure_future(describe(forever).call())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert seen == ["cancelled"]


def test_a_context_manager_is_no_generator() -> None:
    @contextlib.contextmanager
    def opened(a: int) -> Iterator[int]:
        yield a

    with result_of(describe(opened), {"a": 4}) as found:
        assert found == 4


def test_generator_based_coroutines() -> None:
    @types.coroutine
    def old(a: int):
        yield
        return a

    tool = describe(old)
    assert tool.is_async
    assert result_of(tool, {"a": 1}) == 1


class Compiled:
    """Like a function of Cython: no FunctionType, but a code object with the flags."""

    __name__ = "compiled"

    class __code__:
        co_flags = inspect.CO_COROUTINE

    __signature__ = inspect.Signature([inspect.Parameter("a", inspect.Parameter.POSITIONAL_OR_KEYWORD)])

    __call__ = staticmethod(add_later).__call__


def test_compiled_coroutine_functions() -> None:
    tool = describe(Compiled())
    assert (tool.name, tool.is_async) == ("compiled", True)
    assert result_of(tool, {"a": 1}) == 3


def test_async_mocks() -> None:
    tool = describe(AsyncMock(spec=add, return_value=3), name="mock")
    assert tool.is_async
    assert result_of(tool, {"a": 1}) == 3


def test_positional_only() -> None:
    def tool(a: int, b: int = 2, c: int = 3, /, d: int = 4) -> tuple[int, ...]:
        return a, b, c, d

    described = describe(tool)
    assert list(described.parameters["properties"]) == ["a", "b", "c", "d"]
    assert result_of(described, {"a": 1}) == (1, 2, 3, 4)
    assert result_of(described, {"a": 1, "c": 9}) == (1, 2, 9, 4)
    assert result_of(described, {"a": 1, "d": 9}) == (1, 2, 3, 9)
    with pytest.raises(TypeError, match="missing required argument 'a'"):
        described.call(c=1)


def test_many_arguments() -> None:
    def tool(a: int, b: int = 2, *rest: int, c: int = 3, **more: Any) -> Any:
        return a, b, rest, c, more

    described = describe(tool)
    assert described.parameters["properties"]["rest"] == {"type": "array", "items": {"type": "integer"}}
    assert described.parameters["required"] == ["a"]
    assert described.parameters["additionalProperties"] is True
    assert result_of(described, {"a": 1}) == (1, 2, (), 3, {})
    assert result_of(described, {"a": 1, "rest": [7, 8]}) == (1, 2, (7, 8), 3, {})
    assert result_of(described, {"a": 1, "b": 5, "rest": [7], "c": 6, "x": 0}) == (1, 5, (7,), 6, {"x": 0})


def test_many_typed_arguments() -> None:
    def tool(*pair: *tuple[int, str]) -> Any:
        return pair

    described = describe(tool)
    assert described.parameters["properties"]["pair"]["prefixItems"][1] == {"type": "string"}
    assert result_of(described, {"pair": [1, "a"]}) == (1, "a")


def test_positional_only_coroutines_and_generators() -> None:
    async def later(a: int, /) -> int:
        return a

    def count(a: int, /) -> Iterator[int]:
        yield a

    assert result_of(describe(later), {"a": 1}) == 1
    assert result_of(describe(count), {"a": 1}) == [1]


def test_classes_are_constructors() -> None:
    tool = describe(Adder)
    assert (tool.name, tool.description) == ("Adder", "An adder.")
    assert tool.parameters["properties"] == {"by": {"type": "integer", "default": 0}}
    assert result_of(tool, {"by": 3}).by == 3


def test_models_are_constructors_with_words() -> None:
    class Order(BaseModel):
        """An order."""

        amount: int = Field(ge=1, description="how many")
        kind: str = Field("new", alias="type")

    tool = describe(Order)
    assert tool.parameters["properties"] == {
        "amount": {"type": "integer", "minimum": 1, "description": "how many"},
        "type": {"type": "string", "default": "new"},
    }
    assert tool.parameters["required"] == ["amount"]
    assert result_of(tool, {"amount": 2, "type": "old"}) == Order(amount=2, type="old")


def test_builtins() -> None:
    length = describe(len)
    assert result_of(length, {"obj": [1, 2]}) == 2
    silent = describe(max)
    assert inspect.isbuiltin(max)
    with pytest.raises(ValueError, match="no signature"):
        inspect.signature(max)
    assert silent.parameters == {"type": "object", "properties": {}, "additionalProperties": True}
    assert silent.build is None
    assert describe(dict).call(a=1) == {"a": 1}


def test_a_wrapper_around_itself_ends() -> None:
    def odd(a: int) -> int:
        return a

    odd.__wrapped__ = odd  # type: ignore[attr-defined]
    assert not describe(odd).is_async


def test_a_signature_set_by_hand() -> None:
    def tool(**kwargs: Any) -> Any:
        return kwargs

    tool.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter("city", inspect.Parameter.KEYWORD_ONLY, annotation=str)]
    )
    assert describe(tool).parameters["properties"] == {"city": {"type": "string"}}
    assert result_of(describe(tool), {"city": "Ulm"}) == {"city": "Ulm"}
