use super::*;
use crate::client_tasks::task::TaskStep;
use crate::relay::Outlet;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use toolhub_engine::served::View;
use toolhub_protocol::{Era, LEGACY};
use toolhub_types::principal::Principal;

fn caller(principal: &str, session: Option<&str>) -> Caller {
    Caller {
        principal: Arc::new(Principal { id: Arc::from(principal), ..Principal::default() }),
        view: Arc::new(View::everything()),
        era: Era::Legacy,
        version: LEGACY[0],
        capabilities: Arc::new(json!({})),
        client: Arc::new(json!({})),
        session: session.map(Arc::from),
        has_one_stream: false,
    }
}

fn start(caller: &Caller) -> ClientTaskStart {
    let outlet = Arc::new(Mutex::new(Outlet::open().0));
    ClientTaskStart::new(caller, None, CancellationToken::new(), CancellationToken::new(), outlet)
}

#[tokio::test]
async fn a_principal_has_a_limited_number_of_tasks_and_takes_none_from_others() {
    let tasks = ClientTasks::default();
    let (marit, ingrid) = (caller("marit", None), caller("ingrid", None));
    let all: Vec<_> = (0..MOST_OF_PRINCIPAL).map(|_| tasks.add(start(&marit)).unwrap()).collect();
    assert!(tasks.add(start(&marit)).is_none(), "all are running");
    let other = tasks.add(start(&ingrid)).unwrap();
    for task in [&all[7], &all[3]] {
        assert!(task.end(Ok("{}".to_owned()), false));
        tasks.ended(task);
    }
    assert!(tasks.add(start(&marit)).is_some());
    assert!(all[7].removed.is_cancelled(), "the one that ended first made room");
    assert!(tasks.get(&marit, &all[7].id).is_none() && tasks.get(&marit, &all[3].id).is_some());
    assert!(tasks.get(&ingrid, &other.id).is_some() && tasks.get(&marit, &other.id).is_none());
}

#[tokio::test]
async fn results_of_a_limited_size_are_kept() {
    let tasks = ClientTasks::default();
    let marit = caller("marit", None);
    let large = || Ok("x".repeat(MOST_KEPT_BYTES / 2));
    let all: Vec<_> = (0..3).map(|_| tasks.add(start(&marit)).unwrap()).collect();
    for task in &all {
        assert!(task.end(large(), false));
        tasks.ended(task);
    }
    let kept = |task: &Arc<ClientTask>| tasks.get(&marit, &task.id).is_some();
    assert_eq!(all.iter().map(kept).collect::<Vec<_>>(), [false, true, true]);
}

#[tokio::test]
async fn a_task_ends_once() {
    let tasks = ClientTasks::default();
    let task = tasks.add(start(&caller("marit", None))).unwrap();
    assert!(task.cancel());
    assert!(!task.end(Ok("{}".to_owned()), false) && !task.cancel());
    task.set_message("still there");
    assert!(matches!(task.step(), TaskStep::Cancelled));
}

#[tokio::test]
async fn callers_without_credentials_list_the_tasks_of_their_session() {
    let tasks = ClientTasks::default();
    let (one, two, none) = (caller("", Some("s1")), caller("", Some("s2")), caller("", None));
    for caller in [&one, &two, &none] {
        tasks.add(start(caller)).unwrap();
    }
    assert_eq!(tasks.of(&one).len(), 1);
    assert_eq!(tasks.of(&none).len(), 0);
}
