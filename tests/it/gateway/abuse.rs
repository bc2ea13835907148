//! Requests that are wrong on purpose: proper errors, and nothing of one caller reaches another.

use crate::gateway::access::ask;
use crate::gateway::client::Http;
use crate::gateway::world::{PATIENCE, World, add, initialize, modern, request};
use serde_json::json;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use toolhub::gateway::{
    AuthenticationOptions, Authenticator, GatewayLimits, GatewayOptions, SearchMode, StaticToken, View, Views,
};
use toolhub::model::{ToolOutput, ToolSpec};

const JSON: (&str, &str) = ("content-type", "application/json");

/// All that comes back for these bytes, until the server closes the connection.
async fn raw(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let _ = stream.write_all(bytes).await;
    let _ = stream.shutdown().await;
    let mut text = Vec::new();
    let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut text)).await.unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

fn statuses(text: &str) -> Vec<u16> {
    let lines = text.split("HTTP/1.").skip(1);
    lines.filter_map(|line| line.split(' ').nth(1)?.parse().ok()).collect()
}

#[tokio::test]
async fn a_request_cannot_hide_in_another_one() {
    let address = World::new().serve().await;
    const HIDDEN: &str = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let post = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let chunked = "transfer-encoding: chunked\r\n";
    for (what, head, body) in [
        ("both lengths", format!("{post}content-length: 5\r\n{chunked}\r\n"), "0\r\n\r\n"),
        ("both lengths, the other way", format!("{post}{chunked}content-length: 5\r\n\r\n"), "0\r\n\r\n"),
        ("two lengths", format!("{post}content-length: 0\r\ncontent-length: 44\r\n\r\n"), ""),
        ("a list of lengths", format!("{post}content-length: 0, 44\r\n\r\n"), ""),
        ("a signed length", format!("{post}content-length: +0\r\n\r\n"), ""),
        ("an unknown coding", format!("{post}transfer-encoding: chunked, identity\r\n\r\n"), "0\r\n\r\n"),
        ("a disguised coding", format!("{post}transfer-encoding: xchunked\r\n\r\n"), "0\r\n\r\n"),
        ("a folded header", format!("{post}transfer-encoding:\r\n chunked\r\n\r\n"), "0\r\n\r\n"),
        ("a space before the colon", format!("{post}content-length : 0\r\n\r\n"), ""),
        ("a bare CR in a value", format!("{post}x: a\rcontent-length: 44\r\n\r\n"), ""),
        ("a NUL in a value", format!("{post}x: a\0b\r\ncontent-length: 0\r\n\r\n"), ""),
        ("a negative chunk", format!("{post}{chunked}\r\n"), "-1\r\n\r\n"),
        ("an endless chunk", format!("{post}{chunked}\r\n"), "fffffffffffffffff\r\n"),
        ("a chunk longer than it says", format!("{post}{chunked}\r\n"), "1\r\n{}\r\n0\r\n\r\n"),
    ] {
        let reply = raw(address, format!("{head}{body}{HIDDEN}").as_bytes()).await;
        let found = statuses(&reply);
        assert!(found.len() <= 1, "{what}: {found:?}");
        assert!(found.iter().all(|status| (400..500).contains(status)), "{what}: {reply}");
        assert!(!reply.ends_with("ok\n"), "{what}");
    }
    // A chunked request alone is served, and its connection is closed.
    let ping = request(1, "ping", json!({})).to_string();
    let chunks = format!("{post}{chunked}\r\n{:x}\r\n{ping}\r\n0\r\n\r\n{HIDDEN}", ping.len());
    assert_eq!(statuses(&raw(address, chunks.as_bytes()).await), [200]);
}

#[tokio::test]
async fn odd_forms_of_http_get_proper_answers() {
    let address = World::new().serve().await;
    for (what, request, expected) in [
        ("no host", "GET /healthz HTTP/1.1\r\n\r\n", vec![403]),
        ("two hosts", "GET /healthz HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n\r\n", vec![403]),
        (
            "an address as target",
            "GET http://localhost/healthz HTTP/1.1\r\nhost: localhost\r\n\r\n",
            vec![200],
        ),
        (
            "another target than host",
            "GET http://evil.example/healthz HTTP/1.1\r\nhost: localhost\r\n\r\n",
            vec![403],
        ),
        ("HTTP/1.0", "GET /healthz HTTP/1.0\r\nhost: localhost\r\n\r\n", vec![200]),
        ("HTTP/0.9", "GET /healthz\r\n\r\n", vec![400]),
        ("HTTP/3.0 in text", "GET /healthz HTTP/3.0\r\nhost: localhost\r\n\r\n", vec![400]),
        ("all of the server", "OPTIONS * HTTP/1.1\r\nhost: localhost\r\n\r\n", vec![404]),
        ("a tunnel", "CONNECT localhost:80 HTTP/1.1\r\nhost: localhost:80\r\n\r\n", vec![404]),
        ("TLS", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}", vec![400]),
        ("a line that ends a header", "GET /healthz\r\nx: y HTTP/1.1\r\nhost: localhost\r\n\r\n", vec![400]),
    ] {
        assert_eq!(statuses(&raw(address, request.as_bytes()).await), expected, "{what}");
    }
}

#[tokio::test]
async fn only_the_exact_path_of_a_view_is_served() {
    let reader = View { name: "reader".into(), ..View::everything() };
    let views = Views::new(View::everything(), [reader]).unwrap();
    let address = World::with(GatewayOptions { views: Some(views), ..Default::default() }).serve().await;
    let ping = request(1, "ping", json!({})).to_string();
    for path in ["/mcp", "/mcp/reader", "/mcp?x=1"] {
        assert_eq!(ask(address, &format!("POST {path}"), &[JSON], &ping).await.status, 200, "{path}");
    }
    for path in [
        "/",
        "/MCP",
        "//mcp",
        "/mcp/",
        "/mcp//reader",
        "/mcp/reader/",
        "/mcp/Reader",
        "/mcp/./reader",
        "/mcp/../mcp",
        "/mcp/reader/../reader",
        "/mcp/%2e%2e/mcp",
        "/mcp/%72eader",
        "/mcp%2freader",
        "/mcp/reader%00",
        "/mcp/reader;x",
        "/mcp/reader%20",
        "/mcp\\reader",
        "/mcp/nonsuch",
        "/mcp/..;/reader",
    ] {
        let status = ask(address, &format!("POST {path}"), &[JSON], &ping).await.status;
        assert!([400, 404].contains(&status), "{path}: {status}");
    }
    assert_eq!(ask(address, "POST /mcp/\0reader", &[JSON], &ping).await.status, 400);
}

#[tokio::test]
async fn a_token_in_the_address_is_not_a_credential() {
    let token = StaticToken {
        name: "ann".to_owned(),
        token: "ann-secret".into(),
        view: None,
        upstream_tokens: Default::default(),
    };
    let options = AuthenticationOptions { tokens: vec![token], ..AuthenticationOptions::default() };
    let authenticator = Some(Arc::new(Authenticator::new(options).unwrap()));
    let address = World::with(GatewayOptions { authenticator, ..Default::default() }).serve().await;
    let ping = request(1, "ping", json!({})).to_string();
    let bearer = ("authorization", "Bearer ann-secret");
    assert_eq!(ask(address, "POST /mcp", &[JSON, bearer], &ping).await.status, 200);
    for path in ["/mcp?access_token=ann-secret", "/mcp?token=ann-secret", "/mcp/ann-secret"] {
        let refused = ask(address, &format!("POST {path}"), &[JSON], &ping).await;
        assert_eq!(refused.status, 401, "{path}");
        assert!(!format!("{}{}", refused.head, refused.body).contains("ann-secret"), "{path}");
    }
    let metrics = ask(address, "GET /metrics", &[bearer], "").await;
    assert!(!metrics.body.contains("ann-secret"));
}

#[tokio::test]
async fn forged_sessions_are_not_found() {
    let address = World::new().serve().await;
    let mut client = Http::connect(address).await;
    let own = client.post(&initialize("2025-11-25"), &[]).await.header("mcp-session-id").unwrap().to_owned();
    let foreign = World::new().client().await.post(&initialize("2025-11-25"), &[]).await;
    let foreign = foreign.header("mcp-session-id").unwrap().to_owned();
    let ping = request(1, "ping", json!({}));
    assert_eq!(client.post(&ping, &[("mcp-session-id", &own)]).await.status, 200);
    let other = if own.ends_with('A') { "B" } else { "A" };
    let mut forged =
        vec![foreign, String::new(), "nonsuch".to_owned(), "a.b.c".to_owned(), "x".repeat(4_000)];
    forged.push(format!("{}{other}", &own[..own.len() - 1]));
    forged.push(own[..own.len() / 2].to_owned());
    forged.push(format!("{own}{own}"));
    forged.push(format!("{own}="));
    for session in &forged {
        let reply = client.post(&ping, &[("mcp-session-id", session)]).await;
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (404, &json!(-32001)), "{session}");
    }
}

#[tokio::test]
async fn idle_strangers_make_room_and_are_forgotten() {
    let limits = GatewayLimits { max_connections: 20, ..GatewayLimits::default() };
    let world = World::with(GatewayOptions { limits, ..Default::default() });
    let address = world.serve().await;
    let mut held = Vec::new();
    for _ in 0..300 {
        held.push(TcpStream::connect(address).await.unwrap());
    }
    assert_eq!(ask(address, "GET /healthz", &[], "").await.status, 200);
    let closed = async {
        while world.gateway.operation.admission.connections.count() > 20 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, closed).await.unwrap();
    drop(held);
    let served = async {
        while world.gateway.operation.admission.connections.count() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, served).await.unwrap();
}

#[tokio::test]
async fn a_client_that_sends_its_head_slowly_is_closed() {
    let limits = GatewayLimits { head_timeout: Duration::from_millis(50), ..GatewayLimits::default() };
    let world = World::with(GatewayOptions { limits, ..Default::default() });
    let mut slow = TcpStream::connect(world.serve().await).await.unwrap();
    slow.write_all(b"POST /mcp HTTP/1.1\r\nhost: local").await.unwrap();
    let mut reply = Vec::new();
    tokio::time::timeout(PATIENCE, slow.read_to_end(&mut reply)).await.unwrap().unwrap();
    assert_ne!(statuses(&String::from_utf8_lossy(&reply)), [200]);
}

#[tokio::test]
async fn ten_thousand_tools_are_listed_in_the_order_of_their_names() {
    let all = View { search_mode: SearchMode::Off, ..View::everything() };
    let views = Some(Views::new(all, []).unwrap());
    let world = World::with(GatewayOptions { views, ..Default::default() });
    for number in 0..10_000 {
        add(&world.gateway.hub, ToolSpec::named(&*format!("tool_{number}")), |_, _| async {
            Ok(ToolOutput::new(1))
        });
    }
    let mut client = world.client().await;
    let (mut names, mut params) = (Vec::new(), json!({}));
    loop {
        let page = client.post(&modern(1, "tools/list", params), &[]).await.json();
        let tools = page["result"]["tools"].as_array().unwrap_or_else(|| panic!("{page}"));
        names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        match page["result"].get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => break,
        }
    }
    let own = names.iter().filter(|name| name.starts_with("tool_"));
    let expected: BTreeSet<String> = (0..10_000).map(|number| format!("tool_{number}")).collect();
    assert!(own.eq(&expected), "{} tools", names.len());
    for cursor in [json!("nonsense"), json!("tool_1!"), json!(-1), json!({})] {
        let refused = client.post(&request(1, "tools/list", json!({"cursor": cursor})), &[]).await.json();
        assert_eq!(refused["error"]["code"], -32602, "{cursor}: {refused}");
    }
}
