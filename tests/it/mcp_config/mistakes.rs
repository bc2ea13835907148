//! Each mistake and the sentence that it gets. Entries stand under the id `x`.

use super::*;
use serde_json::json;
use toolhub::sources::mcp::auth::OAuthSettings;
use toolhub::sources::mcp::config::Auth;

/// The notices for an entry that must not load, beside one that must.
fn errors(entry: Value) -> Vec<String> {
    let loaded = read(json!({"mcpServers": {"x": entry, "good": {"command": "y"}}}));
    assert_eq!(ids(&loaded.servers), ["good"]);
    short(&loaded.errors)
}

fn error(entry: Value) -> String {
    let errors = errors(entry);
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors[0].clone()
}

/// The notices for an entry that loads.
fn warning(entry: Value) -> String {
    let loaded = read(json!({"mcpServers": {"x": entry}}));
    assert_eq!(ids(&loaded.servers), ["x"], "{:?}", texts(&loaded.errors));
    let warnings = short(&loaded.warnings);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    warnings[0].clone()
}

fn short(notices: &[toolhub::sources::mcp::config::Notice]) -> Vec<String> {
    let start = "/p/mcp.json: server 'x'";
    let short = |text: String| {
        text.strip_prefix(start).unwrap_or_else(|| panic!("{text}")).trim_start_matches([':', ' ']).to_owned()
    };
    texts(notices).into_iter().map(short).collect()
}

#[test]
fn a_notice_names_file_server_and_key() {
    let loaded = read(json!({"mcpServers": {"x": {"command": "y", "args": "z"}}}));
    let notice = &loaded.errors[0];
    assert_eq!(notice.file.as_deref(), Some(Path::new("/p/mcp.json")));
    assert_eq!((notice.server.as_deref(), notice.key.as_deref()), (Some("x"), Some("args")));
    assert_eq!(notice.message, "must be a list of strings, not a string.");
    assert_eq!(
        notice.to_string(),
        "/p/mcp.json: server 'x': `args` must be a list of strings, not a string."
    );
}

#[test]
fn wrong_types_of_a_program() {
    for (entry, expected) in [
        (json!({"command": 1}), "`command` must be a string, not a number."),
        (json!({"command": ["npx", "-y"]}), "`command` must be a string, not a list."),
        (json!({"command": {"args": []}}), "`command.path` is missing; it names the program."),
        (json!({"command": {"path": 1}}), "`command.path` must be a string, not a number."),
        (json!({"command": " "}), "`command` must not be empty."),
        (json!({"command": "y", "args": {}}), "`args` must be a list of strings, not an object."),
        (json!({"command": "y", "args": ["a", ["b"]]}), "`args[1]` must be a string, not a list."),
        (json!({"command": "y", "args": [null]}), "`args[0]` must be a string, not null."),
        (json!({"command": "y", "args": ["\0"]}), "`args[0]` must not contain a NUL character."),
        (json!({"command": "y", "env": []}), "`env` must be an object of strings, not a list."),
        (json!({"command": "y", "env": {"A": {}}}), "`env.A` must be a string, not an object."),
        (json!({"command": "y", "env": {"A=B": "1"}}), "`env.A=B` is not a name that a variable can have."),
        (json!({"command": "y", "cwd": true}), "`cwd` must be a string, not a boolean."),
        (json!({"command": "y", "cwd": "a\0"}), "`cwd` must not contain a NUL character."),
        (json!({"command": "y", "envFile": 1}), "`envFile` must be a string, not a number."),
    ] {
        assert_eq!(error(entry), expected);
    }
}

#[test]
fn wrong_types_and_values_of_a_url() {
    let must = "must be a URL such as https://example.com/mcp, but it";
    for (entry, expected) in [
        (json!({"url": 1}), "`url` must be a string, not a number.".to_owned()),
        (json!({"url": "h/mcp"}), format!("`url` {must} has no `http://` or `https://`.")),
        (json!({"serverUrl": "localhost:80"}), format!("`serverUrl` {must} starts with `localhost:`.")),
        (json!({"httpUrl": "ws://h"}), format!("`httpUrl` {must} starts with `ws:`.")),
        (json!({"url": "http://"}), format!("`url` {must} is not one (empty host).")),
        (json!({"url": "http:h"}), format!("`url` {must} has no `//` after the scheme.")),
        (json!({"url": "http://h:x/"}), format!("`url` {must} is not one (invalid port number).")),
        (json!({"url": "http://h/#x"}), format!("`url` {must} has a fragment (`#…`).")),
        (
            json!({"url": "http://h", "headers": "X: 1"}),
            "`headers` must be an object of strings, not a string.".into(),
        ),
        (
            json!({"url": "http://h", "headers": {"X": []}}),
            "`headers.X` must be a string, not a list.".into(),
        ),
        (
            json!({"url": "http://h", "headers": {"X Y": "1"}}),
            "`headers.X Y` is not a name that a header can have.".into(),
        ),
        (
            json!({"url": "http://h", "headers": {"X": "a\nb"}}),
            "`headers.X` has a value with characters that are not allowed in a header.".into(),
        ),
        (
            json!({"url": "http://h", "httpUrl": "http://i"}),
            "`url` contradicts `httpUrl`; keep one of them.".into(),
        ),
    ] {
        assert_eq!(error(entry), expected);
    }
}

#[test]
fn neither_or_both_or_not_what_the_type_says() {
    for (entry, expected) in [
        (json!({}), "needs a `command` to start or a `url` to reach."),
        (json!({"command": "", "url": ""}), "needs a `command` to start or a `url` to reach."),
        (
            json!({"command": "y", "url": "http://h"}),
            "has both `command` and a URL; keep one, or say which with `type`.",
        ),
        (json!({"type": "http", "command": "y"}), "`type` asks for a `url`, but there is none."),
        (
            json!({"transport": "stdio", "url": "http://h"}),
            "`transport` asks for a `command`, but there is none.",
        ),
        (
            json!({"type": "ws", "url": "http://h"}),
            "`type` must be \"stdio\", \"http\" (or \"streamable-http\") or \"sse\", not \"ws\".",
        ),
        (json!({"type": 1, "url": "http://h"}), "`type` must be a string, not a number."),
        (
            json!({"type": "http", "transport": "sse", "url": "http://h"}),
            "`transport` contradicts `type`; keep one of them.",
        ),
        (json!({"disabled": "no", "command": "y"}), "`disabled` must be true or false, not a string."),
        (json!(["y"]), "must be an object with `command` or `url`, not a list."),
        (json!("y"), "must be an object with `command` or `url`, not a string."),
        (json!(null), "must be an object with `command` or `url`, not null."),
    ] {
        assert_eq!(error(entry), expected);
    }
}

#[test]
fn the_type_decides_between_two() {
    let both = |kind| json!({"type": kind, "command": "y", "url": "http://h", "args": [], "env": {"A": "1"}});
    assert_eq!(warning(both("stdio")), "`url` has no effect on a server that is started.");
    assert_eq!(warning(both("http")), "`command` has no effect on a server at a URL.");
    assert_eq!(
        warning(json!({"url": "http://h", "args": ["-v"]})),
        "`args` has no effect on a server at a URL."
    );
    assert_eq!(
        warning(json!({"command": "y", "headers": {"A": "1"}})),
        "`headers` has no effect on a server that is started."
    );
}

#[test]
fn wrong_options() {
    let with = |options: Value| json!({"command": "y", "toolhub": options});
    for (options, expected) in [
        (json!([]), "`toolhub` must be an object, not a list."),
        (json!({"timeout": "5"}), "`toolhub.timeout` must be a number of seconds, not a string."),
        (
            json!({"timeout": 0}),
            "`toolhub.timeout` must be a number of seconds above 0 and at most a year, not 0.",
        ),
        (
            json!({"startup_timeout": -1.5}),
            "`toolhub.startup_timeout` must be a number of seconds above 0 and at most a year, not -1.5.",
        ),
        (
            json!({"idle_timeout": 1e300}),
            "`toolhub.idle_timeout` must be a number of seconds above 0 and at most a year, not 1e+300.",
        ),
        (json!({"retries": 1.5}), "`toolhub.retries` must be a whole number from 0 to 100, not 1.5."),
        (json!({"retries": true}), "`toolhub.retries` must be a whole number, not a boolean."),
        (
            json!({"max_concurrency": 0}),
            "`toolhub.max_concurrency` must be a whole number from 1 to 1000000, not 0.",
        ),
        (json!({"include": "a"}), "`toolhub.include` must be a list of strings, not a string."),
        (json!({"exclude": [1]}), "`toolhub.exclude[0]` must be a string, not a number."),
        (json!({"prefix": 1}), "`toolhub.prefix` must be a string, not a number."),
        (json!({"capabilities": {}}), "`toolhub.capabilities` must be a list of strings, not an object."),
        (json!({"effects": "no"}), "`toolhub.effects` must be true or false, not a string."),
        (
            json!({"assume_read_only": "no"}),
            "`toolhub.assume_read_only` must be true or false, not a string.",
        ),
        (
            json!({"assume_read_only": true, "effects": true}),
            "`toolhub.assume_read_only` contradicts `effects`: both are true.",
        ),
        (json!({"trust": true}), "`toolhub.trust` must be a string, not a boolean."),
        (json!({"trust": "some"}), "`toolhub.trust` must be 'full', 'hints' or 'none', not 'some'."),
        (json!({"pin": 1}), "`toolhub.pin` must be true or false, not a number."),
        (
            json!({"max_message_bytes": 10}),
            "`toolhub.max_message_bytes` must be a whole number from 1024 to 4294967296, not 10.",
        ),
        (json!({"roots": "x"}), "`toolhub.roots` must be a list of strings, not a string."),
        (json!({"allow_sampling": 0}), "`toolhub.allow_sampling` must be true or false, not a number."),
        (json!({"inherit_env": [true]}), "`toolhub.inherit_env[0]` must be a string, not a boolean."),
    ] {
        assert_eq!(error(with(options)), expected);
    }
}

#[test]
fn wrong_authentication() {
    const NO_ISSUER: &str = "`auth.issuer` is missing, so this server could choose who gets the client secret; add the line \"issuer\": \"https://YOUR-AUTHORIZATION-SERVER\" (or \"metadata_url\" or \"token_url\").";
    let with = |auth: Value| json!({"url": "http://h", "auth": auth});
    for (auth, expected) in [
        (json!(1), "`auth` must be a string or an object, not a number."),
        (json!(""), "`auth` must not be empty; leave it out if there is no token."),
        (json!("a b"), "`auth` must be a token of printable ASCII without spaces."),
        (
            json!({"type": "magic"}),
            "`auth.type` must be \"bearer\", \"oauth\", \"client_credentials\", \"token_exchange\" or \"none\", not \"magic\".",
        ),
        (json!({"type": "bearer"}), "`auth.token` is missing."),
        (json!({"type": "client_credentials", "client_secret": "s"}), "`auth.client_id` is missing."),
        (json!({"type": "client_credentials", "client_id": "s"}), "`auth.client_secret` is missing."),
        (json!({"type": "client_credentials", "client_id": "s", "client_secret": "s"}), NO_ISSUER),
        (json!({"CLIENT_ID": "s", "CLIENT_SECRET": "s"}), NO_ISSUER),
        (json!({"type": "oauth", "clientId": "s", "clientSecret": "s", "issuer": ""}), NO_ISSUER),
        (json!({"client_id": "c", "scopes": 1}), "`auth.scopes` must be a list of strings, not a number."),
        (
            json!({"client_id": "c", "redirect_port": 70000}),
            "`auth.redirect_port` must be a whole number from 1 to 65535, not 70000.",
        ),
        (
            json!({"token_url": "auth.example.com"}),
            "`auth.token_url` must be a URL such as https://example.com/mcp, but it has no `http://` or `https://`.",
        ),
    ] {
        assert_eq!(error(with(auth)), expected);
    }
    assert_eq!(
        error(json!({"url": "http://h", "oauth": "yes"})),
        "`oauth` must be true, false or an object, not a string."
    );
    assert_eq!(
        error(json!({"url": "http://h", "oauth": {}, "auth": "t"})),
        "`oauth` duplicates `auth`; keep one of them."
    );
}

#[test]
fn shapes_of_authentication() {
    let auth = |entry: Value| {
        let loaded = read(json!({"mcpServers": {"x": entry}}));
        assert!(loaded.errors.is_empty() && loaded.warnings.is_empty(), "{loaded:?}");
        loaded.servers[0].auth.clone()
    };
    let token = Auth::Bearer("t-1".into());
    for shape in [
        json!("t-1"),
        json!("Bearer t-1"),
        json!({"token": "t-1"}),
        json!({"type": "bearer", "token": " t-1\n"}),
    ] {
        assert_eq!(auth(json!({"url": "http://h", "auth": shape})), token);
    }
    for off in [json!({"type": "none"}), json!({"enabled": false, "clientId": "c"}), json!(null)] {
        assert_eq!(auth(json!({"url": "http://h", "auth": off})), Auth::None);
    }
    assert_eq!(auth(json!({"url": "http://h", "oauth": false})), Auth::None);
    for shape in [json!("oauth"), json!("OAuth"), json!({}), json!({"type": "oauth2"})] {
        assert_eq!(auth(json!({"url": "http://h", "auth": shape})), Auth::OAuth(OAuthSettings::default()));
    }
    assert!(matches!(auth(json!({"url": "http://h", "oauth": true})), Auth::OAuth(_)));
}

#[test]
fn authentication_that_cannot_be_used() {
    assert_eq!(
        warning(json!({"command": "y", "auth": "t"})),
        "`auth` has no effect on a server that is started; give it variables in `env`."
    );
    let entry = json!({"url": "http://h", "oauth": true, "headers": {"authorization": "Bearer t"}});
    assert_eq!(
        warning(entry.clone()),
        "`oauth` has no effect beside the header `Authorization`; keep one of them."
    );
    assert_eq!(read(json!({"x": entry})).servers[0].auth, Auth::None);
}

#[test]
fn unknown_keys_are_warnings() {
    for (entry, expected) in [
        (json!({"command": "y", "shell": true}), "`shell` is not a known key and has no effect."),
        (json!({"command": "y", "evn": {}}), "`evn` is not a known key; did you mean `env`?"),
        (json!({"command": "y", "heders": {}}), "`heders` is not a known key; did you mean `headers`?"),
        (
            json!({"command": "y", "startup_timeout": 5}),
            "`startup_timeout` has no effect here; move it into `toolhub`.",
        ),
        (
            json!({"command": "y", "toolhub": {"retry": 1}}),
            "`toolhub.retry` is not a known key; did you mean `retries`?",
        ),
        (
            json!({"command": "y", "toolhub": {"time_out": 1}}),
            "`toolhub.time_out` is not a known key; did you mean `timeout`?",
        ),
        (
            json!({"url": "http://h", "auth": {"client": "c"}}),
            "`auth.client` is not a known key; did you mean `client_id`?",
        ),
        (
            json!({"command": {"path": "y", "arg": []}}),
            "`command.arg` is not a known key; did you mean `args`?",
        ),
        (json!({"command": "y", "\u{1b}[31mred": 1}), "`red` is not a known key and has no effect."),
    ] {
        assert_eq!(warning(entry), expected);
    }
    let known =
        json!({"command": "y", "_comment": 1, "//": 1, "description": "d", "trust": true, "autoApprove": []});
    assert!(read(json!({"mcpServers": {"x": known}})).warnings.is_empty());
}

#[test]
fn a_misspelt_command_is_an_error_with_a_hint() {
    let loaded = read(json!({"mcpServers": {"x": {"comand": "y"}}}));
    assert_eq!(short(&loaded.errors), ["needs a `command` to start or a `url` to reach."]);
    assert_eq!(short(&loaded.warnings), ["`comand` is not a known key; did you mean `command`?"]);
}

#[test]
fn all_problems_are_reported_at_once() {
    let entry =
        json!({"command": "${A}", "args": 1, "env": {"B": "${B}", "C": "${C:-c}"}, "toolhub": {"pin": 1}});
    assert_eq!(
        errors(entry),
        [
            "`toolhub.pin` must be true or false, not a number.",
            "`command` needs the environment variable `A`, which is not set; set it, or give a default as `${A:-…}`.",
            "`args` must be a list of strings, not a number.",
            "`env.B` needs the environment variable `B`, which is not set; set it, or give a default as `${B:-…}`.",
        ]
    );
}

#[test]
fn a_small_timeout_of_another_client_is_seconds() {
    assert_eq!(
        warning(json!({"command": "y", "timeout": 60})),
        "`timeout` is taken as 60 s; other clients count milliseconds, `toolhub.timeout` counts seconds."
    );
    assert_eq!(
        error(json!({"command": "y", "timeout": "1m"})),
        "`timeout` must be a number of seconds, not a string."
    );
    let loaded = read(json!({"x": {"command": "y", "timeout": 9000, "toolhub": {"timeout": 1}}}));
    assert_eq!(loaded.servers[0].options.timeout.unwrap().as_secs(), 1);
    assert_eq!(
        warning(json!({"command": "y", "includeTools": []})),
        "`includeTools` is empty, so no tool of this server is offered; leave it out to offer all."
    );
}

#[test]
fn what_a_sentence_quotes_is_one_visible_line() {
    for path in ["/nowhere/a\nb", "/nowhere/a\u{1b}[31m b", "/nowhere/a\r\nb"] {
        let loaded = read(json!({"mcpServers": {"x": {"command": "y", "envFile": path}}}));
        let [error] = &texts(&loaded.errors)[..] else { panic!("{loaded:?}") };
        assert!(
            error.starts_with("/p/mcp.json: server 'x': `envFile` names the file /nowhere/a "),
            "{error:?}"
        );
        assert!(!error.contains(char::is_control) && error.contains(" b, which cannot be read"), "{error:?}");
    }
}

#[test]
fn ids_that_are_taken_and_refused() {
    for id in ["a", "my server", "a/b/c.json", "@scope/pkg", "服务器", &"x".repeat(200)] {
        let loaded = read(json!({"mcpServers": {id: {"command": "y"}}}));
        assert_eq!(ids(&loaded.servers), [id]);
    }
    for (id, expected) in [
        ("", "/p/mcp.json: server '' must have a name: its id is empty."),
        (" ", "/p/mcp.json: server ' ' must have a name: its id is empty."),
        ("a\nb", "/p/mcp.json: server 'a b' has a control character in its id; remove it."),
        (
            "native",
            "/p/mcp.json: server 'native' must have another id: 'native' means the hub itself in patterns and views.",
        ),
        (
            &"x".repeat(201),
            &format!(
                "/p/mcp.json: server '{}…' has an id of 201 characters; 200 are allowed.",
                "x".repeat(100)
            ),
        ),
    ] {
        let loaded = read(json!({"mcpServers": {id: {"command": "y"}}}));
        assert_eq!(texts(&loaded.errors), [expected]);
        assert!(loaded.servers.is_empty());
    }
}

#[test]
fn the_values_of_variables_are_not_shown_in_a_path() {
    let text = error(json!({"command": "y", "envFile": "/nowhere/${SECRET}.env"}));
    assert!(
        text.starts_with("`envFile` names the file /nowhere/${SECRET}.env, which cannot be read: "),
        "{text}"
    );
}

#[test]
fn an_env_file_that_cannot_be_read() {
    let text = error(json!({"command": "y", "envFile": "none.env"}));
    let start = "`envFile` names the file /p/none.env, which cannot be read: ";
    assert!(text.starts_with(start), "{text}");
    let loaded = load_value(
        &json!({"x": {"command": "y", "envFile": "cursor.json"}}),
        Some(&folder().join("mcp.json")),
        &env,
    );
    let text = loaded.errors[0].to_string();
    assert!(text.ends_with("cursor.json, whose line 1 is not `NAME=value`."), "{text}");
}
