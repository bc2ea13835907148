//! What calls have shown: a row for each candidate.

use super::Hub;
use serde_json::{Map, Value, json};
use std::time::{Instant, UNIX_EPOCH};
use toolhub_registry::{Candidate, NameEntry};

impl Hub {
    /// What the calls of a candidate have shown so far; with a caller, those of that caller.
    pub fn stats_row(&self, candidate: &Candidate, caller: Option<&str>, now: Instant) -> Value {
        let of_caller = |id| self.caller(id).map(|caller| caller.stats_of(candidate)).unwrap_or_default();
        let view = caller.map_or_else(|| candidate.stats.clone(), of_caller).view(now);
        let failures = view.failures.iter().map(|(kind, count)| (kind.name().to_owned(), json!(count)));
        // Calls of no tool reach 2^53.
        let success_rate = (view.calls > 0).then(|| view.successes as f64 / view.calls as f64);
        let last = view.last_success.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        json!({
            "tool": &*candidate.spec().name, "source": candidate.source.name(), "server": candidate.server.as_deref(),
            "variant": candidate.variant, "calls": view.calls, "successes": view.successes,
            "failures": failures.collect::<Map<_, _>>(), "success_rate": success_rate,
            "success_ewma": view.success_rate, "latency_ewma_ms": view.latency_ewma_ms,
            "latency_p50_ms": view.latency_p50_ms, "latency_p95_ms": view.latency_p95_ms,
            "last_success": last.map(|since| since.as_secs_f64()),
            "breaker": view.breaker.name(), "abandoned": view.abandoned,
        })
    }

    /// The rows of each tool name, or of one.
    pub fn stats_by_tool(&self, name: Option<&str>, caller: Option<&str>) -> Value {
        let (snapshot, now) = (self.registry.snapshot(), Instant::now());
        let mut asked: Vec<_> = match name {
            Some(name) => snapshot.find(name).into_iter().collect(),
            // A candidate counts once, by the name that it gave.
            None => snapshot.families().map(|(_, entry)| entry.clone()).collect(),
        };
        // In the order of the list.
        asked.sort_by_key(|entry| entry.position());
        let rows = |entry: &NameEntry| {
            entry.candidates.iter().map(|one| self.stats_row(one, caller, now)).collect::<Value>()
        };
        Value::Object(asked.iter().map(|entry| (entry.name.to_string(), rows(entry))).collect())
    }
}
