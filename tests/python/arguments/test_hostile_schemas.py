"""Schemas that are made to take long. Every check ends, and a frozen process is killed from outside."""

import json
import random
import subprocess
import sys
from typing import Any

import pytest

LIMIT = 45
"""Seconds for a child on a busy machine. A check whose paths double with each level does not end in a lifetime."""

CHILD = """
import json, sys
import toolhub

class Tool:
    name, description = "t", "A tool."
    def __init__(self, schema): self.parameters = schema
    def execute(self, input): return "ok"

for line in sys.stdin:
    schema, arguments = json.loads(line)
    hub = toolhub.ToolHub()
    hub.register(Tool(schema))
    for given in arguments:
        result = hub.call("t", given, deadline=30)
        print(json.dumps([result.success, result.error]), flush=True)
    hub.close()
"""


def outcomes(cases: list[tuple[dict[str, Any], list[Any]]]) -> list[list[Any]]:
    """What a process of its own says to each of the arguments of each schema."""
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    words = [sys.executable, "-c", CHILD]
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        out, _ = process.communicate(lines, timeout=LIMIT)
    except subprocess.TimeoutExpired as late:
        process.kill()
        process.communicate()
        done = (late.stdout or b"").count(b"\n")
        flat = [schema for schema, arguments in cases for _ in arguments]
        pytest.fail(f"a check does not end: {json.dumps(flat[done])[:2000]}")
    finally:
        process.kill()
        process.wait()
    return [json.loads(line) for line in out.splitlines()]


def doubling(levels: int, leaf: Any, union: str = "allOf") -> dict[str, Any]:
    """Each level leads to the next one twice."""
    defs: dict[str, Any] = {f"d{n}": {union: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    defs[f"d{levels}"] = leaf
    properties = {"a": {"$ref": "#/$defs/d0"}, "b": {"type": "integer"}}
    return {"type": "object", "properties": properties, "$defs": defs}


@pytest.mark.parametrize("levels", [30, 100, 300])
@pytest.mark.parametrize("leaf", [{}, {"type": "integer"}, False], ids=str)
@pytest.mark.parametrize("union", ["allOf", "anyOf", "oneOf"])
def test_references_that_double_do_not_freeze_the_process(levels: int, leaf: Any, union: str) -> None:
    schema = doubling(levels, leaf, union)
    assert len(json.dumps(schema)) < 25_000
    given = [{"a": 1}, {"a": "x"}, {"a": {"deep": [1]}}, {"b": "no number"}]
    answers = outcomes([(schema, given)])
    assert [success for success, _ in answers] == [True, True, True, False]
    assert "b: expected an integer" in answers[-1][1]


def test_a_message_about_a_schema_that_doubles_ends() -> None:
    shapeless = {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "required": ["a"]}
    many = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 12} for n in range(30)}
    [(success, error)] = outcomes([({**shapeless, "$defs": {**many, "d30": {}}}, [{}])])
    assert not success
    assert "a: required argument is missing" in error


UNIONS = ["allOf", "anyOf", "oneOf"]
PATTERNS = [
    "^(a|a)*$",
    "(a+)+$",
    "(.{0,200}.{0,200}){0,20}q$",
    "(?=a)b",
    "^(?:(a+)\\1?)+b$",
    "[01]*1[01]{40}$",
]


def hostile(rng: random.Random) -> dict[str, Any]:
    """A schema whose definitions lead to each other in ways that multiply."""
    levels = rng.choice([3, 8, 25, 80, 260])
    names = [f"d{n}" for n in range(levels)]

    def reference(at: int) -> dict[str, Any]:
        # Mostly further down, sometimes back up: a circle through the value, or without a step into it.
        to = (
            rng.choice(names)
            if rng.random() < 0.08
            else names[min(at + rng.choice([1, 1, 1, 2]), levels - 1)]
        )
        pointer = rng.choice([f"#/$defs/{to}", f"#/$defs/{to}", f"#/%24defs/{to}", f"#{to}"])
        return {"$ref": pointer}

    def schema(at: int, depth: int) -> Any:
        if depth == 0 or rng.random() < 0.45:
            return reference(at)
        inner = [schema(at, depth - 1) for _ in range(rng.choice([1, 2, 2, 3]))]
        return rng.choice(
            [
                {rng.choice(UNIONS): inner},
                {rng.choice(UNIONS): inner},
                {"properties": {"a": inner[0], "b": inner[-1]}},
                {"items": inner[0]},
                {"additionalProperties": inner[0]},
                {"not": inner[0]},
                {"if": inner[0], "then": inner[-1], "else": inner[0]},
                {"dependentSchemas": {"a": inner[0], "b": inner[-1]}},
                {"allOf": inner, "unevaluatedProperties": rng.choice([False, inner[0]])},
                {"patternProperties": {rng.choice(PATTERNS): inner[0], "^a": inner[-1]}},
                {"contains": inner[0], "uniqueItems": True},
                {"propertyNames": inner[0]},
            ]
        )

    defs: dict[str, Any] = {}
    for at, name in enumerate(names[:-1]):
        made = schema(at, rng.choice([1, 2, 3]))
        defs[name] = {**made, "$anchor": name} if rng.random() < 0.9 else made
    leaf = rng.choice(
        [{}, {"type": "integer"}, {"pattern": rng.choice(PATTERNS)}, False, {"const": [1, [2]]}]
    )
    defs[names[-1]] = leaf
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}, "b": schema(0, 2)}, "$defs": defs}


def value(rng: random.Random, depth: int) -> Any:
    if depth == 0 or rng.random() < 0.3:
        return rng.choice([1, "x", "a" * 200, "01" * 300, None, True, 2.5, '{"a": ["1"]}'])
    if rng.random() < 0.5:
        return [value(rng, depth - 1) for _ in range(rng.choice([1, 2, 5]))]
    return {name: value(rng, depth - 1) for name in rng.sample(["a", "b", "c", "aa"], rng.choice([1, 2, 3]))}


@pytest.mark.parametrize("seed", range(4))
def test_every_check_of_a_hostile_schema_ends(seed: int) -> None:
    rng = random.Random(seed)
    cases = [(hostile(rng), [{"a": value(rng, 6), "b": value(rng, 3)} for _ in range(3)]) for _ in range(60)]
    assert len(outcomes(cases)) == 3 * len(cases)
