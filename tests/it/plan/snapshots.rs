//! Each step of a plan judges the candidates that it returns, also when others are published meanwhile.

use super::*;
use proptest::prelude::*;
use std::time::Instant;
use toolhub::identity::{CallContent, is_same_tool};
use toolhub::plan::{CallPlan, PlanStep, ServerSet};
use toolhub::registry::Candidate;

/// A server that has not listed its tool, and publishes a harmless one of the same name while a call selects it.
struct Publishing {
    stage: Stage,
    unlisted: Arc<Candidate>,
}

impl ServerSet for Publishing {
    fn has(&self, id: &str) -> bool {
        id == "s"
    }

    fn ids(&self) -> Vec<Arc<str>> {
        vec!["s".into()]
    }

    fn unlisted(&self, _: &str, _: &str) -> Option<Arc<Candidate>> {
        self.stage.add(Double::answering("t", "harmless").server("s"));
        Some(self.unlisted.clone())
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_published_during_a_step_does_not_make_its_candidates_harmless() {
    for shares in [false, true] {
        let hub = hub();
        let stage = Stage::new(&hub);
        let acting = Double::answering("t", "acts").with(|spec| spec.effects = Effects::UNKNOWN);
        // Made on another hub, because it is not registered.
        let unlisted = Stage::new(&super::hub()).add(acting.server("s"));
        let servers = Publishing { stage, unlisted };
        let sharing =
            SharingRequest { cache_ttl: Some(secs(1)), single_flight: true, validate: true, coerce: true };
        let options = CallOptions { server: Some("s".into()), ..CallOptions::default() };
        let request = CallRequest {
            permissions: Some(ask(&["*"], !shares)),
            sharing: Some(sharing).filter(|_| shares),
            content: Some(Ok(CallContent::default())),
            ..CallRequest::new(CallTarget::Name("t".into()), options)
        };
        let mut plan = CallPlan::new(request, Instant::now());
        match plan.next(&hub, Some(&servers), Instant::now()) {
            PlanStep::Approve(request) => assert_eq!(request.candidates.len(), 1),
            PlanStep::Run(planned) => {
                assert!(shares, "a tool of unknown effects runs without an approval");
                assert_eq!(planned.candidates[0].spec().effects, Effects::UNKNOWN);
            }
            PlanStep::Share(_) => panic!("a tool of unknown effects is shared"),
            _ => panic!("there is nothing else to do"),
        }
        assert!(plan.options().allowed.is_some());
    }
}

/// What happens between two steps.
#[derive(Clone, Copy, Debug)]
struct Published {
    server: Option<&'static str>,
    acts: bool,
}

fn published() -> impl Strategy<Value = Published> {
    let server = prop_oneof![Just(None), Just(Some("good")), Just(Some("evil"))];
    (server, any::<bool>()).prop_map(|(server, acts)| Published { server, acts })
}

proptest! {
    #[test]
    fn nothing_runs_that_was_not_judged(
        before in proptest::collection::vec(published(), 1..4),
        between in proptest::collection::vec(proptest::collection::vec(published(), 0..3), 0..4),
        patterns in prop_oneof![Just(&["*", "!evil/*"][..]), Just(&["good/*", "native/*"][..]), Just(&["*"][..])],
        is_routed in any::<bool>(),
        shares in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let _inside = runtime.enter();
        let hub = hub();
        let stage = Stage::new(&hub);
        let publish = |one: Published| {
            let effects = if one.acts { Effects::may_act(Evidence::Registration) } else { Effects::harmless(Evidence::Registration) };
            let double = Double::answering("t", "yes").with(|spec| spec.effects = effects);
            stage.add(match one.server { Some(server) => double.server(server), None => double });
        };
        before.into_iter().for_each(publish);
        let sharing = SharingRequest {
            cache_ttl: Some(secs(1)), single_flight: true, validate: true, coerce: true,
        };
        let request = CallRequest {
            permissions: Some(ask(patterns, true)),
            sharing: Some(sharing).filter(|_| shares),
            content: Some(Ok(CallContent::default())),
            ..if is_routed { routed("t", None) } else { named("t") }
        };
        let now = Instant::now();
        let mut plan = CallPlan::new(request, now);
        let (mut between, mut asked) = (between.into_iter(), None);
        let planned = loop {
            match plan.next(&hub, None, now) {
                PlanStep::Approve(request) => {
                    asked = Some(request.candidates);
                    prop_assert!(plan.approval_answered(Ok(())).is_ok());
                }
                PlanStep::Share(_) => plan.not_shared(),
                PlanStep::Run(planned) => break Some(planned),
                PlanStep::Refuse(error) => {
                    prop_assert_eq!(error.kind, ErrorKind::NotAllowed);
                    break None;
                }
                _ => prop_assert!(false, "there is nothing else to do"),
            }
            between.next().into_iter().flatten().for_each(publish);
        };
        let allowed = toolhub::pattern::PatternList::new(patterns.iter().copied());
        for one in planned.iter().flat_map(|planned| planned.candidates.iter()) {
            prop_assert!(allowed.allows("t", one.server.as_deref()));
            // A driver gives arguments only to candidates that were asked about.
            let is_started = asked.as_ref().is_none_or(|asked| asked.iter().any(|before| is_same_tool(before, one)));
            prop_assert!(!is_started || asked.is_some() || one.spec().effects.are_harmless());
        }
    }
}
