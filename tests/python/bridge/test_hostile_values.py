"""Values of tools whose methods raise: the call fails, and nothing else happens."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhub import ErrorKind, ToolHub

METHODS = [
    "__bool__",
    "__class__",
    "__contains__",
    "__eq__",
    "__getattribute__",
    "__getitem__",
    "__hash__",
    "__iter__",
    "__len__",
    "__repr__",
    "__str__",
    "get",
    "items",
    "keys",
    "values",
]
RAISED = [OSError("session closed"), RuntimeError("no"), SystemExit(3)]


def hostile(base: type, methods: list[str], raised: BaseException) -> Any:
    """A subclass whose methods raise."""

    def raises(self: Any, *args: Any, **options: Any) -> Any:
        raise raised

    members = {name: property(raises) if name == "__class__" else raises for name in methods}
    return type("Hostile", (base,), members)


def own_result(class_: Any, success: bool, error: Any) -> Any:
    value = class_()
    dict.__setitem__(value, "success", success)
    dict.__setitem__(value, "error", error)
    return value


def probe(value: Any) -> None:
    """No way to call a tool and to read its result raises."""
    hub = ToolHub(limits={"breaker_threshold": 0})
    hub.on_event(lambda event: None)
    hub.register(lambda: value, name="get_value", read_only=True)
    hub.register(lambda: "fine", name="get_fine", read_only=True)
    text = '<tool_call>{"name": "get_%s"}</tool_call>'
    result = hub.call("get_value")
    assert isinstance(result.text, str)
    assert isinstance(repr(result), str)
    assert isinstance(hub.format(result), str)
    if not result:
        assert result.kind is ErrorKind.TOOL_ERROR
        assert isinstance(result.error, str)
    outcome = hub.run_sync(text % "fine" + text % "value" + text % "fine")
    assert [outcome.results[0].result, outcome.results[2].result] == ["fine", "fine"]
    assert len(outcome.messages) == 1
    hub.call("get_value", cache_ttl=5, single_flight=True)
    hub.call("get_value", cache_ttl=5)


methods = st.lists(st.sampled_from(METHODS), min_size=1, max_size=6, unique=True)


@given(methods, st.booleans(), st.sampled_from(RAISED))
def test_a_dict_whose_methods_raise(names: list[str], success: bool, raised: BaseException) -> None:
    probe(own_result(hostile(dict, names, raised), success, "why"))


@given(
    methods,
    st.sampled_from([object, list, str, int]),
    st.sampled_from(["value", "error", "success", "result", "other", "inside"]),
    st.sampled_from(RAISED),
)
def test_an_object_whose_methods_raise(
    names: list[str], base: type, place: str, raised: BaseException
) -> None:
    value = hostile(base, names, raised)()
    places: dict[str, Callable[[], Any]] = {
        "value": lambda: value,
        "error": lambda: {"success": False, "error": value},
        "success": lambda: {"success": value, "error": "why"},
        "result": lambda: {"success": True, "result": value},
        "other": lambda: {"success": False, "error": "why", "other": value},
        "inside": lambda: [{"rows": [value]}],
    }
    probe(places[place]())


def test_the_failure_names_what_was_raised_and_the_next_candidate_is_tried() -> None:
    hub = ToolHub()
    broken = own_result(hostile(dict, ["__iter__", "keys"], OSError("session closed")), True, None)
    hub.register(lambda: broken, name="get_row", read_only=True)
    result = hub.call("get_row")
    assert result.error == "Tool 'get_row' raised OSError: session closed"
    assert isinstance(result.exception, OSError)
    hub.register(lambda: "row", name="get_row", source="skills", read_only=True)
    assert hub.call("get_row", strategy="fallback").result == "row"


def test_a_key_that_raises_when_it_is_compared() -> None:
    class Key(str):
        def __eq__(self, other: object) -> bool:
            raise OSError("compared")

        __hash__ = str.__hash__

    probe({"success": True, Key("result"): 1})
    probe({Key("success"): True})


def test_values_that_raise_are_shown_in_a_log(caplog: pytest.LogCaptureFixture) -> None:
    value = {"success": False, "error": hostile(object, ["__class__"], RuntimeError("no"))()}
    hub = ToolHub()
    hub.register(lambda given: value, name="get_value")
    with caplog.at_level(logging.DEBUG, "toolhub"):
        hub.call("get_value", {"given": hostile(dict, METHODS, OSError("no"))()})
    assert any("result of get_value" in record.getMessage() for record in caplog.records)


def test_an_approval_whose_exception_cannot_be_shown_refuses() -> None:
    hub = ToolHub()
    hub.register(lambda: 1, name="delete_it")

    def approve(approval: Any) -> bool:
        raise hostile(ValueError, ["__str__", "__repr__"], OSError("no"))()

    outcome = asyncio.run(hub.run('<tool_call>{"name": "delete_it"}</tool_call>', approve=approve))
    assert outcome.results[0].kind is ErrorKind.NOT_ALLOWED
