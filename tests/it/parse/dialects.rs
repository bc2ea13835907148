//! Cases of our own: forms of each dialect that the development cases do not have.

use serde_json::{Value, json};
use toolhub::parse::{ParseOptions, parse};

fn read(format: &str, text: &str) -> (Vec<(String, Value)>, String) {
    let parsed = parse(text, &ParseOptions::format(format).unwrap());
    let bad: Vec<_> = parsed.calls.iter().filter_map(|call| call.error.as_deref()).collect();
    assert!(bad.is_empty(), "{text}: {bad:?}");
    let calls = parsed.calls.into_iter().map(|call| (call.name, Value::Object(call.arguments.into_map())));
    (calls.collect(), parsed.text.trim().to_owned())
}

/// The calls, named and detected.
fn check(format: &str, text: &str, calls: &[(&str, Value)], around: &str) {
    for asked in [format, "auto"] {
        let calls = calls.iter().map(|(name, arguments)| ((*name).to_owned(), arguments.clone())).collect();
        assert_eq!(read(asked, text), (calls, around.to_owned()), "{text} as {asked}");
    }
}

#[test]
fn tags_around_json() {
    let x = [("a", json!({"x": 1}))];
    check("hermes", "<tool_call>{\"tool_name\": \"a\", \"args\": {\"x\": 1}} Waiting.", &x, "Waiting.");
    check("hermes", "<tool_call>{name: 'a', arguments: {x: 1}}</tool_call><|im_end|>", &x, "");
    check("granite", "<|tool_call|>{\"name\": \"a\", \"arguments\": {\"x\": 1}}", &x, "");
    check("jamba", "<tool_calls>[{\"name\": \"a\", \"arguments\": {\"x\": 1}}]", &x, "");
    check("phi4", "functools[{\"name\": \"a\", \"arguments\": {\"x\": 1}}", &x, "");
    check(
        "cohere",
        "<|START_THINKING|>hm<|END_THINKING|><|START_ACTION|>[{\"tool_name\": \"a\", \"parameters\": {\"x\": 1}}]<|END_ACTION|>",
        &x,
        "<|START_THINKING|>hm<|END_THINKING|>",
    );
}

#[test]
fn names_before_json() {
    let x = [("a", json!({"x": 1}))];
    check("mistral_args", "[TOOL_CALLS]a[CALL_ID]abc123[ARGS]{\"x\": 1}", &x, "");
    check("mistral_json", "[TOOL_CALLS]{\"name\": \"a\", \"arguments\": {\"x\": 1}}", &x, "");
    check(
        "kimi_k2",
        "<|tool_call_begin|>a.b:12<|tool_call_argument_begin|>{}<|tool_call_end|>",
        &[("a.b", json!({}))],
        "",
    );
    check(
        "deepseek_v31",
        "<｜tool▁call▁begin｜>a<｜tool▁sep｜>{\"x\": 1}<｜tool▁call▁end｜><｜end▁of▁sentence｜>",
        &x,
        "",
    );
    check(
        "harmony",
        "<|start|>assistant to=functions.a<|channel|>commentary json<|message|>{\"x\": 1}<|call|>",
        &x,
        "",
    );
    check(
        "harmony",
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hi<|return|>",
        &[],
        "Hi",
    );
    check("gemma4", "<|tool_call>call:a{x:1}<tool_call|><end_of_turn>", &x, "");
}

#[test]
fn elements() {
    let x = [("a", json!({"x": "1"}))];
    let anthropic =
        "<function_calls><invoke name=\"a\"><parameter name=\"x\">1</parameter></invoke></function_calls>";
    check("anthropic_xml", anthropic, &x, "");
    let prefixed = anthropic.replace("</", "\u{1}").replace('<', "<PREFIX").replace('\u{1}', "</PREFIX");
    check("anthropic_xml", &prefixed.replace("PREFIX", concat!("ant", "ml:")), &x, "");
    check("anthropic_xml", "<invoke name='a'>\n<parameter name='x'>1\n</invoke>", &x, "");
    check(
        "qwen3_coder",
        "<tool_call><function name=\"a\"><parameter name=\"x\">1</parameter></function></tool_call>",
        &x,
        "",
    );
    check(
        "qwen3_coder",
        "<function=a>\n<parameter=x>\na</parameter>b\n</parameter>\n</function>",
        &[("a", json!({"x": "a</parameter>b"}))],
        "",
    );
    check("glm45", "<tool_call>a\n</tool_call>", &[("a", json!({}))], "");
}

#[test]
fn python() {
    check(
        "pythonic",
        "[a(x=1),\n b(y=[1, {'k': (1, 2)}], z=None)]",
        &[("a", json!({"x": 1})), ("b", json!({"y": [1, {"k": [1, 2]}], "z": null}))],
        "",
    );
    check("olmo3", "<function_calls>a(x=1)</function_calls>", &[("a", json!({"x": 1}))], "");
    check(
        "llama3_json",
        "<|python_tag|>brave_search.call(query=\"x\")<|eom_id|>",
        &[("brave_search.call", json!({"query": "x"}))],
        "",
    );
}

#[test]
fn commas_of_python_separate_and_its_brackets_fit() {
    let calls = [("a", json!({"x": 1, "y": 2}))];
    check("pythonic", "[a(x=1,, y=2,)]", &calls, "");
    check("pythonic", "[a(, x=1, y=2)]", &calls, "");
    let parsed = parse("<|python_tag|>a(x=[1, 2), y=3)", &ParseOptions::default());
    assert!(parsed.calls.iter().all(|call| call.error.is_some()), "{:?}", parsed.calls);
}

#[test]
fn actions() {
    let q = [("a", json!({"q": 1}))];
    check("react", "Action: a\nAction Input:\n{'q': 1,}\nObservation: 5", &q, "Observation: 5");
    check("react", "Action:\n```json\n{\"action\": \"a\", \"action_input\": {\"q\": 1}}\n```", &q, "");
    check("json_fence", "```json\n{\"tool\": \"a\", \"tool_input\": {\"q\": 1}}\n```", &q, "");
    check("json_bare", "{\"function_call\": {\"name\": \"a\", \"arguments\": \"{\\\"q\\\": 1}\"}}", &q, "");
}

#[test]
fn descriptions_of_tools_as_the_apis_take_them() {
    let schema = json!({"type": "object", "properties": {"x": {"type": "integer"}}});
    let text = "<tool_call><function=a><parameter=x>1</parameter></function></tool_call>";
    for tool in [
        json!({"name": "a", "parameters": schema}),
        json!({"type": "function", "function": {"name": "a", "parameters": schema}}),
        json!({"name": "a", "input_schema": schema}),
        json!({"name": "a", "inputSchema": schema}),
    ] {
        let options = ParseOptions::default().with_descriptions(json!([tool])).unwrap();
        assert_eq!(parse(text, &options).calls[0].arguments["x"], 1);
    }
    for (tools, why) in
        [(json!({}), "must be a list"), (json!([1]), "a description"), (json!([{}]), "a name")]
    {
        assert!(ParseOptions::default().with_descriptions(tools).unwrap_err().contains(why));
    }
    let unknown = ParseOptions::format("klingon").unwrap_err().to_string();
    assert!(
        unknown.starts_with("There is no format \"klingon\"; use \"auto\" or one of: hermes,"),
        "{unknown}"
    );
}
