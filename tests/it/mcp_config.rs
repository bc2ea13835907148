//! The configuration of MCP servers: one realistic file for each client's dialect, and each sentence that
//! a mistake gets.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests may fail a test")]

use std::path::{Path, PathBuf};

use serde_json::Value;
use toolhub::sources::mcp::config::{Command, Endpoint, Loaded, Remote, ServerConfig, load_file, load_value};

mod dialects;
mod files;
mod local;
mod mistakes;
mod secrets;

fn env(name: &str) -> Option<String> {
    let value = match name {
        "HOME" => "/home/me",
        "PG_URL" => "postgres://db",
        "LINEAR_SECRET" => "hush-linear",
        "INTERNAL_TOKEN" => "Bearer hush-internal\n",
        "API_KEY" => "hush-api",
        "DB_CONNECTION_STRING" => "db://x",
        "FIGMA_TOKEN" => "hush-figma",
        "SECRET" => "hush-secret",
        _ => return None,
    };
    Some(value.to_owned())
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp_config")
}

fn fixture(name: &str) -> Loaded {
    load_file(&folder().join(name), &env)
}

/// The servers of a file that has nothing wrong with it.
fn clean(name: &str) -> Vec<ServerConfig> {
    let loaded = fixture(name);
    assert_eq!(texts(&loaded.errors), [""; 0]);
    assert_eq!(texts(&loaded.warnings), [""; 0]);
    loaded.servers
}

/// As if the value stood in `mcp.json`.
fn read(value: Value) -> Loaded {
    load_value(&value, Some(Path::new("/p/mcp.json")), &env)
}

fn texts(notices: &[toolhub::sources::mcp::config::Notice]) -> Vec<String> {
    let folder = format!("{}/", folder().display());
    notices.iter().map(|notice| notice.to_string().replace(&folder, "")).collect()
}

fn ids(servers: &[ServerConfig]) -> Vec<&str> {
    servers.iter().map(|server| &*server.id).collect()
}

fn server<'a>(servers: &'a [ServerConfig], id: &str) -> &'a ServerConfig {
    servers.iter().find(|server| &*server.id == id).unwrap_or_else(|| panic!("no server {id}"))
}

fn command<'a>(servers: &'a [ServerConfig], id: &str) -> &'a Command {
    match &server(servers, id).endpoint {
        Endpoint::Stdio(command) => command,
        other => panic!("{id} is not a program: {other:?}"),
    }
}

fn remote<'a>(servers: &'a [ServerConfig], id: &str) -> &'a Remote {
    match &server(servers, id).endpoint {
        Endpoint::Http(remote) => remote,
        other => panic!("{id} is not behind a URL: {other:?}"),
    }
}

/// The headers of a server, in the open.
fn headers(remote: &Remote) -> Vec<(&str, &str)> {
    remote.headers.iter().map(|(name, value)| (name.as_str(), value.expose())).collect()
}

/// The variables of a server.
fn variables(command: &Command) -> Vec<(&str, &str)> {
    command.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}
