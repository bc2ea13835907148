//! Two runs beside each other: each call of one finds its counterpart in the other.
//!
//! First calls of the same tool and candidate with equal arguments, in their order; then those that are left of the same tool and
//! candidate, whose arguments differ.

use super::events::{LineView, RunFile};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use toolhub_text::canonical::{first_difference, json_digest};
use toolhub_text::message::Message;

/// A change of the time counts if it is this many times as long, and this many milliseconds longer.
const SLOWER_TIMES: f64 = 2.0;
const SLOWER_MS: f64 = 50.0;

/// A call of the first run, of the second, or of both.
#[derive(Debug, Serialize)]
pub struct SpanPair {
    /// The place of the span in its run.
    a: Option<usize>,
    b: Option<usize>,
    change: SpanChange,
    /// Where they differ first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<Message>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanChange {
    Same,
    Arguments,
    Outcome,
    Result,
    Slower,
    Faster,
    /// Only in the second run.
    Added,
    /// Only in the first run.
    Removed,
}

/// What a line says, for comparing.
struct ComparedLine {
    arguments: Value,
    digest: String,
    answer: Value,
}

impl ComparedLine {
    fn of(line: &str) -> Self {
        let read = |part: Option<&RawValue>| -> Value {
            part.and_then(|part| serde_json::from_str(part.get()).ok()).unwrap_or_default()
        };
        // It was read before; a line without these fields is compared as one with nothing in them.
        let view: Option<LineView<'_>> = serde_json::from_str(line).ok();
        let arguments = read(view.as_ref().and_then(|view| view.arguments));
        let answer = read(view.as_ref().and_then(|view| view.result.or(view.error)));
        ComparedLine { digest: json_digest(&arguments), arguments, answer }
    }
}

/// Pairs of spans in the order of the first run; what only the second has comes last.
pub fn compare(first: &RunFile, second: &RunFile) -> Vec<SpanPair> {
    let read = |file: &RunFile| -> Vec<ComparedLine> {
        file.lines.iter().map(|line| ComparedLine::of(line)).collect()
    };
    let (ours, theirs) = (read(first), read(second));
    let what = |file: &RunFile, at: usize| {
        let span = &file.spans[at];
        (span.kind.clone(), span.name.clone(), span.lane.clone())
    };
    let mut partner: Vec<Option<usize>> = vec![None; ours.len()];
    let mut is_taken = vec![false; theirs.len()];
    match_up(
        &mut partner,
        &mut is_taken,
        |at| (what(first, at), &ours[at].digest),
        |at| (what(second, at), &theirs[at].digest),
    );
    match_up(&mut partner, &mut is_taken, |at| what(first, at), |at| what(second, at));
    let pairs = partner.into_iter().enumerate().map(|(at, partner)| {
        let (change, note) = match partner {
            None => (SpanChange::Removed, None),
            Some(other) => changed((first, at), (second, other), (&ours[at], &theirs[other])),
        };
        SpanPair { a: Some(at), b: partner, change, note }
    });
    let added = (0..theirs.len()).filter(|at| !is_taken[*at]);
    let added = added.map(|at| SpanPair { a: None, b: Some(at), change: SpanChange::Added, note: None });
    pairs.chain(added).collect()
}

/// Gives each span that has no partner the next free one with the same key.
fn match_up<K: Hash + Eq>(
    partner: &mut [Option<usize>],
    is_taken: &mut [bool],
    first_key: impl Fn(usize) -> K,
    second_key: impl Fn(usize) -> K,
) {
    let mut free: HashMap<K, VecDeque<usize>> = HashMap::new();
    for at in (0..is_taken.len()).filter(|at| !is_taken[*at]) {
        free.entry(second_key(at)).or_default().push_back(at);
    }
    for (at, partner) in partner.iter_mut().enumerate().filter(|(_, partner)| partner.is_none()) {
        *partner = free.get_mut(&first_key(at)).and_then(VecDeque::pop_front);
        if let Some(other) = partner {
            is_taken[*other] = true;
        }
    }
}

fn changed(
    (first, a): (&RunFile, usize),
    (second, b): (&RunFile, usize),
    (one, other): (&ComparedLine, &ComparedLine),
) -> (SpanChange, Option<Message>) {
    let (before, after) = (&first.spans[a], &second.spans[b]);
    if before.outcome != after.outcome {
        return (SpanChange::Outcome, Some(format!("{} → {}", before.outcome, after.outcome).into()));
    }
    if let Some(place) = first_difference("arguments", &one.arguments, &other.arguments) {
        return (SpanChange::Arguments, Some(place));
    }
    if let Some(place) = first_difference("result", &one.answer, &other.answer) {
        return (SpanChange::Result, Some(place));
    }
    let is_slower = |slow: f64, fast: f64| slow > fast * SLOWER_TIMES && slow > fast + SLOWER_MS;
    let change = match () {
        () if is_slower(after.ms, before.ms) => SpanChange::Slower,
        () if is_slower(before.ms, after.ms) => SpanChange::Faster,
        () => SpanChange::Same,
    };
    (change, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(calls: &[(&str, Value, &str, Value, f64)]) -> RunFile {
        let line = |(tool, arguments, outcome, value, ms): &(&str, Value, &str, Value, f64)| {
            json!({"v": 1, "type": "call", "time": "2026-11-16T09:30:00.000Z", "tool": tool, "candidate": "tools",
                "arguments": arguments, "outcome": outcome, "ms": ms, "result": {"value": value}})
            .to_string()
                + "\n"
        };
        RunFile::of("run".to_owned(), &calls.iter().map(line).collect::<String>()).unwrap()
    }

    #[test]
    fn each_call_finds_its_counterpart() {
        let one = |n: i64| json!({"n": n});
        let first = run(&[
            ("add", one(1), "ok", json!(1), 1.0),
            ("add", one(2), "ok", json!(2), 1.0),
            ("gone", one(1), "ok", json!(1), 1.0),
            ("slow", one(1), "ok", json!(1), 10.0),
            ("fails", one(1), "ok", json!(1), 1.0),
        ]);
        let second = run(&[
            ("add", one(3), "ok", json!(3), 1.0),
            ("add", one(1), "ok", json!(7), 1.0),
            ("slow", one(1), "ok", json!(1), 100.0),
            ("fails", one(1), "timeout", json!(1), 1.0),
            ("new", one(1), "ok", json!(1), 1.0),
        ]);
        let pairs = compare(&first, &second);
        let seen: Vec<_> = pairs.iter().map(|pair| (pair.a, pair.b, pair.change)).collect();
        use SpanChange::{Added, Arguments, Outcome, Removed, Result, Slower};
        assert_eq!(
            seen,
            [
                (Some(0), Some(1), Result),
                (Some(1), Some(0), Arguments),
                (Some(2), None, Removed),
                (Some(3), Some(2), Slower),
                (Some(4), Some(3), Outcome),
                (None, Some(4), Added),
            ]
        );
        let note = pairs[1].note.as_deref();
        assert_eq!(note, Some("arguments.n: 2 was recorded, 3 was given"));
    }
}
