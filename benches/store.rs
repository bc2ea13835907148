//! The cost of the store: the statistics of a call with and without it, and opening a store with 10,000 cached tools.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on should stop")]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::json;
use toolhub::catalog::Servers;
use toolhub::catalog::place;
use toolhub::hub::{Hub, HubOptions};
use toolhub::model::Source;
use toolhub::sources::mcp::callbacks::Host;
use toolhub::sources::mcp::config::server_from;
use toolhub::stats::{BreakerPolicy, CandidateStats, StatsKey};
use toolhub::store::{ListKey, Store, StoredList};

const SERVERS: usize = 20;
const TOOLS: usize = 500;
const PATIENCE: Duration = Duration::from_secs(60);

/// Typical descriptions of servers, about 600 bytes each, in the form in which `catalog::cache` keeps a list.
fn list(server: usize) -> String {
    let tool = |n: usize| {
        json!({
            "name": format!("tool_{server}_{n}"),
            "description": format!("Search documents of collection {n} and give back the best passages with their sources."),
            "inputSchema": {"type": "object", "required": ["query"], "additionalProperties": false, "properties": {
                "query": {"type": "string", "description": "What to look for, in the words of the question"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
                "kind": {"enum": ["text", "table", "image"], "description": "Only passages of this kind"}}},
            "annotations": {"readOnlyHint": true},
        })
    };
    json!({"tools": (0..TOOLS).map(tool).collect::<Vec<_>>()}).to_string()
}

fn key(tool: usize) -> StatsKey {
    StatsKey {
        tool: Arc::from(format!("tool_0_{tool}")),
        source: Source::Mcps,
        server: Some(Arc::from("s0")),
        variant: 1,
    }
}

fn open(path: &Path) -> Arc<Store> {
    let (store, notices) = Store::open(path, 0);
    assert!(notices.is_empty(), "{notices:?}");
    store.unwrap()
}

fn servers(store: &Arc<Store>) -> Arc<Servers> {
    let hub = Arc::new(Hub::new(HubOptions::default()));
    hub.keep_in(store.clone());
    let servers = Servers::new(hub, Host::default(), Arc::new(|_| Ok(None)));
    for number in 0..SERVERS {
        let entry = json!({"command": "no-such-program"});
        let (config, _) = server_from(&format!("s{number}"), &entry, None, &|_| None, None).unwrap();
        servers.add(config).unwrap();
    }
    servers
}

/// A file with 10,000 cached tools, of which a fifth has been called.
fn warm() -> PathBuf {
    let path = std::env::temp_dir().join(format!("toolhub-bench-{}.db", std::process::id()));
    let store = open(&path);
    let config =
        place(&server_from("s0", &json!({"command": "no-such-program"}), None, &|_| None, None).unwrap().0);
    for number in 0..SERVERS {
        let key = ListKey { server: Arc::from(format!("s{number}")), config };
        let stored = StoredList {
            era: "modern".into(),
            protocol: "2026-07-28".into(),
            version: Some("1.0".into()),
            listed_at: SystemTime::now(),
            ttl_ms: None,
            tools: list(number),
        };
        store.save_list(key, stored);
    }
    for tool in 0..SERVERS * TOOLS / 5 {
        let stats = Arc::new(CandidateStats::default());
        store.stats.track(key(tool), &stats);
        stats.record(Ok(()), Duration::from_millis(3), Instant::now(), &BreakerPolicy::default());
    }
    assert!(store.close(PATIENCE));
    path
}

fn statistics(c: &mut Criterion) {
    let mut group = c.benchmark_group("statistics of a call");
    let path = std::env::temp_dir().join(format!("toolhub-bench-stats-{}.db", std::process::id()));
    let (policy, now) = (BreakerPolicy::default(), Instant::now());
    let memory = Arc::new(CandidateStats::default());
    group.bench_function("in memory", |b| {
        b.iter(|| memory.record(black_box(Ok(())), Duration::from_micros(300), now, &policy))
    });
    let store = open(&path);
    let kept = Arc::new(CandidateStats::default());
    store.stats.track(key(0), &kept);
    group.bench_function("with a store (goal: 1 µs at most)", |b| {
        b.iter(|| kept.record(black_box(Ok(())), Duration::from_micros(300), now, &policy))
    });
    group.finish();
    assert!(store.close(PATIENCE));
    let _ = std::fs::remove_file(path);
}

fn opening(c: &mut Criterion) {
    let mut group = c.benchmark_group("10,000 cached tools");
    group.sample_size(20);
    let path = warm();
    group.bench_function("open the store (goal: 50 ms at most)", |b| {
        b.iter_with_large_drop(|| open(&path));
    });
    group.bench_function("and read all lists", |b| {
        b.iter_with_large_drop(|| {
            let store = open(&path);
            let found = servers(&store);
            assert_eq!(found.all()[0].info().tools, Some(TOOLS));
            (store, found)
        });
    });
    group.finish();
    let _ = std::fs::remove_file(path);
}

criterion_group!(benches, statistics, opening);
criterion_main!(benches);
