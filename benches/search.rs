//! Search among 1,000, 10,000 and 100,000 tools: the first search (which reads all tools), a query, and one more tool.
//! `WITHOUT_WORD_VECTORS=1` measures it without comparing what texts are about.

#[path = "../tests/it/support/function_tool.rs"]
mod function_tool;

use function_tool::FunctionTool;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use serde_json::json;
use toolhub::model::{Source, ToolOutput, ToolSpec};
use toolhub::registry::capability::CapabilityRules;
use toolhub::registry::{Candidate, Registry};
use toolhub::search::{Search, WORD_VECTORS};
use toolhub::stats::CandidateStats;

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
const QUERIES: [&str; 4] = [
    "create an invoice for the customer and send it",
    "Can you please show me the list of open tickets of project 7 that were changed last week?",
    "delete old backups",
    "calender entries of tomorrow",
];

/// Words as in tools: some common, most rare.
fn word(rng: &mut fastrand::Rng) -> String {
    const COMMON: [&str; 40] = [
        "create", "list", "get", "update", "delete", "send", "search", "file", "user", "project", "issue",
        "ticket", "invoice", "customer", "order", "message", "channel", "calendar", "event", "report",
        "table", "query", "image", "video", "page", "document", "server", "backup", "price", "weather",
        "city", "route", "account", "payment", "product", "the", "of", "a", "for", "with",
    ];
    match rng.u32(0..3) {
        0 | 1 => COMMON[rng.usize(..COMMON.len())].to_owned(),
        _ => {
            let rank = (20_000.0 * rng.f64().powi(3)) as u32;
            format!("{}{}", ["re", "con", "pla", "sto", "mar", "vel"][rank as usize % 6], base26(rank))
        }
    }
}

fn base26(mut n: u32) -> String {
    let mut text = String::new();
    while n > 0 {
        text.push((b'a' + (n % 26) as u8) as char);
        n /= 26;
    }
    text
}

fn words(rng: &mut fastrand::Rng, n: usize, between: &str) -> String {
    (0..n).map(|_| word(rng)).collect::<Vec<_>>().join(between)
}

fn candidate(n: usize) -> Candidate {
    let rng = &mut fastrand::Rng::with_seed(n as u64);
    let mut spec = ToolSpec::named(format!("{}_{n}", words(rng, 3, "_")));
    spec.description = Arc::from(words(rng, 20, " "));
    let parameter = |rng: &mut fastrand::Rng| json!({"type": "string", "description": words(rng, 8, " ")});
    spec.parameters = Arc::new(json!({"type": "object", "properties": {
        words(rng, 2, "_"): parameter(rng), words(rng, 1, "_"): parameter(rng), "limit": {"type": "integer"},
    }}));
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

fn registry(tools: usize) -> Registry {
    let registry = Registry::default();
    for n in 0..tools {
        registry.insert(candidate(n));
    }
    registry
}

fn search(c: &mut Criterion) {
    // As shipped. Without the file, what the word vectors cost is seen.
    if std::env::var_os("WITHOUT_WORD_VECTORS").is_none() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/python/toolhub/data/words_en.bin.gz");
        WORD_VECTORS.is_at(file.into());
    }
    let rules = CapabilityRules::default();
    for tools in SIZES {
        let mut group = c.benchmark_group(format!("search, {tools} tools"));
        let registry = registry(tools);
        group.sample_size(10).bench_function("the first search: all tools are read", |b| {
            b.iter(|| Search::default().search(&registry, &rules, QUERIES[0], 10));
        });
        let search = Search::default();
        let mut turn = 0;
        group.bench_function("a query", |b| {
            b.iter(|| {
                turn += 1;
                black_box(search.search(&registry, &rules, QUERIES[turn % QUERIES.len()], 10))
            });
        });
        let mut next = tools;
        group.bench_function("one more tool, and a query", |b| {
            b.iter_batched(
                || {
                    next += 1;
                    candidate(next)
                },
                |candidate| {
                    registry.insert(candidate);
                    search.search(&registry, &rules, QUERIES[2], 10)
                },
                BatchSize::SmallInput,
            );
        });
    }
}

fn config() -> Criterion {
    Criterion::default().warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2))
}

criterion_group! { name = benches; config = config(); targets = search }
criterion_main!(benches);
