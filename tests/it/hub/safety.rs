//! Effects never run twice at once; arguments that do not fit never start anything.

use super::*;
use toolhub::select::Rule;

fn with_effects(double: Double) -> Double {
    double.with(|spec| spec.effects = Effects::may_act(Evidence::Registration))
}

#[tokio::test(start_paused = true)]
async fn declared_effects_never_run_at_once_even_when_a_race_is_asked_for() {
    for strategy in [Strategy::First, Strategy::All, Strategy::Auto] {
        let hub = hub();
        let stage = Stage::new(&hub);
        for server in ["a", "b"] {
            stage.add(with_effects(Double::refusing("t")).after(10).server(server));
        }
        stage.add(Double::answering("t", "done").after(10).server("c"));
        let options = CallOptions { hedge_after: Some(ms(1)), ..asking(strategy) };
        let execution = call(&hub, "t", &options).await;
        assert_eq!(execution.result, Ok(json!("done")), "{strategy:?}");
        assert_eq!(execution.plan.strategy, Strategy::Fallback);
        assert_eq!(execution.plan.rule, Rule::Effects);
        assert_eq!((stage.most_at_once(), stage.started()), (1, vec!["a".into(), "b".into(), "c".into()]));
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_request_with_effects_failed_no_other_is_tried() {
    for kind in ErrorKind::ALL {
        let hub = hub();
        let stage = Stage::new(&hub);
        stage.add(with_effects(Double::failing("send_mail", *kind)));
        stage.add(with_effects(Double::answering("send_mail", 1)).of(Source::Skills));
        let execution = call(&hub, "send_mail", &CallOptions::default()).await;
        assert_eq!(execution.result.unwrap_err().kind, *kind);
        assert_eq!(stage.started(), ["tools"]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_idempotent_tool_with_effects_is_not_followed_by_another_provider() {
    let hub = hub();
    let stage = Stage::new(&hub);
    let idempotent = |double: Double| with_effects(double).with(|spec| spec.idempotent = true);
    stage.add(idempotent(Double::failing("t", ErrorKind::Closed)).after(10));
    stage.add(idempotent(Double::answering("t", 1)).of(Source::Skills));
    let execution = call(&hub, "t", &asking(Strategy::First)).await;
    assert_eq!(execution.result.unwrap_err().kind, ErrorKind::Closed);
    assert_eq!(stage.started(), ["tools"]);
}

#[tokio::test(start_paused = true)]
async fn one_without_effects_blocks_no_other_when_it_fails() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::failing("t", ErrorKind::ToolError));
    stage.add(with_effects(Double::failing("t", ErrorKind::ToolError)).of(Source::Skills));
    stage.add(with_effects(Double::answering("t", 1)).of(Source::Mcps));
    let execution = call(&hub, "t", &CallOptions::default()).await;
    assert_eq!(execution.result.unwrap_err().kind, ErrorKind::ToolError);
    assert_eq!(stage.started(), ["tools", "skills"]);
}

#[tokio::test(start_paused = true)]
async fn guessed_effects_never_run_twice_at_once_whatever_the_caller_asks() {
    let hub = hub();
    let stage = Stage::new(&hub);
    for server in ["a", "b"] {
        stage.add(
            Double::answering("t", 1)
                .after(10)
                .server(server)
                .with(|s| s.effects = Effects::may_act(Evidence::ActingVerb("send"))),
        );
    }
    let auto = call(&hub, "t", &CallOptions::default()).await;
    assert_eq!((auto.plan.strategy, stage.most_at_once()), (Strategy::Fallback, 1));
    let asked = call(&hub, "t", &asking(Strategy::First)).await;
    assert_eq!((asked.plan.strategy, asked.plan.rule), (Strategy::Fallback, Rule::Effects));
    assert_eq!(stage.most_at_once(), 1);
}

fn taking(double: Double, schema: Value) -> Double {
    double.with(|spec| spec.parameters = Arc::new(schema))
}

fn number_x() -> Value {
    json!({"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]})
}

async fn call_with(hub: &Hub, args: Value, options: &CallOptions) -> RunReport {
    let args = Arguments::new(args.as_object().unwrap().clone());
    hub.execute("t", args, options, &CancellationToken::new()).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_candidate_whose_schema_rejects_the_arguments_is_skipped_and_listed() {
    let hub = hub();
    let stage = Stage::new(&hub);
    let picky = stage.add(taking(Double::answering("t", "picky"), number_x()));
    stage.add(Double::answering("t", "easy").after(10).of(Source::Skills));
    let execution = call_with(&hub, json!({"x": "one"}), &asking(Strategy::First)).await;
    assert_eq!(execution.result, Ok(json!("easy")));
    assert_eq!(fates(&execution), [Fate::Rejected, Fate::Succeeded]);
    let refusal = execution.answers[0].as_ref().unwrap().as_ref().unwrap_err();
    assert_eq!(refusal.kind, ErrorKind::InvalidArguments);
    assert!(refusal.message.contains('x') && refusal.message.contains("integer"), "{refusal}");
    assert_eq!(stage.started(), ["skills"]);
    assert_eq!(picky.stats.view(tokio::time::Instant::now().into_std()).calls, 0, "it was never called");
}

#[tokio::test(start_paused = true)]
async fn a_skipped_candidate_does_not_take_a_place_in_the_batch() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(taking(Double::answering("t", "picky"), number_x()));
    for server in ["a", "b", "c", "d"] {
        stage.add(Double::answering("t", server).after(10).server(server));
    }
    let execution = call_with(&hub, json!({}), &asking(Strategy::All)).await;
    assert_eq!(stage.started(), ["a", "b", "c"]);
    assert_eq!(execution.plan.run.winners().collect::<Vec<_>>(), [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn arguments_that_fit_no_candidate_are_an_error_that_names_them() {
    let hub = hub();
    let stage = Stage::new(&hub);
    for server in ["a", "b"] {
        stage.add(with_effects(taking(Double::answering("t", 1), number_x())).server(server));
    }
    let execution = call_with(&hub, json!({}), &CallOptions::default()).await;
    let error = execution.result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidArguments);
    assert!(error.message.contains("x: required argument is missing"), "{error}");
    assert_eq!(execution.plan.run.decision(), Some(Decision::Exhausted));
    assert_eq!(stage.started(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn the_error_of_a_candidate_that_ran_comes_before_that_of_a_skipped_one() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(taking(Double::answering("t", 1), number_x()));
    stage.add(Double::failing("t", ErrorKind::Http).of(Source::Skills));
    let execution = call_with(&hub, json!({}), &CallOptions::default()).await;
    assert_eq!(execution.result.unwrap_err().kind, ErrorKind::Http);
}

#[tokio::test(start_paused = true)]
async fn the_error_of_a_single_failure_is_the_tools_own() {
    let hub = hub();
    let stage = Stage::new(&hub);
    for kind in [ErrorKind::Connect, ErrorKind::Auth, ErrorKind::Rpc, ErrorKind::Protocol, ErrorKind::Limit] {
        stage.add(Double::failing("t", kind));
        let error = call(&hub, "t", &CallOptions::default()).await.result.unwrap_err();
        assert_eq!(error, HubError::new(kind, "t failed on purpose").of_attempt(true), "it was called");
    }
}
