"""For any signature of simple types: what the schema allows can be called, what it forbids is named."""

import enum
import inspect
from typing import Any, Literal, NamedTuple

from hypothesis import assume, given
from hypothesis import strategies as st

from support.checking import reaching, violations
from toolhub._signature.build import describe

Kind = inspect._ParameterKind
NOTHING = inspect.Parameter.empty


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Hint(NamedTuple):
    """A hint, values of it as Python has them, and values that no coercion makes fit."""

    hint: Any
    values: st.SearchStrategy[Any]
    wrong: st.SearchStrategy[Any]


HINTS = [
    Hint(int, st.integers(), st.just("x") | st.just([1]) | st.just(1.5)),
    Hint(float, st.floats(allow_nan=False), st.just("x") | st.just({})),
    Hint(str, st.text(), st.just({}) | st.just([])),
    Hint(bool, st.booleans(), st.just("perhaps") | st.just([])),
    Hint(list[int], st.lists(st.integers(), max_size=3), st.just("x") | st.just(["x"])),
    Hint(
        dict[str, int],
        st.dictionaries(st.text(max_size=3), st.integers(), max_size=3),
        st.just(3) | st.just({"a": "x"}),
    ),
    Hint(int | None, st.none() | st.integers(), st.just("x")),
    Hint(int | str, st.integers() | st.text(), st.just([])),
    Hint(Literal["a", 1], st.sampled_from(["a", 1]), st.just("b")),
    Hint(Color, st.sampled_from(list(Color)), st.just("green")),
    Hint(tuple[int, str], st.tuples(st.integers(), st.text(max_size=3)), st.just([1]) | st.just("x")),
]
NAMES = st.from_regex(r"[a-z][a-z_]{0,5}", fullmatch=True).filter(lambda name: name.isidentifier())


class Case(NamedTuple):
    function: Any
    parameters: list[tuple[inspect.Parameter, Hint]]
    coroutine: bool


@st.composite
def cases(draw: st.DrawFn) -> Case:
    import keyword

    names = draw(st.lists(NAMES.filter(lambda name: not keyword.iskeyword(name)), unique=True, max_size=5))
    kinds = sorted(draw(st.lists(st.sampled_from([0, 1, 3]), min_size=len(names), max_size=len(names))))
    found: list[tuple[inspect.Parameter, Hint]] = []
    defaulted = False
    for name, kind in zip(names, kinds, strict=True):
        hint = draw(st.sampled_from(HINTS))
        # Python wants defaults after a default, except among keyword-only parameters.
        has_default = draw(st.booleans()) or (defaulted and kind != 3)
        defaulted = has_default
        default = draw(hint.values) if has_default else NOTHING
        found.append((inspect.Parameter(name, Kind(kind), default=default, annotation=hint.hint), hint))
    coroutine = draw(st.booleans())
    return Case(make(found, coroutine), found, coroutine)


def make(parameters: list[tuple[inspect.Parameter, Hint]], coroutine: bool) -> Any:
    """Compile a real function with these parameters that gives back what it got."""
    text, scope = [], {}
    kinds = [parameter.kind for parameter, _ in parameters]
    for place, (parameter, hint) in enumerate(parameters):
        scope[f"hint{place}"], scope[f"default{place}"] = hint.hint, parameter.default
        if parameter.kind == 3 and 3 not in kinds[:place]:
            text.append("*")
        default = "" if parameter.default is NOTHING else f" = default{place}"
        text.append(f"{parameter.name}: hint{place}{default}")
        if parameter.kind == 0 and 0 not in kinds[place + 1 :]:
            text.append("/")
    start = "async def" if coroutine else "def"
    exec(f"{start} tool({', '.join(text)}): return ('got', locals())", scope)
    return scope["tool"]


@given(cases(), st.data())
def test_what_fits_is_called(case: Case, data: st.DataObject) -> None:
    schema = describe(case.function).parameters
    assert list(schema["properties"]) == [parameter.name for parameter, _ in case.parameters]
    required = {parameter.name for parameter, _ in case.parameters if parameter.default is NOTHING}
    assert set(schema.get("required", ())) == required
    arguments: dict[str, Any] = {}
    expected: dict[str, Any] = {}
    for parameter, hint in case.parameters:
        expected[parameter.name] = parameter.default
        if parameter.default is NOTHING or data.draw(st.booleans()):
            arguments[parameter.name] = expected[parameter.name] = data.draw(hint.values)
    for coerce in (True, False):
        assert reaching(case.function, arguments, coerce=coerce) == ("got", expected)


def place(violation: str) -> str:
    """The argument that a violation is about."""
    return violation.partition(": ")[0].partition("[")[0].partition(".")[0]


@given(cases(), st.data())
def test_a_wrong_type_is_named(case: Case, data: st.DataObject) -> None:
    assume(case.parameters)
    arguments = {parameter.name: data.draw(hint.values) for parameter, hint in case.parameters}
    parameter, hint = data.draw(st.sampled_from(case.parameters))
    arguments[parameter.name] = data.draw(hint.wrong)
    for coerce in (True, False):
        found = violations(case.function, arguments, coerce=coerce)
        assert {place(violation) for violation in found} == {parameter.name}


@given(cases(), st.data())
def test_a_missing_argument_is_named(case: Case, data: st.DataObject) -> None:
    required = [parameter.name for parameter, _ in case.parameters if parameter.default is NOTHING]
    assume(required)
    arguments = {parameter.name: data.draw(hint.values) for parameter, hint in case.parameters}
    gone = data.draw(st.sampled_from(required))
    del arguments[gone]
    (found,) = violations(case.function, arguments)
    assert found.startswith(f"{gone}: required argument is missing, expected ")


@given(cases(), NAMES, st.data())
def test_an_unknown_argument_is_named(case: Case, name: str, data: st.DataObject) -> None:
    known = [parameter.name for parameter, _ in case.parameters]
    assume(name not in known)
    arguments = {parameter.name: data.draw(hint.values) for parameter, hint in case.parameters}
    (found,) = violations(case.function, {**arguments, name: 1})
    assert found.startswith(f"{name}: unknown argument")
