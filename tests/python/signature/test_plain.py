"""Plain signatures are described without pydantic, and as pydantic would describe them."""

import json
import subprocess
import sys
from typing import Any, Literal, Optional, Union

from hypothesis import given
from hypothesis import strategies as st

from support.checking import reaching
from toolhub._signature import arguments, parameters, plain

SCALARS = st.sampled_from(
    [str, int, float, bool, None, Any, list, dict, Literal["a", "b"], Literal[1], Literal["a", 1, True, None]]
)
HINTS = st.recursive(
    SCALARS,
    lambda inner: (
        inner.map(lambda hint: list[hint])
        | inner.map(lambda hint: dict[str, hint])
        | inner.map(lambda hint: Optional[hint])  # noqa: UP045
        | st.tuples(inner, inner, inner).map(lambda three: Union[three])  # noqa: UP007
    ),
    max_leaves=5,
)
NOTHING = object()
DEFAULTS = st.sampled_from([NOTHING, None, 1, 10**30, "x", 1.5, float("inf"), True, [1], {"a": None}, ("a",)])


def sorted_unions(value: Any) -> Any:
    """The schema with its unions in one order: `typing` caches hints that differ only in that."""
    if isinstance(value, dict):
        inner = {key: sorted_unions(item) for key, item in value.items()}
        if "anyOf" in inner:
            inner["anyOf"] = sorted(inner["anyOf"], key=lambda choice: json.dumps(choice, sort_keys=True))
        return inner
    return [sorted_unions(item) for item in value] if isinstance(value, list) else value


@given(hints=st.lists(HINTS, max_size=4), default=DEFAULTS, extras=st.none() | HINTS)
def test_the_schema_is_that_of_pydantic(hints: list[Any], default: Any, extras: Any) -> None:
    names = "abcd"[: len(hints)]
    last = "" if default is NOTHING or not hints else "=default"
    scope: dict[str, Any] = {"default": default}
    texts = [f"{name}{last if name == names[-1] else ''}" for name in names]
    exec(f"def tool({', '.join([*texts, *(['**more'] if extras is not None else [])])}): ...", scope)
    tool = scope["tool"]
    tool.__annotations__.update(zip(names, hints, strict=True))
    if extras is not None:
        tool.__annotations__["more"] = extras
    signature = parameters.signature_of(tool)
    assert signature is not None
    assert plain.covers(signature)
    words = {"a": "the first"}
    by_hand, by_pydantic = plain.build(signature, words), arguments.build(signature, words)
    assert sorted_unions(by_hand.schema) == sorted_unions(by_pydantic.schema)
    assert (by_hand.plain, by_hand.hidden) == by_pydantic[2:]


def test_a_value_that_must_be_built_is_built() -> None:
    def tool(share: float, rows: list[float] | None = None) -> Any:
        return share, rows

    share, rows = reaching(tool, {"share": 1, "rows": [1, "2"]})
    assert (share, rows) == (1.0, [1.0, 2.0])
    assert [type(share), *map(type, rows)] == [float] * 3


SCRIPT = """
import sys
from typing import Any, Literal
from toolhub import ToolHub

hub = ToolHub()

@hub.tool
def search(query: str, limit: int = 10, tags: list[str] | None = None, mode: Literal["a", "b"] = "a", **more: Any) -> str:
    "Search the web."
    return f"{query} {limit} {tags} {mode}"

assert hub.call("search", {"query": "tea", "limit": "5", "tags": "one"}).result == "tea 5 ['one'] a"
assert hub.call("search", {"query": []}).kind == "invalid_arguments"
loaded = [name for name in sys.modules if name.partition(".")[0] in ("pydantic", "pydantic_core")]
assert not loaded, loaded
"""


def test_a_plain_signature_does_not_import_pydantic() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
