//! The registry with 100,000 tools, each operation next to a plain `HashMap` in the same group, to read the ratio.

#[path = "../tests/it/support/function_tool.rs"]
mod function_tool;

use function_tool::FunctionTool;
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use toolhub::model::{Source, ToolOutput, ToolSpec};
use toolhub::registry::{Candidate, Registry};
use toolhub::select::{self, Wanted};
use toolhub::stats::CandidateStats;

const TOOLS: usize = 100_000;
/// The number of tools per tag.
const A_TAG: usize = 100;

fn candidate(n: usize) -> Candidate {
    let mut spec = ToolSpec::named(name(n));
    spec.capabilities = vec![Arc::from(tag(n))];
    Candidate {
        id: n as u64,
        source: Source::Tools,
        server: None,
        priority: 0,
        tool: Arc::new(FunctionTool::new(spec, |_, _| async { Ok(ToolOutput::new(1)) })),
        gate: None,
        stats: Arc::new(CandidateStats::default()),
        variant: 1,
        definition: Default::default(),
    }
}

fn name(n: usize) -> String {
    format!("tool_{n}_of_many")
}

fn tag(n: usize) -> String {
    format!("tag{}", n / A_TAG)
}

fn candidates() -> Vec<Candidate> {
    (0..TOOLS).map(candidate).collect()
}

fn full_registry() -> Registry {
    let registry = Registry::default();
    for candidate in candidates() {
        registry.insert(candidate);
    }
    registry
}

fn full_map() -> HashMap<Arc<str>, Arc<Candidate>> {
    candidates().into_iter().map(|c| (c.spec().name.clone(), Arc::new(c))).collect()
}

/// Every name once, in an order that defeats caches.
fn some_name(turn: &mut usize) -> usize {
    *turn = (*turn + 61_803) % TOOLS;
    *turn
}

fn register(c: &mut Criterion) {
    let mut group = c.benchmark_group("register 100,000 tools");
    group.bench_function("registry, a snapshot each", |b| {
        b.iter_batched(
            candidates,
            |candidates| {
                let registry = Registry::default();
                for candidate in candidates {
                    registry.insert(candidate);
                }
                registry
            },
            BatchSize::PerIteration,
        );
    });
    group.bench_function("HashMap, no snapshots", |b| {
        b.iter_batched(
            candidates,
            |candidates| {
                let mut map = HashMap::new();
                for candidate in candidates {
                    map.insert(candidate.spec().name.clone(), Arc::new(candidate));
                }
                map
            },
            BatchSize::PerIteration,
        );
    });
}

fn look_up(c: &mut Criterion) {
    let mut group = c.benchmark_group("look up one name of 100,000");
    let (registry, map) = (full_registry(), full_map());
    let names: Vec<String> = (0..TOOLS).map(name).collect();
    let mut turn = 0;
    group.bench_function("registry: load and get", |b| {
        b.iter(|| {
            let snapshot = registry.load();
            snapshot.get(&names[some_name(&mut turn)]).map(|entry| entry.candidates[0].id)
        });
    });
    let now = Instant::now();
    group.bench_function("registry: and order the candidates", |b| {
        b.iter(|| {
            let snapshot = registry.load();
            let entry = snapshot.get(&names[some_name(&mut turn)]);
            entry.map(|entry| select::by_name(entry, Wanted::default(), now))
        });
    });
    group.bench_function("HashMap: get", |b| {
        b.iter(|| map.get(&*names[some_name(&mut turn)]).map(|candidate| candidate.id));
    });
}

fn look_up_by_tag(c: &mut Criterion) {
    let mut group = c.benchmark_group("100 tools of one capability of 1,000");
    let registry = full_registry();
    let tags: Vec<String> = (0..TOOLS).step_by(A_TAG).map(tag).collect();
    let mut turn = 0;
    let mut next = || &tags[some_name(&mut turn) / A_TAG];
    group.bench_function("walk", |b| {
        b.iter(|| registry.load().with_tag(next()).map(|candidate| candidate.id).sum::<u64>());
    });
    let (mut rng, now) = (fastrand::Rng::with_seed(1), Instant::now());
    group.bench_function("choose: shuffle and order", |b| {
        b.iter(|| select::by_capability(&registry.load(), next(), Wanted::default(), &mut rng, now));
    });
}

fn change(c: &mut Criterion) {
    let mut group = c.benchmark_group("one more tool beside 100,000");
    let registry = full_registry();
    let mut next = TOOLS;
    group.bench_function("registry: next snapshot with one more", |b| {
        b.iter_batched(
            || {
                next += 1;
                candidate(next)
            },
            |candidate| registry.insert(candidate),
            BatchSize::SmallInput,
        );
    });
    group.bench_function("registry: replace one and drop the old snapshot", |b| {
        b.iter_batched(|| candidate(7), |candidate| registry.insert(candidate), BatchSize::SmallInput);
    });
    let map = full_map();
    group.sample_size(10).bench_function("HashMap: clone and insert", |b| {
        b.iter_batched(
            || candidate(TOOLS),
            |candidate| {
                let mut next = map.clone();
                next.insert(candidate.spec().name.clone(), Arc::new(candidate));
                black_box(next)
            },
            BatchSize::PerIteration,
        );
    });
}

fn config() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
}

criterion_group! { name = benches; config = config(); targets = register, look_up, look_up_by_tag, change }
criterion_main!(benches);
