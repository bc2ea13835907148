//! One file for each client, as its users have it.

use std::time::Duration;

use super::*;
use serde_json::json;
use toolhub::model::Trust;
use toolhub::secret::Secret;
use toolhub::sources::mcp::auth::{Grant, OAuthSettings};
use toolhub::sources::mcp::config::{Auth, Dialect, ServerOptions};

#[test]
fn claude_desktop() {
    let servers = clean("claude_desktop.json");
    assert_eq!(ids(&servers), ["filesystem", "weather"]);
    let filesystem = command(&servers, "filesystem");
    assert_eq!(filesystem.program, "npx");
    assert_eq!(filesystem.args, ["-y", "@modelcontextprotocol/server-filesystem", "/Users/me/Desktop"]);
    assert_eq!((filesystem.env.len(), filesystem.names_cwd), (0, false));
    let weather = command(&servers, "weather");
    assert_eq!(weather.args.last().map(String::as_str), Some("8080"));
    assert_eq!(variables(weather), [("API_KEY", "hush-1"), ("PORT", "8080"), ("VERBOSE", "true")]);
    let server = server(&servers, "weather");
    assert_eq!(
        (&server.auth, &server.options, server.disabled),
        (&Auth::None, &ServerOptions::default(), false)
    );
}

#[test]
fn cursor() {
    let servers = clean("cursor.json");
    let postgres = command(&servers, "postgres");
    assert_eq!(postgres.program, "/home/me/bin/pg-mcp");
    assert_eq!(postgres.args, [folder().join("schema.sql").display().to_string()]);
    // `env` beats `envFile`.
    assert_eq!(variables(postgres), [("PG_POOL", "5"), ("PG_URL", "postgres://db")]);
    let linear = remote(&servers, "linear");
    assert_eq!((linear.url.as_str(), linear.dialect), ("https://mcp.linear.app/mcp", Dialect::Auto));
    assert_eq!(headers(linear), [("X-Team", "core")]);
    let Auth::OAuth(OAuthSettings { client_id, client_secret, scopes, redirect_port, .. }) =
        &server(&servers, "linear").auth
    else {
        panic!("no OAuth");
    };
    assert_eq!(client_id.as_deref(), Some("cursor-client"));
    assert_eq!(client_secret.as_ref().map(Secret::expose), Some("hush-linear"));
    assert_eq!((scopes.join(" ").as_str(), redirect_port), ("read write", &None));
}

#[test]
fn fastmcp() {
    let loaded = fixture("fastmcp.json");
    let servers = &loaded.servers;
    assert_eq!(ids(servers), ["notion", "internal", "local"]);
    assert_eq!(remote(servers, "notion").dialect, Dialect::Streamable);
    assert!(matches!(&server(servers, "notion").auth, Auth::OAuth(settings) if settings.client_id.is_none()));
    assert_eq!(remote(servers, "internal").dialect, Dialect::Sse);
    assert_eq!(server(servers, "internal").auth, Auth::Bearer("hush-internal".into()));
    assert_eq!(server(servers, "internal").options.timeout, Some(Duration::from_secs(30)));
    assert_eq!(command(servers, "local").cwd, Some(folder().join("servers/local")));
    assert_eq!(
        texts(&loaded.warnings),
        ["fastmcp.json: server 'local': `tools` belongs to another client and has no effect here."]
    );
}

#[test]
fn vs_code() {
    let loaded = fixture("vscode.jsonc");
    let servers = &loaded.servers;
    assert_eq!(ids(servers), ["playwright", "events"]);
    assert_eq!(command(servers, "playwright").cwd, Some(folder().join("web")));
    assert_eq!(remote(servers, "events").dialect, Dialect::Sse);
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    assert_eq!(
        texts(&loaded.errors),
        ["vscode.jsonc: server 'github': `headers.Authorization` has `${input:github-token}`, and only an \
          editor can answer an input; write the value, or a variable of the environment as `${env:NAME}`."]
    );
}

#[test]
fn vs_code_settings() {
    let servers = clean("vscode_settings.jsonc");
    assert_eq!(ids(&servers), ["fetch"]);
}

#[test]
fn claude_code() {
    let loaded = fixture("claude_code.json");
    let servers = &loaded.servers;
    let api = remote(servers, "api");
    assert_eq!((api.url.as_str(), api.dialect), ("https://api.example.com/mcp", Dialect::Streamable));
    assert_eq!(headers(api), [("Authorization", "Bearer hush-api")]);
    assert_eq!(server(servers, "api").options.timeout, Some(Duration::from_secs(120)));
    assert_eq!(
        server(servers, "signed-in").auth,
        Auth::OAuth(OAuthSettings {
            client_id: Some("claude-client".into()),
            scopes: vec!["channels:read".into(), "chat:write".into()],
            redirect_port: Some(8080),
            metadata_url: Some("https://auth.example.com/.well-known/openid-configuration".into()),
            ..OAuthSettings::default()
        })
    );
    let db = command(servers, "db");
    assert_eq!(db.program, "/opt/plugin/servers/db-server");
    assert_eq!(db.args, ["--config", "/home/me/db.json"]);
    assert_eq!(variables(db), [("CACHE_DIR", "/tmp")]);
    assert_eq!(
        texts(&loaded.warnings),
        [
            "claude_code.json: server 'signed-in': `headersHelper` belongs to another client and has no effect here."
        ]
    );
}

#[test]
fn gemini() {
    let loaded = fixture("gemini.json");
    let servers = &loaded.servers;
    let tools = command(servers, "pythonTools");
    assert_eq!(variables(tools), [("DATABASE_URL", "db://x"), ("PLAIN", "costs $5")]);
    assert_eq!(tools.cwd, Some(folder().join("mcp-servers/python")));
    let options = &server(servers, "pythonTools").options;
    assert_eq!(options.timeout, Some(Duration::from_secs(15)));
    let wanted = ["safe_tool", "file_reader", "other"].map(|tool| options.wants(tool));
    assert_eq!(wanted, [true, false, false]);
    assert_eq!(remote(servers, "httpServer").dialect, Dialect::Streamable);
    assert_eq!(remote(servers, "experimental").dialect, Dialect::Auto);
    let disabled: Vec<bool> = servers.iter().map(|server| server.disabled).collect();
    assert_eq!(disabled, [false, false, false, true]);
    assert_eq!(
        texts(&loaded.warnings),
        [
            "gemini.json: server 'google': `authProviderType` belongs to another client and has no effect here."
        ]
    );
}

#[test]
fn cline_and_roo() {
    let loaded = fixture("cline.json");
    assert_eq!(ids(&loaded.servers), ["local", "roo"]);
    assert_eq!(server(&loaded.servers, "local").options.timeout, Some(Duration::from_secs(1800)));
    let roo = server(&loaded.servers, "roo");
    assert_eq!(remote(&loaded.servers, "roo").dialect, Dialect::Streamable);
    assert_eq!(roo.options.timeout, Some(Duration::from_secs(60)));
    assert!(roo.options.wants("search") && !roo.options.wants("delete_all"));
    // What is wrong with a server that is turned off is not an error.
    assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
    assert_eq!(
        texts(&loaded.warnings),
        ["cline.json: server 'off': `url` needs the environment variable `NOBODY_SET_THIS`, which is not \
          set; set it, or give a default as `${NOBODY_SET_THIS:-…}`."]
    );
}

#[test]
fn windsurf() {
    let servers = clean("windsurf.json");
    let figma = remote(&servers, "figma");
    assert_eq!((figma.url.as_str(), figma.dialect), ("https://mcp.figma.com/mcp", Dialect::Auto));
    assert_eq!(headers(figma), [("Authorization", "Bearer hush-figma")]);
    assert_eq!(server(&servers, "figma").options.exclude, ["get_code"]);
}

#[test]
fn zed() {
    let servers = clean("zed.jsonc");
    assert_eq!(ids(&servers), ["old-style", "new-style", "remote"]);
    let old = command(&servers, "old-style");
    assert_eq!((old.program.as_str(), old.args.join(" ").as_str()), ("/home/me/bin/server", "--stdio"));
    assert_eq!(variables(old), [("KEY", "hush-3")]);
    assert!(server(&servers, "new-style").disabled);
}

#[test]
fn copilot() {
    let loaded = fixture("copilot.json");
    let wants = |id, tool| server(&loaded.servers, id).options.wants(tool);
    assert!(wants("sentry", "get_issue_details") && !wants("sentry", "other"));
    assert!(wants("all", "anything") && !wants("none", "anything"));
    assert_eq!(
        texts(&loaded.warnings),
        ["copilot.json: server 'none': `tools` is empty, so no tool of this server is offered; leave it \
          out to offer all."]
    );
}

#[test]
fn servers_at_the_root() {
    let servers = clean("root.json");
    assert_eq!(ids(&servers), ["time", "search"]);
}

#[test]
fn our_own_options() {
    let servers = clean("toolhub.jsonc");
    let expected = ServerOptions {
        timeout: Some(Duration::from_millis(2500)),
        startup_timeout: Duration::from_secs(90),
        retries: 0,
        max_concurrency: Some(4),
        include: vec!["get_*".into(), "add".into()],
        exclude: vec!["get_secret".into()],
        prefix: Some("every_".into()),
        candidates: vec!["search_*".into()],
        capabilities: vec!["demo".into()],
        effects: Some(false),
        assume_read_only: true,
        trust: Trust::None,
        pin: true,
        max_message_bytes: 1024 * 1024,
        idle_timeout: Some(Duration::from_secs(300)),
        roots: vec!["file:///srv".into()],
        allow_sampling: true,
        inherit_env: vec!["SSH_AUTH_SOCK".into()],
    };
    assert_eq!(server(&servers, "everything").options, expected);
    assert_eq!(
        server(&servers, "machine").auth,
        Auth::OAuth(OAuthSettings {
            grant: Grant::ClientCredentials,
            client_id: Some("hub".into()),
            client_secret: Some("hush-secret".into()),
            scopes: vec!["tools:read".into(), "tools:call".into()],
            token_url: Some("https://auth.example.com/token".into()),
            ..OAuthSettings::default()
        })
    );
}

#[test]
fn the_defaults() {
    let options = ServerOptions::default();
    assert_eq!(options.startup_timeout, Duration::from_secs(60));
    assert_eq!((options.timeout, options.retries, options.max_concurrency), (None, 3, None));
    assert_eq!((options.max_message_bytes, options.pin, options.allow_sampling), (32 << 20, false, false));
}

#[test]
fn each_way_to_name_a_transport() {
    for (name, expected) in [
        ("http", Dialect::Streamable),
        ("streamable-http", Dialect::Streamable),
        ("streamable_http", Dialect::Streamable),
        ("streamableHttp", Dialect::Streamable),
        ("sse", Dialect::Sse),
        ("SSE", Dialect::Sse),
        ("auto", Dialect::Auto),
    ] {
        for key in ["type", "transport", "transportType"] {
            let loaded = read(serde_json::json!({"mcpServers": {"x": {"url": "http://h/", key: name}}}));
            assert_eq!(remote(&loaded.servers, "x").dialect, expected, "{key} {name}");
        }
    }
}

#[test]
fn capabilities_are_tags_like_all_others() {
    let options = json!({"capabilities": [" Zed", "ÄRGER", "zed", " ", "搜索"]});
    let loaded = read(json!({"mcpServers": {"x": {"command": "x", "toolhub": options}}}));
    assert_eq!(loaded.servers[0].options.capabilities, ["zed", "ärger", "搜索"]);
}
