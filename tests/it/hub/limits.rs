//! Limits of concurrency: for a tool, a source, the hub.

use super::*;
use tokio::task::{JoinHandle, JoinSet};

/// Starts this number of calls, one after another, and gives their errors in the order of the calls.
async fn many(hub: &Arc<Hub>, count: usize, options: &CallOptions) -> Vec<Option<ErrorKind>> {
    let mut calls = JoinSet::new();
    for n in 0..count {
        let (hub, options) = (hub.clone(), options.clone());
        calls.spawn(async move { (n, call(&hub, "t", &options).await.result.err().map(|e| e.kind)) });
        tokio::task::yield_now().await;
    }
    let mut ended = calls.join_all().await;
    ended.sort_by_key(|(n, _)| *n);
    ended.into_iter().map(|(_, error)| error).collect()
}

/// A call that holds its place, already inside.
async fn occupy(hub: &Arc<Hub>) -> JoinHandle<Result<Value, HubError>> {
    let hub = hub.clone();
    let holder = tokio::spawn(async move { call(&hub, "t", &CallOptions::default()).await.result });
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    holder
}

fn within(millis: u64) -> CallOptions {
    CallOptions { timeout: Some(ms(millis)), ..CallOptions::default() }
}

fn limited(options: HubOptions) -> Arc<Hub> {
    Arc::new(Hub::new(options))
}

#[tokio::test(start_paused = true)]
async fn a_tool_with_a_limit_of_one_never_runs_twice_at_once() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", 1).after(10).with(|spec| spec.max_concurrency = Some(1)));
    assert_eq!(many(&hub, 6, &CallOptions::default()).await, [None; 6]);
    assert_eq!((stage.most_at_once(), stage.elapsed()), (1, 60));
}

#[tokio::test(start_paused = true)]
async fn waiting_calls_start_in_the_order_of_their_calls() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", 1).after(10).with(|spec| spec.max_concurrency = Some(1)));
    // The deadline that a tool is given tells whose call it is.
    let begun = tokio::time::Instant::now().into_std();
    let mut calls = JoinSet::new();
    for seconds in [10, 30, 20] {
        let hub = hub.clone();
        calls.spawn(async move {
            let options = CallOptions { deadline: Some(ms(seconds * 1_000)), ..CallOptions::default() };
            call(&hub, "t", &options).await.result
        });
        tokio::task::yield_now().await;
    }
    assert!(calls.join_all().await.iter().all(Result::is_ok));
    let order: Vec<_> = stage.contexts().iter().map(|c| c.deadline.duration_since(begun).as_secs()).collect();
    assert_eq!(order, [10, 30, 20]);
}

#[tokio::test(start_paused = true)]
async fn the_hub_has_a_limit_over_all_tools() {
    let hub = limited(HubOptions { max_concurrency: Some(2), ..HubOptions::default() });
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", 1).after(10));
    stage.add(Double::answering("t", 2).after(10).of(Source::Mcps));
    assert_eq!(many(&hub, 4, &asking(Strategy::All)).await, [None; 4]);
    assert_eq!((stage.most_at_once(), stage.elapsed()), (2, 40));
}

#[tokio::test(start_paused = true)]
async fn a_source_has_a_limit_of_its_own() {
    let hub = limited(HubOptions { source_concurrency: vec![(Source::Mcps, 1)], ..HubOptions::default() });
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", 1).after(10).server("a"));
    stage.add(Double::answering("t", 2).after(10).server("b"));
    call(&hub, "t", &asking(Strategy::All)).await;
    assert_eq!((stage.most_at_once(), stage.elapsed()), (1, 20), "two servers, one source");
    stage.add(Double::answering("t", 3).after(10));
    call(&hub, "t", &asking(Strategy::All)).await;
    assert_eq!((stage.most_at_once(), stage.elapsed()), (2, 40), "another source does not wait");
}

#[tokio::test(start_paused = true)]
async fn more_than_may_wait_are_refused_as_overloaded() {
    let hub = limited(HubOptions { max_concurrency: Some(1), max_waiting: 2, ..HubOptions::default() });
    let stage = Stage::new(&hub);
    let candidate = stage.add(Double::answering("t", 1).after(10));
    let refused = Some(ErrorKind::Overloaded);
    assert_eq!(many(&hub, 5, &CallOptions::default()).await, [None, None, None, refused, refused]);
    assert_eq!(stage.count("start"), 3);
    let view = candidate.stats.view(tokio::time::Instant::now().into_std());
    assert_eq!(view.failures, [(ErrorKind::Overloaded, 2)]);
    assert_eq!(view.success_rate, 1.0, "it is not the tool's fault");
}

#[tokio::test(start_paused = true)]
async fn an_overloaded_tool_with_effects_proves_that_nothing_happened_so_the_next_is_tried() {
    let hub = limited(HubOptions { max_waiting: 0, ..HubOptions::default() });
    let stage = Stage::new(&hub);
    let effects = |spec: &mut ToolSpec| spec.effects = Effects::may_act(Evidence::Registration);
    stage.add(Double::answering("t", 1).after(10).with(effects).with(|spec| spec.max_concurrency = Some(1)));
    stage.add(Double::answering("t", 2).after(10).with(effects).of(Source::Skills));
    assert_eq!(many(&hub, 2, &CallOptions::default()).await, [None, None]);
    assert_eq!(stage.started(), ["tools", "skills"]);
}

#[tokio::test(start_paused = true)]
async fn who_is_cancelled_while_waiting_is_never_started_and_leaves_the_queue() {
    let hub = limited(HubOptions { max_concurrency: Some(1), max_waiting: 1, ..HubOptions::default() });
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", 1).after(100));
    let first = occupy(&hub).await;
    let cancel = CancellationToken::new();
    let quitter = tokio::spawn({
        let (hub, cancel) = (hub.clone(), cancel.clone());
        async move {
            hub.execute("t", Arguments::default(), &CallOptions::default(), &cancel).await.unwrap().result
        }
    });
    tokio::time::sleep(ms(10)).await;
    cancel.cancel();
    assert_eq!(quitter.await.unwrap().unwrap_err().kind, ErrorKind::Cancelled);
    let patient = call(&hub, "t", &CallOptions::default()).await;
    assert_eq!(patient.result, Ok(json!(1)), "there is room in the queue again");
    assert_eq!(first.await.unwrap(), Ok(json!(1)));
    assert_eq!(stage.count("start"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_gives_its_place_back() {
    let hub = limited(HubOptions { max_concurrency: Some(1), ..HubOptions::default() });
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", 1).after(100));
    for _ in 0..3 {
        let dropped = tokio::time::timeout(ms(10), call(&hub, "t", &CallOptions::default())).await;
        assert!(dropped.is_err());
    }
    assert_eq!(call(&hub, "t", &CallOptions::default()).await.result, Ok(json!(1)));
}

#[tokio::test(start_paused = true)]
async fn the_time_in_the_queue_counts_and_ends_in_a_timeout_that_started_nothing() {
    let hub = limited(HubOptions { max_concurrency: Some(1), ..HubOptions::default() });
    let stage = Stage::new(&hub);
    let candidate = stage.add(Double::answering("t", 1).after(100));
    let first = occupy(&hub).await;
    let waiting = call(&hub, "t", &within(50)).await;
    assert_eq!(stage.elapsed(), 50);
    let error = waiting.result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout, "{error}");
    assert!(error.outcome == Outcome::NotSent && error.message.contains("not started"), "{error}");
    assert_eq!(first.await.unwrap(), Ok(json!(1)));
    assert_eq!(stage.count("start"), 1);
    let view = candidate.stats.view(tokio::time::Instant::now().into_std());
    assert_eq!(view.success_rate, 1.0, "that it got no turn is not the tool's fault");
}

#[tokio::test(start_paused = true)]
async fn a_deadline_in_the_queue_started_nothing() {
    let hub = limited(HubOptions { max_concurrency: Some(1), ..HubOptions::default() });
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", 1).after(100));
    let first = occupy(&hub).await;
    let options = CallOptions { deadline: Some(ms(50)), ..CallOptions::default() };
    let error = call(&hub, "t", &options).await.result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(error.outcome == Outcome::NotSent, "{error}");
    assert_eq!(first.await.unwrap(), Ok(json!(1)));
}

/// The place becomes free at the very moment at which the time of the one who waits is over.
#[tokio::test(start_paused = true)]
async fn who_timed_out_in_the_queue_is_never_started() {
    for _ in 0..50 {
        let hub = limited(HubOptions { max_concurrency: Some(1), ..HubOptions::default() });
        let stage = Stage::new(&hub);
        stage.add(Double::answering("t", 1).after(100));
        let first = occupy(&hub).await;
        let second = call(&hub, "t", &within(100)).await;
        assert_eq!((fates(&second), stage.count("start")), (vec![Fate::TimedOut], 1));
        assert_eq!(first.await.unwrap(), Ok(json!(1)));
    }
}

/// Either the first one is known to have timed out while it waited, or the second one is not tried.
#[tokio::test(start_paused = true)]
async fn effects_are_not_had_twice_when_a_place_becomes_free_at_the_last_moment() {
    for _ in 0..50 {
        let hub =
            limited(HubOptions { source_concurrency: vec![(Source::Tools, 1)], ..HubOptions::default() });
        let stage = Stage::new(&hub);
        let effects = |spec: &mut ToolSpec| spec.effects = Effects::may_act(Evidence::Registration);
        stage.add(Double::answering("t", 1).after(100).deaf().with(effects));
        stage.add(Double::answering("t", 2).with(effects).of(Source::Skills));
        let first = occupy(&hub).await;
        call(&hub, "t", &within(100)).await;
        assert_eq!(first.await.unwrap(), Ok(json!(1)));
        assert_eq!(stage.count("start"), 2, "one for each call: {:?}", stage.log());
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_gives_its_place_back() {
    let hub = limited(HubOptions { max_concurrency: Some(1), ..HubOptions::default() });
    let stage = Stage::new(&hub);
    stage.add(Double::panicking("t"));
    for _ in 0..3 {
        let error = call(&hub, "t", &CallOptions::default()).await.result.unwrap_err();
        assert_eq!(error.kind, ErrorKind::ToolError);
    }
    assert_eq!(stage.count("start"), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_hold_when_many_threads_call_at_once() {
    let hub = limited(HubOptions { max_concurrency: Some(3), ..HubOptions::default() });
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", 1).with(|spec| spec.max_concurrency = Some(2)));
    assert_eq!(many(&hub, 500, &CallOptions::default()).await, [None; 500]);
    assert_eq!(stage.count("end"), 500);
    assert!(stage.most_at_once() <= 2, "{} at once", stage.most_at_once());
}
