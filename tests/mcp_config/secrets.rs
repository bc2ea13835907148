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
