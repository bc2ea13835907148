//! What calls teach: statistics, the order of candidates, the circuit breaker.

use super::*;
use toolhub::registry::Candidate;
use toolhub::stats::{BreakerPolicy, BreakerState, StatsView};

fn view(candidate: &Candidate) -> StatsView {
    candidate.stats.view(tokio::time::Instant::now().into_std())
}

fn at(server: &str) -> CallOptions {
    CallOptions { server: Some(Arc::from(server)), ..CallOptions::default() }
}

async fn times(hub: &Hub, count: usize, options: &CallOptions) {
    for _ in 0..count {
        call(hub, "t", options).await;
    }
}

/// A bad candidate that has just been rested for 5 s, and a good one.
async fn with_a_rested_one(bad: Double) -> (Arc<Hub>, Stage, Arc<Candidate>) {
    let hub = hub();
    let stage = Stage::new(&hub);
    let candidate = stage.add(bad.server("bad"));
    stage.add(Double::answering("t", "good").after(10).server("good"));
    times(&hub, 5, &at("bad")).await;
    assert_eq!(view(&candidate).breaker, BreakerState::Resting);
    (hub, stage, candidate)
}

#[tokio::test(start_paused = true)]
async fn statistics_count_calls_successes_failures_by_kind_and_latency() {
    let hub = hub();
    let stage = Stage::new(&hub);
    let good = stage.add(Double::answering("t", 1).after(100));
    times(&hub, 3, &CallOptions::default()).await;
    call(&hub, "t", &CallOptions { timeout: Some(ms(50)), ..CallOptions::default() }).await;
    let seen = view(&good);
    assert_eq!((seen.calls, seen.successes), (4, 3));
    assert_eq!(seen.failures, [(ErrorKind::Timeout, 1)]);
    assert_eq!(seen.latency_ewma_ms, Some(100.0));
    assert!(seen.latency_p50_ms.is_some_and(|p50| (90.0..110.0).contains(&p50)), "{seen:?}");
    assert!(seen.last_success.is_some());
    assert!(seen.success_rate < 1.0);
}

#[tokio::test(start_paused = true)]
async fn a_lost_race_and_a_cancelled_call_are_not_held_against_a_tool() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", 1).after(10));
    let loser = stage.add(Double::hanging("t").of(Source::Skills));
    times(&hub, 20, &asking(Strategy::First)).await;
    let seen = view(&loser);
    assert_eq!(seen.failures, [(ErrorKind::Cancelled, 20)]);
    assert_eq!((seen.success_rate, seen.breaker), (1.0, BreakerState::Closed));
}

#[tokio::test(start_paused = true)]
async fn a_passed_deadline_counts_as_a_timeout_of_those_that_ran() {
    let hub = hub();
    let stage = Stage::new(&hub);
    let slow = stage.add(Double::hanging("t"));
    call(&hub, "t", &CallOptions { deadline: Some(ms(20)), ..CallOptions::default() }).await;
    assert_eq!(view(&slow).failures, [(ErrorKind::Timeout, 1)]);
}

#[tokio::test(start_paused = true)]
async fn the_last_successful_candidate_comes_first() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", 1));
    stage.add(Double::answering("t", 2).of(Source::Skills));
    stage.add(Double::answering("t", 3).server("m"));
    assert_eq!(order(&hub, "t"), ["tools", "skills", "mcps:m"], "by priority at first");
    call(&hub, "t", &at("m")).await;
    assert_eq!(order(&hub, "t"), ["mcps:m", "tools", "skills"]);
    call(&hub, "t", &CallOptions { source: Some(Source::Skills), ..CallOptions::default() }).await;
    assert_eq!(order(&hub, "t"), ["skills", "tools", "mcps:m"]);
}

#[tokio::test(start_paused = true)]
async fn a_replaced_candidate_is_still_the_last_successful_one() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", 1).server("a"));
    stage.add(Double::answering("t", 2).server("b"));
    call(&hub, "t", &at("b")).await;
    assert_eq!(order(&hub, "t"), ["mcps:b", "mcps:a"]);
    stage.add(Double::answering("t", "newer").server("b"));
    assert_eq!(order(&hub, "t"), ["mcps:b", "mcps:a"]);
}

#[tokio::test(start_paused = true)]
async fn inside_one_priority_failing_and_slow_candidates_come_later() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::failing("t", ErrorKind::ToolError).server("failing"));
    stage.add(Double::answering("t", 2).after(800).server("slow"));
    stage.add(Double::answering("t", 3).after(2).server("quick"));
    stage.add(Double::answering("t", 4).server("last"));
    for server in ["failing", "slow", "quick", "last"] {
        times(&hub, 3, &at(server)).await;
    }
    assert_eq!(order(&hub, "t"), ["mcps:last", "mcps:quick", "mcps:slow", "mcps:failing"]);
}

#[tokio::test(start_paused = true)]
async fn priority_comes_before_health() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", 1).server("healthy"));
    stage.add(Double::failing("t", ErrorKind::ToolError));
    times(&hub, 3, &CallOptions { source: Some(Source::Tools), ..CallOptions::default() }).await;
    assert_eq!(order(&hub, "t"), ["tools", "mcps:healthy"]);
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_keeps_failing_is_rested_and_comes_last() {
    let (hub, stage, _) = with_a_rested_one(Double::failing("t", ErrorKind::ToolError)).await;
    assert_eq!(order(&hub, "t"), ["mcps:good", "mcps:bad"]);
    for strategy in [Strategy::First, Strategy::All, Strategy::Fallback] {
        assert_eq!(call(&hub, "t", &asking(strategy)).await.result, Ok(json!("good")));
    }
    assert_eq!(stage.count("start bad"), 5, "not once more while it rests");
}

#[tokio::test(start_paused = true)]
async fn a_resting_candidate_is_tried_when_no_other_can_answer() {
    let (hub, stage, _) = with_a_rested_one(Double::failing("t", ErrorKind::ToolError)).await;
    stage.add(Double::failing("t", ErrorKind::ToolError).server("good"));
    call(&hub, "t", &asking(Strategy::First)).await;
    assert_eq!(stage.count("start bad"), 6);
    call(&hub, "t", &at("bad")).await;
    assert_eq!(stage.count("start bad"), 7, "and when it is the only one asked for");
}

#[tokio::test(start_paused = true)]
async fn a_rested_candidate_is_probed_and_a_good_answer_brings_it_back() {
    let (hub, stage, bad) = with_a_rested_one(Double::failing("t", ErrorKind::ToolError)).await;
    tokio::time::advance(ms(5_000)).await;
    assert_eq!(view(&bad).breaker, BreakerState::HalfOpen);
    let back = stage.add(Double::answering("t", "back").server("bad"));
    call(&hub, "t", &asking(Strategy::First)).await;
    assert_eq!(stage.count("start bad"), 6);
    assert_eq!(view(&back).breaker, BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_failed_probe_rests_the_candidate_for_twice_as_long() {
    let (hub, _, bad) = with_a_rested_one(Double::failing("t", ErrorKind::ToolError)).await;
    tokio::time::advance(ms(5_000)).await;
    call(&hub, "t", &asking(Strategy::All)).await;
    assert_eq!(view(&bad).breaker, BreakerState::Resting);
    tokio::time::advance(ms(9_900)).await;
    assert_eq!(view(&bad).breaker, BreakerState::Resting);
    tokio::time::advance(ms(100)).await;
    assert_eq!(view(&bad).breaker, BreakerState::HalfOpen);
}

#[tokio::test(start_paused = true)]
async fn there_is_one_probe_at_a_time() {
    let (hub, stage, bad) = with_a_rested_one(Double::failing("t", ErrorKind::ToolError).after(50)).await;
    tokio::time::advance(ms(5_000)).await;
    let probe = tokio::spawn({
        let hub = hub.clone();
        async move { call(&hub, "t", &at("bad")).await.result.is_err() }
    });
    tokio::time::sleep(ms(1)).await;
    assert_eq!(view(&bad).breaker, BreakerState::Resting);
    assert_eq!(call(&hub, "t", &asking(Strategy::First)).await.result, Ok(json!("good")));
    assert_eq!(stage.count("start bad"), 6, "the probe alone");
    assert!(probe.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_lost_its_race_leaves_the_way_free_for_the_next() {
    let (hub, _, bad) = with_a_rested_one(Double::failing("t", ErrorKind::ToolError).after(50)).await;
    tokio::time::advance(ms(5_000)).await;
    call(&hub, "t", &asking(Strategy::First)).await;
    assert_eq!(view(&bad).breaker, BreakerState::HalfOpen);
}

#[tokio::test(start_paused = true)]
async fn of_several_answers_only_the_first_candidates_counts_as_the_last_success() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", 1).after(20));
    stage.add(Double::answering("t", 2).of(Source::Skills));
    times(&hub, 3, &asking(Strategy::All)).await;
    assert_eq!(order(&hub, "t"), ["tools", "skills"], "otherwise the order would turn round and round");
}

/// Dropping the future of the call drops the probe, which then never reports.
#[tokio::test(start_paused = true)]
async fn a_probe_without_a_caller_does_not_rest_the_candidate_forever() {
    let (hub, _, bad) = with_a_rested_one(Double::failing("t", ErrorKind::ToolError).after(50)).await;
    tokio::time::advance(ms(5_000)).await;
    let dropped = tokio::time::timeout(ms(10), call(&hub, "t", &at("bad"))).await;
    assert!(dropped.is_err());
    tokio::time::advance(Duration::from_secs(3_600)).await;
    assert_eq!(view(&bad).breaker, BreakerState::HalfOpen);
}

/// Calls that were under way when the rest began tell nothing new: it is one breakdown, so one rest.
#[tokio::test(start_paused = true)]
async fn many_calls_that_fail_together_rest_the_candidate_once() {
    let hub = hub();
    let stage = Stage::new(&hub);
    let bad = stage.add(Double::failing("t", ErrorKind::Closed).after(50).server("bad"));
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let hub = hub.clone();
            tokio::spawn(async move { call(&hub, "t", &at("bad")).await.result.is_err() })
        })
        .collect();
    for ended in calls {
        assert!(ended.await.unwrap());
    }
    assert_eq!(view(&bad).breaker, BreakerState::Resting);
    tokio::time::advance(ms(5_000)).await;
    assert_eq!(view(&bad).breaker, BreakerState::HalfOpen, "the first rest is 5 s");
}

#[tokio::test(start_paused = true)]
async fn the_breaker_can_be_turned_off_and_a_rest_may_have_no_end() {
    let with = |breaker| Arc::new(Hub::new(HubOptions { breaker, ..HubOptions::default() }));
    let off = with(BreakerPolicy { threshold: 0, ..BreakerPolicy::default() });
    let stage = Stage::new(&off);
    let bad = stage.add(Double::failing("t", ErrorKind::ToolError));
    times(&off, 50, &CallOptions::default()).await;
    assert_eq!(view(&bad).breaker, BreakerState::Closed);
    let endless = BreakerPolicy { threshold: 1, rest: Duration::MAX, longest_rest: Duration::MAX };
    let endless = with(endless);
    let stage = Stage::new(&endless);
    let bad = stage.add(Double::failing("t", ErrorKind::ToolError));
    times(&endless, 2, &CallOptions::default()).await;
    assert_eq!(view(&bad).breaker, BreakerState::Resting);
}

#[tokio::test(start_paused = true)]
async fn wrong_arguments_do_not_rest_a_tool() {
    let hub = hub();
    let stage = Stage::new(&hub);
    let tool = stage.add(Double::failing("t", ErrorKind::InvalidArguments));
    times(&hub, 20, &CallOptions::default()).await;
    assert_eq!(view(&tool).breaker, BreakerState::Closed);
}
