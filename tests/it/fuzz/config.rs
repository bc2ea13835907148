//! Configurations of MCP servers: any file gives servers and sentences, and shows no secret of the environment.

use super::{INPUTS, text_of, value_of};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::Path;
use toolhub::sources::mcp::config::{Loaded, load_file, load_value};

const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "{\"mcpServers\": {",
    "\"servers\": {",
    "\"a\": {",
    "\"b\": {",
    "}}}",
    "\"command\": \"x\"",
    "\"command\": [\"x\", \"y\"]",
    "\"args\": [\"${HOME}\", \"${input:k}\"]",
    "\"env\": {\"K\": \"${SECRET}\"}",
    "\"url\": \"https://h/${SECRET}\"",
    "\"url\": \"ftp://h\"",
    "\"headers\": {\"Authorization\": \"Bearer ${SECRET}\"}",
    "\"type\": \"http\"",
    "\"type\": \"sse\"",
    "\"disabled\": true",
    "\"toolhub\": {\"timeout\": -1}",
    "\"timeout\": 1e999",
    "\"auth\": \"oauth\"",
    "// c\n",
    "/* c */",
    "/*",
    "\n",
    " ",
    "null",
    "true",
    "5",
    "\u{1b}[31m",
    "\u{feff}",
    "é",
    "${",
    "${SECRET:-d}",
    "{\"mcpServers\": {\"a\": {\"command\": \"x\", \"env\": {\"K\": \"${SECRET}\"}}}}",
];
const KEYS: &[&str] =
    &["command", "args", "env", "url", "headers", "type", "disabled", "toolhub", "auth", "cwd", "envFile"];
const SECRET: &str = "correct-horse-battery";

fn environment(name: &str) -> Option<String> {
    (name == "SECRET").then(|| SECRET.to_owned())
}

fn check(loaded: &Loaded, from: &str) {
    let ids: HashSet<_> = loaded.servers.iter().map(|server| &server.id).collect();
    assert_eq!(ids.len(), loaded.servers.len(), "an id is there twice: {from}");
    for notice in loaded.errors.iter().chain(&loaded.warnings) {
        let sentence = notice.to_string();
        assert!(!sentence.contains(SECRET), "{from}: {sentence}");
        assert!(!sentence.chars().any(char::is_control), "{from}: {sentence:?}");
    }
    assert!(!format!("{:?}", loaded.servers).contains(SECRET), "{from}");
}

#[test]
fn any_file_is_read() {
    let path = std::env::temp_dir().join(format!("toolhub-fuzz-{}.json", std::process::id()));
    bolero::check!().with_type::<Vec<u8>>().with_iterations(INPUTS).for_each(|bytes| {
        let text = text_of(bytes, PIECES);
        std::fs::write(&path, &text).unwrap();
        let loaded = load_file(&path, &environment);
        check(&loaded, &text);
        assert_eq!(loaded, load_file(&path, &environment), "{text:?}");
    });
    drop(std::fs::remove_file(&path));
}

/// Every key with a value of any type; a server beside it that is right is never lost.
#[test]
fn one_wrong_server_does_not_lose_another() {
    bolero::check!().with_type::<Vec<u8>>().with_iterations(INPUTS).for_each(|bytes| {
        let mut bytes = bytes.iter().copied();
        let mut wrong = serde_json::Map::new();
        for _ in 0..bytes.next().unwrap_or(0) % 6 {
            let key = KEYS[usize::from(bytes.next().unwrap_or(0)) % KEYS.len()];
            wrong.insert(key.to_owned(), value_of(&mut bytes, 3));
        }
        let value = json!({"mcpServers": {"right": {"command": "x"}, "other": Value::Object(wrong)}});
        let loaded = load_value(&value, Some(Path::new("/p/mcp.json")), &environment);
        check(&loaded, &value.to_string());
        assert!(loaded.servers.iter().any(|server| &*server.id == "right"), "{value}");
    });
}
