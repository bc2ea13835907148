//! `mcp.local.json` beside `mcp.json`: each in its own dialect, merged by server and key, and blamed for its own mistakes.

use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use serde_json::{Value, json};
use toolhub::sources::mcp::config::{Loaded, load_file};

use super::files::any_json;
use super::{command, env, ids, remote, server, variables};

/// What comes of the two files.
fn load_texts(shared: &str, local: &str) -> Loaded {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("toolhub-local-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("mcp.json");
    std::fs::write(&file, shared).unwrap();
    std::fs::write(folder.join("mcp.local.json"), local).unwrap();
    let loaded = load_file(&file, &env);
    std::fs::remove_dir_all(&folder).unwrap();
    loaded
}

fn load(shared: Value, local: Value) -> Loaded {
    load_texts(&shared.to_string(), &local.to_string())
}

/// Without the folder of the test.
fn texts(loaded: &Loaded) -> Vec<String> {
    let notices = loaded.errors.iter().chain(&loaded.warnings).map(ToString::to_string);
    notices
        .map(|text| text.rsplit_once("/mcp.").map_or(text.clone(), |(_, end)| format!("mcp.{end}")))
        .collect()
}

/// What comes of two files with nothing wrong in them.
fn clean(shared: Value, local: Value) -> Loaded {
    let loaded = load(shared, local);
    assert_eq!(texts(&loaded), [""; 0]);
    loaded
}

#[test]
fn keys_of_a_server_are_overridden_one_by_one() {
    let shared = json!({"mcpServers": {
        "a": {"command": "x", "args": ["-v"], "env": {"K": "shared", "L": "kept"}},
    }});
    let local = json!({"mcpServers": {"a": {"args": ["-q"], "env": {"K": "mine"}}, "b": {"command": "y"}}});
    let loaded = load_texts(&shared.to_string(), &format!("{local} // mine"));
    assert_eq!(texts(&loaded), [""; 0]);
    assert_eq!(ids(&loaded.servers), ["a", "b"]);
    let a = command(&loaded.servers, "a");
    assert_eq!(a.args, ["-q"]);
    assert_eq!(variables(a), [("K", "mine"), ("L", "kept")]);
}

#[test]
fn each_file_is_read_in_its_own_dialect() {
    let entry = json!({"x": {"command": "x"}, "y": {"command": "y"}});
    let change = json!({"x": {"disabled": true, "toolhub": {"prefix": "p_"}}, "z": {"url": "http://z/"}});
    let dialects = |servers: &Value| {
        [
            json!({"mcpServers": servers}),
            json!({"servers": servers}),
            json!({"mcp": {"servers": servers}}),
            json!({"context_servers": servers}),
            servers.clone(),
        ]
    };
    for shared in dialects(&entry) {
        for local in dialects(&change) {
            let loaded = clean(shared.clone(), local);
            assert_eq!(ids(&loaded.servers), ["x", "y", "z"]);
            let x = server(&loaded.servers, "x");
            assert!(x.disabled);
            assert_eq!(x.options.prefix.as_deref(), Some("p_"));
            assert!(!server(&loaded.servers, "y").disabled);
        }
    }
}

#[test]
fn a_bare_local_file_may_speak_of_known_servers_alone() {
    let shared = json!({"mcpServers": {"x": {"command": "x"}}});
    assert!(clean(shared.clone(), json!({"x": {"disabled": true}})).servers[0].disabled);
    assert!(!clean(shared.clone(), json!({"$schema": "…"})).servers[0].disabled);
    let loaded = load(shared, json!({"w": {"disabled": true}}));
    assert_eq!(ids(&loaded.servers), [""; 0]);
    assert_eq!(
        texts(&loaded),
        [
            "mcp.local.json: names no servers; put them under `mcpServers` (or `servers`, `mcp.servers`, `context_servers`)."
        ]
    );
}

#[test]
fn another_word_for_the_same_thing_overrides_it() {
    let off = json!({"mcpServers": {"x": {"command": "x", "disabled": true}}});
    assert!(!clean(off, json!({"mcpServers": {"x": {"enabled": true}}})).servers[0].disabled);
    let gemini = json!({"mcpServers": {"x": {"httpUrl": "http://old/"}}});
    let loaded = clean(gemini, json!({"servers": {"x": {"type": "sse", "url": "http://new/"}}}));
    assert_eq!(remote(&loaded.servers, "x").url, "http://new/");
    let typed = json!({"mcpServers": {"x": {"transport": "http", "url": "http://x/"}}});
    clean(typed, json!({"mcpServers": {"x": {"type": "sse"}}}));
}

#[test]
fn the_lists_of_gemini_are_overridden_too() {
    let shared =
        json!({"mcpServers": {"x": {"command": "x"}, "y": {"command": "y"}}, "mcp": {"excluded": ["x"]}});
    let off = |local: Value| {
        let servers = clean(shared.clone(), local).servers;
        servers.iter().map(|server| server.disabled).collect::<Vec<_>>()
    };
    assert_eq!(off(json!({})), [true, false]);
    assert_eq!(off(json!({"mcp": {"excluded": ["y"]}})), [false, true]);
    assert_eq!(off(json!({"mcp": {"excluded": null}})), [false, false]);
    assert_eq!(off(json!({"mcp": {"allowed": ["x"]}})), [true, true]);
}

#[test]
fn a_mistake_is_reported_of_the_file_it_stands_in() {
    let shared = json!({"mcpServers": {
        "a": {"command": "x", "args": ["-v"], "env": {"K": "shared"}, "toolhub": {"timeout": 1}, "colour": 1},
        "b": {"command": "x", "env": {"L": []}},
        "c": {"command": "x"},
        "d": {"command": "x"},
    }});
    let local = json!({"servers": {
        "a": {"args": ["-q", {}], "env": {"K.L": []}, "toolhub": {"retries": "many", "prefx": "p_"}, "comand": "y"},
        "b": {"env": {"K": "fine"}},
        "c": {"toolhub": 5},
        "d": null,
        "e": {"args": []},
    }});
    let mut texts = texts(&load(shared, local));
    texts.sort();
    assert_eq!(
        texts,
        [
            "mcp.json: server 'a': `colour` is not a known key and has no effect.",
            "mcp.json: server 'b': `env.L` must be a string, not a list.",
            "mcp.local.json: server 'a': `args[1]` must be a string, not an object.",
            "mcp.local.json: server 'a': `comand` is not a known key; did you mean `command`?",
            "mcp.local.json: server 'a': `env.K.L` must be a string, not a list.",
            "mcp.local.json: server 'a': `toolhub.prefx` is not a known key; did you mean `prefix`?",
            "mcp.local.json: server 'a': `toolhub.retries` must be a whole number, not a string.",
            "mcp.local.json: server 'c': `toolhub` must be an object, not a number.",
            "mcp.local.json: server 'd' must be an object with `command` or `url`, not null.",
            "mcp.local.json: server 'e' needs a `command` to start or a `url` to reach.",
        ]
    );
}

proptest! {
    #[test]
    fn any_two_files_are_answered(shared in any_json(), local in any_json()) {
        let loaded = load(shared.clone(), local);
        for text in texts(&loaded) {
            let file = text.starts_with("mcp.json: ") || text.starts_with("mcp.local.json: ");
            prop_assert!(file && text.ends_with(['.', '?']), "{}", text);
        }
        // What says nothing new changes nothing.
        let alone = load(shared.clone(), json!({}));
        if alone.errors.iter().all(|error| error.server.is_some()) {
            prop_assert_eq!(&load(shared.clone(), shared).servers, &alone.servers);
        }
    }
}

#[test]
fn of_two_entries_of_one_local_file_the_last_one_counts() {
    let shared = json!({"mcpServers": {"x": {"command": "x"}}});
    let local = json!({"mcpServers": {"x": {"args": ["first"]}}, "servers": {"x": {"disabled": true}}});
    let loaded = load(shared, local);
    assert_eq!(texts(&loaded), ["mcp.local.json: `servers.x` is given more than once; the last one counts."]);
    assert!(loaded.servers[0].disabled);
    assert_eq!(command(&loaded.servers, "x").args, [""; 0]);
}

#[test]
fn with_a_broken_local_file_no_server_is_loaded() {
    let shared = r#"{"mcpServers": {"a": {"command": "x"}}}"#;
    for local in ["{", "[]", "5", r#"{"servers": []}"#] {
        let loaded = load_texts(shared, local);
        assert_eq!(ids(&loaded.servers), [""; 0], "{local}");
        let texts = texts(&loaded);
        assert!(texts.len() == 1 && texts[0].starts_with("mcp.local.json: "), "{texts:?}");
    }
}
