//! Questions of a tool to the client that called it.

use crate::gateway::client::Http;
use crate::gateway::world::{World, initialize_with, modern, modern_with, request};
use serde_json::{Value, json};

fn can_ask() -> Value {
    json!({"elicitation": {}})
}

fn call_ask() -> Value {
    json!({"name": "ask"})
}

#[tokio::test]
async fn a_legacy_client_answers_with_a_message_of_its_own() {
    let world = World::new();
    let address = world.serve().await;
    let mut client = Http::connect(address).await;
    let opened = client.post(&initialize_with(can_ask(), "2025-11-25"), &[]).await;
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let own = [("mcp-session-id", session.as_str())];
    client.send_post(&request(5, "tools/call", call_ask()), &own).await;
    assert_eq!(client.head().await.header("content-type"), Some("text/event-stream"));
    let question = client.event().await;
    assert_eq!(
        (&question["method"], &question["params"]["message"]),
        (&json!("elicitation/create"), &json!("Which?"))
    );

    let mut other = Http::connect(address).await;
    let foreign = other.post(&initialize_with(can_ask(), "2025-11-25"), &[]).await;
    let foreign = foreign.header("mcp-session-id").unwrap().to_owned();
    let answer = |content: &str| json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"x": content}}});
    let forged = other.post(&answer("forged"), &[("mcp-session-id", foreign.as_str())]).await;
    assert_eq!(forged.status, 202);
    assert_eq!(other.post(&answer("true"), &own).await.status, 202);
    let called = client.event().await;
    assert_eq!(called["id"], 5);
    let answered = &called["result"]["structuredContent"]["answer"];
    assert_eq!(answered, &json!({"action": "accept", "content": {"x": "true"}}));
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_is_not_asked() {
    let mut client = World::new().client().await;
    let opened = client.post(&initialize_with(json!({}), "2025-11-25"), &[]).await;
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let called =
        client.post(&request(1, "tools/call", call_ask()), &[("mcp-session-id", &session)]).await.json();
    assert_eq!(called["result"]["isError"], true, "{called}");
    for capabilities in [json!({}), json!({"elicitation": {"url": {}}})] {
        let reply = client.post(&modern_with(capabilities, 1, "tools/call", call_ask()), &[]).await;
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &json!(-32021)));
        let needed = json!({"requiredCapabilities": {"elicitation": {}}, "toolhub/outcome": "unknown"});
        assert_eq!(reply.json()["error"]["data"], needed);
    }
}

#[tokio::test]
async fn a_modern_client_sends_the_request_again_with_the_answer() {
    let mut client = World::new().client().await;
    let call = |params: Value| modern_with(can_ask(), 1, "tools/call", params);
    let asked = client.post(&call(call_ask()), &[]).await.json();
    let asked = &asked["result"];
    assert_eq!(asked["resultType"], "input_required");
    let questions = asked["inputRequests"].as_object().unwrap();
    let (key, question) = questions.iter().next().unwrap();
    assert_eq!(
        (&question["method"], &question["params"]["message"]),
        (&json!("elicitation/create"), &json!("Which?"))
    );
    let state = asked["requestState"].as_str().unwrap();
    assert!(!state.contains("ask"), "what is signed tells nothing");

    // Without an answer, the question is put again.
    let again = client.post(&call(json!({"name": "ask", "requestState": state})), &[]).await.json();
    assert_eq!(again["result"]["resultType"], "input_required");
    let state = again["result"]["requestState"].as_str().unwrap();
    let answers = json!({key: {"action": "decline"}});
    let with =
        |name: &str, state: &str| json!({"name": name, "inputResponses": answers, "requestState": state});
    let mut forged = state.to_owned();
    forged.replace_range(5..6, if &state[5..6] == "A" { "B" } else { "A" });
    for params in [with("ask", &forged), with("ask", ""), with("profile", state)] {
        let refused = client.post(&call(params), &[]).await;
        assert_eq!((refused.status, &refused.json()["error"]["code"]), (400, &json!(-32602)));
    }
    let done = client.post(&call(with("ask", state)), &[]).await.json();
    assert_eq!(done["result"]["structuredContent"], json!({"answer": {"action": "decline"}}));
    assert_eq!(done["result"]["resultType"], "complete");
    let spent = client.post(&call(with("ask", state)), &[]).await.json();
    assert_eq!(spent["error"]["code"], -32602, "a state serves once");
}

#[tokio::test]
async fn a_modern_client_that_can_be_asked_is_served_like_others() {
    let mut world = World::new();
    let mut client = world.client().await;
    let call = |name: &str| json!({"name": name, "_meta": {"progressToken": 1}});
    for (name, expected) in [("profile", json!({"name": "Ada"})), ("fail", Value::Null)] {
        let with = client.post(&modern_with(can_ask(), 1, "tools/call", call(name)), &[]).await.json();
        let without = client.post(&modern(1, "tools/call", call(name)), &[]).await.json();
        assert_eq!(with, without);
        assert_eq!(with["result"].get("structuredContent").cloned().unwrap_or_default(), expected);
    }
    client.send_post(&modern_with(can_ask(), 1, "tools/call", call("report")), &[]).await;
    client.head().await;
    assert_eq!(client.event().await["method"], "notifications/progress");
    assert_eq!(client.event().await["id"], 1);
    assert_eq!(client.chunk().await, None);
    client.send_post(&modern_with(can_ask(), 2, "tools/call", call("wait")), &[]).await;
    assert_eq!(world.act().await, "started");
    drop(client);
    assert_eq!(world.act().await, "cancelled");
}
