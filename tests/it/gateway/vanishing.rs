//! Clients that leave in the middle of a call: the tool is cancelled, and nothing is left of them.

use crate::gateway::access::ask;
use crate::gateway::client::Http;
use crate::gateway::world::{PATIENCE, World, modern, request};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

const MODERN: (&str, &str) = ("mcp-protocol-version", "2026-07-28");
/// A tool may run on for a second after its client has left.
const TICKS: usize = 100;
const TICK: Duration = Duration::from_millis(10);

/// What happens next, if it happens within a second. The second is counted in ticks of the runtime that serves the gateway: when
/// the machine is busy, the ticks are late too, so a slow machine does not fail the test.
async fn act_within_a_second(world: &mut World) -> &'static str {
    let a_second = async {
        for _ in 0..TICKS {
            tokio::time::sleep(TICK).await;
        }
    };
    tokio::select! {
        biased;
        act = world.act() => act,
        () = a_second => "nothing within a second",
    }
}

async fn nothing_left(world: &World) {
    let gone = async {
        loop {
            let operation = &world.gateway.operation;
            let calls = operation.calls.running() + operation.drain.running();
            if (operation.admission.running(), operation.admission.connections.count(), calls)
                == ((0, 0), 0, 0)
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let gauges = || world.gateway.gauges();
    tokio::time::timeout(PATIENCE, gone).await.unwrap_or_else(|_| panic!("left: {:?}", gauges()));
}

#[tokio::test]
async fn a_client_that_disconnects_cancels_its_call() {
    let mut world = World::new();
    let address = world.serve().await;
    let meta = json!({"_meta": {"progressToken": 1}});
    for era in [request as fn(u64, &str, Value) -> Value, modern as fn(u64, &str, Value) -> Value] {
        // A JSON answer that has not begun; one that could be events; events that have begun.
        for (accept, with_progress) in [
            ("application/json", false),
            ("application/json, text/event-stream", false),
            ("application/json, text/event-stream", true),
        ] {
            let mut params = if with_progress { meta.clone() } else { json!({}) };
            params["name"] = json!("wait");
            let mut client = Http::connect(address).await;
            client.send_post(&era(1, "tools/call", params), &[("accept", accept)]).await;
            assert_eq!(world.act().await, "started");
            if with_progress {
                assert_eq!(client.head().await.header("content-type"), Some("text/event-stream"));
                assert_eq!(client.event().await["method"], "notifications/progress");
            }
            drop(client);
            let next = act_within_a_second(&mut world).await;
            assert_eq!(next, "cancelled", "{accept}, progress: {with_progress}");
        }
    }
    nothing_left(&world).await;
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Headers, each as a literal that is not indexed.
fn header_block(headers: &[(&str, &str)]) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    headers.iter().flat_map(|(name, value)| [vec![0], text(name), text(value)].concat()).collect()
}

#[tokio::test]
async fn a_reset_stream_of_http_2_cancels_its_call_and_no_other() {
    const HEADERS: u8 = 1;
    const RESET: u8 = 3;
    const SETTINGS: u8 = 4;
    let mut world = World::new();
    let mut client = TcpStream::connect(world.serve().await).await.unwrap();
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(SETTINGS, 0, 0, &[]));
    for stream in [1, 3] {
        let head = [
            (":method", "POST"),
            (":scheme", "http"),
            (":authority", "localhost"),
            (":path", "/mcp"),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "wait"),
        ];
        let body = modern(u64::from(stream), "tools/call", json!({"name": "wait"})).to_string();
        bytes.extend(frame(HEADERS, 4, stream, &header_block(&head)));
        bytes.extend(frame(0, 1, stream, body.as_bytes()));
    }
    client.write_all(&bytes).await.unwrap();
    assert_eq!((world.act().await, world.act().await), ("started", "started"));
    client.write_all(&frame(RESET, 0, 1, &8_u32.to_be_bytes())).await.unwrap();
    assert_eq!(act_within_a_second(&mut world).await, "cancelled");
    assert_eq!(world.gateway.operation.calls.running(), 1, "the other call of the connection goes on");
    drop(client);
    assert_eq!(act_within_a_second(&mut world).await, "cancelled");
    nothing_left(&world).await;
}

#[tokio::test]
async fn nothing_is_kept_of_clients_that_vanish() {
    let world = World::new();
    let address = world.serve().await;
    let json = ("content-type", "application/json");
    for round in 0..100_u64 {
        // One that leaves before, in and after its request, and in a stream.
        drop(TcpStream::connect(address).await.unwrap());
        let mut half = TcpStream::connect(address).await.unwrap();
        half.write_all(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-le").await.unwrap();
        drop(half);
        let mut calling = Http::connect(address).await;
        calling.send_post(&request(round, "tools/call", json!({"name": "wait"})), &[]).await;
        drop(calling);
        let mut listening = Http::connect(address).await;
        let listen = json!({"notifications": {"toolsListChanged": true}});
        listening.send_post(&modern(round, "subscriptions/listen", listen), &[MODERN]).await;
        listening.head().await;
        drop(listening);
        // A lone discover; GET and DELETE of a session that never was.
        let mut client = Http::connect(address).await;
        assert_eq!(client.post(&modern(round, "server/discover", json!({})), &[]).await.status, 200);
        let forged = ("mcp-session-id", "nonsuch");
        assert_eq!(ask(address, "DELETE /mcp", &[json, forged], "").await.status, 404);
        assert_eq!(
            ask(address, "GET /mcp", &[("accept", "text/event-stream"), forged], "").await.status,
            404
        );
        assert_eq!(ask(address, "DELETE /mcp", &[json], "").await.status, 400);
    }
    nothing_left(&world).await;
}
