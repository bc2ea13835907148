"""What the servers of the conformance run answer, whichever SDK they run on."""

from __future__ import annotations

import json

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
LOG = ("Tool execution started", "Tool processing data", "Tool execution completed")
FAILURE = "This tool intentionally returns an error for testing"


def text(content: str) -> dict:
    return {"type": "text", "text": content}


def picture() -> dict:
    return {"type": "image", "data": PICTURE, "mimeType": "image/png"}


def sound() -> dict:
    return {"type": "audio", "data": SOUND, "mimeType": "audio/wav"}


def embedded(uri: str, kind: str, content: str) -> dict:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": content}}


def contents(name: str) -> list[dict]:
    """The content of the tools that need nothing but an answer."""
    mixed = json.dumps({"test": "data", "value": 123})
    return {
        "test_simple_text": [text("This is a simple text response for testing.")],
        "test_image_content": [picture()],
        "test_audio_content": [sound()],
        "test_embedded_resource": [
            embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
        ],
        "test_multiple_content_types": [
            text("Multiple content types test:"),
            picture(),
            embedded("test://mixed-content-resource", "application/json", mixed),
        ],
    }[name]


PLAIN_TOOLS = (
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
)

# Each with the description of its arguments, all of which are required.
PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
}


def messages(name: str, arguments: dict[str, str]) -> list[dict]:
    """The messages of a prompt."""
    given = {
        "test_simple_prompt": lambda: [text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments": lambda: [
            text(f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'")
        ],
        "test_prompt_with_embedded_resource": lambda: [
            embedded(arguments["resourceUri"], "text/plain", "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image": lambda: [picture(), text("Please analyze the image above.")],
    }[name]()
    return [{"role": "user", "content": content} for content in given]


RESOURCES = {
    "test://static-text": ("text/plain", "This is the content of the static text resource."),
    "test://static-binary": ("image/png", None),
    "test://watched-resource": ("text/plain", "Watched resource content"),
}
TEMPLATE = "test://template/{id}/data"


def resource(uri: str) -> dict | None:
    """The content of a resource; None when there is none of this URI."""
    if uri in RESOURCES:
        kind, content = RESOURCES[uri]
        found = {"uri": uri, "mimeType": kind}
        return found | ({"blob": PICTURE} if content is None else {"text": content})
    before, after = TEMPLATE.split("{id}")
    if uri.startswith(before) and uri.endswith(after):
        given = uri[len(before) : -len(after)]
        data = {"id": given, "templateTest": True, "data": f"Data for ID: {given}"}
        return {"uri": uri, "mimeType": "application/json", "text": json.dumps(data)}
    return None


def form(**fields: dict) -> dict:
    return {"type": "object", "properties": fields, "required": list(fields)}


def titled(*pairs: tuple[str, str]) -> list[dict]:
    return [{"const": value, "title": title} for value, title in pairs]


DEFAULTS = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
}
OPTIONS = ["option1", "option2", "option3"]
CHOICES = form(
    untitledSingle={"type": "string", "enum": OPTIONS},
    titledSingle={"type": "string", "oneOf": titled(("value1", "First Option"), ("value2", "Second Option"))},
    legacyEnum={"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
    untitledMulti={"type": "array", "items": {"type": "string", "enum": OPTIONS}},
    titledMulti={
        "type": "array",
        "items": {"anyOf": titled(("value1", "First Choice"), ("value2", "Second Choice"))},
    },
)
NAME_FORM = form(name={"type": "string"})
CONFIRM_FORM = form(ok={"type": "boolean"})
# The tools that ask with a form: the question and the form.
FORMS = {
    "test_elicitation_sep1034_defaults": ("Please review and update the form", DEFAULTS),
    "test_elicitation_sep1330_enums": ("Please select options", CHOICES),
}


def question(message: str, fields: dict) -> dict:
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": fields}}


def sampling(content: str, tokens: int = 100) -> dict:
    params = {"messages": [{"role": "user", "content": text(content)}], "maxTokens": tokens}
    return {"method": "sampling/createMessage", "params": params}


ROOTS = {"method": "roots/list", "params": {}}


def rounds(name: str, capabilities: dict) -> list[dict[str, dict]] | None:
    """The rounds of questions of a tool or prompt that asks; None for one that does not."""
    by_capability = {
        "elicitation": {"confirm": question("Please confirm", CONFIRM_FORM)},
        "sampling": {"greeting": sampling("Generate a greeting", 50)},
    }
    asked = {
        "test_input_required_result_elicitation": [{"user_name": question("What is your name?", NAME_FORM)}],
        "test_input_required_result_sampling": [
            {"capital_question": sampling("What is the capital of France?")}
        ],
        "test_input_required_result_list_roots": [{"client_roots": ROOTS}],
        "test_input_required_result_request_state": [{"confirm": question("Please confirm", CONFIRM_FORM)}],
        "test_input_required_result_multiple_inputs": [
            {
                "user_name": question("What is your name?", NAME_FORM),
                "greeting": sampling("Generate a greeting", 50),
                "client_roots": ROOTS,
            }
        ],
        "test_input_required_result_multi_round": [
            {"step1": question("Step 1: What is your name?", NAME_FORM)},
            {"step2": question("Step 2: What is your favorite color?", form(color={"type": "string"}))},
        ],
        "test_input_required_result_tampered_state": [{"confirm": question("Please confirm", CONFIRM_FORM)}],
        "test_input_required_result_capabilities": [
            {key: one for name in capabilities for key, one in by_capability.get(name, {}).items()}
        ],
        "test_streaming_elicitation": [{"confirm": question("Please confirm", CONFIRM_FORM)}],
        "test_input_required_result_prompt": [
            {
                "user_context": question(
                    "What context should the prompt use?", form(context={"type": "string"})
                )
            }
        ],
    }
    return asked.get(name)


ASKING_TOOLS = (
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
    "test_streaming_elicitation",
)
ASKING_PROMPT = "test_input_required_result_prompt"
