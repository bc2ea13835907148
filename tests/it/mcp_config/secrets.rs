//! Nothing secret is shown, neither by a debug print nor by a notice.

use super::*;
use serde_json::json;

#[test]
fn debug_shows_no_secret() {
    for name in [
        "claude_desktop.json",
        "cursor.json",
        "fastmcp.json",
        "claude_code.json",
        "cline.json",
        "windsurf.json",
        "zed.jsonc",
        "toolhub.jsonc",
    ] {
        let shown = format!("{:?}", fixture(name));
        assert!(!shown.contains("hush"), "{name}: {shown}");
    }
    let loaded = read(json!({"mcpServers": {
        "a": {"command": "x", "args": ["--key", "hush"], "env": {"KEY": "hush"}},
        "b": {"url": "https://u:hush@h/p?k=hush", "headers": {"X-Key": "hush"}},
        "c": {"url": "https://h", "auth": "hush"},
    }}));
    assert_eq!(loaded.servers.len(), 3);
    let shown = format!("{loaded:?}");
    assert!(!shown.contains("hush"), "{shown}");
    for part in ["KEY", "https://h/p", "X-Key"] {
        assert!(shown.contains(part), "{shown}");
    }
}

#[test]
fn a_url_can_be_shown_without_its_secrets() {
    let servers = clean("toolhub.jsonc");
    assert_eq!(remote(&servers, "machine").shown_url(), "https://example.com/mcp");
}

#[test]
fn notices_show_no_value() {
    let loaded = read(json!({"mcpServers": {
        "url": {"url": "ftp://u:hush@h/?hush"},
        "port": {"url": "http://u:hush@h:99999/?hush"},
        "host": {"url": "http://"},
        "bare": {"url": "hush"},
        "fragment": {"url": "http://h/#hush"},
        "header": {"url": "http://h", "headers": {"X": "hush\nhush"}},
        "token": {"url": "http://h", "auth": "hush hush"},
        "secret": {"url": "http://h", "auth": {"type": "client_credentials", "client_id": "hush"}},
        "text": {"command": "x", "env": {"A": "hush ${NOT_SET}"}},
    }}));
    assert_eq!((loaded.servers.len(), loaded.errors.len()), (0, 9), "{:?}", texts(&loaded.errors));
    let shown = texts(&loaded.errors).join("\n");
    assert!(!shown.contains("hush"), "{shown}");
}

#[test]
fn a_server_is_the_same_with_another_secret_and_another_with_anything_else() {
    let identity = |server: Value| {
        let loaded = read(json!({"mcpServers": {"s": server}}));
        loaded.servers[0].endpoint.identity()
    };
    let remote = |url: &str, name: &str, value: &str| identity(json!({"url": url, "headers": {name: value}}));
    let first = remote("https://u:one@h/p?api_key=9f8e7d6c5b4a3f2e1d0c&account=a", "X-Key", "one");
    assert!(
        !first.to_string().contains("9f8e7d6c5b4a3f2e1d0c") && !first.to_string().contains("one"),
        "{first}"
    );
    assert_eq!(first, remote("https://u:two@h/p?api_key=0c1d2e3f4a5b6c7d8e9f&account=a", "x-key", "two"));
    for (url, name) in [
        ("https://other/p?api_key=9f8e7d6c5b4a3f2e1d0c&account=a", "X-Key"),
        ("https://h/q?api_key=9f8e7d6c5b4a3f2e1d0c&account=a", "X-Key"),
        ("https://h/p?api_key=9f8e7d6c5b4a3f2e1d0c&account=b", "X-Key"),
        ("https://h/p?api_key=9f8e7d6c5b4a3f2e1d0c&account=a", "X-Other"),
    ] {
        assert_ne!(first, remote(url, name, "one"), "{url} {name}");
    }
    let program = |args: Value, env: Value| identity(json!({"command": "x", "args": args, "env": env}));
    let first = program(json!(["--token", "one", "a"]), json!({"KEY": "one"}));
    assert!(!first.to_string().contains("one"), "{first}");
    assert_eq!(first, program(json!(["--token", "two", "a"]), json!({"KEY": "two"})));
    assert_ne!(first, program(json!(["--token", "one", "b"]), json!({"KEY": "one"})));
    assert_ne!(first, program(json!(["--token", "one", "a"]), json!({"OTHER": "one"})));
}
