//! The plan alone, without a driver: for any world it ends, asks each question at most once, and never runs what is forbidden.

use super::*;
use proptest::prelude::*;
use std::time::Instant;
use toolhub::identity::CallContent;
use toolhub::plan::{CallPlan, PlanStep, ServerSet};
use toolhub::registry::Candidate;

struct NoTools;

impl ServerSet for NoTools {
    fn has(&self, id: &str) -> bool {
        id == "a"
    }

    fn ids(&self) -> Vec<Arc<str>> {
        vec!["a".into()]
    }

    fn unlisted(&self, _: &str, _: &str) -> Option<Arc<Candidate>> {
        None
    }
}

#[derive(Clone, Debug)]
struct Scene {
    is_listed: bool,
    may_act: bool,
    has_servers: bool,
    is_listed_later: bool,
    is_allowed: bool,
    asks: bool,
    approves: bool,
    shares: bool,
    source: Option<&'static str>,
}

fn scenes() -> impl Strategy<Value = Scene> {
    let source = prop_oneof![Just(None), Just(Some("tools")), Just(Some("a")), Just(Some("nowhere"))];
    (any::<[bool; 8]>(), source).prop_map(|(flags, source)| Scene {
        is_listed: flags[0],
        may_act: flags[1],
        has_servers: flags[2],
        is_listed_later: flags[3],
        is_allowed: flags[4],
        asks: flags[5],
        approves: flags[6],
        shares: flags[7],
        source,
    })
}

proptest! {
    #[test]
    fn a_plan_ends_and_asks_once(scene in scenes()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let _inside = runtime.enter();
        let hub = hub();
        let stage = Stage::new(&hub);
        let effects = if scene.may_act { Effects::may_act(Evidence::Registration) } else { Effects::harmless(Evidence::Registration) };
        let tool = || Double::answering("t", "yes").with(|spec| spec.effects = effects);
        if scene.is_listed {
            stage.add(tool());
        }
        let allowed: &[&str] = if scene.is_allowed { &["t"] } else { &["u"] };
        let sharing = SharingRequest {
            cache_ttl: Some(secs(1)), single_flight: true, validate: true, coerce: true,
        };
        let request = CallRequest {
            permissions: Some(ask(allowed, scene.asks)),
            sharing: Some(sharing).filter(|_| scene.shares),
            content: Some(Ok(CallContent::default())),
            ..routed("t", scene.source)
        };
        let now = Instant::now();
        let mut plan = CallPlan::new(request, now);
        let servers: Option<&dyn ServerSet> = if scene.has_servers { Some(&NoTools) } else { None };
        let (mut look_ups, mut approvals, mut shares) = (0, 0, 0);
        let ended = loop {
            match plan.next(&hub, servers, now) {
                PlanStep::LookUp(_) => {
                    look_ups += 1;
                    if scene.is_listed_later {
                        stage.add(tool().of(Source::Mcps).server("a"));
                    }
                    plan.looked_up(Vec::new());
                }
                PlanStep::Approve(_) => {
                    approvals += 1;
                    let no = Err("it was not approved".into());
                    if let Err(error) = plan.approval_answered(if scene.approves { Ok(()) } else { no }) {
                        break Err(error);
                    }
                }
                PlanStep::Share(_) => {
                    shares += 1;
                    plan.not_shared();
                }
                PlanStep::Identify(_) => prop_assert!(false, "its content is small"),
                PlanStep::Recall(_) => prop_assert!(false, "no run was named"),
                PlanStep::AwaitTurn => prop_assert!(false, "it is not a part of a message"),
                PlanStep::Run(planned) => break Ok(planned.candidates.len()),
                PlanStep::Refuse(error) => break Err(error),
            }
            prop_assert!(look_ups <= 1 && approvals <= 1 && shares <= 1);
        };
        prop_assert!(look_ups == 0 || scene.has_servers);
        prop_assert!(shares == 0 || !scene.may_act);
        match ended {
            Ok(_) => {
                prop_assert!(scene.is_allowed && (scene.is_listed || look_ups == 1));
                prop_assert_eq!(approvals == 1, scene.asks && scene.may_act);
                prop_assert!(approvals == 0 || scene.approves);
                prop_assert!(scene.source != Some("nowhere"));
            }
            Err(error) => prop_assert_eq!(error.outcome, Outcome::NotSent),
        }
    }
}
