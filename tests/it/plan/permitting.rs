//! Which calls are allowed, and which are asked about.

use super::*;
use toolhub::identity::CallContent;
use toolhub::plan::{Approver, FunctionAnswer, call};
use toolhub::tool::CallContextExtras;

fn may_act(name: &str, answer: &str) -> Double {
    Double::answering(name, answer).with(|spec| spec.effects = Effects::may_act(Evidence::Registration))
}

fn harmless(name: &str, answer: &str) -> Double {
    Double::answering(name, answer).with(|spec| spec.effects = Effects::harmless(Evidence::Registration))
}

fn permitted(request: CallRequest, allowed: &[&'static str], asks: bool) -> CallRequest {
    CallRequest { permissions: Some(ask(allowed, asks)), ..request }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_not_allowed_is_not_called() {
    let world = World::new(hub());
    world.stage.add(harmless("t", "yes"));
    let result = world.call(permitted(routed("t", None), &["other"], true)).await;
    assert_eq!((error(&result).kind, error(&result).outcome), (ErrorKind::NotAllowed, Outcome::NotSent));
    assert_eq!(
        error(&result).message,
        "Tool 't' was not called: it is not among the tools that are allowed here."
    );
    assert_eq!((world.stage.started(), world.asked()), (vec![], vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_call_is_restricted_to_the_providers_that_are_allowed() {
    let world = World::new(hub());
    world.stage.add(harmless("t", "native"));
    for server in ["a", "b"] {
        world.stage.add(harmless("t", server).of(Source::Mcps).server(server));
    }
    let result = world.call(permitted(routed("t", None), &["b/t"], false)).await;
    assert_eq!((value(&result), result.route), (json!("b"), Some("server")));
    let result = world.call(permitted(routed("t", None), &["native/t"], false)).await;
    assert_eq!((value(&result), result.route), (json!("native"), Some("source")));
    let result = world.call(permitted(routed("t", None), &["a/t", "b/t"], false)).await;
    assert_eq!(value(&result), json!("a"), "the first of the providers that are allowed");
    let result = world.call(permitted(routed("t", None), &["*", "!a/*"], false)).await;
    assert_eq!(value(&result), json!("b"));
}

#[tokio::test(start_paused = true)]
async fn only_what_is_known_to_be_harmless_is_not_asked_about() {
    let world = World::new(hub());
    world.stage.add(harmless("reads", "read"));
    world.stage.add(may_act("writes", "written"));
    assert_eq!(value(&world.call(permitted(routed("reads", None), &["reads"], true)).await), json!("read"));
    assert_eq!(world.asked(), Vec::<String>::new());
    let args = Arguments::new(json!({"to": "x"}).as_object().unwrap().clone());
    let result = world.call_with(permitted(routed("writes", None), &["writes"], true), args).await;
    assert_eq!(value(&result), json!("written"));
    assert_eq!(world.asked(), [r#"approve writes {"to":"x"} on []"#]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_approval_calls_nothing() {
    let world = World::new(hub());
    world.stage.add(may_act("writes", "written").of(Source::Mcps).server("disk"));
    world.answers_with(vec![FunctionAnswer::Refuse("it was not approved: too late".into())]);
    let result = world.call(permitted(routed("writes", None), &["writes"], true)).await;
    let expected = "Tool 'writes' was not called: it was not approved: too late.";
    assert_eq!((error(&result).kind, &*error(&result).message), (ErrorKind::NotAllowed, expected));
    assert_eq!(world.asked(), ["approve writes {} on [disk]"]);
    assert_eq!(world.stage.started(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_approved_later_pauses() {
    for approvers in [vec![Approver::Ask], vec![Approver::Function(0), Approver::Ask]] {
        let world = World::new(hub());
        world.stage.add(may_act("writes", "written"));
        world.answers_with(vec![FunctionAnswer::Pass]);
        let mut request = permitted(routed("writes", None), &["writes"], true);
        request.permissions.as_mut().unwrap().approvers = Arc::from([approvers.clone()]);
        request.content = Some(Ok(CallContent::default()));
        let result = world.call(request).await;
        assert_eq!((error(&result).kind, error(&result).outcome), (ErrorKind::Paused, Outcome::NotSent));
        assert!(error(&result).message.contains("waits for approval"), "{}", error(&result).message);
        assert_eq!(world.stage.started(), Vec::<String>::new());
        assert_eq!(world.asked().len(), approvers.len() - 1);
    }
}

#[tokio::test(start_paused = true)]
async fn where_nobody_can_be_asked_nothing_is_approved() {
    let world = World::new(hub());
    world.stage.add(may_act("writes", "written"));
    let request = permitted(routed("writes", None), &["writes"], true);
    let (extras, never) = (CallContextExtras::default(), CancellationToken::new());
    let result = call(&world.hub, &world, request, Arc::default(), &extras, &never).await;
    let expected = "Tool 'writes' was not called: no approval can be asked for here.";
    let refusal = result.outcome.unwrap_err();
    assert_eq!((refusal.kind, &*refusal.message), (ErrorKind::NotAllowed, expected));
    assert_eq!(world.stage.started(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn each_list_has_to_approve_and_in_a_list_the_first_answer_counts() {
    use FunctionAnswer::{Go, Pass, Refuse};
    let no = || Refuse("it was not approved".into());
    type Lists = &'static [&'static [usize]];
    let cases: [(Lists, Vec<FunctionAnswer>, bool, usize); 7] = [
        (&[&[0, 1]], vec![Pass, Go], true, 2),
        (&[&[0, 1]], vec![Go, no()], true, 1),
        (&[&[0, 1]], vec![Pass, Pass], false, 2),
        (&[&[0, 1]], vec![no(), Go], false, 1),
        (&[&[0], &[1]], vec![Go, Go], true, 2),
        (&[&[0], &[1]], vec![Go, Pass], false, 2),
        (&[&[0], &[1]], vec![no(), Go], false, 1),
    ];
    for (lists, answers, is_made, asked) in cases {
        let world = World::new(hub());
        world.stage.add(may_act("writes", "written"));
        world.answers_with(answers.clone());
        let mut request = permitted(routed("writes", None), &["writes"], true);
        let lists = lists.iter().map(|list| list.iter().copied().map(Approver::Function).collect());
        request.permissions.as_mut().unwrap().approvers = lists.collect();
        let result = world.call(request).await;
        assert_eq!((result.outcome.is_ok(), world.asked().len()), (is_made, asked), "{answers:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_whose_provider_decides_is_looked_up_before_it_is_judged() {
    let world = World::new(hub());
    world.server("disk", secs(1)).lists(may_act("writes", "written").of(Source::Mcps));
    let allowed = permitted(routed("writes", None), &["disk/writes"], true);
    assert_eq!(value(&world.call(allowed).await), json!("written"));
    assert_eq!(world.asked(), ["look up writes for 10s", "approve writes {} on [disk]"]);
    let forbidden = permitted(routed("writes", None), &["other/writes"], true);
    assert_eq!(error(&world.call(forbidden).await).kind, ErrorKind::NotAllowed);
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_name_does_not_start_servers() {
    let world = World::new(hub());
    world.server("disk", secs(1)).lists(may_act("writes", "written").of(Source::Mcps));
    let result = world.call(permitted(routed("writes", None), &["disk/reads"], true)).await;
    assert_eq!(error(&result).kind, ErrorKind::NotAllowed);
    assert_eq!(world.asked(), Vec::<String>::new());
}
