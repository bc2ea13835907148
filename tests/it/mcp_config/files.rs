//! Whole files: empty, broken, not there, with tables at other places.

use super::*;
use proptest::prelude::*;
use serde_json::json;
use toolhub::sources::mcp::config::server_from;

#[test]
fn an_empty_file_is_a_warning() {
    let loaded = fixture("empty.json");
    assert!(loaded.servers.is_empty() && loaded.errors.is_empty());
    assert_eq!(texts(&loaded.warnings), ["empty.json: is empty; it configures no servers."]);
}

#[test]
fn a_file_that_is_not_there_is_an_error() {
    assert_eq!(texts(&fixture("nowhere.json").errors), ["nowhere.json: does not exist."]);
    let loaded = load_file(&folder(), &env);
    assert_eq!(loaded.errors[0].message, "is a folder; give the path of a file.");
}

#[test]
fn a_syntax_error_names_line_and_column() {
    let loaded = fixture("broken.jsonc");
    assert!(loaded.servers.is_empty());
    assert_eq!(
        texts(&loaded.errors),
        ["broken.jsonc: is not valid JSON: expected `,` or `}` at line 4 column 32."]
    );
}

#[test]
fn of_two_servers_with_one_id_the_last_counts() {
    let loaded = fixture("repeated.json");
    assert_eq!(command(&loaded.servers, "a").program, "second");
    let loaded = read(json!({"servers": {"a": {"command": "2"}}, "mcpServers": {"a": {"command": "1"}}}));
    assert_eq!(command(&loaded.servers, "a").program, "2");
    assert_eq!(loaded.servers.len(), 1);
    assert_eq!(
        texts(&loaded.warnings),
        ["/p/mcp.json: `servers.a` is given more than once; the last one counts."]
    );
}

#[test]
fn nothing_to_load_is_fine_on_request() {
    for value in [
        json!({}),
        json!({"mcpServers": {}}),
        json!({"mcpServers": null}),
        json!({"$schema": "x", "inputs": []}),
    ] {
        assert_eq!(read(value), Loaded::default());
    }
}

#[test]
fn roots_that_are_not_a_configuration() {
    for (value, expected) in [
        (json!([]), "/p/mcp.json: must be an object with `mcpServers`, not a list."),
        (json!("x"), "/p/mcp.json: must be an object with `mcpServers`, not a string."),
        (
            json!({"mcpServers": [{"command": "x"}]}),
            "/p/mcp.json: `mcpServers` must be an object with one entry for each server, not a list.",
        ),
        (
            json!({"mcp": {"servers": 1}}),
            "/p/mcp.json: `mcp.servers` must be an object with one entry for each server, not a number.",
        ),
        (
            json!({"name": "package", "dependencies": {}}),
            "/p/mcp.json: names no servers; put them under `mcpServers` (or `servers`, `mcp.servers`, \
             `context_servers`).",
        ),
    ] {
        let loaded = read(value);
        assert_eq!(texts(&loaded.errors), [expected]);
        assert!(loaded.servers.is_empty());
    }
}

#[test]
fn a_server_may_be_called_servers() {
    let loaded = read(json!({"servers": {"command": "x"}, "mcp": {"url": "http://h"}}));
    assert_eq!(ids(&loaded.servers), ["servers", "mcp"]);
}

#[test]
fn gemini_lists_of_servers_are_obeyed() {
    let disabled = |mcp: Value| -> Vec<bool> {
        let loaded = read(json!({"mcp": mcp, "mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}}}));
        loaded.servers.iter().map(|server| server.disabled).collect()
    };
    assert_eq!(disabled(json!({})), [false, false]);
    assert_eq!(disabled(json!({"allowed": ["b"]})), [true, false]);
    assert_eq!(disabled(json!({"excluded": ["b"]})), [false, true]);
    assert_eq!(disabled(json!({"allowed": ["a", "b"], "excluded": ["a"]})), [true, false]);
}

#[test]
fn one_server_from_arguments() {
    let entry = json!({"url": "http://h/mcp", "command": null, "headers": {"X": "1"}, "transport": "sse", "toolhub": {"timeout": 5, "retries": 1}});
    let (config, warnings) = server_from("my server/1", &entry, None, &env, None).unwrap();
    assert_eq!((&*config.id, warnings.len()), ("my server/1", 0));
    assert_eq!((config.options.timeout.unwrap().as_secs(), config.options.retries), (5, 1));
    let errors =
        server_from("x", &json!({"args": 1, "command": "y", "cwd": 2}), None, &env, None).unwrap_err();
    assert_eq!(
        texts(&errors),
        [
            "MCP configuration: server 'x': `args` must be a list of strings, not a number.",
            "MCP configuration: server 'x': `cwd` must be a string, not a number.",
        ]
    );
}

/// Parts of entries, right and wrong, in any combination.
pub fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec![
            "",
            "http://h/",
            "${X",
            "${HOME}",
            "${input:x}",
            "~/x",
            "stdio",
            "sse",
            "oauth",
            "\0",
            "é\n"
        ])
        .prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "mcpServers",
        "servers",
        "mcp",
        "context_servers",
        "a",
        "command",
        "args",
        "env",
        "cwd",
        "url",
        "httpUrl",
        "headers",
        "type",
        "transport",
        "auth",
        "oauth",
        "toolhub",
        "timeout",
        "include",
        "disabled",
        "tools",
        "scopes",
        "client_id",
        "token",
        "path",
        "roots",
        "",
        "\u{1b}",
    ]);
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(key.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_value_is_answered(value in any_json()) {
        let loaded = read(value.clone());
        for notice in loaded.warnings.iter().chain(&loaded.errors) {
            let text = notice.to_string();
            prop_assert!(text.starts_with("/p/mcp.json: ") && text.ends_with(['.', '?']), "{}", text);
            prop_assert!(!text.contains(char::is_control), "{:?}", text);
        }
        // Reading is a function of the value, and a server that loads alone loads among others.
        prop_assert_eq!(&read(value.clone()), &loaded);
        let good = json!({"mcpServers": {"entry": value, "good": {"command": "x"}}});
        prop_assert!(read(good).servers.iter().any(|server| &*server.id == "good"));
    }
}
