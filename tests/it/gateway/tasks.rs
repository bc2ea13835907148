//! Calls that run as tasks of their clients, in both eras.

use crate::gateway::access::{token, tokens};
use crate::gateway::client::{Http, Reply};
use crate::gateway::world::{PATIENCE, World, initialize, initialize_with, modern, modern_with, request};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;
use toolhub::gateway::GatewayOptions;

const RELATED: &str = "io.modelcontextprotocol/related-task";

/// A client of 2025-11-25 with a session.
struct Legacy {
    http: Http,
    session: String,
}

impl Legacy {
    async fn connect(address: SocketAddr, capabilities: Value) -> Legacy {
        let mut http = Http::connect(address).await;
        let opened = http.post(&initialize_with(capabilities, "2025-11-25"), &[]).await;
        let tasks = &opened.json()["result"]["capabilities"]["tasks"];
        assert_eq!(tasks, &json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}));
        Legacy { session: opened.header("mcp-session-id").unwrap().to_owned(), http }
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.http.post(&request(7, method, params), &[("mcp-session-id", &self.session)]).await.json()
    }

    /// Calls a tool as a task, and returns its id.
    async fn begin(&mut self, tool: &str, task: Value) -> String {
        let created = self.ask("tools/call", json!({"name": tool, "arguments": {}, "task": task})).await;
        let task = &created["result"]["task"];
        assert_eq!(task["status"], "working", "{created}");
        assert!(task["createdAt"].as_str().unwrap().ends_with('Z') && task["pollInterval"].is_u64());
        task["taskId"].as_str().unwrap().to_owned()
    }

    async fn get(&mut self, id: &str) -> Value {
        self.ask("tasks/get", json!({"taskId": id})).await
    }
}

/// Asks until the answer is as expected.
macro_rules! until {
    ($ask:expr, $is:expr) => {{
        let found = async {
            loop {
                let answer: Value = $ask.await;
                if $is(&answer) {
                    return answer;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, found).await.unwrap()
    }};
}

fn takes_tasks() -> Value {
    json!({"extensions": {"io.modelcontextprotocol/tasks": {}}, "elicitation": {}})
}

async fn ask_modern(http: &mut Http, method: &str, params: Value) -> Reply {
    http.post(&modern_with(takes_tasks(), 7, method, params), &[]).await
}

/// Calls the tool that works in the background, and returns the id of its task.
async fn begin_modern(http: &mut Http, then: &str) -> String {
    let params = json!({"name": "background", "arguments": {"then": then}});
    let created = ask_modern(http, "tools/call", params).await.json();
    let task = &created["result"];
    assert_eq!(task["resultType"], "task", "{created}");
    assert!(task["ttlMs"].is_u64() && task["pollIntervalMs"].is_u64() && task.get("task").is_none());
    task["taskId"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_legacy_client_calls_a_tool_as_a_task_and_fetches_its_result() {
    let world = World::new().with_background();
    let mut client = Legacy::connect(world.serve().await, json!({})).await;
    let listed = client.ask("tools/list", json!({})).await;
    for tool in listed["result"]["tools"].as_array().unwrap() {
        assert_eq!(tool["execution"], json!({"taskSupport": "optional"}), "{tool}");
    }
    let id = client.begin("profile", json!({"ttl": 60_000})).await;
    let result = client.ask("tasks/result", json!({"taskId": id})).await;
    assert_eq!(result["result"]["structuredContent"], json!({"name": "Ada"}));
    assert_eq!(result["result"]["_meta"][RELATED], json!({"taskId": id}));
    let state = client.get(&id).await;
    assert_eq!((&state["result"]["status"], &state["result"]["ttl"]), (&json!("completed"), &json!(60_000)));
    // A result is kept: it may be fetched again.
    assert_eq!(client.ask("tasks/result", json!({"taskId": id})).await, result);
    let failing = client.begin("fail", json!({})).await;
    let failed = client.ask("tasks/result", json!({"taskId": failing})).await;
    assert_eq!(failed["result"]["isError"], true, "{failed}");
    assert_eq!(client.get(&failing).await["result"]["status"], "failed");
    let unknown = client.begin("nonsuch", json!({})).await;
    let unknown = client.ask("tasks/result", json!({"taskId": unknown})).await;
    assert_eq!(unknown["error"]["code"], -32602);
    let all = client.ask("tasks/list", json!({})).await;
    let ids: Vec<&Value> =
        all["result"]["tasks"].as_array().unwrap().iter().map(|task| &task["taskId"]).collect();
    assert_eq!((ids.len(), ids[0], ids[1]), (3, &json!(id), &json!(failing)));
}

#[tokio::test]
async fn a_cancelled_task_cancels_its_call_and_stays_cancelled() {
    let mut world = World::new().with_background();
    let mut client = Legacy::connect(world.serve().await, json!({})).await;
    let id = client.begin("wait", json!({})).await;
    assert_eq!(world.act().await, "started");
    assert_eq!(client.get(&id).await["result"]["status"], "working");
    let cancelled = client.ask("tasks/cancel", json!({"taskId": id})).await;
    assert_eq!(cancelled["result"]["status"], "cancelled", "{cancelled}");
    assert_eq!(world.act().await, "cancelled");
    assert_eq!(client.get(&id).await["result"]["status"], "cancelled");
    assert!(client.ask("tasks/result", json!({"taskId": id})).await["error"]["code"].is_i64());
    assert_eq!(client.ask("tasks/cancel", json!({"taskId": id})).await["error"]["code"], -32602);
}

#[tokio::test]
async fn a_task_goes_on_without_its_client_and_ends_with_its_life() {
    let mut world = World::new().with_background();
    let address = world.serve().await;
    let mut client = Legacy::connect(address, json!({})).await;
    let id = client.begin("wait", json!({"ttl": 600_000})).await;
    assert_eq!(world.act().await, "started");
    let session = client.session;
    drop(client.http);
    let mut client = Legacy { http: Http::connect(address).await, session };
    assert_eq!(client.get(&id).await["result"]["status"], "working");
    let short = client.begin("wait", json!({"ttl": 1})).await;
    assert_eq!((world.act().await, world.act().await), ("started", "cancelled"));
    let gone = until!(client.get(&short), |answer: &Value| answer.get("error").is_some());
    assert_eq!(gone["error"]["code"], -32602);
    assert_eq!(client.get(&id).await["result"]["status"], "working", "the other one goes on");
}

#[tokio::test]
async fn questions_of_a_legacy_task_come_with_the_request_for_its_result() {
    let world = World::new().with_background();
    let address = world.serve().await;
    let mut client = Legacy::connect(address, json!({"elicitation": {}})).await;
    let id = client.begin("ask", json!({})).await;
    until!(client.get(&id), |answer: &Value| answer["result"]["status"] == "input_required");
    let own = client.session.clone();
    let headers = [("mcp-session-id", own.as_str())];
    // A client that leaves is asked again when it comes back.
    for leaves in [true, false] {
        let mut waiting = Http::connect(address).await;
        waiting.send_post(&request(8, "tasks/result", json!({"taskId": id})), &headers).await;
        waiting.head().await;
        let question = waiting.event().await;
        assert_eq!(
            (&question["method"], &question["params"]["message"]),
            (&json!("elicitation/create"), &json!("Which?"))
        );
        assert_eq!(question["params"]["_meta"][RELATED], json!({"taskId": id}));
        if leaves {
            continue;
        }
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"x": 1}}});
        assert_eq!(client.http.post(&answer, &headers).await.status, 202);
        let result = waiting.event().await;
        assert_eq!(result["result"]["structuredContent"]["answer"]["content"], json!({"x": 1}), "{result}");
    }
    assert_eq!(client.get(&id).await["result"]["status"], "completed");
}

#[tokio::test]
async fn a_legacy_client_that_refuses_to_answer_does_not_hang_its_task() {
    let world = World::new().with_background();
    let address = world.serve().await;
    let mut client = Legacy::connect(address, json!({"elicitation": {}})).await;
    let id = client.begin("ask", json!({})).await;
    let own = client.session.clone();
    let headers = [("mcp-session-id", own.as_str())];
    let mut waiting = Http::connect(address).await;
    waiting.send_post(&request(8, "tasks/result", json!({"taskId": id})), &headers).await;
    waiting.head().await;
    let question = waiting.event().await;
    let refusal =
        json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -1, "message": "not now"}});
    client.http.post(&refusal, &headers).await;
    let result = waiting.event().await;
    assert_eq!(result["result"]["isError"], true, "{result}");
    assert!(result["result"]["content"][0]["text"].as_str().unwrap().contains("not now"));
}

#[tokio::test]
async fn clients_that_know_no_tasks_get_none() {
    let mut client = World::new().with_background().client().await;
    let opened = client.post(&initialize("2025-06-18"), &[]).await;
    assert!(opened.json()["result"]["capabilities"].get("tasks").is_none());
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let own = [("mcp-session-id", session.as_str())];
    let called =
        client.post(&request(1, "tools/call", json!({"name": "profile", "task": {}})), &own).await.json();
    assert_eq!(called["result"]["structuredContent"], json!({"name": "Ada"}));
    let listed = client.post(&request(2, "tools/list", json!({})), &own).await.json();
    assert!(listed["result"]["tools"][0].get("execution").is_none());
    for method in ["tasks/get", "tasks/list", "tasks/result", "tasks/cancel"] {
        let refused = client.post(&request(3, method, json!({"taskId": "x"})), &own).await.json();
        assert_eq!(refused["error"]["code"], -32601, "{method}");
    }
    let call = json!({"name": "background", "arguments": {"then": "end"}, "task": {}});
    let called = client.post(&modern(4, "tools/call", call), &[]).await.json();
    assert_eq!(called["result"]["resultType"], "complete", "{called}");
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        let refused = client.post(&modern(5, method, json!({"taskId": "x"})), &[]).await;
        let needed = json!({"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
        assert_eq!((refused.status, &refused.json()["error"]["code"]), (400, &json!(-32021)), "{method}");
        assert_eq!(refused.json()["error"]["data"], needed);
    }
    let listen = modern(6, "subscriptions/listen", json!({"notifications": {"taskIds": ["x"]}}));
    assert_eq!(client.post(&listen, &[]).await.json()["error"]["code"], -32021);
}

#[tokio::test]
async fn malformed_requests_about_tasks_are_refused() {
    let world = World::new().with_background();
    let address = world.serve().await;
    let mut client = Legacy::connect(address, json!({})).await;
    for task in [json!(7), json!([]), json!({"ttl": -1}), json!({"ttl": "x"}), json!({"ttl": 1.5})] {
        let refused = client.ask("tools/call", json!({"name": "profile", "task": task})).await;
        assert_eq!(refused["error"]["code"], -32602, "{task}");
    }
    for params in [json!({}), json!({"taskId": 7}), json!({"taskId": ""}), json!({"taskId": "nonsuch"})] {
        for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
            assert_eq!(
                client.ask(method, params.clone()).await["error"]["code"],
                -32602,
                "{method} {params}"
            );
        }
    }
    assert_eq!(client.ask("tasks/list", json!({"cursor": "x"})).await["error"]["code"], -32602);
    let mut http = Http::connect(address).await;
    let params = json!({"taskId": "nonsuch"});
    let refused =
        http.post(&modern_with(takes_tasks(), 1, "tasks/get", params), &[("mcp-name", "other")]).await;
    assert_eq!(refused.json()["error"]["code"], -32020, "a header that contradicts the body");
}

#[tokio::test]
async fn a_modern_client_gets_a_task_where_the_tool_makes_one() {
    let mut world = World::new().with_background();
    let mut http = world.client().await;
    let discovered = ask_modern(&mut http, "server/discover", json!({})).await.json();
    assert_eq!(
        discovered["result"]["capabilities"]["extensions"]["io.modelcontextprotocol/tasks"],
        json!({})
    );
    let plain = ask_modern(&mut http, "tools/call", json!({"name": "profile"})).await.json();
    assert_eq!(plain["result"]["resultType"], "complete", "most calls answer at once");

    let id = begin_modern(&mut http, "end").await;
    let done = until!(
        async { ask_modern(&mut http, "tasks/get", json!({"taskId": id})).await.json() },
        |answer: &Value| answer["result"]["status"] == "completed"
    );
    assert_eq!(done["result"]["resultType"], "complete");
    assert_eq!(done["result"]["result"]["content"][0]["text"], "done in the background");

    let id = begin_modern(&mut http, "ask").await;
    let asks = until!(
        async { ask_modern(&mut http, "tasks/get", json!({"taskId": id})).await.json() },
        |answer: &Value| answer["result"]["status"] == "input_required"
    );
    let questions = asks["result"]["inputRequests"].as_object().unwrap();
    let (key, question) = questions.iter().next().unwrap();
    assert_eq!(question["params"]["message"], "Which?");
    let answers = json!({"taskId": id, "inputResponses": {key: {"action": "decline"}, "other": {}}});
    let taken = ask_modern(&mut http, "tasks/update", answers).await.json();
    assert_eq!(taken["result"]["resultType"], "complete", "{taken}");
    let done = until!(
        async { ask_modern(&mut http, "tasks/get", json!({"taskId": id})).await.json() },
        |answer: &Value| answer["result"]["status"] == "completed"
    );
    assert_eq!(done["result"]["result"]["content"][0]["text"], r#"{"action":"decline"}"#);

    let id = begin_modern(&mut http, "wait").await;
    assert_eq!(world.act().await, "started");
    let acknowledged = ask_modern(&mut http, "tasks/cancel", json!({"taskId": id})).await.json();
    assert_eq!(acknowledged["result"]["resultType"], "complete");
    assert_eq!(world.act().await, "cancelled");
    let state = ask_modern(&mut http, "tasks/get", json!({"taskId": id})).await.json();
    assert_eq!(state["result"]["status"], "cancelled");
}

#[tokio::test]
async fn listeners_hear_of_their_tasks() {
    let world = World::new().with_background();
    let address = world.serve().await;
    let mut http = Http::connect(address).await;
    let id = begin_modern(&mut http, "wait").await;
    let mut listener = Http::connect(address).await;
    let wanted = json!({"notifications": {"taskIds": [id, "nonsuch"]}});
    listener.send_post(&modern_with(takes_tasks(), 9, "subscriptions/listen", wanted), &[]).await;
    listener.head().await;
    assert_eq!(listener.event().await["params"]["notifications"], json!({"taskIds": [id]}));
    ask_modern(&mut http, "tasks/cancel", json!({"taskId": id})).await;
    let heard = listener.event().await;
    assert_eq!(
        (&heard["method"], &heard["params"]["status"]),
        (&json!("notifications/tasks"), &json!("cancelled"))
    );

    let mut client = Legacy::connect(address, json!({})).await;
    let mut other = Legacy::connect(address, json!({})).await;
    let mut streams = Vec::new();
    for session in [&client.session, &other.session] {
        let mut stream = Http::connect(address).await;
        stream.send("GET", &[("accept", "text/event-stream"), ("mcp-session-id", session)], b"").await;
        stream.head().await;
        streams.push(stream);
    }
    let (first, second) = (client.begin("profile", json!({})).await, other.begin("profile", json!({})).await);
    for (stream, id) in streams.iter_mut().zip([first, second]) {
        let heard = stream.event().await;
        let expected = (&json!("notifications/tasks/status"), &json!(id), &json!("completed"));
        assert_eq!((&heard["method"], &heard["params"]["taskId"], &heard["params"]["status"]), expected);
    }
}

#[tokio::test]
async fn a_task_of_another_principal_does_not_exist() {
    let authenticator = tokens(vec![token("marit", None), token("ingrid", None)]);
    let world = World::with(GatewayOptions { authenticator, ..GatewayOptions::default() }).with_background();
    let mut http = world.client().await;
    let call = modern_with(
        takes_tasks(),
        1,
        "tools/call",
        json!({"name": "background", "arguments": {"then": "end"}}),
    );
    let own = [("authorization", "Bearer token-of-marit")];
    let created = http.post(&call, &own).await.json();
    let id = created["result"]["taskId"].as_str().unwrap();
    let foreign = [("authorization", "Bearer token-of-ingrid")];
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        let about =
            |id: &str| modern_with(takes_tasks(), 2, method, json!({"taskId": id, "inputResponses": {}}));
        let refused = http.post(&about(id), &foreign).await.json();
        let unknown = http.post(&about("nonsuch"), &foreign).await.json();
        assert_eq!(refused, unknown, "{method}: the same as for a task that never was");
    }
    assert!(http.post(&modern_with(takes_tasks(), 3, "tasks/get", json!({"taskId": id})), &own).await.json()["result"].is_object());
}
