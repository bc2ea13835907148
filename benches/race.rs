//! The cost of orchestration: the policy alone, and a race of three through the hub next to one written by hand on tokio.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on should stop")]

#[path = "../tests/it/support/function_tool.rs"]
mod function_tool;
#[path = "../tests/it/support/runs_tools.rs"]
mod runs_tools;

use function_tool::FunctionTool;
use runs_tools::RunsTools as _;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use toolhub::execute::{Action, Rules, Run};
use toolhub::hub::{Hub, HubOptions};
use toolhub::model::{Arguments, CallOptions, Source, Strategy, ToolOutput, ToolSpec};
use toolhub::registry::Candidate;
use toolhub::stats::CandidateStats;
use toolhub::tool::{CallContext, Tool};

fn rules(strategy: Strategy) -> Rules {
    Rules {
        strategy,
        batch: 3,
        healthy: 3,
        hedge_after: None,
        guarded: false,
        deadline: None,
        grace: Duration::from_secs(1),
    }
}

/// Three start, one wins, two are cancelled.
fn policy_of_a_race(now: Instant) -> bool {
    let mut run = Run::new(rules(Strategy::First), [Duration::from_secs(30); 3], now);
    while let Action::Start(slot) = run.next_action() {
        black_box(slot);
    }
    black_box(run.wake_at());
    run.succeeded(1, now);
    while let Some(slot) = run.next_stop() {
        run.stopped(slot);
    }
    run.is_finished()
}

fn policy(c: &mut Criterion) {
    let mut group = c.benchmark_group("policy");
    let now = Instant::now();
    group.bench_function("a race of 3", |b| b.iter(|| assert!(policy_of_a_race(now))));
    group.bench_function("one candidate", |b| {
        b.iter(|| {
            let mut run = Run::new(rules(Strategy::First), [Duration::from_secs(30)], now);
            black_box(run.next_action());
            run.succeeded(0, now);
            assert!(run.is_finished());
        });
    });
}

/// An instant tool.
fn tool() -> Arc<FunctionTool> {
    let spec = ToolSpec::named("t");
    Arc::new(FunctionTool::new(spec, |_, _| async { Ok(ToolOutput::new(1)) }))
}

fn hub_with(count: usize) -> Hub {
    let hub = Hub::new(HubOptions::default());
    for n in 0..count {
        hub.registry.insert(Candidate {
            id: hub.registry.next_id(),
            source: Source::Mcps,
            server: Some(Arc::from(format!("s{n}"))),
            priority: 2,
            tool: tool(),
            gate: None,
            stats: Arc::new(CandidateStats::default()),
            variant: 1,
            definition: Default::default(),
        });
    }
    hub
}

async fn through_the_hub(hub: &Hub, options: &CallOptions) {
    let unending = CancellationToken::new();
    let call = hub.execute("t", Arguments::default(), options, &unending);
    assert!(call.await.unwrap().result.is_ok());
}

fn context() -> CallContext {
    CallContext::new(Instant::now() + Duration::from_secs(30), CancellationToken::new())
}

/// Written by hand: the first success wins, the others are aborted and awaited, all under a timeout.
async fn by_hand(tools: &[Arc<FunctionTool>]) {
    let mut race = JoinSet::new();
    for tool in tools {
        let tool = tool.clone();
        race.spawn(async move { tool.call(&Arguments::default(), &context()).await });
    }
    let winner = async {
        while let Some(joined) = race.join_next().await {
            if let Ok(Ok(output)) = joined {
                return Some(output);
            }
        }
        None
    };
    let won = tokio::time::timeout(Duration::from_secs(30), winner).await;
    assert!(matches!(won, Ok(Some(_))));
    race.shutdown().await;
}

/// The same without tasks: the minimum cost of a race of instant tools.
async fn by_select(tools: &[Arc<FunctionTool>]) {
    let (args, ctx) = (Arguments::default(), context());
    let won = tokio::select! {
        answer = tools[0].call(&args, &ctx) => answer,
        answer = tools[1].call(&args, &ctx) => answer,
        answer = tools[2].call(&args, &ctx) => answer,
        () = tokio::time::sleep(Duration::from_secs(30)) => panic!("too slow"),
    };
    assert!(won.is_ok());
}

fn runtimes() -> [(&'static str, Runtime); 2] {
    let one = Builder::new_current_thread().enable_time().build().unwrap();
    let two = Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    [("one thread", one), ("two threads", two)]
}

fn race(c: &mut Criterion) {
    for (threads, runtime) in runtimes() {
        let mut group = c.benchmark_group(format!("race of 3 instant tools, {threads}"));
        let (hub, tools) = (hub_with(3), [tool(), tool(), tool()]);
        let options = CallOptions { strategy: Some(Strategy::First), ..CallOptions::default() };
        group.bench_function("hub", |b| b.to_async(&runtime).iter(|| through_the_hub(&hub, &options)));
        group.bench_function("JoinSet by hand", |b| b.to_async(&runtime).iter(|| by_hand(&tools)));
        group.bench_function("select by hand", |b| b.to_async(&runtime).iter(|| by_select(&tools)));
    }
}

fn one(c: &mut Criterion) {
    let (_, runtime) = runtimes().into_iter().next().unwrap();
    let mut group = c.benchmark_group("one instant tool, one thread");
    let (hub, tool, options) = (hub_with(1), tool(), CallOptions::default());
    group.bench_function("hub", |b| b.to_async(&runtime).iter(|| through_the_hub(&hub, &options)));
    group.bench_function("spawn under a timeout", |b| {
        b.to_async(&runtime).iter(|| async {
            let tool = tool.clone();
            let task = tokio::spawn(async move { tool.call(&Arguments::default(), &context()).await });
            assert!(tokio::time::timeout(Duration::from_secs(30), task).await.unwrap().unwrap().is_ok());
        });
    });
}

fn config() -> Criterion {
    Criterion::default()
        .sample_size(30)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
}

criterion_group! { name = benches; config = config(); targets = policy, race, one }
criterion_main!(benches);
