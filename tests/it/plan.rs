//! One call from request to result, on tokio with a paused clock: the plan decides, and the world around it is scripted.
#![allow(clippy::panic, reason = "helpers of tests may fail a test")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolhub::error::{ErrorKind, HubError, Outcome};
use toolhub::hub::{Hub, HubOptions};
use toolhub::model::{Arguments, CallOptions, Effects, Evidence, Source};
use toolhub::plan::{CallRequest, CallResult, CallTarget, Permissions, SharingRequest};

#[allow(dead_code, reason = "shared with the tests of the hub, which use more of it")]
use crate::hub::doubles;
mod machine;
mod ordering;
mod permitting;
mod sharing;
mod snapshots;
mod world;

use doubles::{Double, Stage};
use world::{Made, World, ask};

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn hub() -> Arc<Hub> {
    Arc::new(Hub::new(HubOptions { seed: Some(7), ..HubOptions::default() }))
}

fn named(name: &str) -> CallRequest {
    CallRequest::new(CallTarget::Name(name.into()), CallOptions::default())
}

fn routed(name: &str, source: Option<&str>) -> CallRequest {
    let target = CallTarget::Routed { name: name.into(), source: source.map(Arc::from) };
    CallRequest::new(target, CallOptions::default())
}

fn value(result: &Made) -> Value {
    result.outcome.as_ref().unwrap().value.clone()
}

fn error(result: &Made) -> &HubError {
    result.outcome.as_ref().unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn a_registered_tool_is_called_at_once() {
    let world = World::new(hub());
    world.stage.add(Double::answering("t", "yes"));
    let result = world.call(named("t")).await;
    assert_eq!((value(&result), result.route), (json!("yes"), None));
    assert_eq!(world.asked(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_closed_hub_answers_that_it_is_closed() {
    let world = World::new(hub());
    world.stage.add(Double::answering("t", "yes"));
    world.hub.close();
    let result = world.call(named("t")).await;
    assert_eq!((error(&result).kind, error(&result).outcome), (ErrorKind::Closed, Outcome::NotSent));
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_request_is_refused() {
    let world = World::new(hub());
    let request = CallRequest { unreadable: Some("The call names no tool.".into()), ..routed("", None) };
    let result = world.call(request).await;
    assert_eq!((error(&result).kind, result.route), (ErrorKind::InvalidArguments, Some("unreadable")));
}

#[tokio::test(start_paused = true)]
async fn a_missing_tool_is_looked_up_once_and_then_called() {
    for request in [named("t"), routed("t", None)] {
        let world = World::new(hub());
        world.server("files", secs(2)).lists(Double::answering("t", "found").of(Source::Mcps));
        let result = world.call(request).await;
        assert_eq!(value(&result), json!("found"));
        assert_eq!(world.asked(), ["look up t for 10s"]);
        assert_eq!(world.stage.elapsed(), 2_000);
    }
}

#[tokio::test(start_paused = true)]
async fn a_capability_is_looked_up_without_a_name() {
    let world = World::new(hub());
    let double = Double::answering("t", "sunny").with(|spec| spec.capabilities = vec!["weather".into()]);
    world.server("sky", secs(1)).lists(double.of(Source::Mcps));
    let request = CallRequest::new(CallTarget::Capability("Weather".into()), CallOptions::default());
    assert_eq!(value(&world.call(request).await), json!("sunny"));
    assert_eq!(world.asked(), ["look up everything for 10s"]);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_counts_from_the_beginning_of_the_call() {
    let world = World::new(hub());
    world.server("files", secs(3)).lists(Double::hanging("t").of(Source::Mcps));
    let options = CallOptions { deadline: Some(secs(5)), ..CallOptions::default() };
    let result = world.call(CallRequest::new(CallTarget::Name("t".into()), options)).await;
    assert_eq!(error(&result).kind, ErrorKind::Timeout);
    assert!(error(&result).message.contains("its deadline of 5 s"), "{}", error(&result).message);
    assert_eq!(world.stage.elapsed(), 5_000);
}

#[tokio::test(start_paused = true)]
async fn a_miss_says_which_servers_could_not_be_asked() {
    for request in [named("t"), routed("t", None)] {
        let world = World::new(hub());
        world.server("down", secs(1)).fails(HubError::new(ErrorKind::Connect, "Server 'down' is down."));
        let result = world.call(request).await;
        assert_eq!(error(&result).kind, ErrorKind::NotFound);
        let expected = "There is no tool named 't'. No tool is registered yet. \
                        Some servers could not be asked: Server 'down' is down.";
        assert_eq!(error(&result).message, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn the_answer_of_a_named_server_that_cannot_be_asked_is_why() {
    let world = World::new(hub());
    let refusal = HubError {
        status: Some(429),
        retry_after: Some(7.0),
        ..HubError::new(ErrorKind::Connect, "Server 'down' refused.")
    };
    world.server("down", secs(1)).fails(refusal.clone());
    let result = world.call(routed("t", Some("down"))).await;
    assert_eq!(error(&result), &refusal);
    assert_eq!(result.route, Some("server"));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_ends_the_look_up_is_a_timeout() {
    let world = World::new(hub());
    world.server("slow", secs(60)).lists(Double::answering("t", "late").of(Source::Mcps));
    let options = CallOptions { deadline: Some(secs(2)), ..CallOptions::default() };
    let result = world.call(CallRequest { options, ..routed("t", None) }).await;
    assert_eq!((error(&result).kind, error(&result).outcome), (ErrorKind::Timeout, Outcome::NotSent));
    assert_eq!(world.asked(), ["look up t for 2s"]);
    assert_eq!(world.stage.elapsed(), 2_000);
}

#[tokio::test(start_paused = true)]
async fn no_server_is_asked_for_a_call_whose_source_is_unknown() {
    let world = World::new(hub());
    world.server("files", secs(1)).lists(Double::answering("t", "found").of(Source::Mcps));
    let result = world.call(routed("t", Some("fils"))).await;
    assert_eq!((error(&result).kind, result.route), (ErrorKind::NotFound, Some("unknown")));
    assert_eq!(error(&result).suggestions, [Arc::from("files")]);
    assert_eq!(world.asked(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_a_look_up() {
    let world = World::new(hub());
    world.server("slow", secs(60)).lists(Double::answering("t", "late").of(Source::Mcps));
    let cancel = CancellationToken::new();
    let stop = async {
        tokio::time::sleep(secs(1)).await;
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(world.call_until(named("t"), &cancel), stop);
    assert_eq!(error(&result).kind, ErrorKind::Cancelled);
    assert_eq!(world.stage.elapsed(), 1_000);
}

fn two_searches(world: &World) {
    for (source, text) in [(Source::Tools, "one"), (Source::Skills, "two")] {
        let searching = |spec: &mut toolhub::model::ToolSpec| spec.capabilities = vec!["search".into()];
        world.stage.add(Double::answering("search", text).of(source).with(searching));
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_makes_one_answer_of_several() {
    let world = World::new(hub()).with_model("both", secs(1));
    two_searches(&world);
    let args = Arguments::new(json!({"query": "what"}).as_object().unwrap().clone());
    let result = world.call_with(named("search"), args).await;
    assert_eq!((value(&result), result.synthesized), (json!("both"), true));
    assert_eq!(result.answers, [("tools".to_owned(), json!("one")), ("skills".to_owned(), json!("two"))]);
    assert!(world.prompts()[0].contains("Question: what"), "{:?}", world.prompts());
}

#[tokio::test(start_paused = true)]
async fn all_tools_that_answered_decide_how_much_the_model_sees() {
    let world = World::new(hub()).with_model("both", secs(1));
    world.stage.add(Double::answering("sum", "1".repeat(200)).of(Source::Tools));
    let counting = |spec: &mut toolhub::model::ToolSpec| spec.capabilities = vec!["calculate".into()];
    world.stage.add(Double::answering("sum", "2".repeat(200)).of(Source::Skills).with(counting));
    let options = CallOptions { strategy: Some(toolhub::model::Strategy::All), ..CallOptions::default() };
    let result = world.call(CallRequest::new(CallTarget::Name("sum".into()), options)).await;
    assert!(result.synthesized);
    assert!(world.prompts()[0].matches('1').count() <= 101, "{:?}", world.prompts());
}

#[tokio::test(start_paused = true)]
async fn a_model_that_is_too_slow_or_says_nothing_leaves_the_merge() {
    for (answer, takes, spent) in [("both", 11, 10_000), (" ", 1, 1_000)] {
        let world = World::new(hub()).with_model(answer, secs(takes));
        two_searches(&world);
        let result = world.call(named("search")).await;
        assert_eq!((value(&result), result.synthesized), (json!("[tools] one\n\n[skills] two"), false));
        assert_eq!(world.stage.elapsed(), spent);
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_has_what_is_left_of_the_deadline() {
    let world = World::new(hub()).with_model("both", secs(9));
    two_searches(&world);
    let options = CallOptions { deadline: Some(secs(3)), ..CallOptions::default() };
    let result = world.call(CallRequest::new(CallTarget::Name("search".into()), options)).await;
    assert!(!result.synthesized);
    assert_eq!(world.stage.elapsed(), 3_000);
}
