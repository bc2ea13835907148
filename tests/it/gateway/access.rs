//! Who may call, what they see, and how much they may ask for.

use crate::gateway::client::Http;
use crate::gateway::world::{KeptLog, PATIENCE, World, add, initialize, modern, request};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use toolhub::gateway::{
    AuditLog, AuthenticationOptions, Authenticator, EffectsAllowed, GatewayLimits, GatewayOptions,
    SearchMode, StaticToken, View, Views,
};
use toolhub::model::{ToolOutput, ToolSpec};
use toolhub::pattern::PatternList;

pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// One request on a connection of its own, to any path.
pub async fn ask(address: SocketAddr, line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut head = format!("{line} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
    if headers.iter().all(|(name, _)| *name != "content-length") {
        head.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    // The server may refuse before it has read all.
    let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes()).await;
    let mut text = Vec::new();
    let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut text)).await.unwrap();
    let text = String::from_utf8(text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

const JSON: (&str, &str) = ("content-type", "application/json");
const ACCEPT: (&str, &str) = ("accept", "application/json");
const MODERN: (&str, &str) = ("mcp-protocol-version", "2026-07-28");

async fn post(address: SocketAddr, path: &str, token: &str, message: &Value) -> Answer {
    let bearer = format!("Bearer {token}");
    let mut headers = vec![JSON, ACCEPT, ("authorization", bearer.as_str())];
    let is_modern = message["params"]["_meta"].is_object();
    let (method, name) = (message["method"].as_str().unwrap(), message["params"]["name"].as_str());
    if is_modern {
        headers.extend([MODERN, ("mcp-method", method)]);
        headers.extend(name.filter(|_| method == "tools/call").map(|name| ("mcp-name", name)));
    }
    ask(address, &format!("POST {path}"), &headers, &message.to_string()).await
}

pub fn token(name: &str, view: Option<&str>) -> StaticToken {
    let token = format!("token-of-{name}").as_str().into();
    StaticToken {
        name: name.to_owned(),
        token,
        view: view.map(Arc::from),
        upstream_tokens: Default::default(),
    }
}

pub fn tokens(tokens: Vec<StaticToken>) -> Option<Arc<Authenticator>> {
    let options = AuthenticationOptions { tokens, ..AuthenticationOptions::default() };
    Some(Arc::new(Authenticator::new(options).unwrap()))
}

fn view(name: &str, patterns: &[&str]) -> View {
    let tools = Some(Arc::new(PatternList::new(patterns.iter().copied())));
    View { name: name.into(), tools, ..View::default() }
}

fn names(listed: &Value) -> Vec<&str> {
    let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

fn list() -> Value {
    request(1, "tools/list", json!({}))
}

#[tokio::test]
async fn without_credentials_nothing_is_read() {
    let world =
        World::with(GatewayOptions { authenticator: tokens(vec![token("ann", None)]), ..Default::default() });
    let address = world.serve().await;
    // The body never comes: the refusal does not wait for it.
    let refused = ask(address, "POST /mcp", &[JSON, ("content-length", "1000000")], "").await;
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")));
    for (line, headers) in [
        ("POST /mcp", vec![("authorization", "Bearer wrong")]),
        ("POST /mcp", vec![("authorization", "Basic token-of-ann")]),
        ("POST /mcp?access_token=token-of-ann", vec![]),
        ("POST /mcp?token=token-of-ann", vec![("cookie", "token=token-of-ann")]),
        ("GET /mcp", vec![("accept", "text/event-stream")]),
        ("DELETE /mcp", vec![]),
        ("GET /metrics", vec![]),
        ("POST /nothing", vec![]),
    ] {
        let refused = ask(address, line, &headers, "{}").await;
        assert_eq!(refused.status, 401, "{line}");
        assert!(refused.header("www-authenticate").unwrap().starts_with("Bearer"));
        assert!(!refused.body.contains("token-of-ann"), "{}", refused.body);
    }
    let listed = post(address, "/mcp", "token-of-ann", &list()).await;
    assert_eq!((listed.status, names(&listed.json()).len()), (200, 7));
}

#[tokio::test]
async fn a_view_shows_its_tools_and_nothing_else_anywhere() {
    let views =
        Views::new(View::everything(), [view("ops", &["sum", "profile"]), view("none", &[])]).unwrap();
    let options = GatewayOptions {
        authenticator: tokens(vec![token("ann", None), token("bob", Some("ops"))]),
        views: Some(views),
        ..Default::default()
    };
    let world = World::with(options);
    let address = world.serve().await;
    let listed = |path: &'static str, token: &'static str| async move {
        let answer = post(address, path, token, &list()).await;
        let names = (answer.status == 200).then(|| names(&answer.json()).join(" "));
        (answer.status, names.unwrap_or_default())
    };
    assert_eq!(listed("/mcp", "token-of-ann").await.1, "ask fail profile region report sum wait");
    // A view with a token is for its callers alone.
    assert_eq!(listed("/mcp/ops", "token-of-ann").await, (404, String::new()));
    assert_eq!(listed("/mcp/none", "token-of-ann").await, (200, String::new()));
    assert_eq!(listed("/mcp", "token-of-bob").await.1, "profile sum");
    assert_eq!(listed("/mcp/ops", "token-of-bob").await.1, "profile sum");
    // A view that is not for the token answers like one that does not exist.
    let foreign = post(address, "/mcp/none", "token-of-bob", &list()).await;
    let missing = post(address, "/mcp/missing", "token-of-bob", &list()).await;
    assert_eq!((foreign.status, foreign.body), (404, missing.body));
    for path in ["/mcp/", "/mcp//ops", "/mcp/ops/", "/mcp/%6fps", "/mcp/../mcp", "/mcp/none/../ops", "//mcp"]
    {
        assert_eq!(post(address, path, "token-of-ann", &list()).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn a_hidden_tool_answers_byte_for_byte_like_an_unknown_one() {
    let harmless = View { effects: EffectsAllowed::Harmless, ..View::everything() };
    for view in [view("v", &["sum"]), view("v", &["*", "!fail"]), View { name: "v".into(), ..harmless }] {
        for search_mode in [SearchMode::Off, SearchMode::On] {
            let views = Views::new(View::everything(), [View { search_mode, ..view.clone() }]).unwrap();
            let world = World::with(GatewayOptions { views: Some(views), ..Default::default() });
            let address = world.serve().await;
            for message in [request as fn(u64, &str, Value) -> Value, modern as fn(u64, &str, Value) -> Value]
            {
                let mut calls = vec![("tools/call", json!({"name": "NAME", "arguments": {"x": 1}}))];
                calls.push(("tools/describe", json!({"name": "NAME"})));
                calls.push(("tools/call", json!({"name": "describe_tool", "arguments": {"name": "NAME"}})));
                calls.push(("tools/call", json!({"name": "call_tool", "arguments": {"name": "NAME"}})));
                calls.push(("tools/call", json!({"name": "search_tools", "arguments": {"query": "NAME"}})));
                for (method, params) in calls {
                    let mut answers = Vec::new();
                    for name in ["fail", "gail"] {
                        let params = serde_json::from_str(&params.to_string().replace("NAME", name)).unwrap();
                        let answer = post(address, "/mcp/v", "x", &message(1, method, params)).await;
                        let head: Vec<String> = answer
                            .head
                            .lines()
                            .filter(|line| !line.starts_with("date"))
                            .map(str::to_owned)
                            .collect();
                        answers.push((head, answer.body.replace(name, "NAME")));
                    }
                    assert_eq!(answers[0], answers[1], "{method} {params}");
                }
                let listed = post(address, "/mcp/v", "x", &message(1, "tools/list", json!({}))).await;
                assert!(!listed.body.contains("fail"), "{}", listed.body);
            }
        }
    }
}

#[tokio::test]
async fn search_mode_lists_three_tools_and_reaches_all_that_the_view_shows() {
    let searching = View {
        search_mode: SearchMode::On,
        core: vec!["profile".into(), "fail".into()],
        instructions: Some("Search first.".into()),
        ..view("v", &["*", "!fail"])
    };
    let listing = View { search_mode: SearchMode::Off, ..View::everything() };
    let views = Views::new(listing, [searching]).unwrap();
    let world = World::with(GatewayOptions { views: Some(views), ..Default::default() });
    let address = world.serve().await;
    let welcome = post(address, "/mcp/v", "x", &initialize("2025-11-25")).await.json();
    assert_eq!(welcome["result"]["instructions"], "Search first.");
    for message in [request as fn(u64, &str, Value) -> Value, modern as fn(u64, &str, Value) -> Value] {
        let ask = |method: &'static str, params: Value| async move {
            post(address, "/mcp/v", "x", &message(1, method, params)).await.json()
        };
        let listed = ask("tools/list", json!({})).await;
        assert_eq!(names(&listed), ["search_tools", "describe_tool", "call_tool", "profile"]);
        let call =
            |name: &str, arguments: Value| ask("tools/call", json!({"name": name, "arguments": arguments}));
        let found = call("search_tools", json!({"query": "add two numbers"})).await;
        let first = &found["result"]["structuredContent"]["tools"][0];
        assert_eq!(*first, json!({"name": "sum", "description": "Adds two numbers."}));
        let described = call("describe_tool", json!({"name": "sum"})).await;
        let schema = &described["result"]["structuredContent"]["tool"]["inputSchema"];
        assert_eq!(schema["required"], json!(["a", "b"]));
        let called = call("call_tool", json!({"name": "sum", "arguments": {"a": 2, "b": 3}})).await;
        assert_eq!(called["result"]["content"][0]["text"], "5");
        // A tool that is known by name needs no detour.
        assert_eq!(call("sum", json!({"a": 2, "b": 3})).await["result"]["content"][0]["text"], "5");
        for (name, arguments) in [
            ("search_tools", json!({})),
            ("describe_tool", json!({"name": 1})),
            ("call_tool", json!({"name": "sum", "arguments": []})),
        ] {
            assert_eq!(call(name, arguments).await["result"]["isError"], true, "{name}");
        }
    }
    // Without search mode the three names are unknown.
    let unknown =
        post(address, "/mcp", "x", &request(1, "tools/call", json!({"name": "call_tool"}))).await.json();
    assert_eq!(unknown["error"]["code"], -32602);
}

#[tokio::test]
async fn a_session_belongs_to_its_principal_and_view() {
    let views = Views::new(View::everything(), [view("ops", &["sum"])]).unwrap();
    let options = GatewayOptions {
        authenticator: tokens(vec![token("ann", None), token("bob", None)]),
        views: Some(views),
        ..Default::default()
    };
    let world = World::with(options);
    let address = world.serve().await;
    let opened = post(address, "/mcp", "token-of-ann", &initialize("2025-11-25")).await;
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let with_session = |path: &'static str, token: &'static str| {
        let session = session.clone();
        async move {
            let bearer = format!("Bearer {token}");
            let headers =
                [JSON, ACCEPT, ("authorization", bearer.as_str()), ("mcp-session-id", session.as_str())];
            ask(address, &format!("POST {path}"), &headers, &list().to_string()).await.status
        }
    };
    assert_eq!(with_session("/mcp", "token-of-ann").await, 200);
    assert_eq!(with_session("/mcp", "token-of-bob").await, 404);
    assert_eq!(with_session("/mcp/ops", "token-of-ann").await, 404);
}

#[tokio::test]
async fn too_many_requests_of_one_principal_do_not_disturb_another() {
    let limits = GatewayLimits { max_in_flight: 1, ..GatewayLimits::default() };
    let authenticator = tokens(vec![token("ann", None), token("bob", None)]);
    let mut world = World::with(GatewayOptions { authenticator, limits, ..Default::default() });
    let address = world.serve().await;
    let waiting = request(1, "tools/call", json!({"name": "wait"}));
    let running = tokio::spawn(async move { post(address, "/mcp", "token-of-ann", &waiting).await.status });
    assert_eq!(world.act().await, "started");
    let refused = post(address, "/mcp", "token-of-ann", &list()).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")));
    assert_eq!(post(address, "/mcp", "token-of-bob", &list()).await.status, 200);
    running.abort();
    assert_eq!(world.act().await, "cancelled");
}

#[tokio::test]
async fn the_budget_of_a_view_ends_its_calls_for_a_while() {
    let budget = View { name: "v".into(), calls_per_minute: Some(2), ..View::everything() };
    let views = Views::new(View::everything(), [budget]).unwrap();
    let world = World::with(GatewayOptions { views: Some(views), ..Default::default() });
    let address = world.serve().await;
    let call = request(1, "tools/call", json!({"name": "profile"}));
    for _ in 0..2 {
        assert_eq!(post(address, "/mcp/v", "x", &call).await.json()["result"].get("isError"), None);
    }
    let refused = post(address, "/mcp/v", "x", &call).await.json();
    assert_eq!(refused["result"]["isError"], true);
    assert!(
        refused["result"]["content"][0]["text"].as_str().unwrap().starts_with("Too many calls"),
        "{refused}"
    );
    assert_eq!(post(address, "/mcp", "x", &call).await.json()["result"].get("isError"), None);
}

#[tokio::test]
async fn large_heads_slow_bodies_and_further_connections_are_refused() {
    let limits = GatewayLimits {
        max_headers: 10_000,
        max_connections: 2,
        body_timeout: Duration::from_millis(50),
        ..GatewayLimits::default()
    };
    let world = World::with(GatewayOptions { limits, ..Default::default() });
    let address = world.serve().await;
    let large = "x".repeat(20_000);
    assert_eq!(ask(address, "POST /mcp", &[("x-large", &large)], "").await.status, 431);
    assert_eq!(ask(address, "POST /mcp", &[JSON, ("content-length", "10")], "{").await.status, 408);
    // Connections of callers; those of strangers would make room.
    let mut held = [Http::connect(address).await, Http::connect(address).await];
    for client in &mut held {
        assert_eq!(client.post(&list(), &[]).await.status, 200);
    }
    let turned_away = async {
        loop {
            let answer = ask(address, "GET /healthz", &[], "").await;
            if answer.status == 503 {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, turned_away).await.unwrap();
    drop(held);
    let again = async {
        while ask(address, "GET /healthz", &[], "").await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, again).await.unwrap();
}

#[tokio::test]
async fn draining_refuses_new_requests_and_ends_running_ones() {
    let mut world = World::new();
    let address = world.serve().await;
    assert_eq!(ask(address, "GET /readyz", &[], "").await.status, 200);
    let waiting = request(1, "tools/call", json!({"name": "wait"}));
    let running = tokio::spawn(async move { post(address, "/mcp", "x", &waiting).await.status });
    assert_eq!(world.act().await, "started");
    world.gateway.operation.drain.begun.cancel();
    let refused = post(address, "/mcp", "x", &list()).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert_eq!(ask(address, "GET /readyz", &[], "").await.status, 503);
    assert_eq!(ask(address, "GET /healthz", &[], "").await.status, 200);
    assert_eq!(world.gateway.operation.drain.running(), 1);
    world.gateway.drain(Duration::from_millis(20)).await;
    assert_eq!(world.act().await, "cancelled");
    assert_eq!(tokio::time::timeout(PATIENCE, running).await.unwrap().unwrap(), 200);
}

#[tokio::test]
async fn calls_are_audited_and_measured() {
    let kept = KeptLog::default();
    let options = GatewayOptions {
        authenticator: tokens(vec![token("ann", None), token("bob", Some("ops"))]),
        views: Some(Views::new(View::everything(), [view("ops", &["sum"])]).unwrap()),
        audit: Some(Arc::new(AuditLog::writer(kept.clone()).unwrap())),
        ..Default::default()
    };
    let world = World::with(options);
    let address = world.serve().await;
    let call = |name: &str| request(1, "tools/call", json!({"name": name, "arguments": {"a": 1, "b": 2}}));
    post(address, "/mcp", "token-of-ann", &call("sum")).await;
    post(address, "/mcp", "token-of-ann", &call("fail")).await;
    post(address, "/mcp", "token-of-bob", &call("profile")).await;
    let lines = kept.lines();
    let shown = |line: &Value| {
        ["principal", "view", "tool", "candidate", "outcome"]
            .map(|key| line[key].as_str().unwrap_or("-").to_owned())
    };
    assert_eq!(shown(&lines[0]), ["token:ann", "", "sum", "tools", "ok"]);
    assert_eq!(shown(&lines[1]), ["token:ann", "", "fail", "tools", "tool_error"]);
    assert_eq!(shown(&lines[2]), ["token:bob", "ops", "profile", "-", "not_found"]);
    assert_eq!(lines[0]["arguments"], lines[1]["arguments"]);

    let metrics = ask(address, "GET /metrics", &[("authorization", "Bearer token-of-ann")], "").await;
    assert_eq!(metrics.status, 200);
    assert!(metrics.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    assert!(metrics.body.contains("gen_ai_tool_name=\"sum\""), "{}", metrics.body);
    assert!(metrics.body.contains("error_type=\"tool_error\""));
    // The tool that bob must not know is not named for him: neither here, nor as a label.
    assert!(!metrics.body.contains("profile"));
    let hidden = ask(address, "GET /metrics", &[("authorization", "Bearer token-of-bob")], "").await;
    assert_eq!(hidden.status, 404);
}

/// A gateway whose callers see four tools behind some that are hidden, and the cursor of the first page.
async fn first_page(hidden: usize) -> (SocketAddr, Value) {
    let part = View { search_mode: SearchMode::Off, ..view("part", &["shown_*"]) };
    let world = World::with(GatewayOptions {
        page_size: 2,
        views: Some(Views::new(View::everything(), [part]).unwrap()),
        authenticator: tokens(vec![token("ann", Some("part"))]),
        ..GatewayOptions::default()
    });
    let named = |name: String| {
        add(&world.gateway.hub, ToolSpec::named(&*name), |_, _| async { Ok(ToolOutput::new(1)) });
    };
    (0..hidden).for_each(|number| named(format!("hidden_{number}")));
    (0..4).for_each(|number| named(format!("shown_{number}")));
    let address = world.serve().await;
    let page = post(address, "/mcp", "token-of-ann", &modern(1, "tools/list", json!({}))).await.json();
    assert_eq!(page["result"]["tools"].as_array().unwrap().len(), 2, "{page}");
    (address, page["result"]["nextCursor"].clone())
}

#[tokio::test]
async fn a_cursor_tells_nothing_of_hidden_tools() {
    let (_, few) = first_page(0).await;
    let (address, many) = first_page(1_000).await;
    assert_eq!(few, many, "however many are hidden");
    assert_eq!(
        BASE64_URL_SAFE_NO_PAD.decode(many.as_str().unwrap()).unwrap(),
        b"shown_1",
        "which is on the page"
    );

    let next = async |who: &str, last: &str| {
        let cursor = BASE64_URL_SAFE_NO_PAD.encode(last);
        post(address, "/mcp", who, &modern(2, "tools/list", json!({"cursor": cursor}))).await
    };
    let names = |page: &Value| -> Vec<String> {
        let tools = page["result"]["tools"].as_array().unwrap_or_else(|| panic!("{page}"));
        tools.iter().filter_map(|tool| Some(tool["name"].as_str()?.to_owned())).collect()
    };
    assert_eq!(names(&next("token-of-ann", "shown_1").await.json()), ["shown_2", "shown_3"]);
    assert_eq!(names(&next("token-of-ann", "shown_0 that is gone").await.json()), ["shown_1", "shown_2"]);
    let (hidden, unknown) =
        (next("token-of-ann", "hidden_7").await, next("token-of-ann", "hidden_of_nobody").await);
    assert_eq!(hidden.body, unknown.body);
    assert_eq!(names(&hidden.json()), ["shown_0", "shown_1"]);
}
