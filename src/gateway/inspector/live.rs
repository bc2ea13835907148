//! The calls of a served hub while they run.
//!
//! ```text
//! a call of the gateway ─► LiveCall ─► hears of its attempts (`AttemptWatch`) ─► LiveTimeline: the last spans
//!                                                                             ◄─ the page asks what has changed
//! ```
//!
//! Only names, times and outcomes are kept, no arguments and no results, and only the last [`MOST_SPANS`]. The page gets them in
//! the form of a recorded run, so both are drawn by the same code.

use super::events::{RUNNING, RunFile, SpanEvent};
use super::timeline::Timeline;
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use toolhub_types::error::clip;
use toolhub_types::sync::{Arc, Mutex};
use toolhub_types::tool::AttemptWatch;

/// Older ones are forgotten.
pub const MOST_SPANS: usize = 2_000;

/// The last calls of a served hub.
pub struct LiveTimeline {
    begun: Instant,
    begun_at: SystemTime,
    calls: AtomicU64,
    state: Mutex<LiveState>,
}

#[derive(Default)]
struct LiveState {
    spans: VecDeque<SpanEvent>,
    /// The number of the first span that is kept.
    first: u64,
    changes: u64,
}

/// What the page gets.
#[derive(Serialize)]
struct LiveAnswer<'a> {
    /// To be given with the next question.
    change: u64,
    first: u64,
    /// `None` if nothing has changed.
    run: Option<Timeline<'a>>,
}

impl LiveState {
    fn push(&mut self, span: SpanEvent) -> u64 {
        self.changes += 1;
        if self.spans.len() == MOST_SPANS {
            self.first += 1;
            self.spans.pop_front();
        }
        self.spans.push_back(span);
        self.first + self.spans.len() as u64 - 1
    }

    /// A span that still runs; `None` if it was forgotten.
    fn running(&mut self, number: u64) -> Option<&mut SpanEvent> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.spans.get_mut(place)
    }
}

impl Default for LiveTimeline {
    fn default() -> Self {
        let (begun, begun_at) = (Instant::now(), SystemTime::now());
        LiveTimeline { begun, begun_at, calls: AtomicU64::default(), state: Mutex::default() }
    }
}

impl LiveTimeline {
    /// A call begins now.
    pub fn call(self: &Arc<Self>, tool: &str, principal: &str) -> Arc<LiveCall> {
        let (tool, principal) = (clip(tool).into_owned(), clip(principal).into_owned());
        let (at, call) = (self.now(), self.calls.fetch_add(1, Ordering::Relaxed));
        let (timeline, has_attempts) = (self.clone(), AtomicBool::new(false));
        Arc::new(LiveCall { timeline, call, tool, principal, at, has_attempts })
    }

    /// The last spans as JSON. If nothing has changed since `after`, and nothing runs, there is no `run` in it.
    pub fn changes(&self, after: Option<u64>) -> String {
        let now = self.now();
        let (change, first, spans) = {
            let state = self.state.lock();
            let is_running = || state.spans.iter().any(|span| span.outcome == RUNNING);
            let is_same = after == Some(state.changes) && !is_running();
            (state.changes, state.first, (!is_same).then(|| state.spans.iter().cloned().collect::<Vec<_>>()))
        };
        let file = spans.map(|spans| self.as_file(spans, now));
        let answer = LiveAnswer { change, first, run: file.as_ref().map(Timeline::of) };
        // Texts and finite numbers are always JSON.
        serde_json::to_string(&answer).unwrap_or_default()
    }

    /// The time of the file begins with its first span.
    fn as_file(&self, mut spans: Vec<SpanEvent>, now: f64) -> RunFile {
        let origin = spans.iter().map(|span| span.at).fold(f64::INFINITY, f64::min);
        let origin = if origin.is_finite() { origin } else { now };
        for span in &mut spans {
            if span.outcome == RUNNING {
                span.ms = now - span.at;
            }
            span.at -= origin;
        }
        let since = self.begun_at.duration_since(UNIX_EPOCH).unwrap_or_default();
        RunFile { begun: since.as_secs_f64() * 1e3 + origin, spans, ..RunFile::default() }
    }

    /// In milliseconds from the beginning.
    fn now(&self) -> f64 {
        self.begun.elapsed().as_secs_f64() * 1e3
    }
}

/// A call that is shown while it runs.
pub struct LiveCall {
    timeline: Arc<LiveTimeline>,
    call: u64,
    tool: String,
    principal: String,
    at: f64,
    has_attempts: AtomicBool,
}

impl LiveCall {
    /// The call has ended. One that was answered or refused before a candidate was called is a span of its own.
    pub fn ended(&self, provider: Option<&str>, outcome: &str) {
        if self.has_attempts.swap(true, Ordering::Relaxed) {
            return;
        }
        let ms = self.timeline.now() - self.at;
        let lane = provider.filter(|provider| !provider.is_empty()).unwrap_or("no candidate");
        self.timeline.state.lock().push(self.span(lane, self.at, ms, outcome));
    }

    fn span(&self, lane: &str, at: f64, ms: f64, outcome: &str) -> SpanEvent {
        SpanEvent {
            kind: "call".to_owned(),
            name: self.tool.clone(),
            lane: clip(lane).into_owned(),
            at,
            ms,
            outcome: outcome.to_owned(),
            call: Some(self.call),
            is_late: false,
            principal: self.principal.clone(),
        }
    }
}

impl AttemptWatch for LiveCall {
    fn began(&self, candidate: &str) -> u64 {
        self.has_attempts.store(true, Ordering::Relaxed);
        let span = self.span(candidate, self.timeline.now(), 0.0, RUNNING);
        self.timeline.state.lock().push(span)
    }

    fn ended(&self, attempt: u64, outcome: &'static str, is_late: bool) {
        let now = self.timeline.now();
        let mut state = self.timeline.state.lock();
        let Some(span) = state.running(attempt) else { return };
        span.ms = now - span.at;
        outcome.clone_into(&mut span.outcome);
        span.is_late = is_late;
        state.changes += 1;
    }
}

impl Drop for LiveCall {
    fn drop(&mut self) {
        // Its client has gone while it waited for a server or a slot.
        self.ended(None, "cancelled");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn seen(timeline: &LiveTimeline, after: Option<u64>) -> Value {
        serde_json::from_str(&timeline.changes(after)).unwrap()
    }

    #[test]
    fn a_race_is_seen_while_it_runs_and_when_it_is_over() {
        let timeline = Arc::new(LiveTimeline::default());
        let call = timeline.call("find", "token:ann");
        let (one, other) = (call.began("tools"), call.began("mcps:web"));
        let running = seen(&timeline, None);
        assert_eq!(running["run"]["spans"]["role"], serde_json::json!([6, 6]));
        // What runs gets longer, so there is always something new.
        assert!(seen(&timeline, running["change"].as_u64())["run"].is_object());
        AttemptWatch::ended(&*call, one, "ok", false);
        AttemptWatch::ended(&*call, other, "stopped", false);
        call.ended(Some("tools"), "ok");
        drop(call);
        let over = seen(&timeline, running["change"].as_u64());
        assert_eq!(over["run"]["spans"]["role"], serde_json::json!([1, 4]));
        assert_eq!(over["run"]["callers"], serde_json::json!(["token:ann"]));
        assert_eq!(seen(&timeline, over["change"].as_u64())["run"], Value::Null);
    }

    #[test]
    fn a_call_without_candidates_is_one_span() {
        let timeline = Arc::new(LiveTimeline::default());
        timeline.call("gone", "").ended(None, "not_found");
        drop(timeline.call("waits", ""));
        let run = &seen(&timeline, None)["run"];
        assert_eq!(run["outcomes"], serde_json::json!(["not_found", "cancelled"]));
        assert_eq!(run["lanes"][0]["label"], "no candidate");
    }

    #[test]
    fn memory_is_bounded_and_what_was_forgotten_may_end() {
        let timeline = Arc::new(LiveTimeline::default());
        let old = timeline.call("old", "");
        let attempt = old.began("tools");
        for _ in 0..MOST_SPANS {
            timeline.call(&"n".repeat(10_000), "").ended(None, "ok");
        }
        AttemptWatch::ended(&*old, attempt, "ok", false);
        let answer = timeline.changes(None);
        let read: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(read["first"], 1);
        assert_eq!(read["run"]["spans"]["at"].as_array().unwrap().len(), MOST_SPANS);
        assert!(answer.len() < 200_000, "{}", answer.len());
        assert_eq!(seen(&timeline, read["change"].as_u64())["run"], Value::Null, "nothing runs");
    }
}
