//! Batches of messages, which clients of 2025-03-26 may send.

use crate::gateway::client::Http;
use crate::gateway::world::{KeptLog, Pipe, World, initialize, initialize_with, modern, request};
use serde_json::{Value, json};
use std::sync::Arc;
use toolhub::gateway::{AuditLog, GatewayLimits, GatewayOptions};

fn sum(id: u64, a: i64) -> Value {
    request(id, "tools/call", json!({"name": "sum", "arguments": {"a": a, "b": 1}}))
}

fn notice(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

async fn session(client: &mut Http, version: &str, capabilities: Value) -> String {
    let reply = client.post(&initialize_with(capabilities, version), &[]).await;
    reply.header("mcp-session-id").unwrap().to_owned()
}

#[tokio::test]
async fn a_batch_is_answered_as_an_array_in_its_order() {
    let mut client = World::new().client().await;
    let session = session(&mut client, "2025-03-26", json!({})).await;
    let own = [("mcp-session-id", session.as_str())];
    let batch = json!([
        sum(1, 1),
        notice("notifications/initialized", json!({})),
        request(2, "ping", json!({})),
        7,
        request(3, "no/such", json!({})),
        {"jsonrpc": "2.0", "id": "unknown", "result": {}},
        initialize("2025-03-26"),
        modern(5, "tools/list", json!({})),
        sum(1, 5),
    ]);
    for accept in ["application/json", "application/json, text/event-stream"] {
        let reply = client.post(&batch, &[own[0], ("accept", accept)]).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")));
        let answers = reply.json();
        assert_eq!(answers[0]["result"]["content"][0]["text"], "2");
        assert_eq!((&answers[1]["id"], &answers[1]["result"]), (&json!(2), &json!({})));
        let refused: Vec<&Value> = (2..7).map(|at| &answers[at]["error"]["code"]).collect();
        assert_eq!(refused, [-32600, -32601, -32600, -32600, -32600]);
        assert_eq!(answers[2]["id"], Value::Null);
        assert!(answers[4]["error"]["message"].as_str().unwrap().contains("'initialize'"));
        assert!(answers[6]["error"]["message"].as_str().unwrap().contains("is running"), "{answers}");
        assert_eq!(answers.as_array().map(Vec::len), Some(7));
    }
    let silent =
        json!([notice("notifications/initialized", json!({})), {"jsonrpc": "2.0", "id": 1, "result": {}}]);
    let reply = client.post(&silent, &own).await;
    assert_eq!((reply.status, reply.body.as_str()), (202, ""));
}

#[tokio::test]
async fn other_versions_and_clients_without_a_session_send_no_batches() {
    let mut client = World::new().client().await;
    let batch = json!([sum(1, 1)]);
    for version in ["2025-11-25", "2025-06-18", "2024-11-05"] {
        let session = session(&mut client, version, json!({})).await;
        let reply = client.post(&batch, &[("mcp-session-id", session.as_str())]).await;
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &json!(-32600)), "{version}");
    }
    for headers in [vec![], vec![("mcp-protocol-version", "2026-07-28")]] {
        let reply = client.post(&batch, &headers).await;
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &json!(-32600)));
    }
    let session = session(&mut client, "2025-03-26", json!({})).await;
    let own = [("mcp-session-id", session.as_str())];
    for wrong in [json!([]), Value::from(vec![request(1, "ping", json!({})); 101])] {
        let reply = client.post(&wrong, &own).await;
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &json!(-32600)));
    }
    let forged = client.post(&batch, &[("mcp-session-id", "forged")]).await;
    assert_eq!(forged.status, 404);
}

#[tokio::test]
async fn what_has_to_be_said_before_the_answers_makes_events_of_them() {
    let mut world = World::new();
    let mut client = world.client().await;
    let session = session(&mut client, "2025-03-26", json!({"elicitation": {}})).await;
    let own = [("mcp-session-id", session.as_str())];
    let report = json!({"name": "report", "_meta": {"progressToken": "p"}});
    let wait = json!({"name": "wait", "_meta": {"progressToken": "w"}});
    let batch = json!([
        sum(1, 1),
        request(2, "tools/call", report),
        request(3, "tools/call", json!({"name": "ask"})),
        request(4, "tools/call", wait),
    ]);
    client.send_post(&batch, &own).await;
    let head = client.head().await;
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    let (mut answered, mut question, mut progress) = (Vec::new(), Value::Null, Vec::new());
    while answered.len() < 2 || question.is_null() || progress.len() < 2 {
        let message = client.event().await;
        match message["method"].as_str() {
            None => answered.push(message["id"].as_i64().unwrap()),
            Some("elicitation/create") => question = message["id"].clone(),
            Some(_) => progress.push(message["params"]["progressToken"].clone()),
        }
    }
    answered.sort_unstable();
    assert_eq!(answered, [1, 2], "answers do not wait for each other");
    // A batch of an answer and of a cancellation, on another connection.
    assert_eq!(world.act().await, "started");
    let more = json!([
        {"jsonrpc": "2.0", "id": question, "result": {"action": "accept", "content": {"a": 1}}},
        notice("notifications/cancelled", json!({"requestId": 4})),
    ]);
    assert_eq!(world.client().await.post(&more, &own).await.status, 202);
    let last = [client.event().await, client.event().await];
    let asked = last.iter().find(|answer| answer["id"] == 3).unwrap();
    assert!(asked["result"]["content"][0]["text"].as_str().unwrap().contains("accept"));
    assert_eq!(world.act().await, "cancelled");
    assert!(client.chunk().await.is_none(), "the stream ends with the last answer");
}

#[tokio::test]
async fn a_client_that_takes_events_only_gets_one_for_each_answer() {
    let mut client = World::new().client().await;
    let session = session(&mut client, "2025-03-26", json!({})).await;
    let headers = [("mcp-session-id", session.as_str()), ("accept", "text/event-stream")];
    client.send_post(&json!([sum(1, 1), sum(2, 2), 7]), &headers).await;
    assert_eq!(client.head().await.header("content-type"), Some("text/event-stream"));
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(client.event().await["id"].as_i64());
    }
    ids.sort_unstable();
    assert_eq!(ids, [None, Some(1), Some(2)]);
    assert!(client.chunk().await.is_none());
}

#[tokio::test]
async fn each_request_of_a_batch_counts_for_the_limit_and_leaving_cancels_all() {
    let limits = GatewayLimits { max_in_flight: 2, ..GatewayLimits::default() };
    let mut world = World::with(GatewayOptions { limits, ..GatewayOptions::default() });
    let mut client = world.client().await;
    let session = session(&mut client, "2025-03-26", json!({})).await;
    let own = [("mcp-session-id", session.as_str())];
    let refused = client.post(&json!([sum(1, 1), sum(2, 1), sum(3, 1)]), &own).await;
    assert_eq!((refused.status, refused.header("retry-after")), (413, None));
    assert_eq!(client.post(&json!([sum(1, 1), sum(2, 1), 7]), &own).await.status, 200);
    let metrics = world.gateway.operation.metrics.text(&world.gateway.gauges());
    let is_counted = |line: &str| {
        line.starts_with("mcp_server_operation_duration_seconds_count")
            && line.contains("\"sum\"")
            && line.ends_with(" 2")
    };
    assert!(metrics.lines().any(is_counted), "{metrics}");
    let wait = |id| request(id, "tools/call", json!({"name": "wait"}));
    client.send_post(&json!([wait(1), wait(2)]), &own).await;
    assert_eq!([world.act().await, world.act().await], ["started"; 2]);
    assert_eq!(world.client().await.post(&sum(3, 1), &own).await.status, 429);
    drop(client);
    assert_eq!([world.act().await, world.act().await], ["cancelled"; 2]);
}

#[tokio::test]
async fn a_request_of_a_batch_makes_room_for_another_when_it_ends() {
    let limits = GatewayLimits { max_in_flight: 2, ..GatewayLimits::default() };
    let mut world = World::with(GatewayOptions { limits, ..GatewayOptions::default() });
    let mut client = world.client().await;
    let session = session(&mut client, "2025-03-26", json!({})).await;
    let own = [("mcp-session-id", session.as_str())];
    let batch = json!([request(1, "tools/call", json!({"name": "wait"})), sum(2, 1)]);
    client.send_post(&batch, &[own[0], ("accept", "text/event-stream")]).await;
    client.head().await;
    assert_eq!(client.event().await["id"], 2);
    assert_eq!(world.act().await, "started");
    // The other request of the batch still runs.
    assert_eq!(world.gateway.operation.admission.running(), (1, 0));
    assert_eq!(world.client().await.post(&sum(3, 1), &own).await.status, 200);
    drop(client);
    assert_eq!(world.act().await, "cancelled");
}

#[tokio::test]
async fn each_request_of_a_batch_has_its_line_in_the_audit_log() {
    let kept = KeptLog::default();
    let audit = Some(Arc::new(AuditLog::writer(kept.clone()).unwrap()));
    let limits = GatewayLimits { max_in_flight: 6, ..GatewayLimits::default() };
    let world = World::with(GatewayOptions { audit, limits, ..GatewayOptions::default() });
    let mut client = world.client().await;
    let session = session(&mut client, "2025-03-26", json!({})).await;
    let own = [("mcp-session-id", session.as_str())];
    let call = |id, name: &str, arguments: Value| {
        request(id, "tools/call", json!({"name": name, "arguments": arguments}))
    };
    let batch = json!([
        sum(1, 1),
        sum(2, 1),
        call(3, "fail", json!({})),
        call(4, "no_such", json!({})),
        call(5, "sum", json!([1])),
        request(6, "tools/describe", json!({"name": "sum"})),
        notice("notifications/initialized", json!({})),
    ]);
    assert_eq!(client.post(&batch, &own).await.status, 200);
    let rows = || {
        let row = |line: &Value| {
            ["type", "tool", "outcome"].map(|key| line[key].as_str().unwrap_or("-").to_owned())
        };
        let mut rows: Vec<_> = kept.lines().iter().map(row).collect();
        rows.sort();
        rows
    };
    let expected = [
        ["call", "fail", "tool_error"],
        ["call", "no_such", "not_found"],
        ["call", "sum", "invalid_arguments"],
        ["call", "sum", "ok"],
        ["call", "sum", "ok"],
        ["describe", "sum", "ok"],
    ];
    assert_eq!(rows(), expected);
    let digests: Vec<_> = kept
        .lines()
        .iter()
        .filter(|line| line["outcome"] == "ok")
        .map(|line| line["arguments"].clone())
        .collect();
    assert!(digests.iter().filter(|digest| digest.is_string()).all(|digest| *digest == digests[0]));

    // None of a batch that is refused runs, and the log says that it was.
    let refused = Value::from((1..8).map(|id| sum(id, 1)).collect::<Vec<_>>());
    assert_eq!(client.post(&refused, &own).await.status, 413);
    let refusal: Vec<_> = kept.lines().into_iter().filter(|line| line["type"] == "refusal").collect();
    assert_eq!(refusal.iter().map(|line| &line["status"]).collect::<Vec<_>>(), [413]);
    assert_eq!(kept.lines().len(), expected.len() + 1);

    let mut pipe = Pipe::to(&world);
    pipe.ask(&initialize("2025-03-26")).await;
    pipe.ask(&batch).await;
    assert_eq!(kept.lines().len(), 2 * expected.len() + 1);
}

#[tokio::test]
async fn a_pipe_answers_a_batch_on_one_line() {
    let mut world = World::new();
    let mut pipe = Pipe::to(&world);
    assert_eq!(pipe.ask(&json!([request(1, "ping", json!({}))])).await["error"]["code"], -32600);
    pipe.ask(&initialize("2025-11-25")).await;
    assert_eq!(pipe.ask(&json!([sum(1, 1)])).await["error"]["code"], -32600);

    let mut pipe = Pipe::to(&world);
    pipe.ask(&initialize("2025-03-26")).await;
    assert_eq!(pipe.ask(&json!([])).await["error"]["code"], -32600);
    let wait = request(3, "tools/call", json!({"name": "wait"}));
    pipe.send(&wait.to_string()).await;
    assert_eq!(world.act().await, "started");
    let cancel = notice("notifications/cancelled", json!({"requestId": 3}));
    let batch = json!([sum(1, 1), cancel, 7, initialize("2025-03-26"), request(2, "tools/list", json!({}))]);
    let answers = pipe.ask(&batch).await;
    assert_eq!(answers[0]["result"]["content"][0]["text"], "2");
    assert_eq!([&answers[1]["error"]["code"], &answers[2]["error"]["code"]], [-32600, -32600]);
    assert_eq!(answers[3]["result"]["tools"][0]["name"], "ask");
    assert_eq!(world.act().await, "cancelled");
    pipe.send(&json!([notice("notifications/initialized", json!({}))]).to_string()).await;
    assert_eq!(pipe.ask(&request(9, "ping", json!({}))).await["id"], 9, "nothing answers a notification");
}
