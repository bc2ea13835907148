//! Which candidates a call finds: names, near names, capabilities, sources, servers.

use super::*;
use toolhub::tool::CallContextExtras;

async fn refusal(hub: &Hub, name: &str, options: &CallOptions) -> HubError {
    match hub.execute(name, Arguments::default(), options, &CancellationToken::new()).await {
        Err(error) => error,
        Ok(execution) => panic!("'{name}' was found: {:?}", execution.result),
    }
}

fn now() -> std::time::Instant {
    tokio::time::Instant::now().into_std()
}

#[tokio::test(start_paused = true)]
async fn a_name_that_no_tool_has_is_not_found_and_near_names_are_suggested() {
    let hub = hub();
    let stage = Stage::new(&hub);
    for name in ["search_web", "send_email", "calculate"] {
        stage.add(Double::answering(name, 1));
    }
    let error = refusal(&hub, "serach_web", &CallOptions::default()).await;
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert_eq!(error.suggestions, ["search_web".into()]);
    assert!(error.message.contains("'serach_web'") && error.message.contains("'search_web'"), "{error}");
    let error = refusal(&hub, "xyzzy", &CallOptions::default()).await;
    assert_eq!((error.kind, error.suggestions.len()), (ErrorKind::NotFound, 0));
}

#[tokio::test(start_paused = true)]
async fn an_empty_hub_says_that_it_is_empty() {
    let error = refusal(&hub(), "anything", &CallOptions::default()).await;
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(error.message.contains("No tool is registered yet"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_removed_tool_is_not_found_any_more_but_a_running_call_ends_well() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", 1).after(100));
    let running = tokio::spawn({
        let hub = hub.clone();
        async move { call(&hub, "t", &CallOptions::default()).await.result }
    });
    tokio::time::sleep(ms(10)).await;
    assert_eq!(hub.registry.remove("t", toolhub::registry::Filter::default()), 1);
    assert_eq!(refusal(&hub, "t", &CallOptions::default()).await.kind, ErrorKind::NotFound);
    assert_eq!(running.await.unwrap(), Ok(json!(1)));
}

#[tokio::test(start_paused = true)]
async fn messages_stay_short_for_names_of_any_length() {
    let hub = hub();
    let stage = Stage::new(&hub);
    let long = "名".repeat(10_000);
    let missing = refusal(&hub, &long, &CallOptions::default()).await;
    assert!(missing.message.chars().count() < 500);
    stage.add(Double::answering("t", 1));
    let elsewhere = CallOptions { server: Some(Arc::from(&*long)), ..CallOptions::default() };
    assert!(refusal(&hub, "t", &elsewhere).await.message.chars().count() < 500);
}

#[tokio::test(start_paused = true)]
async fn a_tool_may_have_a_name_of_any_length_and_script() {
    let hub = hub();
    let stage = Stage::new(&hub);
    for name in ["名".repeat(10_000), "搜索".into(), "a\nb".into(), String::new()] {
        stage.add(Double::answering(&name, 1));
        assert_eq!(call(&hub, &name, &CallOptions::default()).await.result, Ok(json!(1)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_can_be_limited_to_a_source_or_a_server() {
    let hub = hub();
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", "native"));
    stage.add(Double::answering("t", "brave").server("brave"));
    stage.add(Double::answering("t", "bing").server("bing"));
    let of = |source| CallOptions { source: Some(source), ..asking(Strategy::First) };
    let at = |server: &str| CallOptions { server: Some(Arc::from(server)), ..CallOptions::default() };
    assert_eq!(call(&hub, "t", &of(Source::Tools)).await.result, Ok(json!("native")));
    assert_eq!(call(&hub, "t", &at("bing")).await.result, Ok(json!("bing")));
    assert_eq!(call(&hub, "t", &of(Source::Mcps)).await.plan.candidates.len(), 2);
    let error = refusal(&hub, "t", &of(Source::Skills)).await;
    assert_eq!(error.kind, ErrorKind::NotFound);
    for part in ["'skills'", "tools", "mcps:brave", "mcps:bing"] {
        assert!(error.message.contains(part), "{part} in: {error}");
    }
    let error = refusal(&hub, "t", &at("gone")).await;
    assert!(error.message.contains("server 'gone'"), "{error}");
    let both = CallOptions { server: Some(Arc::from("brave")), ..of(Source::Tools) };
    assert_eq!(refusal(&hub, "t", &both).await.kind, ErrorKind::NotFound, "both must fit");
}

#[tokio::test(start_paused = true)]
async fn a_capability_finds_tools_of_any_name() {
    let hub = hub();
    let stage = Stage::new(&hub);
    let tagged = |double: Double| double.with(|spec| spec.capabilities = vec![Arc::from("weather")]);
    stage.add(tagged(Double::answering("wetter", "sun")).after(10));
    stage.add(tagged(Double::answering("weather", "rain")).server("w"));
    stage.add(Double::answering("other", "no"));
    let plan = hub
        .plan_by_capability(&hub.registry.snapshot(), "weather", &CallOptions::default(), now())
        .ok()
        .unwrap();
    assert_eq!(&*plan.what, "weather");
    let labels: Vec<_> = plan.candidates.iter().map(|c| c.spec().name.to_string()).collect();
    assert_eq!(labels, ["wetter", "weather"], "by priority");
    let (args, extras) = (Arc::new(Arguments::default()), CallContextExtras::default());
    let RunReport { plan, answers, .. } =
        hub.run_planned(*plan, args, &extras, &CancellationToken::new()).await;
    assert_eq!(plan.strategy, Strategy::All);
    assert!(answers.iter().all(|answer| matches!(answer, Some(Ok(_)))));
    assert_eq!(plan.run.decision(), Some(Decision::Won));
}

#[tokio::test(start_paused = true)]
async fn a_capability_that_no_tool_has_is_an_error_that_lists_the_known_ones() {
    let hub = hub();
    let refusal = |tag: &str| {
        hub.plan_by_capability(&hub.registry.snapshot(), tag, &CallOptions::default(), now()).err().unwrap()
    };
    assert_eq!(refusal("fly").kind, ErrorKind::NoCapability);
    assert!(refusal("fly").message.contains("none"));
    let stage = Stage::new(&hub);
    stage.add(Double::answering("t", 1).with(|spec| spec.capabilities = vec!["time".into(), "math".into()]));
    assert!(refusal("fly").message.contains("math, time"), "{}", refusal("fly"));
    assert!(refusal(&"x".repeat(10_000)).message.len() < 500);
    let elsewhere = CallOptions { source: Some(Source::Mcps), ..CallOptions::default() };
    let error = hub.plan_by_capability(&hub.registry.snapshot(), "time", &elsewhere, now()).err().unwrap();
    assert_eq!(error.kind, ErrorKind::NoCapability);
}
