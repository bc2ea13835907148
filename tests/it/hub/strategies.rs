//! Races with real cancellation, hedges, fallbacks, and all of them merged.

use super::*;

#[tokio::test(start_paused = true)]
async fn the_fastest_wins_and_the_losers_are_gone_before_the_call_returns() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::hanging("t"));
    stage.add(Double::answering("t", "fast").after(10).of(Source::Skills));
    stage.add(Double::answering("t", "slow").after(5_000).of(Source::Mcps));
    let execution = call(&hub, "t", &asking(Strategy::First)).await;
    assert_eq!(execution.result, Ok(json!("fast")));
    assert_eq!(stage.count("cancelled"), 2, "{:?}", stage.log());
    assert_eq!((stage.inside(), stage.elapsed()), (0, 10));
    assert_eq!(fates(&execution), [Fate::Stopped, Fate::Succeeded, Fate::Stopped]);
}

#[tokio::test(start_paused = true)]
async fn a_race_of_five_cancels_four() {
    let hub = hub();
    let stage = Stage::new(&hub);
    for n in 0..5 {
        stage.add(Double::answering("t", n).after(50 - 10 * n).server(&format!("s{n}")));
    }
    let options = CallOptions { max_parallel: Some(5), ..asking(Strategy::First) };
    let execution = call(&hub, "t", &options).await;
    assert_eq!(execution.result, Ok(json!(4)));
    assert_eq!((stage.count("start"), stage.count("cancelled"), stage.count("end")), (5, 4, 1));
}

#[tokio::test(start_paused = true)]
async fn three_race_and_the_rest_follow_one_by_one() {
    let hub = hub();
    let stage = Stage::new(&hub);
    for n in 0..5 {
        stage.add(Double::failing("t", ErrorKind::ToolError).after(10).server(&format!("s{n}")));
    }
    stage.add(Double::answering("t", "at last").server("s5"));
    let execution = call(&hub, "t", &asking(Strategy::First)).await;
    assert_eq!(execution.result, Ok(json!("at last")));
    let starts: Vec<_> = stage.log().into_iter().filter(|(_, act)| act.starts_with("start")).collect();
    let times: Vec<u64> = starts.iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [0, 0, 0, 10, 20, 30]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_counts_as_a_failure_does_not_win() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", json!({"success": 0})));
    stage.add(Double::answering("t", json!({"success": false, "error": "no disk"})).of(Source::Skills));
    stage.add(Double::answering("t", "good").after(10).of(Source::Mcps));
    let execution = call(&hub, "t", &asking(Strategy::First)).await;
    assert_eq!(execution.result, Ok(json!("good")));
    let error = execution.answers[1].as_ref().unwrap().as_ref().unwrap_err();
    assert_eq!(error.kind, ErrorKind::ToolError);
    assert!(error.message.contains("no disk"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_of_a_loser_is_dropped() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", "winner").after(10));
    stage.add(Double::answering("t", "late").after(500).deaf().of(Source::Skills));
    let execution = call(&hub, "t", &asking(Strategy::First)).await;
    assert_eq!(execution.result, Ok(json!("winner")));
    assert_eq!(stage.elapsed(), 500, "the loser was awaited");
    assert_eq!(fates(&execution), [Fate::Succeeded, Fate::Stopped]);
}

#[tokio::test(start_paused = true)]
async fn a_loser_that_never_ends_is_dropped_after_the_grace() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", "winner").after(10));
    stage.add(Double::hanging("t").deaf().of(Source::Skills));
    let execution = call(&hub, "t", &asking(Strategy::First)).await;
    assert_eq!(execution.result, Ok(json!("winner")));
    assert_eq!(stage.elapsed(), 1_010);
    tokio::task::yield_now().await;
    assert_eq!(stage.inside(), 0, "its future is gone");
}

#[tokio::test(start_paused = true)]
async fn a_hedge_starts_only_when_the_first_is_late() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", "first").after(250));
    stage.add(Double::answering("t", "second").after(500).of(Source::Skills));
    stage.add(Double::answering("t", "third").after(500).of(Source::Mcps));
    let options = CallOptions { hedge_after: Some(ms(200)), ..asking(Strategy::First) };
    let execution = call(&hub, "t", &options).await;
    assert_eq!(execution.result, Ok(json!("first")));
    let log: Vec<_> = stage.log();
    let log: Vec<(u64, &str)> = log.iter().map(|(at, act)| (*at, act.as_str())).collect();
    assert_eq!(
        log,
        [(0, "start tools"), (200, "start skills"), (250, "end tools"), (250, "cancelled skills")]
    );
}

#[tokio::test(start_paused = true)]
async fn a_hedge_starts_at_once_when_the_first_fails() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::failing("t", ErrorKind::ToolError).after(50));
    stage.add(Double::answering("t", "second").after(10).of(Source::Skills));
    let options = CallOptions { hedge_after: Some(ms(200)), ..asking(Strategy::First) };
    let execution = call(&hub, "t", &options).await;
    assert_eq!(execution.result, Ok(json!("second")));
    assert_eq!(stage.elapsed(), 60);
}

#[tokio::test(start_paused = true)]
async fn fallback_asks_the_next_only_after_the_last_has_failed() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::failing("t", ErrorKind::Http).after(30));
    stage.add(Double::answering("t", "second").after(30).of(Source::Skills));
    stage.add(Double::answering("t", "third").of(Source::Mcps));
    let execution = call(&hub, "t", &asking(Strategy::Fallback)).await;
    assert_eq!(execution.result, Ok(json!("second")));
    assert_eq!(stage.started(), ["tools", "skills"]);
    assert_eq!((stage.most_at_once(), stage.elapsed()), (1, 60));
}

#[tokio::test(start_paused = true)]
async fn all_merges_the_successes_in_the_order_of_the_candidates() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", "slow but first").after(100));
    stage.add(Double::failing("t", ErrorKind::ToolError).of(Source::Skills));
    stage.add(Double::answering("t", json!({"hits": 3})).after(10).server("brave"));
    let execution = call(&hub, "t", &asking(Strategy::All)).await;
    assert_eq!(execution.result, Ok(json!("[tools] slow but first\n\n[mcps:brave] {\"hits\":3}")));
    assert_eq!(stage.count("cancelled"), 0);
}

#[tokio::test(start_paused = true)]
async fn merged_answers_stand_in_the_same_order_from_call_to_call() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", "a").after(30));
    stage.add(Double::answering("t", "b").after(20).of(Source::Skills));
    stage.add(Double::answering("t", "c").after(10).of(Source::Mcps));
    call(&hub, "t", &CallOptions { source: Some(Source::Mcps), ..CallOptions::default() }).await;
    assert_eq!(order(&hub, "t")[0], "mcps", "asked first, as the last success");
    for _ in 0..3 {
        let execution = call(&hub, "t", &asking(Strategy::All)).await;
        assert_eq!(execution.result, Ok(json!("[tools] a\n\n[skills] b\n\n[mcps] c")));
    }
}

#[tokio::test(start_paused = true)]
async fn all_with_one_success_gives_it_as_it_is() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::failing("t", ErrorKind::ToolError));
    stage.add(Double::answering("t", json!({"hits": 3})).of(Source::Skills));
    let execution = call(&hub, "t", &asking(Strategy::All)).await;
    assert_eq!(execution.result, Ok(json!({"hits": 3})));
}

#[tokio::test(start_paused = true)]
async fn all_with_two_equal_answers_says_so_once() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", "It is 5 pm."));
    stage.add(Double::answering("t", "it is 5 PM").of(Source::Skills));
    let execution = call(&hub, "t", &asking(Strategy::All)).await;
    assert_eq!(execution.result, Ok(json!("[tools, skills] (same answer from 2) It is 5 pm.")));
}

#[tokio::test(start_paused = true)]
async fn without_a_success_the_first_candidates_error_is_the_calls_error() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::failing("t", ErrorKind::Http).after(50));
    stage.add(Double::failing("t", ErrorKind::Auth).after(10).of(Source::Skills));
    let execution = call(&hub, "t", &asking(Strategy::All)).await;
    assert_eq!(execution.result.unwrap_err().kind, ErrorKind::Http);
    let kinds: Vec<_> =
        execution.answers.iter().map(|a| a.as_ref().unwrap().as_ref().unwrap_err().kind).collect();
    assert_eq!(kinds, [ErrorKind::Http, ErrorKind::Auth], "each candidate's error is kept");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_race_on_several_threads_has_one_winner_and_leaves_nothing_running() {
    let hub = hub();
    let stage = Stage::new(&hub);
    for n in 0..3 {
        stage.add(Double::answering("t", n).server(&format!("s{n}")));
    }
    for _ in 0..200 {
        let execution = call(&hub, "t", &asking(Strategy::First)).await;
        assert_eq!(execution.plan.run.winners().count(), 1);
        assert!(execution.result.is_ok());
        assert_eq!(stage.inside(), 0);
    }
}
