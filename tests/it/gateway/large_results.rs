//! Large results keep no other caller waiting.

use crate::gateway::world::{PATIENCE, World, add, request};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use toolhub::model::{ToolOutput, ToolSpec};

/// Sends a call on a connection of its own.
fn call(address: SocketAddr, params: Value) -> TcpStream {
    let body = request(1, "tools/call", params).to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE * 3)).unwrap();
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
                accept: application/json\r\nmcp-protocol-version: 2025-11-25\r\n";
    write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
    stream
}

fn answer(mut stream: TcpStream) -> Value {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    serde_json::from_str(body).unwrap()
}

/// With one thread for all of the gateway: what takes long has to let it go.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_small_call_is_answered_while_a_large_result_is_written() {
    const ENTRIES: usize = 300_000;
    let world = World::new();
    let (returns, returned) = mpsc::channel();
    add(&world.gateway.hub, ToolSpec::named("large"), move |_, _| {
        let returns = returns.clone();
        async move {
            let entries: Vec<Value> = (0..ENTRIES).map(|number| json!({"number": number})).collect();
            returns.send(()).unwrap();
            Ok(ToolOutput::new(json!({"entries": entries})))
        }
    });
    let address = world.serve().await;
    let clients = tokio::task::spawn_blocking(move || {
        let mut large = call(address, json!({"name": "large"}));
        returned.recv_timeout(PATIENCE).unwrap();
        // From here on, the gateway writes the result down.
        let small = answer(call(address, json!({"name": "sum", "arguments": {"a": 1, "b": 2}})));
        large.set_nonblocking(true).unwrap();
        let read = large.read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(read, Err(ErrorKind::WouldBlock), "the large result came first");
        large.set_nonblocking(false).unwrap();
        (small, answer(large))
    });
    let (small, large) = clients.await.unwrap();
    assert_eq!(small["result"]["content"][0]["text"], "3");
    let entries = large["result"]["structuredContent"]["entries"].as_array().unwrap();
    assert_eq!((entries.len(), &entries[7]), (ENTRIES, &json!({"number": 7})));
}
