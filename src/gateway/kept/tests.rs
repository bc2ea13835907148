#[path = "../../../tests/it/support/no_upstreams.rs"]
mod no_upstreams;

use super::*;
use crate::GatewayOptions;
use crate::exchange::Exchange;
use crate::kept::{CallStep, KeptEnd};
use crate::rpc::{Outlet, RequestTrace};
use crate::state::Gateway;
use futures_util::FutureExt;
use no_upstreams::NoUpstreams;
use serde_json::json;
use toolhub_engine::hub::{Hub, HubOptions};
use toolhub_engine::served::View;
use toolhub_protocol::{Era, LEGACY};
use toolhub_types::principal::Principal;
use toolhub_types::tool::{CancelReason, RoundQuestion};

fn gateway() -> Arc<Gateway> {
    let hub = Arc::new(Hub::new(HubOptions::default()));
    let upstreams = Arc::new(NoUpstreams);
    Arc::new(Gateway::new(hub, upstreams, GatewayOptions::default()).unwrap())
}

fn caller(principal: &str, session: Option<&str>) -> Arc<Caller> {
    Arc::new(Caller {
        principal: Arc::new(Principal { id: Arc::from(principal), ..Principal::default() }),
        view: Arc::new(View::everything()),
        era: Era::Legacy,
        version: LEGACY[0],
        capabilities: Arc::new(json!({})),
        session: session.map(Arc::from),
        has_one_stream: false,
    })
}

fn call(gateway: &Arc<Gateway>, caller: &Arc<Caller>) -> Arc<KeptCall> {
    let exchange = Exchange {
        gateway: gateway.clone(),
        caller: caller.clone(),
        outlet: Outlet::open().0,
        cancel: CancellationToken::new(),
        cancel_reason: CancelReason::default(),
        trace: RequestTrace::default(),
    };
    KeptCall::new(&exchange, None)
}

fn end(gateway: &Gateway, call: &Arc<KeptCall>, bytes: usize) {
    assert!(call.end(FinishedCall { answer: Ok("x".repeat(bytes)), is_failure: false }));
    gateway.kept.has_ended(call);
}

#[tokio::test]
async fn a_principal_has_a_limited_number_of_calls_and_takes_none_from_others() {
    let gateway = gateway();
    let (marit, ingrid) = (caller("marit", None), caller("ingrid", None));
    let keep = |caller: &Arc<Caller>, is_task| {
        let call = call(&gateway, caller);
        let id = match is_task {
            true => gateway.kept.keep_task(&call, MOST_CALLS, None),
            false => gateway.kept.keep_waiting(&call, MOST_CALLS),
        };
        id.map(|id| (id, call))
    };
    // Both ways back count together.
    let all: Vec<_> = (0..MOST_OF_PRINCIPAL).map(|at| keep(&marit, at % 2 == 1).unwrap()).collect();
    assert!(keep(&marit, true).is_none() && keep(&marit, false).is_none(), "all are running");
    let (other, _) = keep(&ingrid, true).unwrap();
    for (_, ended) in [&all[7], &all[3]] {
        end(&gateway, ended, 2);
    }
    assert!(keep(&marit, true).is_some());
    let task = |caller: &Caller, id: &str| gateway.kept.task(caller, id).is_some();
    assert!(!task(&marit, &all[7].0) && task(&marit, &all[3].0), "the one that ended first made room");
    assert!(task(&ingrid, &other) && !task(&marit, &other));
    assert!(!task(&marit, &all[4].0), "a call that waits is not a task");
    for number in 1..MOST_CALLS / MOST_OF_PRINCIPAL {
        let own = caller(&number.to_string(), None);
        let limit = MOST_OF_PRINCIPAL - usize::from(number == 1);
        (0..limit).for_each(|_| assert!(keep(&own, false).is_some()));
    }
    end(&gateway, &all[9].1, 2);
    assert!(keep(&caller("late", None), false).is_some(), "in the place of one that ended");
}

#[tokio::test]
async fn as_many_calls_are_kept_as_may_run() {
    let (gateway, marit) = (gateway(), caller("marit", None));
    let calls: Vec<_> = (0..3).map(|_| call(&gateway, &marit)).collect();
    assert!(
        gateway.kept.keep_waiting(&calls[0], 2).is_some()
            && gateway.kept.keep_task(&calls[1], 2, None).is_some()
    );
    assert!(gateway.kept.keep_waiting(&calls[2], 2).is_none());
    end(&gateway, &calls[0], 2);
    assert!(gateway.kept.keep_waiting(&calls[2], 2).is_some());
}

#[tokio::test]
async fn results_of_a_limited_size_are_kept() {
    let (gateway, part) = (gateway(), MOST_BYTES_OF_PRINCIPAL / 4);
    let marit = caller("marit", None);
    let keep = |caller: &Arc<Caller>, bytes: usize| {
        let call = call(&gateway, caller);
        let id = gateway.kept.keep_task(&call, MOST_CALLS, None).unwrap();
        if bytes > 0 {
            end(&gateway, &call, bytes);
        }
        (caller.clone(), id)
    };
    let kept = |all: &[(Arc<Caller>, Arc<str>)]| -> Vec<bool> {
        all.iter().map(|(caller, id)| gateway.kept.task(caller, id).is_some()).collect()
    };
    let running = keep(&marit, 0);
    let all: Vec<_> = (0..6).map(|_| keep(&marit, part)).collect();
    assert_eq!(kept(&all), [false, false, true, true, true, true]);
    // One that is larger than the limit stays until the next one comes.
    let huge = [keep(&marit, 2 * MOST_BYTES_OF_PRINCIPAL)];
    assert_eq!((kept(&all), kept(&huge)), (vec![false; 6], vec![true]));
    let small = [keep(&marit, 1), running];
    assert_eq!((kept(&huge), kept(&small)), (vec![false], vec![true; 2]));
    // All together have a limit too; who comes late takes from the oldest.
    let names: Vec<_> = (0..4).map(|number| caller(&number.to_string(), None)).collect();
    let all: Vec<_> = names.iter().map(|one| keep(one, MOST_BYTES_OF_PRINCIPAL)).collect();
    assert_eq!((kept(&all), kept(&small)), (vec![false, false, true, true], vec![false, true]));
}

#[tokio::test(start_paused = true)]
async fn calls_end_when_nobody_comes_back_and_nothing_is_left_of_them() {
    let (gateway, ann) = (gateway(), caller("ann", None));
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    for _ in 0..3 {
        let waiting = call(&gateway, &ann);
        let id = gateway.kept.keep_waiting(&waiting, MOST_CALLS).unwrap();
        assert!(gateway.kept.take_waiting("bob", &id).is_none());
        assert!(gateway.kept.take_waiting("ann", &id).is_some());
        assert!(!waiting.cancel.is_cancelled());
    }
    let (waiting, task) = (call(&gateway, &ann), call(&gateway, &ann));
    let waits = gateway.kept.keep_waiting(&waiting, MOST_CALLS).unwrap();
    let runs = gateway.kept.keep_task(&task, MOST_CALLS, Some(ANSWER_TIME * 2)).unwrap();
    waiting.cancel.cancelled().await;
    assert!(gateway.kept.take_waiting("ann", &waits).is_none() && gateway.kept.task(&ann, &runs).is_some());
    task.cancel.cancelled().await;
    assert!(
        gateway.kept.task(&ann, &runs).is_none() && matches!(task.step(), CallStep::Ended(KeptEnd::Gone))
    );
    tokio::task::yield_now().await;
    assert_eq!((gateway.kept.calls.lock().values().count(), tasks()), (0, before));
}

#[tokio::test]
async fn a_call_is_cancelled_when_nobody_has_it() {
    let gateway = gateway();
    let dropped = call(&gateway, &caller("ann", None));
    let (cancel, ask) = (dropped.cancel.clone(), dropped.asks());
    drop(dropped);
    assert!(cancel.is_cancelled());
    let question = RoundQuestion { key: "a".to_owned(), method: "m".to_owned(), params: json!({}) };
    assert_eq!(ask(vec![question], None).await.len(), 1);
}

#[tokio::test]
async fn a_task_ends_once() {
    let gateway = gateway();
    let task = call(&gateway, &caller("marit", None));
    assert!(task.cancel());
    assert!(!task.end(FinishedCall { answer: Ok("{}".to_owned()), is_failure: false }) && !task.cancel());
    task.set_message("still there");
    assert!(matches!(task.step(), CallStep::Ended(KeptEnd::Cancelled)));
}

#[tokio::test]
async fn rounds_are_asked_one_after_the_other_and_a_round_that_nobody_waits_for_is_skipped() {
    let gateway = gateway();
    let call = call(&gateway, &caller("ann", None));
    let question =
        |key: &str| RoundQuestion { key: key.to_owned(), method: "m".to_owned(), params: json!({}) };
    let ask = |keys: &[&str]| {
        let mut asked = call.asks()(keys.iter().map(|key| question(key)).collect(), None);
        assert!((&mut asked).now_or_never().is_none());
        asked
    };
    let open = || match call.step() {
        CallStep::Asks(open, _) => open.into_iter().map(|one| one.key).collect(),
        _ => Vec::new(),
    };
    let (first, second, third) = (ask(&["a", "b"]), ask(&["a"]), ask(&["c"]));
    call.give(json!({"b": {"n": 1}, "a": 7, "c": {"n": 3}}).as_object().unwrap().clone());
    assert_eq!(open(), ["1-a"], "an answer that is not an object does not count");
    call.answer("2-a", Ok(json!({})));
    assert_eq!(open(), ["1-a"], "it was not asked yet");
    call.answer("1-a", Ok(json!({"n": 0})));
    assert_eq!(first.await, [Ok(json!({"n": 0})), Ok(json!({"n": 1}))]);
    assert_eq!(open(), ["2-a"]);
    drop(second);
    assert!(open().is_empty(), "the answer to the third was there before it was asked");
    assert_eq!(third.await, [Ok(json!({"n": 3}))]);
    let refused = ask(&["d"]);
    call.answer("4-d", Err((-1, "no".to_owned())));
    assert_eq!(refused.await, [Err((-1, "no".to_owned()))]);
}

#[tokio::test]
async fn callers_without_credentials_list_the_tasks_of_their_session() {
    let gateway = gateway();
    let (one, two, none) = (caller("", Some("s1")), caller("", Some("s2")), caller("", None));
    for own in [&one, &two, &none] {
        assert!(gateway.kept.keep_task(&call(&gateway, own), MOST_CALLS, None).is_some());
    }
    assert_eq!(gateway.kept.tasks(&one).len(), 1);
    assert_eq!(gateway.kept.tasks(&none).len(), 0);
}
