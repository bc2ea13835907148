//! A hub with a store: the next hub starts with what it has learnt.

use super::*;
use crate::support::function_tool::FunctionTool;
use crate::support::runs_tools::RunsTools as _;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use toolhub::hub::{Hub, HubOptions};
use toolhub::limit::Gate;
use toolhub::model::{Arguments, CallOptions, Source, ToolOutput, ToolSpec};
use toolhub::registry::Candidate;
use toolhub::stats::CandidateStats;

fn hub(store: &Arc<Store>) -> Hub {
    let hub = Hub::new(HubOptions { seed: Some(7), ..HubOptions::default() });
    hub.keep_in(store.clone());
    hub
}

fn register(hub: &Hub, name: &str, server: &str) {
    let mut spec = ToolSpec::named(name);
    spec.description = Arc::from("Finds the fastest train");
    let answer = json!(server);
    let body = move |_: Arguments, _| {
        let answer = answer.clone();
        async move { Ok(ToolOutput::new(answer)) }
    };
    hub.registry.insert(Candidate {
        id: hub.registry.next_id(),
        source: Source::Mcps,
        server: Some(Arc::from(server)),
        priority: 2,
        tool: Arc::new(FunctionTool::new(spec, body)),
        gate: None::<Arc<Gate>>,
        stats: Arc::new(CandidateStats::default()),
        variant: 1,
        definition: Default::default(),
    });
}

fn order(hub: &Hub, name: &str) -> Vec<String> {
    let plan = hub
        .plan_by_name(&hub.registry.snapshot(), name, &CallOptions::default(), std::time::Instant::now())
        .unwrap();
    plan.candidates.iter().map(|candidate| candidate.label()).collect()
}

async fn call(hub: &Hub, name: &str, server: &str) {
    let options = CallOptions { server: Some(Arc::from(server)), ..CallOptions::default() };
    let done = hub.execute(name, Arguments::default(), &options, &CancellationToken::new()).await.unwrap();
    assert_eq!(done.result.unwrap(), json!(server));
}

#[tokio::test]
async fn who_answered_last_is_asked_first_in_the_next_process() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let first = hub(&store);
    for server in ["a", "b", "c"] {
        register(&first, "t", server);
    }
    call(&first, "t", "c").await;
    call(&first, "t", "b").await;
    close(&store);
    for servers in [["a", "b", "c"], ["c", "b", "a"], ["b", "a", "c"]] {
        let store = open(&folder.file());
        let next = hub(&store);
        servers.into_iter().for_each(|server| register(&next, "t", server));
        assert_eq!(order(&next, "t")[0], "mcps:b");
        close(&store);
    }
}

#[tokio::test]
async fn what_was_used_for_a_query_is_recommended_in_the_next_process() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let first = hub(&store);
    register(&first, "departures", "a");
    register(&first, "timetable", "a");
    first.search("fastest train to Berlin", 5);
    call(&first, "timetable", "a").await;
    first.clear();
    close(&store);
    let store = open(&folder.file());
    let next = hub(&store);
    register(&next, "departures", "a");
    register(&next, "timetable", "a");
    assert_eq!(&*next.recommend("fastest train to Hamburg", 5)[0].name, "timetable");
    close(&store);
}

#[tokio::test]
async fn a_tool_that_is_registered_again_goes_on_counting() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let hub = hub(&store);
    register(&hub, "t", "a");
    call(&hub, "t", "a").await;
    register(&hub, "t", "a");
    call(&hub, "t", "a").await;
    hub.registry.clear();
    assert!(store.flush(PATIENCE));
    register(&hub, "t", "a");
    call(&hub, "t", "a").await;
    let snapshot = hub.registry.snapshot();
    let stats = &snapshot.get("t").unwrap().candidates[0].stats;
    assert_eq!(stats.view(std::time::Instant::now()).calls, 3);
    close(&store);
}
