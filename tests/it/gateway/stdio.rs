//! The stdio endpoint.

use crate::gateway::world::{
    PATIENCE, Pipe, World, add, initialize, initialize_with, modern, modern_with, request,
};
use serde_json::json;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use toolhub::gateway::GatewayOptions;
use toolhub::model::{ToolOutput, ToolSpec};

#[tokio::test]
async fn both_eras_share_one_pipe() {
    let world = World::new();
    let mut pipe = Pipe::to(&world);
    let early = pipe.ask(&request(1, "tools/list", json!({}))).await;
    assert_eq!(early["error"]["code"], -32600, "a legacy client initialises first");
    assert_eq!(pipe.ask(&request(2, "ping", json!({}))).await["result"], json!({}));
    assert_eq!(pipe.ask(&initialize("2025-11-25")).await["result"]["protocolVersion"], "2025-11-25");
    let call = json!({"name": "sum", "arguments": {"a": 1, "b": 1}});
    let called = pipe.ask(&request(3, "tools/call", call.clone())).await;
    assert_eq!(called["result"]["content"][0]["text"], "2");
    let called = pipe.ask(&modern(4, "tools/call", call)).await;
    assert_eq!(called["result"]["resultType"], "complete");
    let found = pipe.ask(&modern(5, "server/discover", json!({}))).await;
    assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28"]));
}

#[tokio::test]
async fn what_is_not_a_message_is_answered_and_the_next_one_is_read() {
    let world = World::with(GatewayOptions { max_body: 1000, ..GatewayOptions::default() });
    let mut pipe = Pipe::to(&world);
    pipe.send("").await;
    pipe.send("{nonsense").await;
    assert_eq!(pipe.next().await["error"]["code"], -32700);
    pipe.send(&"x".repeat(5000)).await;
    assert_eq!(pipe.next().await["error"]["code"], -32600);
    assert_eq!(pipe.ask(&request(1, "ping", json!({}))).await["result"], json!({}));
}

#[tokio::test]
async fn a_call_is_cancelled_and_not_answered() {
    let mut world = World::new();
    let mut pipe = Pipe::to(&world);
    pipe.ask(&initialize("2025-11-25")).await;
    pipe.send(&request(1, "tools/call", json!({"name": "wait"})).to_string()).await;
    assert_eq!(world.act().await, "started");
    let again = pipe.ask(&request(1, "ping", json!({}))).await;
    assert_eq!(again["error"]["code"], -32600, "the id is in use");
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    pipe.send(&cancel.to_string()).await;
    assert_eq!(world.act().await, "cancelled");
    assert_eq!(pipe.ask(&request(2, "ping", json!({}))).await["id"], 2);
}

#[tokio::test]
async fn a_client_that_closes_its_end_gets_its_answers_and_cancels_the_rest() {
    let mut world = World::new();
    let mut pipe = Pipe::to(&world);
    pipe.ask(&initialize("2025-11-25")).await;
    pipe.send(&request(1, "tools/call", json!({"name": "wait"})).to_string()).await;
    pipe.send(&request(2, "tools/call", json!({"name": "profile"})).to_string()).await;
    assert_eq!(world.act().await, "started");
    pipe.input.shutdown().await.unwrap();
    assert_eq!(pipe.next().await["id"], 2);
    assert_eq!(world.act().await, "cancelled");
    tokio::time::timeout(PATIENCE, pipe.served).await.unwrap().unwrap();
}

#[tokio::test]
async fn the_last_message_needs_no_line_end() {
    let world = World::new();
    let mut pipe = Pipe::to(&world);
    let message = request(1, "ping", json!({})).to_string();
    pipe.input.write_all(message.as_bytes()).await.unwrap();
    pipe.input.shutdown().await.unwrap();
    assert_eq!(pipe.next().await["result"], json!({}));
    tokio::time::timeout(PATIENCE, pipe.served).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_legacy_client_hears_of_changes() {
    let world = World::new();
    let mut pipe = Pipe::to(&world);
    pipe.ask(&initialize("2025-11-25")).await;
    pipe.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    add(&world.gateway.hub, ToolSpec::named("new"), |_, _| async { Ok(ToolOutput::new(1)) });
    assert_eq!(pipe.next().await["method"], "notifications/tools/list_changed");
    let silent = tokio::time::timeout(Duration::from_millis(1), pipe.next()).await;
    assert!(silent.is_err());
}

#[tokio::test]
async fn a_change_is_reported_to_a_client_that_keeps_asking() {
    let world = World::new();
    let mut pipe = Pipe::to(&world);
    pipe.ask(&initialize("2025-11-25")).await;
    pipe.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    add(&world.gateway.hub, ToolSpec::named("new"), |_, _| async { Ok(ToolOutput::new(1)) });
    let reported = async {
        let mut id = 1;
        loop {
            id += 1;
            let message = pipe.ask(&request(id, "ping", json!({}))).await;
            if message["method"] == "notifications/tools/list_changed" {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE, reported).await.unwrap();
}

#[tokio::test]
async fn a_client_of_each_era_is_asked() {
    let world = World::new();
    let mut pipe = Pipe::to(&world);
    let can_ask = json!({"elicitation": {}});
    pipe.ask(&initialize_with(can_ask.clone(), "2025-11-25")).await;
    let question = pipe.ask(&request(1, "tools/call", json!({"name": "ask"}))).await;
    assert_eq!(question["method"], "elicitation/create");
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "cancel"}});
    let done = pipe.ask(&answer).await;
    assert_eq!(done["result"]["structuredContent"]["answer"], json!({"action": "cancel"}));

    let call = |params| modern_with(can_ask.clone(), 2, "tools/call", params);
    let asked = pipe.ask(&call(json!({"name": "ask"}))).await;
    let state = &asked["result"]["requestState"];
    let answers = json!({"question": {"action": "decline"}});
    let params = json!({"name": "ask", "requestState": state, "inputResponses": answers});
    let done = pipe.ask(&call(params)).await;
    assert_eq!(done["result"]["structuredContent"]["answer"], json!({"action": "decline"}));
}
