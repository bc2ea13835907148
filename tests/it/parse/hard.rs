//! Bad input: described behaviour, no panic, no quadratic time.

use toolhub::parse::{Event, ParseOptions, ReasoningMode, StreamParser, parse};

fn auto(text: &str) -> toolhub::parse::ParsedText {
    parse(text, &ParseOptions::default())
}

#[test]
fn repairs_are_listed_on_the_call() {
    let cases = [
        ("<tool_call>{'name': 'a', 'args': {},}</tool_call>", vec!["single quotes", "a trailing comma"]),
        (
            "<tool_call>{\"name\": \"a\", \"arguments\": {\"x\": 1}",
            vec!["missing closing brackets", "a missing end tag"],
        ),
        (
            "<tool_call>{\"name\": \"a\", \"arguments {\"x\": 1}}</tool_call>",
            vec!["a key without its closing quote and colon"],
        ),
        (
            "<tool_call>{\"name\": \"a\", \"arguments\": \"{}\"}</tool_call>",
            vec!["arguments given as a JSON string"],
        ),
        ("<tool_call>```json\n{\"name\": \"a\"}\n```</tool_call>", vec!["a code fence"]),
        ("<tool_call>{\"name\": \"a\"}}</tool_call>", vec!["surplus closing brackets"]),
        ("<tool_call>{\"name\": \"a\", \"x\": 1}</tool_call>", vec!["arguments beside the name"]),
        ("<|tool_call>call:a{city:New York}<tool_call|>", vec!["a string without quotes"]),
        ("{\"name\": \"a\", \"arguments\": {\"x\": 1}", vec!["missing closing brackets"]),
        ("<tool_call>{\"name\": \"a\"}</tool_call>", vec![]),
    ];
    for (text, repairs) in cases {
        let parsed = auto(text);
        assert_eq!(parsed.calls.len(), 1, "{text}: {parsed:?}");
        assert_eq!(parsed.calls[0].error, None, "{text}");
        assert_eq!(parsed.calls[0].repairs.names(), repairs, "{text}");
    }
}

#[test]
fn what_cannot_be_read_is_an_entry_with_its_text() {
    for (text, why) in [
        ("<tool_call>{oops!!}</tool_call>", "no colon after the key"),
        ("<tool_call>{\"name\": \"a\", \"arguments\": [1]}</tool_call>", "must be an object, but are a list"),
        ("<tool_call>{\"name\": \"a\", \"arguments\": 5}</tool_call>", "must be an object, but are a number"),
        (
            "<tool_call>{\"name\": \"a\", \"arguments\": \"five\"}</tool_call>",
            "must be an object, but are a text",
        ),
        ("<tool_call>{\"arguments\": {}}</tool_call>", "has no name"),
        ("<tool_call>{\"name\": \"\", \"arguments\": {}}</tool_call>", "has no name"),
        ("<tool_call>{\"name\": \"a\", \"arguments\": {\"x\": \"half", "the text ends inside a string"),
        ("<tool_call>\nname: a\n</tool_call>", "there is no JSON object"),
        ("<tool_call>[1, 2]</tool_call>", "must be a JSON object"),
        ("<tool_call><function=a><parameter=x>half", "ends inside a value"),
        ("<tool_call>a<arg_key>x</arg_key>words</tool_call>", "words where a key should be"),
        ("[TOOL_CALLS]a[ARGS]{\"x\": \"half", "ends before they do"),
        ("<|tool_call_start|>[a(x=\"half", "ends inside the arguments"),
    ] {
        let before = "First: ü.\n";
        let parsed = auto(&format!("{before}{text}"));
        let errors: Vec<_> = parsed.calls.iter().filter(|call| call.error.is_some()).collect();
        assert!(!errors.is_empty(), "{text}: {parsed:?}");
        for call in errors {
            let error = call.error.as_deref().unwrap_or_default();
            assert!(error.contains(why) && error.ends_with('.'), "{text}: {error}");
            assert_eq!(call.raw.as_deref(), Some(text));
            assert_eq!(call.span, (10, 10 + text.chars().count()), "{text}");
            assert!(call.arguments.is_empty());
        }
        assert_eq!(parsed.text, before);
    }
}

#[test]
fn words_between_the_tags_are_an_error_in_the_middle_of_a_line_too() {
    for text in ["<tool_call>this is no JSON</tool_call>", "<tool_call>\nread the file\n</tool_call>"] {
        let parsed = auto(&format!("Sure: {text} Done."));
        let outcomes: Vec<_> =
            parsed.calls.iter().map(|call| (call.error.is_some(), call.raw.as_deref())).collect();
        assert_eq!(outcomes, [(true, Some(text))]);
        assert_eq!(parsed.text, "Sure:  Done.");
    }
}

#[test]
fn a_tag_that_is_only_mentioned_is_text() {
    for text in [
        "Write <tool_call> and </tool_call> around it.",
        "Write `<tool_call>JSON</tool_call>` around it.",
        "Write <tool_call>…</tool_call> around it.",
        "It begins with <tool_call>and\n\nends with </tool_call>.",
        "<tool_call>\n</tool_call>",
        "Use [TOOL_CALLS] or <function_calls>, <invoke> and <|channel|> too.",
        "<tool_call",
        "x <",
    ] {
        let parsed = auto(text);
        assert_eq!((parsed.calls.len(), parsed.text.as_str()), (0, text));
    }
}

#[test]
fn an_unclosed_string_does_not_lose_the_next_call() {
    let parsed = auto(
        "<tool_call>{\"name\": \"a\", \"arguments\": {\"x\": \"y}}</tool_call><tool_call>{\"name\": \"b\"}</tool_call>",
    );
    let names: Vec<&str> = parsed.calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["", "b"], "{parsed:?}");
}

#[test]
fn spans_count_characters_and_cover_the_tags() {
    let parsed = auto("é <tool_call>{\"name\": \"a\"}</tool_call> ü");
    assert_eq!(parsed.calls[0].span, (2, 38));
    assert_eq!(parsed.text, "é  ü");
}

#[test]
fn ids_are_made_and_made_different() {
    let parsed = auto(
        "<tool_call>{\"id\": \"x\", \"name\": \"a\"}</tool_call><tool_call>{\"id\": \"x\", \"name\": \"b\"}</tool_call><tool_call>{\"name\": \"c\", \"source\": \"mcps\"}</tool_call>",
    );
    let ids: Vec<&str> = parsed.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["x", "call_2", "call_3"]);
    assert_eq!(parsed.calls[1].repairs.names(), ["the id was used before"]);
    assert_eq!(parsed.calls[2].source.as_deref(), Some("mcps"));
}

#[test]
fn the_source_is_what_the_model_wrote_and_the_inner_one_wins() {
    for (text, source) in [
        ("{\"source\": \"mcps\", \"function\": {\"name\": \"a\", \"source\": \"native\"}}", Some("native")),
        ("{\"source\": \"mcps\", \"function\": {\"name\": \"a\"}}", Some("mcps")),
        ("{\"name\": \"a\", \"source\": 5}", None),
        ("{\"name\": \"a\", \"source\": null}", None),
    ] {
        let parsed = auto(&format!("<tool_call>{text}</tool_call>"));
        assert_eq!(
            (parsed.calls[0].name.as_str(), parsed.calls[0].source.as_deref()),
            ("a", source),
            "{text}"
        );
    }
}

#[test]
fn tags_inside_strings_and_nested_tags() {
    let inner = "<tool_call>{\\\"name\\\": \\\"b\\\"}</tool_call> ```json";
    let parsed =
        auto(&format!("<tool_call>{{\"name\": \"a\", \"arguments\": {{\"t\": \"{inner}\"}}}}</tool_call>"));
    assert_eq!(parsed.calls.len(), 1);
    assert_eq!(parsed.calls[0].arguments["t"], inner.replace('\\', ""));
    let nested = auto("<tool_call><tool_call>{\"name\": \"a\"}</tool_call></tool_call>!");
    assert_eq!((nested.calls.len(), nested.text.as_str()), (1, "!"));
}

#[test]
fn code_of_a_language_is_text_and_a_call_in_a_fence_is_a_call() {
    let call = "<tool_call>{\"name\": \"a\"}</tool_call>";
    assert_eq!(auto(&format!("```python\nprint('{call}')\n```\n")).calls.len(), 0);
    assert_eq!(auto(&format!("```\n{call}\n```\n")).calls.len(), 1);
}

#[test]
fn bare_json_is_data_once_a_marked_call_was_seen() {
    let bare = "{\"name\": \"b\", \"arguments\": {}}";
    assert_eq!(auto(bare).calls.len(), 1);
    let parsed = auto(&format!("<tool_call>{{\"name\": \"a\"}}</tool_call> {bare}"));
    assert_eq!((parsed.calls.len(), parsed.text.trim()), (1, bare));
}

#[test]
fn text_is_released_as_soon_as_it_is_certain() {
    let mut stream = StreamParser::new(&ParseOptions::default().with_reasoning(ReasoningMode::Closed));
    let text = |events: Vec<Event>| -> String {
        events
            .into_iter()
            .map(|event| if let Event::Text { text } = event { text } else { "!".into() })
            .collect()
    };
    assert_eq!(text(stream.feed("Hello ")), "Hello ");
    assert_eq!(text(stream.feed("<too")), "");
    assert_eq!(text(stream.feed("thpaste> {")), "<toothpaste> ");
    assert_eq!(text(stream.feed("\"answer\": 4")), "{\"answer\": 4");
    assert_eq!(text(stream.feed("2} <tool_call>{\"name\": ")), "2} ");
    // The call is certain when its brackets close, before the end tag.
    assert_eq!(text(stream.feed("\"a\"}")), "!!!");
    assert_eq!(text(stream.feed("</tool_call> bye")), " bye");
    assert_eq!(text(stream.finish()), "");
}

#[test]
fn floods_are_read_in_time_that_grows_with_their_length() {
    let million = 1_000_000;
    for piece in [
        "<",
        "[",
        "{",
        "{\"name\": ",
        "<tool_call>{\"a",
        "<tool_call>",
        "[a(",
        "`",
        "]<]",
        "<function=a><parameter=b>",
        "<tool_call>a<arg_key>",
        "<tool_call>a<arg_key>x</arg_key><arg_value>",
        "<invoke name=\"a\"><parameter name=\"b\">",
        "<|tool_call_start|>[a(x=\"",
        "[TOOL_CALLS]a{\"x\": \"",
        "<|channel|>",
        "Action: a\n",
        "{\"a\": {\"id\": ",
        "`<function=a>` ",
        "word <function=a> b ",
        "`<tool_call>{\"a",
    ] {
        let parsed = auto(&piece.repeat(million / piece.len()));
        assert!(parsed.calls.iter().all(|call| call.error.is_some()), "{piece}");
    }
    let flood = "<".repeat(10 * million);
    assert_eq!(auto(&flood).text, flood);
    let deep = format!("<tool_call>{}{}", "[".repeat(million), "]".repeat(million));
    assert!(auto(&deep).calls[0].error.is_some());
    let many = auto(&"<tool_call>{\"name\": \"a\", \"arguments\": {}}</tool_call>\n".repeat(1000));
    assert_eq!(many.calls.len(), 1000);
}
