//! Timeouts, the deadline, cancellation from outside, and tools that break.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_candidate_that_is_too_slow_is_asked_to_stop_and_the_next_is_tried() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::hanging("t"));
    stage.add(Double::answering("t", "second").of(Source::Skills));
    let options = CallOptions { timeout: Some(ms(100)), ..asking(Strategy::Fallback) };
    let execution = call(&hub, "t", &options).await;
    assert_eq!(execution.result, Ok(json!("second")));
    assert_eq!((stage.count("cancelled tools"), stage.elapsed()), (1, 100));
    assert_eq!(fates(&execution), [Fate::TimedOut, Fate::Succeeded]);
}

#[tokio::test(start_paused = true)]
async fn the_default_timeout_is_thirty_seconds_and_a_tools_own_comes_before_it() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::hanging("default"));
    stage.add(Double::hanging("own").with(|spec| spec.timeout = Some(ms(700))));
    call(&hub, "default", &CallOptions::default()).await;
    assert_eq!(stage.elapsed(), 30_000);
    call(&hub, "own", &CallOptions::default()).await;
    assert_eq!(stage.elapsed(), 30_700);
    call(&hub, "own", &CallOptions { timeout: Some(ms(50)), ..CallOptions::default() }).await;
    assert_eq!(stage.elapsed(), 30_750, "and the caller's comes before both");
}

/// Nothing that a tool says on its way out changes that its time was over.
#[tokio::test(start_paused = true)]
async fn a_timeout_is_reported_as_a_timeout_also_when_the_tool_heeds_the_cancellation() {
    for double in [Double::hanging("t"), Double::hanging("t").deaf()] {
        let hub = hub();
        let stage = Stage::new(&hub);
        stage.add(double);
        let options = CallOptions { timeout: Some(ms(100)), ..CallOptions::default() };
        let error = call(&hub, "t", &options).await.result.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Timeout, "{error}");
        assert!(error.message.contains("0.1 s"), "{error}");
        assert_eq!(error.outcome, Outcome::Unknown);
    }
}

#[tokio::test(start_paused = true)]
async fn the_deadline_is_for_the_whole_call() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::failing("t", ErrorKind::ToolError).after(80));
    stage.add(Double::hanging("t").of(Source::Skills));
    stage.add(Double::answering("t", "never asked").of(Source::Mcps));
    let options = CallOptions { deadline: Some(ms(200)), ..asking(Strategy::Fallback) };
    let execution = call(&hub, "t", &options).await;
    let error = execution.result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(error.message.contains("deadline of 0.2 s"), "{error}");
    assert_eq!(execution.plan.run.decision(), Some(Decision::DeadlinePassed));
    assert_eq!((stage.count("cancelled skills"), stage.count("start mcps")), (1, 0));
    assert_eq!(stage.elapsed(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_tool_knows_when_its_caller_stops_waiting() {
    let hub = hub();
    let stage = Stage::new(&hub);
    let begun = tokio::time::Instant::now().into_std();
    stage.add(Double::answering("t", 1));
    let within = |timeout, deadline| CallOptions {
        timeout: Some(ms(timeout)),
        deadline: Some(ms(deadline)),
        ..CallOptions::default()
    };
    call(&hub, "t", &within(300, 900)).await;
    call(&hub, "t", &within(900, 200)).await;
    let deadlines: Vec<_> = stage.contexts().iter().map(|ctx| ctx.deadline.duration_since(begun)).collect();
    assert_eq!(deadlines, [ms(300), ms(200)]);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_cancels_everything_below_it_before_it_returns() {
    let hub = hub();
    let stage = Stage::new(&hub);
    for server in ["a", "b", "c", "d"] {
        stage.add(Double::hanging("t").server(server));
    }
    let cancel = CancellationToken::new();
    let later = cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(ms(70)).await;
        later.cancel();
    });
    let execution = hub.execute("t", Arguments::default(), &asking(Strategy::First), &cancel).await.unwrap();
    assert_eq!(execution.result.unwrap_err().kind, ErrorKind::Cancelled);
    assert_eq!((stage.count("start"), stage.count("cancelled"), stage.inside()), (3, 3, 0));
    assert_eq!(stage.elapsed(), 70);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_has_gone_already_starts_nothing() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", 1));
    let cancel = CancellationToken::new();
    cancel.cancel();
    let execution = hub.execute("t", Arguments::default(), &CallOptions::default(), &cancel).await.unwrap();
    assert_eq!(execution.result.unwrap_err().kind, ErrorKind::Cancelled);
    assert_eq!(stage.started(), Vec::<String>::new());
}

/// A tool may have work elsewhere (a server, a thread) that only its token reaches.
#[tokio::test(start_paused = true)]
async fn a_dropped_call_fires_the_tokens_of_its_tools() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::hanging("t"));
    let given_up = tokio::time::timeout(ms(50), call(&hub, "t", &CallOptions::default())).await;
    assert!(given_up.is_err());
    tokio::task::yield_now().await;
    assert_eq!(stage.inside(), 0, "its future is gone");
    let contexts = stage.contexts();
    assert_eq!(contexts.len(), 1);
    assert!(contexts[0].cancel.is_cancelled(), "and everything else that it started was asked to stop");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_ended_well_is_never_asked_to_stop() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", 1).after(10));
    let execution = call(&hub, "t", &CallOptions::default()).await;
    assert_eq!(execution.result, Ok(json!(1)));
    assert!(!stage.contexts()[0].cancel.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_panicking_tool_is_an_error_and_the_others_go_on() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::panicking("t"));
    let alone = call(&hub, "t", &CallOptions::default()).await;
    assert_eq!(alone.result.unwrap_err().kind, ErrorKind::ToolError);
    stage.add(Double::answering("t", "whole").after(10).of(Source::Skills));
    let both = call(&hub, "t", &asking(Strategy::First)).await;
    assert_eq!(both.result, Ok(json!("whole")));
    assert_eq!(stage.inside(), 0);
}

#[tokio::test(start_paused = true)]
async fn after_a_panic_the_outcome_is_unknown() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::panicking("t").with(|spec| spec.effects = Effects::may_act(Evidence::Registration)));
    stage.add(Double::answering("t", 1).of(Source::Skills));
    let error = call(&hub, "t", &CallOptions::default()).await.result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::ToolError);
    assert_eq!(error.outcome, Outcome::Unknown);
    assert_eq!(stage.count("start skills"), 0);
}

#[tokio::test(start_paused = true)]
async fn no_limit_at_all_may_be_written_as_the_longest_duration() {
    let options = HubOptions { timeout: Duration::MAX, grace: Duration::MAX, ..HubOptions::default() };
    let hub = Arc::new(Hub::new(options));
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", 1).after(60_000));
    let options = CallOptions { deadline: Some(Duration::MAX), ..CallOptions::default() };
    assert_eq!(call(&hub, "t", &options).await.result, Ok(json!(1)));
}

#[tokio::test(start_paused = true)]
async fn a_tool_may_call_the_hub_and_change_it_while_it_runs() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::answering("inner", 41).after(5));
    let (inside, on) = (hub.clone(), stage.clone());
    let outer = crate::support::function_tool::FunctionTool::new(ToolSpec::named("outer"), move |_, ctx| {
        let (inside, on) = (inside.clone(), on.clone());
        async move {
            let inner =
                inside.execute("inner", Arguments::default(), &CallOptions::default(), &ctx.cancel).await?;
            on.add(Double::answering("born_while_running", 1));
            inside.registry.remove("outer", toolhub::registry::Filter::default());
            let value = inner.result?.as_i64().unwrap_or_default();
            Ok(toolhub::model::ToolOutput::new(value + 1))
        }
    });
    stage.add_tool(Arc::new(outer));
    assert_eq!(call(&hub, "outer", &CallOptions::default()).await.result, Ok(json!(42)));
    let names: Vec<_> = hub.registry.snapshot().entries().map(|(name, _)| name.to_string()).collect();
    assert_eq!(names, ["inner", "born_while_running"]);
}
