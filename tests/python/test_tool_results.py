"""What a tool returns is what its caller gets: own results, nothing, content of servers, texts and errors."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhub import ErrorKind, ToolError, ToolHub


def returning(value: Any) -> ToolHub:
    hub = ToolHub()
    hub.register(lambda: value, name="tool")
    return hub


def test_the_keys_of_a_tool_s_own_result_stay_at_the_top() -> None:
    result = returning({"success": True, "result": [1, 2], "took": 3, "error": ""}).call("tool")
    assert (result["result"], result["took"], result.get("error", "?")) == ([1, 2], 3, "")
    assert result.result == [1, 2]
    assert result.error is None
    assert result.meta["tool"] == "tool"
    assert result.text == "[1, 2]"


def test_without_a_result_key_the_rest_is_the_result() -> None:
    result = returning({"success": True, "rows": [1], "took": 3}).call("tool")
    assert result["result"] == result.result == {"rows": [1], "took": 3}
    assert (result["rows"], result["took"]) == ([1], 3)
    assert "error" not in result
    assert result.get("error", "") == ""
    assert result["error"] is None


@pytest.mark.parametrize("falsy", [False, 0, None, "", [], {}, 0.0])
def test_any_falsy_success_is_a_failure_that_keeps_its_keys(falsy: Any) -> None:
    result = returning({"success": falsy, "error": "no disk", "code": 28, "hint": "rm"}).call("tool")
    assert (result.success, result["success"]) == (False, False)
    assert (result["error"], result.error, result["code"], result["hint"]) == ("no disk", "no disk", 28, "rm")
    assert result.kind is ErrorKind.TOOL_ERROR
    assert str(result) == "no disk"
    assert "result" not in result


@pytest.mark.parametrize("key", ["error", "message", "errors", "reason", "detail"])
def test_the_reason_of_a_failure_is_found_under_its_usual_names(key: str) -> None:
    hub = ToolHub()
    hub.register(lambda: {"success": False, key: ["no disk"]}, name="save")
    assert "no disk" in (hub.call("save").error or "")


@pytest.mark.parametrize(
    "words", [{}, *({"error": empty} for empty in (None, "", " \n", "\u200b", 0, False, [], {}))]
)
def test_a_failure_without_words_has_a_sentence(words: dict[str, Any]) -> None:
    result = returning({"success": False, "code": 7, **words}).call("tool")
    sentence = "Tool 'tool' failed: it reported success: False without an error"
    assert dict(result)["error"] == result.get("error") == result.error == sentence
    assert result.meta["errors"][0]["error"] == result.meta["error"]["message"] == sentence
    assert result["code"] == 7
    with pytest.raises(ToolError, match="without an error"):
        result.unwrap()


@given(
    own=st.dictionaries(st.sampled_from(["a", "b", "error", "result", "message"]), st.integers() | st.text()),
    success=st.sampled_from([True, 1, "yes", False, 0, None, ""]),
)
def test_no_key_of_an_own_result_is_lost(own: dict[str, Any], success: Any) -> None:
    result = returning({**own, "success": success}).call("tool")
    assert result.success is bool(success)
    assert own.keys() <= result.keys()
    error = own.get("error")
    if not success and isinstance(error, str):
        # An error is shown as one clean line.
        shown = result["error"]
        words = " ".join(error.split())
        assert shown == words if words and error.isprintable() else shown == " ".join(shown.split()) != ""
    if not success and (isinstance(error, str) or not error):
        own = {key: own[key] for key in own if key != "error"}
    assert {key: result[key] for key in own} == own
    assert result.meta["attempts"][0]["ok"] is bool(success)


def test_an_error_without_a_truth_value_is_shown() -> None:
    class Array:
        def __bool__(self) -> bool:
            raise ValueError("the truth value of an array is ambiguous")

        def __str__(self) -> str:
            return "[1 2 3]"

    hub = ToolHub()
    hub.register(lambda: {"success": False, "error": Array()}, name="measure")
    result = hub.call("measure")
    assert (result.error, result.text) == ("[1 2 3]", "[1 2 3]")
    assert "[1 2 3]" in repr(result)
    outcome = hub.run_sync('<tool_call>{"tool_name": "measure"}</tool_call>')
    assert "[1 2 3]" in outcome.results[0].text


def test_merged_texts_show_the_inner_results() -> None:
    hub = ToolHub()
    for server, value in [
        ("a", {"success": True, "result": "Rain."}),
        ("b", {"success": True, "sky": "blue"}),
    ]:
        hub.register(lambda value=value: value, name="sky", source="mcps", server=server, read_only=True)
    result = hub.call("sky", strategy="all")
    assert result.result == '[mcps:a] Rain.\n\n[mcps:b] {"sky": "blue"}'
    assert [row["result"] for row in result.full()] == ["Rain.", {"sky": "blue"}]


def test_a_result_of_another_call_is_passed_on_whole() -> None:
    hub = ToolHub()
    hub.register(lambda: {"success": True, "result": 1, "more": 2}, name="inner")

    @hub.tool
    def outer() -> Any:
        return hub.call("inner")

    result = hub.call("outer")
    assert (result.result, result["more"], result.meta["tool"]) == (1, 2, "outer")


def test_shared_own_results_are_equal() -> None:
    hub = ToolHub()
    hub.register(lambda: {"success": True, "rows": [1]}, name="get_rows", read_only=True)
    first, second = (hub.call("get_rows", cache_ttl=60) for _ in range(2))
    assert second.meta["cached"]
    assert {**first, "_meta": 0} == {**second, "_meta": 0}


def test_none_of_a_function_is_a_success_without_a_value() -> None:
    result = returning(None).call("tool")
    assert (result.success, result.result, result["error"]) == (True, None, None)
    assert result.text == str(result) == "Done; the tool returned no value."
    chinese = ToolHub(lang="zh")
    chinese.register(lambda: None, name="tool")
    assert chinese.call("tool").text == "已完成，工具没有返回值。"


def test_none_of_an_object_with_execute_is_a_failure() -> None:
    class Light:
        name, description = "light", "Switches the light."

        def execute(self, input: Any) -> None:
            return None

    hub = ToolHub()
    hub.register(Light())
    result = hub.call("light", "on")
    assert (result.success, result.error) == (False, "Tool 'light' failed: it returned nothing (None)")


def test_repr_is_one_short_line() -> None:
    result = returning("A long\nstory. " * 1000).call("tool")
    assert "\n" not in repr(result)
    assert len(repr(result)) < 120
    assert repr(result).startswith("ToolResult(success=True, tool='tool', text='A long story. A long")
    assert str(result) == result.result


def raising(error: Exception) -> Any:
    hub = ToolHub()

    @hub.tool
    def tool() -> None:
        raise error

    return hub.call("tool")


def test_exceptions_are_one_line_without_terminal_codes() -> None:
    result = raising(ValueError("first\n\x1b[31msecond\x1b[0m\r\n\u202ethird"))
    assert result.error == "Tool 'tool' raised ValueError: first second third"
    assert str(result.exception) == "first\n\x1b[31msecond\x1b[0m\r\n\u202ethird"


def test_a_tool_error_says_what_the_tool_says() -> None:
    result = raising(ToolError("no access", kind=ErrorKind.NOT_ALLOWED, status=403, retry_after=2.5))
    assert (result.error, result.kind) == ("no access", ErrorKind.NOT_ALLOWED)
    assert (result.meta["error"]["status"], result.meta["error"]["retry_after"]) == (403, 2.5)
    assert raising(ToolError("no access")).error == "no access"
    assert raising(ToolError("")).error == "Tool 'tool' raised ToolFailed."


def test_bytes_that_are_not_text_are_a_note() -> None:
    assert returning(b"\x89PNG\r\n\x1a\n\xff" * 200).call("tool").text == "[binary data, 1.8 KB]"
    assert returning("é".encode()).call("tool").text == "é"


PNG = "iVBORw0KGgo" * 100
CONTENT = [
    {"type": "text", "text": "Before."},
    {"type": "image", "data": PNG, "mimeType": "image/png"},
    {"type": "text", "text": "After."},
]


def test_content_blocks_of_a_python_tool_read_like_those_of_a_server() -> None:
    result = returning(CONTENT).call("tool")
    assert result.text == "Before.\n\n[image/png, 825 B]\n\nAfter."


SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "s", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": json.loads(sys.argv[1])}
    elif method == "tools/call":
        result = json.loads(sys.argv[2])
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.fixture
def served(tmp_path: Path) -> Callable[..., Any]:
    """The result of a call to a server that answers so."""
    import sys

    script = tmp_path / "server.py"
    script.write_text(SERVER)

    def call(answer: dict[str, Any], **listed: Any) -> Any:
        tools = [{"name": "tool", "inputSchema": {"type": "object"}, **listed}]
        with ToolHub() as hub:
            hub.add_server(
                "s", command=sys.executable, args=[str(script), json.dumps(tools), json.dumps(answer)]
            )
            return hub.call("tool")

    return call


def text(*texts: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": one} for one in texts]


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ("hello", ["hello"]),
        (5, ["5"]),
        ([1, 2], ["[1, 2]"]),
        (["a", "b"], ["a", "b"]),
        (["a"], ["a"]),
        ([{"n": 1}], ['{"n": 1}']),
        (None, []),
        ("5", ["5"]),
        ("x", ['"x"']),
        (1.0, ["1"]),
    ],
)
def test_the_wrapper_of_python_servers_is_taken_off(
    served: Callable[..., Any], value: Any, texts: list[str]
) -> None:
    answer = {"content": text(*texts), "structuredContent": {"result": value}}
    for listed in ({}, {"outputSchema": {"type": "object", "x-fastmcp-wrap-result": True}}):
        result = served(answer, **listed)
        assert result.result == value
        assert result.structured == {"result": value}


def test_a_marked_wrapper_is_taken_off_whatever_the_text_says(served: Callable[..., Any]) -> None:
    answer = {"content": text("five"), "structuredContent": {"result": 5}}
    assert served(answer).result == {"result": 5}
    assert served(answer, outputSchema={"type": "object", "x-fastmcp-wrap-result": True}).result == 5
    other = {"content": text("x"), "structuredContent": {"result": 5, "unit": "m"}}
    assert served(other).result == {"result": 5, "unit": "m"}


def test_an_image_beside_the_value_keeps_neither_in_its_wrapper(served: Callable[..., Any]) -> None:
    image = {"type": "image", "data": PNG, "mimeType": "image/png"}
    result = served({"content": [*text("5"), image], "structuredContent": {"result": 5}})
    assert result.result == 5
    assert image in result.content
    assert "image/png" in result.text


def test_several_texts_are_joined_by_an_empty_line(served: Callable[..., Any]) -> None:
    result = served({"content": text("One.", "Two.")})
    assert result.text == "One.\n\nTwo."
    assert result.content == text("One.", "Two.")


def test_media_are_notes_beside_text_and_data(served: Callable[..., Any]) -> None:
    sound = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}
    file = {
        "type": "resource",
        "resource": {"uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": PNG},
    }
    link = {"type": "resource_link", "uri": "https://x.test/a", "name": "a"}
    note = {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "Inside."}}
    result = served({"content": [*CONTENT, sound, file, link, note, {"type": "hologram", "data": PNG}]})
    assert result.text == (
        "Before.\n\n[image/png, 825 B]\n\nAfter.\n\n[audio/wav, 3 B]\n\n[application/pdf, 825 B, file:///a.pdf]"
        "\n\n[a, https://x.test/a]\n\nInside.\n\n[application/octet-stream, 825 B]"
    )
    with_data = served({"content": CONTENT, "structuredContent": {"n": 1}})
    assert with_data.text == '{"n": 1}\n\n[image/png, 825 B]'
    assert served({"content": []}).text == "Done; the tool returned no value."


FAILING_SERVER = """
import json, sys
RESULTS = {
    "get_text": {"content": [{"type": "text", "text": '{"success": false, "error": "no disk"}'}]},
    "get_mapping": {"content": [], "structuredContent": {"success": False, "error": "no disk"}},
    "get_error": {"content": [{"type": "text", "text": "no disk"}], "isError": True},
}
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif message.get("method") == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in RESULTS]}
    elif message.get("method") == "tools/call":
        result = RESULTS[message["params"]["name"]]
    else:
        result = None
    if "id" in message:
        answer = {"result": result} if result else {"error": {"code": -32601, "message": "Method not found"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""


def test_the_text_of_a_server_is_text_and_its_mapping_is_its_own_result() -> None:
    with ToolHub() as hub:
        hub.add_server("s", command=sys.executable, args=["-c", FAILING_SERVER])
        text = hub.call("get_text", server="s")
        assert (text.success, text.result) == (True, '{"success": false, "error": "no disk"}')
        for name in ("get_mapping", "get_error"):
            result = hub.call(name, server="s")
            assert (result.success, result.error, result.kind) == (False, "no disk", "tool_error")
