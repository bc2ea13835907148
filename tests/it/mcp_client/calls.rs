//! Calling: results, errors, cancellation, progress, questions of the server, lists that change.

use crate::mcp_client::world::World;
use futures_util::FutureExt;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use toolhub::error::ErrorKind;
use toolhub::model::{Arguments, ToolOutput};
use toolhub::notices::LogSink;
use toolhub::principal::Principal;
use toolhub::sources::mcp::callbacks::Host;
use toolhub::tool::{AskCaller, CallContext, Tool};

fn context(cancel: &CancellationToken) -> CallContext {
    CallContext::new(Instant::now() + Duration::from_secs(20), cancel.clone())
}

async fn call(world: &World, tool: &str, args: Value) -> Result<ToolOutput, toolhub::error::HubError> {
    let Value::Object(args) = args else { unreachable!("tests give objects") };
    let tool = world.unlisted(tool);
    tool.call(&Arguments::new(args), &context(&CancellationToken::new())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_of_a_server_are_candidates_and_odd_entries_cost_only_themselves() {
    let world = World::new("legacy");
    world.connect().await;
    let snapshot = world.hub.registry.load();
    let names: Vec<&str> = snapshot.entries().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["echo", "sum", "look", "second"], "both pages; an empty cursor is a cursor");
    let echo = &snapshot.get("echo").unwrap().candidates[0];
    assert_eq!((echo.label().as_str(), echo.priority), ("mcps:s", 2));
    assert_eq!(&*echo.spec().description, "Give back", "no escapes");
    let notices = world.server().info().notices;
    assert_eq!(notices.len(), 4, "{notices:?}");
    assert!(notices[0].starts_with("invisible characters in the texts of 'echo'"), "{notices:?}");
    assert_eq!(world.call("echo", json!({"text": "hi"})).await.unwrap(), json!("hi"));
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_arguments_are_refused_before_anything_is_sent() {
    let world = World::new("legacy");
    world.connect().await;
    let error = world.call("echo", json!({"text": {"a": 1}})).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidArguments);
    assert!(world.received("tools/call").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn structured_content_is_the_result_and_must_keep_its_promise() {
    let world = World::new("legacy");
    world.connect().await;
    assert_eq!(world.call("sum", json!({"sum": 3})).await.unwrap(), json!({"sum": 3}));
    let error = world.call("sum", json!({"sum": "three"})).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Protocol);
    assert!(
        error.message.contains("does not match the tool's output schema: sum: expected an integer"),
        "{}",
        error.message
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_the_tool_and_of_the_protocol_are_distinguished() {
    let world = World::new("legacy");
    let error = call(&world, "fails", json!({})).await.unwrap_err();
    assert_eq!((error.kind, &*error.message), (ErrorKind::ToolError, "no disk"));
    let error = call(&world, "rpc", json!({})).await.unwrap_err();
    assert_eq!((error.kind, error.code), (ErrorKind::Rpc, Some(-32002)));
    assert_eq!(error.message, "MCP error: nope (code -32002)");
    let sent = error.upstream.expect("what the server sent");
    assert_eq!((&*sent.message, &sent.data), ("nope", &Some(json!({"uri": "file:///gone"}))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_names_the_call_to_the_server() {
    let world = World::new("legacy");
    world.connect().await;
    let cancel = CancellationToken::new();
    let tool = world.unlisted("hangs");
    let context = context(&cancel);
    let arguments = Arguments::default();
    let calling = tool.call(&arguments, &context);
    let cancelling = async {
        world.until("the call is there", |world| world.received("tools/call").len() == 1).await;
        cancel.cancel();
    };
    let (ended, ()) = tokio::join!(calling, cancelling);
    assert_eq!(ended.unwrap_err().kind, ErrorKind::Cancelled);
    world
        .until("the cancellation arrives", |world| world.received("notifications/cancelled").len() == 1)
        .await;
    let cancelled = &world.received("notifications/cancelled")[0];
    assert_eq!(cancelled["params"]["requestId"], world.received("tools/call")[0]["id"]);
    assert!(world.call("echo", json!({"text": "x"})).await.is_ok(), "the connection lives");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_cancelled_when_its_turn_comes_is_not_sent() {
    let world = World::with("legacy", json!({"max_concurrency": 1}), Host::default());
    world.connect().await;
    let (cancel, none) = (CancellationToken::new(), Arguments::default());
    let (first, second) = (world.unlisted("hangs"), world.unlisted("echo"));
    let (before, waiting) = (context(&CancellationToken::new()), context(&cancel));
    let mut running = first.call(&none, &before);
    let mut waits = second.call(&none, &waiting);
    assert!((&mut running).now_or_never().is_none());
    assert!((&mut waits).now_or_never().is_none(), "the other one has the only place");
    // Both before the second is asked again.
    cancel.cancel();
    drop(running);
    assert_eq!(waits.await.unwrap_err().kind, ErrorKind::Cancelled);
    assert!(world.call("look", json!({})).await.is_ok());
    let names: Vec<Value> =
        world.received("tools/call").iter().map(|call| call["params"]["name"].clone()).collect();
    assert!(!names.contains(&json!("echo")), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_passed_on_and_meta_goes_along() {
    let world = World::new("legacy");
    world.connect().await;
    let steps = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let seen = steps.clone();
    let mut context = context(&CancellationToken::new());
    context.extras.progress =
        Some(Arc::new(move |update: &Value| seen.lock().push(update["progress"].clone())));
    context.extras.meta.insert("trace".into(), json!("t-1"));
    let tool = world.unlisted("progress");
    let output = tool.call(&Arguments::default(), &context).await.unwrap();
    assert_eq!(output.value, json!("done"));
    assert_eq!(*steps.lock(), vec![json!(1), json!(2), json!(3)]);
    assert_eq!(world.received("tools/call")[0]["params"]["_meta"]["trace"], json!("t-1"));
}

#[derive(Default)]
struct ErrorLines {
    asked: parking_lot::Mutex<Vec<String>>,
    lines: parking_lot::Mutex<Vec<String>>,
}

impl LogSink for ErrorLines {
    fn wants(&self, level: &str) -> bool {
        self.asked.lock().push(level.to_owned());
        level == "error"
    }

    fn write(&self, server: &str, _: &str, text: &str) {
        self.lines.lock().push(format!("{server}: {text}"));
    }
}

/// Cleaning a line costs much more than dropping it, and a server may send many that are not shown.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_line_that_is_not_wanted_is_dropped_before_it_is_cleaned() {
    let sink = Arc::new(ErrorLines::default());
    let world = World::with("legacy", json!({}), Host { log: Some(sink.clone()), ..Host::default() });
    world.connect().await;
    assert_eq!(call(&world, "logs", json!({})).await.unwrap().value, json!("done"));
    assert_eq!(*sink.asked.lock(), ["info", "error", "error"]);
    assert_eq!(*sink.lines.lock(), ["s: high", r#"s: {"at":7}"#]);
}

pub fn answering() -> Host {
    Host {
        elicit: Some(Arc::new(|server, params| {
            Box::pin(async move {
                Ok(
                    json!({"action": "accept", "content": {"name": format!("{server}/{}", params["message"])}}),
                )
            })
        })),
        ..Host::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_of_an_older_server_is_answered_or_properly_refused() {
    let world = World::with("legacy", json!({}), answering());
    world.connect().await;
    let reply = call(&world, "asks", json!({})).await.unwrap().value;
    assert_eq!(reply["id"], json!("q1"));
    assert_eq!(reply["result"]["content"]["name"], json!("s/\"who?\""));
    let offered = &world.received("initialize")[0]["params"]["capabilities"];
    assert_eq!(offered["elicitation"], json!({"form": {}, "url": {}}));
    let world = World::new("legacy");
    world.connect().await;
    let reply = call(&world, "asks", json!({})).await.unwrap().value;
    assert_eq!(reply["error"]["code"], json!(-32601));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modern_server_that_needs_input_is_asked_again_with_it() {
    let world = World::with("modern", json!({}), answering());
    let got = call(&world, "needs_input", json!({"a": 1})).await.unwrap().value;
    assert_eq!(got["state"], json!("s1"));
    assert_eq!(got["got"]["who"]["action"], json!("accept"));
    let calls = world.received("tools/call");
    assert_eq!(calls[0]["params"]["arguments"], calls[1]["params"]["arguments"]);
    assert_ne!(calls[0]["id"], calls[1]["id"]);
    let world = World::new("modern");
    let error = call(&world, "needs_input", json!({})).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotAllowed);
    assert!(error.message.contains("needs input that this hub cannot give"), "{}", error.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_wants_it_gets_the_result_as_the_server_wrote_it() {
    let world = World::new("legacy");
    let tool = world.unlisted("odd");
    let mut context = context(&CancellationToken::new());
    let args = |fails: bool| Arguments::new(json!({"fails": fails}).as_object().unwrap().clone());
    let output = tool.call(&args(false), &context).await.unwrap();
    assert!(output.raw.is_none(), "an ordinary caller keeps a result once");
    context.extras.keep_raw = true;
    let raw = tool.call(&args(false), &context).await.unwrap().raw.unwrap();
    let sent = r#"{"later":[1,{"b":1,"a":2.5}],"isError":false,"content":[{"type":"hologram","depth":3},{"type":"text","text":"x","mood":null}]}"#;
    assert_eq!(raw.get(), sent);
    let error = tool.call(&args(true), &context).await.unwrap_err();
    let raw = error.answer.unwrap().raw.clone().unwrap();
    assert_eq!(raw.get(), sent.replace("false", "true"));
}

#[tokio::test(flavor = "multi_thread")]
async fn members_of_a_definition_that_the_hub_does_not_use_are_kept() {
    let world = World::new("legacy");
    world.connect().await;
    let look = world.hub.registry.load().get("look").unwrap().candidates[0].clone();
    let extras = Value::Object(look.tool.definition_extras());
    assert_eq!(
        extras,
        json!({"icons": [{"src": "i.png"}], "later": 7, "_meta": {"org.example/x": 1}, "title": "Look"})
    );
}

fn asking(caller: &'static str) -> Option<AskCaller> {
    let ask = move |method: &str, params: Value| -> toolhub::tool::BoxFuture<'static, _> {
        let name = format!("{caller}/{method}/{}", params["message"]);
        Box::pin(async move { Ok(json!({"action": "accept", "content": {"name": name}})) })
    };
    Some(AskCaller::one_by_one(caller.into(), Arc::new(json!({"elicitation": {}})), Arc::new(ask)))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_goes_to_the_caller_of_its_call() {
    for (mode, tool, answer) in
        [("legacy", "asks", "/result/content/name"), ("modern", "needs_input", "/got/who/content/name")]
    {
        let world = World::with(mode, json!({}), answering());
        world.connect().await;
        let mut context = context(&CancellationToken::new());
        context.extras.ask = asking("ann");
        let reply = world.unlisted(tool).call(&Arguments::default(), &context).await.unwrap().value;
        assert_eq!(reply.pointer(answer), Some(&json!("ann/elicitation/create/\"[s] who?\"")), "{mode}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_may_belong_to_several_callers_is_put_to_nobody() {
    let world = World::with("legacy", json!({}), answering());
    world.connect().await;
    let (mut hers, mut his) = (context(&CancellationToken::new()), context(&CancellationToken::new()));
    (hers.extras.ask, his.extras.ask) = (asking("ann"), asking("bob"));
    (hers.extras.principal, his.extras.principal) = (principal("ann"), principal("bob"));
    let hanging = world.unlisted("hangs");
    let hanging = tokio::spawn(async move { hanging.call(&Arguments::default(), &his).await });
    world.until("the other call has arrived", |world| world.received("tools/call").len() == 1).await;
    let reply = world.unlisted("asks").call(&Arguments::default(), &hers).await.unwrap().value;
    let is_unanswered =
        |reply: &Value| reply["error"]["message"].as_str().unwrap().starts_with("nobody was asked");
    assert!(is_unanswered(&reply), "{reply}");
    hanging.abort();
    let _ = hanging.await;
    // The server has not answered the call that was given up, so the question may still belong to it.
    let reply = world.unlisted("asks").call(&Arguments::default(), &hers).await.unwrap().value;
    assert!(is_unanswered(&reply), "{reply}");
    // Whoever made that call may be asked: a server need not answer what was cancelled.
    let mut again = context(&CancellationToken::new());
    (again.extras.ask, again.extras.principal) = (asking("bob"), principal("bob"));
    let reply = world.unlisted("asks").call(&Arguments::default(), &again).await.unwrap().value;
    assert_eq!(reply.pointer("/result/content/name"), Some(&json!("bob/elicitation/create/\"[s] who?\"")));
}

fn principal(id: &str) -> Option<Arc<Principal>> {
    Some(Arc::new(Principal { id: id.into(), ..Principal::default() }))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modern_server_is_told_for_each_call_whether_its_caller_answers() {
    let world = World::new("modern");
    let mut context = context(&CancellationToken::new());
    let tool = world.unlisted("echo");
    tool.call(&Arguments::default(), &context).await.unwrap();
    context.extras.ask = asking("ann");
    tool.call(&Arguments::default(), &context).await.unwrap();
    let capability = |call: &Value| {
        call["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]["elicitation"].is_object()
    };
    assert_eq!(world.received("tools/call").iter().map(capability).collect::<Vec<_>>(), [false, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_changes_changes_the_candidates() {
    let world = World::new("legacy");
    world.connect().await;
    assert!(call(&world, "changes", json!({})).await.is_ok());
    world.until("the new list is there", |world| world.hub.registry.load().get("fresh").is_some()).await;
    world.until("the old one is gone", |world| world.hub.registry.load().get("echo").is_none()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_with_the_same_tools_are_candidates_of_one_name() {
    let world = World::new("legacy");
    world.add("other", "modern", json!({"prefix": ""}));
    world.connect().await;
    let snapshot = world.hub.registry.load();
    let labels: Vec<_> = snapshot.get("echo").unwrap().candidates.iter().map(|one| one.label()).collect();
    assert_eq!(labels.len(), 2);
    world.servers.remove("other");
    assert_eq!(world.hub.registry.load().get("echo").unwrap().candidates.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_stand_in_the_order_in_which_they_were_added_in_whatever_order_they_answer() {
    let world = World::new("legacy");
    world.add("second", "legacy", json!({"capabilities": ["shared"]}));
    world.add("third", "legacy", json!({"capabilities": ["Shared "]}));
    for id in ["third", "second", "s"] {
        world.connect_one(id).await;
    }
    assert_eq!(world.order_of("echo"), ["s", "second", "third"]);
    let entry = world.hub.registry.load().get("echo").unwrap().clone();
    assert_eq!(entry.primary().unwrap().server.as_deref(), Some("s"));
    let tagged: Vec<_> =
        world.hub.registry.load().with_tag("shared").filter_map(|one| one.server.clone()).collect();
    assert_eq!((&*tagged[0], &*tagged[tagged.len() - 1]), ("second", "third"));
    // In another form it is still the second; removed and added again it is the last.
    world.add("second", "modern", json!({}));
    world.connect_one("second").await;
    assert_eq!(world.order_of("echo"), ["s", "second", "third"]);
    world.servers.remove("s");
    world.add("s", "legacy", json!({}));
    world.connect().await;
    assert_eq!(world.order_of("echo"), ["second", "third", "s"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_stand_in_the_order_of_their_servers_too() {
    let world = World::with("legacy", json!({"prefix": "a_", "include": ["echo"]}), Host::default());
    world.add("second", "legacy", json!({"prefix": "b_", "include": ["echo"]}));
    world.add("third", "legacy", json!({"prefix": "a_", "include": ["echo", "sum"]}));
    for id in ["third", "second", "s"] {
        world.connect_one(id).await;
    }
    let snapshot = world.hub.registry.load();
    let names: Vec<&str> = snapshot.entries().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["a_echo", "b_echo", "a_sum"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prefix_and_patterns_choose_what_is_offered() {
    let options = json!({"prefix": "x_", "include": ["e*", "s*"], "exclude": ["second"]});
    let world = World::with("legacy", options, Host::default());
    world.connect().await;
    let snapshot = world.hub.registry.load();
    let names: Vec<&str> = snapshot.entries().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["x_echo", "x_sum"]);
    assert_eq!(world.call("x_echo", json!({"text": "hi"})).await.unwrap(), json!("hi"));
    assert_eq!(world.received("tools/call")[0]["params"]["name"], json!("echo"));
}
