//! The cache and single flight.

use super::*;
use toolhub::identity::CallContent;
use toolhub::model::Strategy;

fn shared(request: CallRequest, cache_ttl: Option<u64>, single_flight: bool, arguments: &str) -> CallRequest {
    let sharing =
        SharingRequest { cache_ttl: cache_ttl.map(secs), single_flight, validate: true, coerce: true };
    let content =
        CallContent { arguments: serde_json::from_str(arguments).unwrap(), ..CallContent::default() };
    CallRequest { sharing: Some(sharing), content: Some(Ok(content)), ..request }
}

fn reads(name: &str) -> Double {
    Double::answering(name, "read").with(|spec| spec.effects = Effects::harmless(Evidence::Registration))
}

#[tokio::test(start_paused = true)]
async fn a_result_is_cached_for_its_time_to_live() {
    let world = World::new(hub());
    world.stage.add(reads("t"));
    let call = || world.call(shared(named("t"), Some(60), false, "{}"));
    assert!(!call().await.cached);
    tokio::time::advance(secs(59)).await;
    let hit = call().await;
    assert_eq!((value(&hit), hit.cached), (json!("read"), true));
    tokio::time::advance(secs(2)).await;
    assert!(!call().await.cached);
    assert_eq!(world.stage.count("start"), 2, "{:?}", world.stage.log());
}

#[tokio::test(start_paused = true)]
async fn calls_that_differ_are_not_shared() {
    let world = World::new(hub());
    world.stage.add(reads("t"));
    let with_options = |change: fn(&mut CallOptions)| {
        let mut request = shared(named("t"), Some(60), true, "{}");
        change(&mut request.options);
        request
    };
    let mut tenant = shared(named("t"), Some(60), true, "{}");
    if let Some(Ok(content)) = &mut tenant.content {
        content.meta.insert("tenant".to_owned(), json!(1));
    }
    let requests = [
        shared(named("t"), Some(60), true, "{}"),
        shared(named("t"), Some(60), true, r#"{"n":1}"#),
        with_options(|options| options.source = Some(Source::Tools)),
        with_options(|options| options.strategy = Some(Strategy::First)),
        with_options(|options| options.principal = Some("ann".into())),
        with_options(|options| options.principal = Some("bob".into())),
        tenant,
    ];
    for request in requests {
        assert!(!world.call(request).await.cached);
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_was_replaced_does_not_answer_from_the_cache() {
    let world = World::new(hub());
    world.stage.add(reads("t"));
    assert!(!world.call(shared(named("t"), Some(60), false, "{}")).await.cached);
    world.stage.add(reads("t"));
    assert!(!world.call(shared(named("t"), Some(60), false, "{}")).await.cached);
}

#[tokio::test(start_paused = true)]
async fn one_candidate_that_may_act_is_enough_not_to_share() {
    let world = World::new(hub());
    world.stage.add(reads("t"));
    world.stage.add(
        reads("t").of(Source::Skills).with(|spec| spec.effects = Effects::may_act(Evidence::Registration)),
    );
    for _ in 0..2 {
        assert!(!world.call(shared(named("t"), Some(60), true, "{}")).await.cached);
    }
}

#[tokio::test(start_paused = true)]
async fn failures_are_shared_but_not_cached() {
    let world = World::new(hub());
    let failing = Double::failing("t", ErrorKind::Auth).after(1_000);
    world.stage.add(failing.with(|spec| spec.effects = Effects::harmless(Evidence::Registration)));
    let call = || world.call(shared(named("t"), Some(60), true, "{}"));
    let (one, other) = tokio::join!(call(), call());
    assert_eq!(error(&one), error(&other));
    assert_eq!(world.stage.count("start"), 1);
    call().await;
    assert_eq!(world.stage.count("start"), 2);
}

#[tokio::test(start_paused = true)]
async fn identical_calls_in_flight_run_once() {
    let world = World::new(hub());
    world.stage.add(reads("t").after(5_000));
    let call = || world.call(shared(named("t"), None, true, "{}"));
    let (one, two, three) = tokio::join!(call(), call(), call());
    for result in [one, two, three] {
        assert_eq!((value(&result), result.cached), (json!("read"), false));
    }
    assert_eq!((world.stage.count("start"), world.stage.elapsed()), (1, 5_000));
}

#[tokio::test(start_paused = true)]
async fn a_follower_leads_when_the_leader_is_cancelled() {
    let world = World::new(hub());
    world.stage.add(reads("t").after(5_000));
    let cancel = CancellationToken::new();
    let leader = world.call_until(shared(named("t"), None, true, "{}"), &cancel);
    let stop = async {
        tokio::time::sleep(secs(1)).await;
        cancel.cancel();
    };
    let follower = world.call(shared(named("t"), None, true, "{}"));
    let (led, followed, ()) = tokio::join!(leader, follower, stop);
    assert_eq!(error(&led).kind, ErrorKind::Cancelled);
    assert_eq!(value(&followed), json!("read"));
    assert_eq!((world.stage.count("start"), world.stage.elapsed()), (2, 6_000));
}

#[tokio::test(start_paused = true)]
async fn a_follower_has_its_own_deadline() {
    let world = World::new(hub());
    world.stage.add(reads("t").after(5_000));
    let mut hurried = shared(named("t"), None, true, "{}");
    hurried.options.deadline = Some(secs(2));
    let mut patient = shared(named("t"), None, true, "{}");
    patient.options.deadline = Some(secs(2));
    let later = async {
        tokio::time::sleep(secs(1)).await;
        (world.call(hurried).await, world.stage.elapsed())
    };
    let (led, (followed, ended)) = tokio::join!(world.call(patient), later);
    assert_eq!(error(&led).kind, ErrorKind::Timeout);
    assert_eq!((error(&followed).kind, ended), (ErrorKind::Timeout, 2_000), "the leader's timeout is shared");
}

#[tokio::test(start_paused = true)]
async fn the_next_leader_has_what_is_left_of_its_deadline() {
    let world = World::new(hub());
    world
        .stage
        .add(Double::hanging("t").with(|spec| spec.effects = Effects::harmless(Evidence::Registration)));
    let request = || {
        let mut request = shared(named("t"), None, true, "{}");
        request.options.deadline = Some(secs(5));
        request
    };
    let cancel = CancellationToken::new();
    let leader = world.call_until(request(), &cancel);
    let stop = async {
        tokio::time::sleep(secs(2)).await;
        cancel.cancel();
    };
    let follower = world.call(request());
    let (led, followed, ()) = tokio::join!(leader, follower, stop);
    assert_eq!(error(&led).kind, ErrorKind::Cancelled);
    assert_eq!((error(&followed).kind, world.stage.elapsed()), (ErrorKind::Timeout, 5_000));
}

#[tokio::test(start_paused = true)]
async fn calls_with_other_time_options_share_and_keep_their_own_times() {
    let world = World::new(hub());
    world.stage.add(reads("t").after(5_000));
    let call = |change: fn(&mut CallOptions)| {
        let mut request = shared(named("t"), None, true, "{}");
        change(&mut request.options);
        async {
            let result = world.call(request).await;
            (result, world.stage.elapsed())
        }
    };
    let (led, patient, hurried, late) = tokio::join!(
        call(|_| {}),
        call(|options| options.timeout = Some(secs(60))),
        call(|options| options.timeout = Some(secs(1))),
        call(|options| options.deadline = Some(secs(2))),
    );
    for (result, ended) in [&led, &patient] {
        assert_eq!((value(result), *ended), (json!("read"), 5_000));
    }
    let (hurried, ended) = hurried;
    assert_eq!(error(&hurried).kind, ErrorKind::Timeout);
    assert!(error(&hurried).message.contains("timed out after 1 s"), "{}", error(&hurried).message);
    assert!((1_000..5_000).contains(&ended), "{ended}");
    assert_eq!((error(&late.0).kind, late.1), (ErrorKind::Timeout, 2_000));
    assert_eq!(world.stage.count("start"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_follower_with_more_time_than_a_leader_that_ran_out_of_it_leads() {
    let world = World::new(hub());
    world.stage.add(reads("t").after(5_000));
    let call = |deadline| {
        let mut request = shared(named("t"), None, true, "{}");
        request.options.deadline = deadline;
        world.call(request)
    };
    let (led, equal, patient, other) =
        tokio::join!(call(Some(secs(2))), call(Some(secs(2))), call(Some(secs(60))), call(None));
    for result in [&led, &equal] {
        assert_eq!(error(result).kind, ErrorKind::Timeout);
    }
    for result in [&patient, &other] {
        assert_eq!(value(result), json!("read"));
    }
    assert_eq!((world.stage.count("start"), world.stage.elapsed()), (2, 7_000));
}
