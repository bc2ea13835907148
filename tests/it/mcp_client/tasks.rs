//! Calls that a server answers with a task.

use crate::mcp_client::calls::answering;
use crate::mcp_client::world::World;
use crate::support::runs_tools::RunsTools as _;
use serde_json::{Value, json};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use toolhub::error::{ErrorKind, HubError, Outcome};
use toolhub::model::{Arguments, CallOptions};
use toolhub::sources::mcp::callbacks::Host;

async fn follow(world: &World, plan: &str) -> Result<Value, HubError> {
    world.connect().await;
    world.call("task", json!({"plan": plan})).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_asked_for_until_it_is_over() {
    let world = World::new("tasks");
    assert_eq!(follow(&world, "done").await.unwrap(), json!("done"));
    let polls = world.received("tasks/get");
    assert_eq!(polls.len(), 2);
    assert_eq!(polls[0]["params"]["taskId"], json!("done"));
    for message in world.received("tools/call").iter().chain(&polls) {
        let ours = &message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        assert_eq!(ours["extensions"], json!({"io.modelcontextprotocol/tasks": {}}));
    }
    assert!(world.received("tools/call")[0]["params"].get("task").is_none(), "the server decides");
    assert!(world.received("tasks/cancel").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_ends_badly_says_how() {
    for (plan, kind, text) in [
        ("fails", ErrorKind::Rpc, "The task of tool 'task' failed: no disk"),
        ("tool_fails", ErrorKind::ToolError, "no disk"),
        ("is_cancelled", ErrorKind::ToolError, "was cancelled by the server: by the owner"),
        ("empty", ErrorKind::Protocol, "ended without a result"),
        ("gone", ErrorKind::Rpc, "Task not found"),
        ("expires", ErrorKind::Timeout, "did not end within the 0.001 s that the server keeps it"),
    ] {
        let world = World::new("tasks");
        let error = follow(&world, plan).await.unwrap_err();
        assert_eq!(error.kind, kind, "{plan}: {}", error.message);
        assert!(error.message.contains(text), "{plan}: {}", error.message);
        assert_ne!(error.outcome, Outcome::NotSent, "{plan}: it has begun");
        assert_eq!(world.received("tools/call").len(), 1, "{plan}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_of_a_task_are_answered_once_each() {
    let world = World::with("tasks", json!({}), answering());
    let given = follow(&world, "asks").await.unwrap();
    assert_eq!(given[0]["who"]["content"]["name"], json!("s/\"who?\""));
    assert_eq!(given[1]["why"]["action"], json!("accept"));
    assert!(given[1].get("who").is_none(), "it was answered before");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_asks_a_question_without_an_answer_is_cancelled() {
    let world = World::new("tasks");
    let error = follow(&world, "asks").await.unwrap_err();
    assert_eq!((error.kind, error.outcome), (ErrorKind::NotAllowed, Outcome::Unknown));
    world.until("it is cancelled", |world| world.received("tasks/cancel").len() == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_survives_a_lost_connection_and_the_call_is_not_made_again() {
    let world = World::new("tasks");
    assert_eq!(follow(&world, "crashes").await.unwrap(), json!("done"));
    assert_eq!((world.starts(), world.received("tools/call").len()), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn giving_up_cancels_the_task_on_the_server() {
    for mode in ["tasks", "old_tasks"] {
        let world = World::new(mode);
        world.connect().await;
        let options = CallOptions { timeout: Some(Duration::from_millis(300)), ..CallOptions::default() };
        let Value::Object(args) = json!({"plan": "never"}) else { unreachable!() };
        let token = CancellationToken::new();
        let call = world.hub.execute("task", Arguments::new(args), &options, &token);
        assert_eq!(call.await.unwrap().result.unwrap_err().kind, ErrorKind::Timeout);
        world.until("it is cancelled", |world| world.received("tasks/cancel").len() == 1).await;
        assert_eq!(world.received("tasks/cancel")[0]["params"]["taskId"], json!("never"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_of_2025_that_needs_a_task_is_called_as_one() {
    let world = World::with("old_tasks", json!({}), Host::default());
    assert_eq!(follow(&world, "done").await.unwrap(), json!("done"));
    assert_eq!(world.received("tools/call")[0]["params"]["task"], json!({}));
    assert_eq!(world.received("tasks/result").len(), 1);
    let offered = &world.received("initialize")[0]["params"]["capabilities"];
    assert!(offered.get("extensions").is_none(), "that protocol knows none");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_task_asks_its_questions_while_its_result_is_waited_for() {
    let world = World::with("old_tasks", json!({}), answering());
    let reply = follow(&world, "asks").await.unwrap();
    assert_eq!(reply["result"]["content"]["name"], json!("s/\"who?\""));
}
