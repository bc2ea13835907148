//! The HTTP endpoint.

use crate::gateway::client::Http;
use crate::gateway::world::{World, add, initialize, modern, request};
use serde_json::{Value, json};
use toolhub::gateway::GatewayOptions;
use toolhub::model::{ToolOutput, ToolSpec};

const MODERN: (&str, &str) = ("mcp-protocol-version", "2026-07-28");

#[tokio::test]
async fn a_legacy_client_initialises_lists_and_calls() {
    let mut client = World::new().client().await;
    let reply = client.post(&initialize("2025-06-18"), &[]).await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")));
    let welcome = &reply.json()["result"];
    assert_eq!(welcome["protocolVersion"], "2025-06-18");
    assert_eq!(welcome["serverInfo"]["name"], "toolhub");
    assert_eq!(welcome["capabilities"]["tools"]["listChanged"], true);
    let session = reply.header("mcp-session-id").unwrap().to_owned();
    let own = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", "2025-06-18")];

    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let reply = client.post(&ready, &own).await;
    assert_eq!((reply.status, reply.body.as_str()), (202, ""));

    let listed = client.post(&request(1, "tools/list", json!({})), &own).await.json();
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["ask", "fail", "profile", "region", "report", "sum", "wait"],
        "in the order of their names, without hidden ones"
    );
    let sum = &listed["result"]["tools"][5];
    assert_eq!(sum["description"], "Adds two numbers.");
    assert_eq!(sum["inputSchema"]["required"], json!(["a", "b"]));
    assert_eq!(sum["annotations"], json!({"readOnlyHint": true, "x-own": 1}));
    assert_eq!(listed["result"].get("resultType"), None);

    let call = request(2, "tools/call", json!({"name": "sum", "arguments": {"a": 2, "b": 3}}));
    let called = client.post(&call, &own).await.json();
    assert_eq!(
        called,
        json!({"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "5"}]}})
    );
    let ping = client.post(&request(3, "ping", json!({})), &own).await.json();
    assert_eq!(ping["result"], json!({}));
}

#[tokio::test]
async fn a_modern_client_needs_no_handshake() {
    let mut client = World::new().client().await;
    let found = client.post(&modern(1, "server/discover", json!({})), &[MODERN]).await;
    assert_eq!((found.status, found.header("mcp-session-id")), (200, None));
    let found = found.json();
    assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(found["result"]["resultType"], "complete");
    let info = &found["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(info["name"], "toolhub");

    let listed = client.post(&modern(2, "tools/list", json!({})), &[MODERN]).await.json();
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(7));
    assert_eq!((&listed["result"]["ttlMs"], &listed["result"]["cacheScope"]), (&json!(0), &json!("private")));

    let call = modern(3, "tools/call", json!({"name": "profile"}));
    let called = client.post(&call, &[MODERN]).await.json();
    assert_eq!(called["result"]["structuredContent"], json!({"name": "Ada"}));
    assert_eq!(called["result"]["content"], json!([{"type": "text", "text": r#"{"name":"Ada"}"#}]));
    assert_eq!(called["result"]["resultType"], "complete");
    let ping = client.post(&modern(4, "ping", json!({})), &[MODERN]).await;
    assert_eq!((ping.status, &ping.json()["error"]["code"]), (404, &json!(-32601)), "this era has no ping");
}

#[tokio::test]
async fn a_failed_tool_is_a_result_and_an_unknown_one_an_error() {
    let mut client = World::new().client().await;
    for (message, era) in [
        (request as fn(u64, &str, Value) -> Value, [("x", "y")]),
        (modern as fn(u64, &str, Value) -> Value, [MODERN]),
    ] {
        let failed = client.post(&message(1, "tools/call", json!({"name": "fail"})), &era).await.json();
        assert_eq!(failed["result"]["isError"], true);
        assert_eq!(failed["result"]["content"][0]["text"], "The disk is full.");
        let wrong = json!({"name": "sum", "arguments": {"a": "x"}});
        let wrong = client.post(&message(2, "tools/call", wrong), &era).await.json();
        assert_eq!(wrong["result"]["isError"], true, "a model can correct its arguments: {wrong}");
        let mut unknown = Vec::new();
        for name in ["nonsuch", "secret"] {
            let reply = client.post(&message(3, "tools/call", json!({"name": name})), &era).await;
            assert_eq!(reply.json()["error"]["code"], -32602);
            unknown.push((reply.status, reply.body.replace(name, "NAME")));
        }
        assert_eq!(unknown[0], unknown[1], "a hidden tool answers like an unknown one");
    }
}

#[tokio::test]
async fn malformed_messages_get_the_errors_of_json_rpc() {
    let mut client = World::new().client().await;
    for (body, status, code) in [
        ("{", 400, -32700),
        ("[]", 400, -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, 400, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"nonsuch"}"#, 200, -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, 200, -32602),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sum","arguments":[]}}"#,
            200,
            -32602,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"nonsense"}}"#, 200, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#, 400, -32602),
    ] {
        client.send("POST", &[("content-type", "application/json")], body.as_bytes()).await;
        let reply = client.reply().await;
        assert_eq!((reply.status, reply.json()["error"]["code"].as_i64()), (status, Some(code)), "{body}");
    }
}

#[tokio::test]
async fn requests_that_http_forbids_are_refused() {
    let world = World::with(GatewayOptions { max_body: 1000, ..GatewayOptions::default() });
    let address = world.serve().await;
    let json = ("content-type", "application/json");
    let body = request(1, "ping", json!({})).to_string();
    let large = "x".repeat(2000);
    for (method, headers, body, status) in [
        ("POST", vec![("content-type", "text/plain")], &body, 415),
        ("POST", vec![json, ("accept", "text/html")], &body, 406),
        ("POST", vec![json, ("host", "evil.example.com")], &body, 403),
        ("POST", vec![json, ("origin", "http://evil.example.com")], &body, 403),
        ("POST", vec![json], &large, 413),
        ("PUT", vec![json], &body, 405),
        ("GET", vec![("accept", "application/json")], &body, 406),
        ("GET", vec![MODERN], &body, 405),
        ("DELETE", vec![], &body, 400),
        ("POST", vec![json, ("mcp-session-id", "forged")], &body, 404),
        ("GET", vec![("accept", "text/event-stream"), ("mcp-session-id", "forged")], &body, 404),
        ("DELETE", vec![("mcp-session-id", "forged")], &body, 404),
    ] {
        let mut client = Http::connect(address).await;
        client.send(method, &headers, body.as_bytes()).await;
        assert_eq!(client.reply().await.status, status, "{method} {headers:?}");
    }
}

#[tokio::test]
async fn a_client_that_goes_cancels_its_call() {
    let mut world = World::new();
    for accept in ["application/json", "application/json, text/event-stream"] {
        let mut client = world.client().await;
        let call = request(1, "tools/call", json!({"name": "wait"}));
        client.send_post(&call, &[("accept", accept)]).await;
        assert_eq!(world.act().await, "started");
        drop(client);
        assert_eq!(world.act().await, "cancelled");
    }
}

#[tokio::test]
async fn a_legacy_client_cancels_by_a_notification() {
    let mut world = World::new();
    let address = world.serve().await;
    let mut client = Http::connect(address).await;
    let session = client.post(&initialize("2025-11-25"), &[]).await;
    let session = session.header("mcp-session-id").unwrap().to_owned();
    let own = [("mcp-session-id", session.as_str())];
    client.send_post(&request(7, "tools/call", json!({"name": "wait"})), &own).await;
    assert_eq!(world.act().await, "started");

    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    let mut other = Http::connect(address).await;
    let foreign = other.post(&initialize("2025-11-25"), &[]).await;
    let foreign = foreign.header("mcp-session-id").unwrap().to_owned();
    for headers in [vec![], vec![("mcp-session-id", foreign.as_str())]] {
        assert_eq!(other.post(&cancel, &headers).await.status, 202);
        assert!(world.acts.try_recv().is_err(), "another client must not cancel it");
    }
    assert_eq!(other.post(&cancel, &own).await.status, 202);
    assert_eq!(world.act().await, "cancelled");
}

#[tokio::test]
async fn progress_comes_before_the_answer() {
    let mut client = World::new().client().await;
    for (message, era) in [
        (request as fn(u64, &str, Value) -> Value, [("x", "y")]),
        (modern as fn(u64, &str, Value) -> Value, [MODERN]),
    ] {
        let meta = json!({"progressToken": "p1", "traceparent": "00-1", "io.modelcontextprotocol/own": 1});
        let call = message(1, "tools/call", json!({"name": "report", "_meta": meta}));
        client.send_post(&call, &era).await;
        assert_eq!(client.head().await.header("content-type"), Some("text/event-stream"));
        let reported = client.event().await;
        let params = json!({"progress": 1, "total": 2, "message": "half", "progressToken": "p1"});
        assert_eq!(reported, json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
        let answer = client.event().await;
        assert_eq!(answer["result"]["structuredContent"], json!({"meta": {"traceparent": "00-1"}}));
        assert_eq!(client.chunk().await, None);
        let reply = client.post(&call, &[era[0], ("accept", "application/json")]).await;
        assert_eq!(reply.header("content-type"), Some("application/json"), "it takes no events");
        assert_eq!(reply.json()["id"], 1);
    }
}

#[tokio::test]
async fn a_session_serves_any_replica_and_ends() {
    let keys = std::sync::Arc::new(toolhub::gateway::SessionKeys::random().unwrap());
    let options = || GatewayOptions { session_keys: Some(keys.clone()), ..GatewayOptions::default() };
    let (one, other, foreign) = (World::with(options()), World::with(options()), World::new());
    let mut client = one.client().await;
    let session = client.post(&initialize("2025-11-25"), &[]).await;
    let session = session.header("mcp-session-id").unwrap().to_owned();
    let own = [("mcp-session-id", session.as_str())];
    let ping = request(1, "ping", json!({}));
    assert_eq!(other.client().await.post(&ping, &own).await.status, 200);
    assert_eq!(foreign.client().await.post(&ping, &own).await.status, 404);
    let wrong_version = [own[0], ("mcp-protocol-version", "2025-06-18")];
    assert_eq!(client.post(&ping, &wrong_version).await.status, 400);
    client.send("DELETE", &own, b"").await;
    assert_eq!(client.reply().await.status, 204);
    assert_eq!(client.post(&ping, &own).await.status, 404);
}

#[tokio::test]
async fn listeners_of_both_eras_hear_of_changes() {
    let world = World::new();
    let address = world.serve().await;
    let mut legacy = Http::connect(address).await;
    legacy.send("GET", &[("accept", "text/event-stream")], b"").await;
    assert_eq!(legacy.head().await.header("content-type"), Some("text/event-stream"));
    let mut client = Http::connect(address).await;
    let listen = modern(9, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    client.send_post(&listen, &[MODERN]).await;
    assert_eq!(client.head().await.header("content-type"), Some("text/event-stream"));
    let meta = json!({"io.modelcontextprotocol/subscriptionId": 9});
    let confirmed = client.event().await;
    assert_eq!(confirmed["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(confirmed["params"], json!({"notifications": {"toolsListChanged": true}, "_meta": meta}));

    add(&world.gateway.hub, ToolSpec::named("new"), |_, _| async { Ok(ToolOutput::new(1)) });
    let changed = client.event().await;
    assert_eq!(
        (&changed["method"], &changed["params"]["_meta"]),
        (&json!("notifications/tools/list_changed"), &meta)
    );
    assert_eq!(legacy.event().await["method"], "notifications/tools/list_changed");

    world.gateway.operation.closing.cancel();
    let ended = client.event().await;
    assert_eq!((&ended["id"], &ended["result"]["resultType"]), (&json!(9), &json!("complete")));
    assert_eq!(legacy.chunk().await, None);
}

#[tokio::test]
async fn long_lists_come_in_pages_that_survive_changes() {
    let world = World::with(GatewayOptions { page_size: 3, ..GatewayOptions::default() });
    let mut client = world.client().await;
    let mut names = Vec::new();
    let mut params = json!({});
    loop {
        let page = client.post(&request(1, "tools/list", params), &[]).await.json();
        let tools = page["result"]["tools"].as_array().unwrap().clone();
        names.extend(tools.into_iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        // The last tool of the page that was read goes, another one comes.
        world.gateway.hub.registry.remove("profile", Default::default());
        if names.len() < 4 {
            add(&world.gateway.hub, ToolSpec::named("late"), |_, _| async { Ok(ToolOutput::new(1)) });
        }
        match page["result"].get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => break,
        }
    }
    assert_eq!(names, ["ask", "fail", "profile", "region", "report", "sum", "wait"]);
}

#[tokio::test]
async fn a_tool_is_described() {
    let mut client = World::new().client().await;
    let described = client.post(&request(1, "tools/describe", json!({"name": "sum"})), &[]).await.json();
    assert_eq!(described["result"]["tool"]["inputSchema"]["required"], json!(["a", "b"]));
    let unknown = client.post(&request(2, "tools/describe", json!({"name": "secret"})), &[]).await.json();
    assert_eq!(unknown["error"], json!({"code": -32602, "message": "Unknown tool: secret"}));
}

#[tokio::test]
async fn wrong_versions_are_named() {
    let mut client = World::new().client().await;
    let reply = client.post(&initialize("1999-01-01"), &[]).await;
    assert_eq!(reply.json()["result"]["protocolVersion"], "2025-11-25");
    let mut future = modern(1, "tools/list", json!({}));
    future["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let reply = client.post(&future, &[("mcp-protocol-version", "2099-01-01")]).await;
    let expected = json!({"supported": ["2026-07-28"], "requested": "2099-01-01"});
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &json!(-32022)));
    assert_eq!(reply.json()["error"]["data"], expected);
    let reply = client.post(&request(1, "tools/list", json!({})), &[MODERN]).await;
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &json!(-32602)));
    let levels = [("debug", json!({})), ("loud", Value::Null)];
    for (level, result) in levels {
        let set = client.post(&request(1, "logging/setLevel", json!({"level": level})), &[]).await.json();
        assert_eq!(set.get("result").cloned().unwrap_or_default(), result, "{set}");
    }
}

#[tokio::test]
async fn a_standing_stream_reports_changes_and_ends_properly() {
    let world = World::new();
    let mut client = world.client().await;
    let accept = ("accept", "text/event-stream");
    client.send("GET", &[accept], b"").await;
    let head = client.head().await;
    assert_eq!((head.status, head.header("transfer-encoding")), (200, Some("chunked")));
    for name in ["one", "two"] {
        add(&world.gateway.hub, ToolSpec::named(name), |_, _| async { Ok(ToolOutput::new("")) });
        assert_eq!(client.event().await["method"], "notifications/tools/list_changed");
    }
    world.gateway.stop_now();
    assert!(client.chunk().await.is_none(), "the stream ends properly");
}
