//! Spans in lanes and rows, as columns.

use super::events::{RUNNING, RunFile, SpanEvent};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// A run as the page draws it. Names are in lists; the columns have their places in them.
#[derive(Debug, Serialize)]
pub struct Timeline<'a> {
    name: &'a str,
    begun: f64,
    notices: &'a [String],
    lanes: Vec<TimelineLane<'a>>,
    names: Vec<&'a str>,
    kinds: Vec<&'a str>,
    outcomes: Vec<&'a str>,
    callers: Vec<&'a str>,
    spans: SpanColumns,
}

/// One candidate or server.
#[derive(Debug, Serialize)]
struct TimelineLane<'a> {
    label: &'a str,
    /// As many as spans that overlap.
    rows: usize,
}

#[derive(Debug, Default, Serialize)]
struct SpanColumns {
    at: Vec<f64>,
    ms: Vec<f64>,
    lane: Vec<usize>,
    row: Vec<usize>,
    name: Vec<usize>,
    kind: Vec<usize>,
    outcome: Vec<usize>,
    caller: Vec<usize>,
    /// What each was in its call: its place in [`SpanRole`].
    role: Vec<u8>,
    /// Numbers of calls, counted here.
    call: Vec<usize>,
}

/// What a candidate was in its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanRole {
    /// The only one, and it succeeded.
    Ok,
    /// The first of several to succeed.
    Won,
    /// Succeeded after the first, and counted: answers were merged.
    Counted,
    Failed,
    /// Stopped before it had answered.
    Cancelled,
    /// Answered when the call was decided.
    Late,
    /// Has not ended.
    Running,
}

/// Gives each text a number, in the order in which they come.
#[derive(Default)]
struct TextNumbers<'a> {
    texts: Vec<&'a str>,
    numbers: HashMap<&'a str, usize>,
}

impl<'a> TextNumbers<'a> {
    fn of(&mut self, text: &'a str) -> usize {
        *self.numbers.entry(text).or_insert_with(|| {
            self.texts.push(text);
            self.texts.len() - 1
        })
    }
}

impl<'a> Timeline<'a> {
    pub fn of(file: &'a RunFile) -> Self {
        let spans = &file.spans;
        let calls = calls(spans);
        let role = roles(spans, &calls).into_iter().map(|role| role as u8).collect();
        let (mut lanes, mut names, mut kinds, mut outcomes, mut callers) = Default::default();
        let mut columns = SpanColumns { role, call: calls, ..SpanColumns::default() };
        for span in spans {
            columns.at.push(thousandths(span.at));
            columns.ms.push(thousandths(span.ms));
            columns.lane.push(TextNumbers::of(&mut lanes, &span.lane));
            columns.name.push(TextNumbers::of(&mut names, &span.name));
            columns.kind.push(TextNumbers::of(&mut kinds, &span.kind));
            columns.outcome.push(TextNumbers::of(&mut outcomes, &span.outcome));
            columns.caller.push(TextNumbers::of(&mut callers, &span.principal));
        }
        let (rows, counts) = rows(spans, &columns.lane, lanes.texts.len());
        columns.row = rows;
        let lanes = lanes.texts.iter().zip(counts);
        Timeline {
            name: &file.name,
            begun: file.begun,
            notices: &file.notices,
            lanes: lanes.map(|(label, rows)| TimelineLane { label, rows }).collect(),
            names: names.texts,
            kinds: kinds.texts,
            outcomes: outcomes.texts,
            callers: callers.texts,
            spans: columns,
        }
    }
}

fn thousandths(milliseconds: f64) -> f64 {
    (milliseconds * 1e3).round() / 1e3
}

/// What the spans of one call have in common; a span without a number is a call of its own.
fn calls(spans: &[SpanEvent]) -> Vec<usize> {
    let (mut known, mut count) = (HashMap::new(), 0);
    let mut next = || {
        count += 1;
        count - 1
    };
    spans
        .iter()
        .map(|span| match span.call {
            Some(call) => *known.entry((&span.name, call)).or_insert_with(&mut next),
            None => next(),
        })
        .collect()
}

fn roles(spans: &[SpanEvent], calls: &[usize]) -> Vec<SpanRole> {
    let end = |span: &SpanEvent| span.at + span.ms;
    // For each call: how many candidates it has, and which one succeeded first.
    let mut known: Vec<(usize, Option<usize>)> = vec![(0, None); spans.len()];
    for (at, (span, call)) in spans.iter().zip(calls).enumerate() {
        let (candidates, first) = &mut known[*call];
        *candidates += 1;
        let counts = span.outcome == "ok" && !span.is_late;
        if counts && first.is_none_or(|first| end(span) < end(&spans[first])) {
            *first = Some(at);
        }
    }
    let role = |(at, (span, call)): (usize, (&SpanEvent, &usize))| match (&*span.outcome, known[*call]) {
        (RUNNING, _) => SpanRole::Running,
        ("stopped" | "cancelled", _) => SpanRole::Cancelled,
        ("ok", _) if span.is_late => SpanRole::Late,
        ("ok", (2.., first)) if first == Some(at) => SpanRole::Won,
        ("ok", (2.., _)) => SpanRole::Counted,
        ("ok", _) => SpanRole::Ok,
        _ => SpanRole::Failed,
    };
    spans.iter().zip(calls).enumerate().map(role).collect()
}

/// The row of each span in its lane, and the number of rows of each lane: a span takes the lowest row that is free.
fn rows(spans: &[SpanEvent], lanes: &[usize], count: usize) -> (Vec<usize>, Vec<usize>) {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by(|one, other| spans[*one].at.total_cmp(&spans[*other].at));
    let mut rows = vec![0; spans.len()];
    let mut counts = vec![0; count];
    // Of each lane: the ends of the spans in its rows, in microseconds, and its free rows.
    let mut taken: Vec<BinaryHeap<Reverse<(u64, usize)>>> = vec![BinaryHeap::new(); count];
    let mut free: Vec<BinaryHeap<Reverse<usize>>> = vec![BinaryHeap::new(); count];
    for at in order {
        let (span, lane) = (&spans[at], lanes[at]);
        let begin = (span.at * 1e3) as u64;
        while let Some(&Reverse((end, row))) = taken[lane].peek() {
            if end > begin {
                break;
            }
            taken[lane].pop();
            free[lane].push(Reverse(row));
        }
        let row = free[lane].pop().map_or(counts[lane], |Reverse(row)| row);
        counts[lane] = counts[lane].max(row + 1);
        rows[at] = row;
        taken[lane].push(Reverse((begin + (span.ms * 1e3) as u64 + 1, row)));
    }
    (rows, counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn span(at: f64, ms: f64, outcome: &str, call: Option<u64>) -> SpanEvent {
        SpanEvent {
            kind: "call".to_owned(),
            name: "find".to_owned(),
            lane: "tools".to_owned(),
            at,
            ms,
            outcome: outcome.to_owned(),
            call,
            is_late: false,
            principal: String::new(),
        }
    }

    #[test]
    fn each_candidate_has_its_part_in_the_call() {
        let late = SpanEvent { is_late: true, ..span(0.0, 7.0, "ok", Some(1)) };
        let spans = [
            span(0.0, 9.0, "ok", Some(1)),
            span(0.0, 5.0, "ok", Some(1)),
            span(0.0, 9.0, "stopped", Some(1)),
            late,
            span(0.0, 1.0, "timeout", Some(1)),
            span(0.0, 1.0, "ok", Some(2)),
            span(0.0, 1.0, "ok", None),
        ];
        use SpanRole::{Cancelled, Counted, Failed, Late, Ok, Won};
        assert_eq!(roles(&spans, &calls(&spans)), [Counted, Won, Cancelled, Late, Failed, Ok, Ok]);
        assert_eq!(calls(&spans), [0, 0, 0, 0, 0, 1, 2]);
    }

    proptest! {
        #[test]
        fn spans_of_a_row_do_not_overlap(times in proptest::collection::vec((0u32..50, 0u32..10), 0..60)) {
            let spans: Vec<SpanEvent> =
                times.iter().map(|(at, ms)| span(f64::from(*at), f64::from(*ms), "ok", None)).collect();
            let (rows, counts) = rows(&spans, &vec![0; spans.len()], 1);
            for (one, first) in spans.iter().enumerate() {
                prop_assert!(rows[one] < counts[0]);
                for (other, second) in spans.iter().enumerate().skip(one + 1) {
                    let apart = first.at + first.ms <= second.at || second.at + second.ms <= first.at;
                    prop_assert!(rows[one] != rows[other] || apart, "{one} {other}");
                }
            }
        }
    }
}
