//! Messages of the chat APIs.

use serde_json::{Value, json};
use toolhub::parse::{ParseOptions, parse_value};

/// Name, id and arguments of a call.
type ReadCall = (String, String, Value);

fn read(value: Value) -> (Vec<ReadCall>, String, Option<&'static str>) {
    let (parsed, _) = parse_value(&value, &ParseOptions::default());
    assert!(parsed.calls.iter().all(|call| call.error.is_none()), "{:?}", parsed.calls);
    let calls =
        parsed.calls.into_iter().map(|call| (call.name, call.id, Value::Object(call.arguments.into_map())));
    (calls.collect(), parsed.text, parsed.format)
}

#[test]
fn each_api_has_its_own_structure() {
    let call = |id: &str| vec![("ping".to_owned(), id.to_owned(), json!({"host": "a"}))];
    let function = json!({"id": "c1", "type": "function", "function": {"name": "ping", "arguments": "{\"host\": \"a\"}"}});
    let cases = [
        (json!({"role": "assistant", "content": "Hi", "tool_calls": [function]}), call("c1"), "Hi", "openai"),
        (
            json!({"choices": [{"message": {"role": "assistant", "content": null, "tool_calls": [function]}}]}),
            call("c1"),
            "",
            "openai",
        ),
        (
            json!({"output": [{"type": "function_call", "id": "fc_1", "call_id": "c2", "name": "ping", "arguments": "{\"host\": \"a\"}"}]}),
            call("c2"),
            "",
            "openai_responses",
        ),
        (
            json!({"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hi"},
                {"type": "tool_use", "id": "toolu_1", "name": "ping", "input": {"host": "a"}}]}),
            call("toolu_1"),
            "Hi",
            "anthropic",
        ),
        (
            json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}, {"functionCall": {"name": "ping", "args": {"host": "a"}}}]}}]}),
            call("call_1"),
            "Hi",
            "gemini",
        ),
        (
            // As Gemini's SDK spells it.
            json!({"parts": [{"text": null, "function_call": {"id": "g1", "name": "ping", "args": {"host": "a"}}}]}),
            call("g1"),
            "",
            "gemini",
        ),
        (
            json!({"role": "assistant", "function_call": {"name": "ping", "arguments": "{\"host\": \"a\"}"}}),
            call("call_1"),
            "",
            "openai",
        ),
    ];
    for (value, calls, text, format) in cases {
        assert_eq!(read(value.clone()), (calls, text.to_owned(), Some(format)), "{value}");
    }
}

#[test]
fn a_message_whose_text_has_the_call_is_read_as_text() {
    let message = json!({"role": "assistant", "content": "Hi <tool_call>{\"name\": \"ping\"}</tool_call>"});
    let (calls, text, format) = read(message);
    assert_eq!((calls.len(), text.as_str(), format), (1, "Hi ", Some("hermes")));
}

#[test]
fn what_cannot_be_read_is_reported_with_its_json() {
    let broken = json!({"id": "c1", "function": {"name": "ping", "arguments": "{\"host\": "}});
    let good = json!({"id": "c2", "function": {"name": "ping", "arguments": "{}"}});
    let (parsed, _) = parse_value(&json!({"tool_calls": [broken, 5, good]}), &ParseOptions::default());
    let outcomes: Vec<_> = parsed.calls.iter().map(|call| (call.error.is_some(), call.raw.clone())).collect();
    assert_eq!(outcomes, [(true, Some(broken.to_string())), (true, Some("5".to_owned())), (false, None)]);
}

#[test]
fn the_format_that_is_reported_may_be_asked_for() {
    for format in ["openai", "openai_responses", "anthropic", "gemini"] {
        let options = ParseOptions::format(format).unwrap();
        let message = json!({"content": [{"type": "tool_use", "id": "t", "name": "ping", "input": {}}]});
        assert_eq!(parse_value(&message, &options).0.format, Some("anthropic"));
        let text = json!({"role": "assistant", "content": "<tool_call>{\"name\": \"ping\"}</tool_call>"});
        assert_eq!(parse_value(&text, &options).0.calls.len(), 1);
    }
}
