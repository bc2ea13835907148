//! Comparing two readings, and laying one file over another.

use super::*;
use serde_json::json;
use toolhub::sources::mcp::config::{changed, later_wins};

fn servers(value: Value) -> Vec<ServerConfig> {
    let loaded = read(json!({"mcpServers": value}));
    assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
    loaded.servers
}

#[test]
fn what_a_reload_changes() {
    let old = servers(json!({
        "same": {"command": "a", "env": {"X": "1", "Y": "2"}},
        "gone": {"command": "b"},
        "args": {"command": "c"},
        "off": {"command": "d"},
        "auth": {"url": "http://h", "auth": "one"},
    }));
    let new = servers(json!({
        "new": {"command": "e"},
        "same": {"env": {"Y": "2", "X": "1"}, "command": "a", "description": "of no account"},
        "args": {"command": "c", "args": ["-v"]},
        "off": {"command": "d", "disabled": true},
        "auth": {"url": "http://h", "auth": "two"},
    }));
    let difference = changed(&old, &new);
    assert_eq!(ids(&difference.added), ["new"]);
    assert_eq!(difference.removed, ["gone".into()]);
    assert_eq!(ids(&difference.changed), ["args", "off", "auth"]);
    assert_eq!(command(&difference.changed, "args").args, ["-v"]);
    assert_eq!(difference.same, ["same".into()]);
    let nothing = changed(&new, &new);
    assert_eq!((nothing.added.len(), nothing.removed.len(), nothing.changed.len()), (0, 0, 0));
}

#[test]
fn a_later_file_overrides_and_keeps_the_place() {
    let first = servers(json!({"a": {"command": "1"}, "b": {"command": "1"}}));
    let second = servers(json!({"c": {"command": "2"}, "a": {"command": "2"}}));
    let both: Vec<ServerConfig> = first.iter().chain(&second).cloned().collect();
    let merged = later_wins(both.clone());
    assert_eq!(ids(&merged), ["a", "b", "c"]);
    assert_eq!(command(&merged, "a").program, "2");
    // A list with repetitions means the same.
    let difference = changed(&first, &both);
    assert_eq!((ids(&difference.changed), ids(&difference.added)), (vec!["a"], vec!["c"]));
    assert_eq!(changed(&both, &first).removed, ["c".into()]);
}
