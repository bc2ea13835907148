//! L4, the stages in their order: find the candidates, choose, run, keep what was learnt, put the answers together.
//!
//! [`Hub::plan_by_name`] and [`Hub::plan_by_capability`] end in a [`Plan`]; whoever drives it reports through
//! [`Plan::record`]. [`Hub::execute`] is all of that for callers in Rust.

pub mod explain;
mod finding;
mod keeping;
mod refusing;
mod showing;

pub use finding::Asked;
pub use showing::Showing;

use crate::error::{ErrorKind, HubError, Outcome, clip};
use crate::execute::{self, Answer, Decision, Fate, Job, Rules, Run};
use crate::limit::Gate;
use crate::merge;
use crate::model::{Arguments, CallOptions, Part, Prefer, Shadow, Source, Strategy};
use crate::prompt::Shelf;
use crate::registry::capability::CapabilityRules;
use crate::registry::{Candidate, Filter, NameEntry, Registry, Snapshot, nearest};
use crate::route::{Directory, Labels, Route};
use crate::search::{Search, Uses, Vectors};
use crate::select::{self, Candidates, Rule, Selection, Wanted};
use crate::stats::BreakerPolicy;
use crate::store::Store;
use crate::truncate::{Options, truncate};
use parking_lot::{Mutex, RwLock};
use refusing::Refusals;
use serde_json::Value;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// The hub's defaults, each overridable for a call or a tool.
#[derive(Clone, Debug)]
pub struct HubOptions {
    /// For one candidate.
    pub timeout: Duration,
    pub max_parallel: usize,
    /// How long cancelled candidates are awaited.
    pub grace: Duration,
    pub breaker: BreakerPolicy,
    /// How many attempts may run at once: in all, and for each source.
    pub max_concurrency: Option<usize>,
    pub source_concurrency: Vec<(Source, usize)>,
    /// How many may wait at one limit before calls are refused.
    pub max_waiting: usize,
    pub seed: Option<u64>,
    /// Who comes first; `None`: by priority, and MCP servers for routed calls.
    pub prefer: Option<Prefer>,
    pub shadow: Shadow,
}

impl Default for HubOptions {
    fn default() -> Self {
        HubOptions {
            timeout: Duration::from_secs(30),
            max_parallel: 3,
            grace: Duration::from_secs(1),
            breaker: BreakerPolicy::default(),
            max_concurrency: None,
            source_concurrency: Vec::new(),
            max_waiting: 10_000,
            seed: None,
            prefer: None,
            shadow: Shadow::default(),
        }
    }
}

pub struct Hub {
    pub registry: Registry,
    pub options: HubOptions,
    rules: RwLock<CapabilityRules>,
    search: Search,
    uses: Mutex<Uses>,
    vectors: RwLock<Vectors>,
    shelf: Shelf,
    labels: RwLock<Labels>,
    rng: Mutex<fastrand::Rng>,
    gate: Option<Arc<Gate>>,
    source_gates: Vec<(Source, Arc<Gate>)>,
    store: OnceLock<Arc<Store>>,
    refusals: Refusals,
}

/// An execution about to run. It goes from hand to hand, so it is given in a box.
pub struct Plan {
    /// The tool's name, or the capability asked for.
    pub what: Arc<str>,
    pub candidates: Candidates,
    pub strategy: Strategy,
    pub rule: Rule,
    pub run: Run,
    entry: Option<Arc<NameEntry>>,
    breaker: BreakerPolicy,
}

/// What an execution came to, for callers in Rust.
pub struct Execution {
    pub plan: Plan,
    pub answers: Vec<Option<Answer>>,
    pub result: Result<Value, HubError>,
}

impl Hub {
    pub fn new(options: HubOptions) -> Self {
        let rng = options.seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        let gate = |capacity| Gate::new(capacity, options.max_waiting);
        Hub {
            gate: options.max_concurrency.map(gate),
            source_gates: options.source_concurrency.iter().map(|(s, n)| (*s, gate(*n))).collect(),
            registry: Registry::default(),
            rules: RwLock::new(CapabilityRules::default()),
            search: Search::default(),
            uses: Mutex::default(),
            vectors: RwLock::default(),
            shelf: Shelf::default(),
            labels: RwLock::default(),
            rng: Mutex::new(rng),
            store: OnceLock::new(),
            refusals: Refusals::default(),
            options,
        }
    }

    pub fn capability_rules(&self) -> CapabilityRules {
        self.rules.read().clone()
    }

    /// Changes the table for tools that are registered from now on.
    pub fn change_capability_rules(&self, change: impl FnOnce(&mut CapabilityRules)) {
        change(&mut self.rules.write());
    }

    /// Adds a word that routed calls may give as their source.
    pub fn add_alias(&self, label: &str, target: Option<&str>) -> Result<(), String> {
        self.labels.write().add(label, target)
    }

    /// Where a routed call goes.
    pub fn route(&self, source: Option<&str>, servers: &impl Directory) -> Result<Route, HubError> {
        self.labels.read().route(source, servers)
    }

    /// Whether somebody can be called for a model, and why not.
    pub fn offers(&self, name: &str, options: &CallOptions) -> Result<(), HubError> {
        let snapshot = self.registry.load();
        let wanted = self.wanted(options);
        match snapshot.get(name) {
            None => Err(self.missing(&snapshot, name, wanted.filter)),
            Some(entry) if entry.is_hidden() => Err(hidden(name)),
            Some(entry) if entry.candidates.iter().any(|one| wanted.takes(one, entry)) => Ok(()),
            Some(entry) => Err(self.nobody_there(name, entry, wanted.filter)),
        }
    }

    fn wanted<'a>(&self, options: &'a CallOptions) -> Wanted<'a> {
        Wanted {
            filter: Filter { source: options.source, server: options.server.as_deref() },
            prefer: options.prefer.or(self.options.prefer).unwrap_or_default(),
            shadow: self.options.shadow,
        }
    }

    fn missing(&self, snapshot: &Snapshot, name: &str, filter: Filter<'_>) -> HubError {
        self.refusals.error(name, filter).unwrap_or_else(|| not_found(snapshot, name, filter))
    }

    fn nobody_there(&self, name: &str, entry: &NameEntry, filter: Filter<'_>) -> HubError {
        self.refusals.error(name, filter).unwrap_or_else(|| nobody_there(name, entry, filter))
    }

    pub fn plan_by_name(
        &self,
        name: &str,
        options: &CallOptions,
        now: Instant,
    ) -> Result<Box<Plan>, HubError> {
        let snapshot = self.registry.load();
        let wanted = self.wanted(options);
        let Some(entry) = snapshot.get(name) else {
            return Err(self.missing(&snapshot, name, wanted.filter));
        };
        let (candidates, healthy) = select::by_name(entry, wanted, now);
        if candidates.is_empty() {
            return Err(self.nobody_there(name, entry, wanted.filter));
        }
        let what = candidates[0].spec().name.clone();
        Ok(self.plan(what, Some(entry.clone()), candidates, healthy, options, now))
    }

    /// An execution of one candidate, whether it is registered or not.
    pub fn plan_for(&self, candidate: Arc<Candidate>, options: &CallOptions, now: Instant) -> Box<Plan> {
        let what = candidate.spec().name.clone();
        self.plan(what, None, Candidates::from_iter([candidate]), 1, options, now)
    }

    pub fn plan_by_capability(
        &self,
        tag: &str,
        options: &CallOptions,
        now: Instant,
    ) -> Result<Box<Plan>, HubError> {
        let snapshot = self.registry.load();
        let wanted = self.wanted(options);
        let (candidates, healthy) = select::by_capability(&snapshot, tag, wanted, &mut self.rng.lock(), now);
        if candidates.is_empty() {
            let known = snapshot.tags().into_keys().take(30).collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { "none".to_owned() } else { known };
            return Err(HubError::new(
                ErrorKind::NoCapability,
                format!("No tool has the capability '{}'. Known capabilities: {known}.", clip(tag)),
            ));
        }
        Ok(self.plan(Arc::from(tag), None, candidates, healthy, options, now))
    }

    fn plan(
        &self,
        what: Arc<str>,
        entry: Option<Arc<NameEntry>>,
        candidates: Candidates,
        healthy: usize,
        options: &CallOptions,
        now: Instant,
    ) -> Box<Plan> {
        let wanted = options.strategy.unwrap_or(Strategy::Auto);
        let Selection { candidates, healthy, strategy, rule, guarded } =
            select::select(candidates, healthy, wanted, entry.is_none(), self.wanted(options).prefer);
        let rules = Rules {
            strategy,
            batch: options.max_parallel.unwrap_or(self.options.max_parallel).max(1),
            healthy,
            hedge_after: options.hedge_after,
            guarded,
            deadline: options.deadline,
            grace: self.options.grace,
        };
        let timeout = |candidate: &Arc<Candidate>| {
            options.timeout.or(candidate.spec().timeout).unwrap_or(self.options.timeout)
        };
        let mut run = Run::new(rules, candidates.iter().map(timeout), now);
        for (slot, candidate) in candidates.iter().enumerate().filter(|_| guarded) {
            if !candidate.spec().effects.any() || candidate.spec().idempotent {
                run.set_harmless(slot);
            }
        }
        Box::new(Plan { what, candidates, strategy, rule, run, entry, breaker: self.options.breaker })
    }

    /// The limits that an attempt has to pass, narrowest first.
    pub fn gates(&self, candidate: &Candidate) -> Vec<Arc<Gate>> {
        let source = self.source_gates.iter().find(|(source, _)| *source == candidate.source);
        candidate.gate.iter().chain(source.map(|(_, gate)| gate)).chain(&self.gate).cloned().collect()
    }

    /// True when no limit at all is set, so that the way in costs nothing.
    pub fn is_unlimited(&self, candidate: &Candidate) -> bool {
        self.gate.is_none() && self.source_gates.is_empty() && candidate.gate.is_none()
    }

    /// Executes on tokio, from start to end.
    pub async fn execute(
        &self,
        name: &str,
        args: Arguments,
        options: &CallOptions,
        cancel: &CancellationToken,
    ) -> Result<Execution, HubError> {
        let now = tokio::time::Instant::now().into_std();
        let mut plan = self.plan_by_name(name, options, now)?;
        let jobs: Vec<Job> = plan
            .candidates
            .iter()
            .map(|candidate| Job { candidate: candidate.clone(), gates: self.gates(candidate) })
            .collect();
        let answers = execute::drive(&mut plan.run, &jobs, Arc::new(args), cancel).await;
        let now = tokio::time::Instant::now().into_std();
        for (slot, answer) in answers.iter().enumerate() {
            plan.record(slot, answer.as_ref().and_then(|a| a.as_ref().err()).map(|error| error.kind), now);
        }
        let result = plan.conclude(&answers);
        Ok(Execution { plan: *plan, answers, result })
    }
}

impl Plan {
    /// Keeps what one ended attempt has taught. Call once for each candidate when the run is over.
    pub fn record(&self, slot: usize, failure: Option<ErrorKind>, now: Instant) {
        let ended = match self.run.fate(slot) {
            Fate::NotTried | Fate::Rejected | Fate::Running => return,
            Fate::Succeeded => Ok(()),
            // It never got its turn: that says nothing about the tool.
            Fate::TimedOut | Fate::Stopped if self.run.never_sent(slot) => Err(ErrorKind::Overloaded),
            Fate::Failed => Err(failure.unwrap_or(ErrorKind::ToolError)),
            Fate::TimedOut => Err(ErrorKind::Timeout),
            Fate::Stopped if self.run.decision() == Some(Decision::DeadlinePassed) => Err(ErrorKind::Timeout),
            Fate::Stopped => Err(ErrorKind::Cancelled),
        };
        let candidate = &self.candidates[slot];
        // Of several answers only the first counts as the last success; otherwise `all` would turn the order round and round.
        let leads = ended.is_ok() && self.run.winners().next() == Some(slot);
        let leads = leads && self.entry.as_ref().is_some_and(|entry| entry.note_success(candidate.id));
        candidate.stats.record(ended, self.run.duration(slot, now).unwrap_or_default(), now, &self.breaker);
        if leads {
            candidate.stats.leads();
        }
    }

    /// What a candidate that gave no answer of its own ended with.
    pub fn silent_error(&self, slot: usize) -> Option<HubError> {
        let name = clip(&self.candidates[slot].spec().name);
        let server = self.candidates[slot].server.as_deref();
        let place = server.map(|server| format!(" on server '{}'", clip(server))).unwrap_or_default();
        match self.run.fate(slot) {
            Fate::TimedOut if self.run.never_sent(slot) => {
                let seconds = self.run.timeout(slot).as_secs_f64();
                let missing =
                    if server.is_some() { "no free place or no connection" } else { "no free place" };
                let text =
                    format!("Tool '{name}'{place} got {missing} within {seconds} s; it was not started.");
                Some(HubError::new(ErrorKind::Timeout, text).with_outcome(Outcome::NotSent))
            }
            Fate::TimedOut => {
                let seconds = self.run.timeout(slot).as_secs_f64();
                let text =
                    format!("Tool '{name}'{place} timed out after {seconds} s (it may still have run).");
                Some(HubError::new(ErrorKind::Timeout, text))
            }
            Fate::Stopped => Some(cancelled(&name)),
            _ => None,
        }
    }

    /// The error of the whole call, made from the errors of the candidates.
    pub fn final_error<'a>(&self, errors: impl Iterator<Item = (usize, &'a HubError)>) -> HubError {
        match self.run.decision() {
            Some(Decision::DeadlinePassed) => {
                let limit = self.run.deadline_at().map(|at| at.duration_since(self.run.begun()));
                let seconds = limit.unwrap_or_default().as_secs_f64();
                let sent = (0..self.candidates.len()).any(|slot| !self.run.never_sent(slot));
                let (what, outcome) = match sent {
                    true => ("it may still have run", Outcome::Unknown),
                    false => ("it was not started", Outcome::NotSent),
                };
                let text = format!(
                    "'{}' did not end within its deadline of {seconds} s ({what}).",
                    clip(&self.what)
                );
                HubError::new(ErrorKind::Timeout, text).with_outcome(outcome)
            }
            Some(Decision::Cancelled) => HubError::new(
                ErrorKind::Cancelled,
                format!("The call of '{}' was cancelled.", clip(&self.what)),
            ),
            _ => {
                let mut errors: Vec<_> = errors.collect();
                // A candidate that ran tells more than one that was skipped.
                errors.sort_by_key(|(slot, _)| (self.run.fate(*slot) == Fate::Rejected, *slot));
                errors.first().map(|(_, error)| (*error).clone()).unwrap_or_else(|| {
                    HubError::new(
                        ErrorKind::ToolError,
                        format!("No candidate of '{}' gave an answer.", clip(&self.what)),
                    )
                })
            }
        }
    }

    /// Merged answers stand in the order of priority and registration, whoever was asked first.
    pub fn merge_order(&self, slot: usize) -> (i32, u64) {
        (self.candidates[slot].priority, self.candidates[slot].id)
    }

    fn conclude(&self, answers: &[Option<Answer>]) -> Result<Value, HubError> {
        let winners: Vec<(usize, &Value)> = self
            .run
            .winners()
            .filter_map(|slot| answers[slot].as_ref()?.as_ref().ok().map(|output| (slot, &output.value)))
            .collect();
        match winners.as_slice() {
            [] => {
                let silent: Vec<_> = (0..answers.len())
                    .filter_map(|slot| match &answers[slot] {
                        Some(Err(error)) => Some((slot, error.clone())),
                        _ => self.silent_error(slot).map(|error| (slot, error)),
                    })
                    .collect();
                Err(self.final_error(silent.iter().map(|(slot, error)| (*slot, error))))
            }
            [(_, only)] => Ok((*only).clone()),
            many => {
                let mut many = many.to_vec();
                many.sort_by_key(|(slot, _)| self.merge_order(*slot));
                let part = |(slot, value): &(usize, &Value)| {
                    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    part(self.candidates[*slot].label(), text, merge::PART_LIMIT)
                };
                Ok(Value::String(merge::simple(&many.iter().map(part).collect::<Vec<_>>()).text))
            }
        }
    }
}

/// What one that was stopped before it answered ended with.
pub fn cancelled(tool: &str) -> HubError {
    HubError::new(ErrorKind::Cancelled, format!("Tool '{}' was cancelled.", clip(tool)))
}

/// One answer for merging, shown as far as its limit allows.
pub fn part(label: String, text: String, limit: usize) -> Part {
    let shown = truncate(&text, limit, &Options::default());
    Part { label, text, shown: shown.text, cut: shown.truncated }
}

fn hidden(name: &str) -> HubError {
    let name = clip(name);
    HubError::new(
        ErrorKind::NotAllowed,
        format!(
            "'{name}' is not for models (disable-model-invocation); only the program calls it, by its name."
        ),
    )
}

fn not_found(snapshot: &Snapshot, name: &str, filter: Filter<'_>) -> HubError {
    let offered = |near: &Arc<str>| {
        let entry = snapshot.get(near);
        entry.is_some_and(|entry| entry.candidates.iter().any(|one| filter.matches(one)))
    };
    let suggestions: Vec<_> = nearest(snapshot, name, 50).into_iter().filter(offered).take(3).collect();
    let mut message = format!("There is no tool named '{}'.", clip(name));
    match suggestions.as_slice() {
        [] if snapshot.is_empty() => message.push_str(" No tool is registered yet."),
        [] => {}
        near => {
            let quoted: Vec<String> = near.iter().map(|n| format!("'{}'", clip(n))).collect();
            // Writing to a String cannot fail.
            let _ = write!(message, " Did you mean {}?", quoted.join(" or "));
        }
    }
    HubError { suggestions, ..HubError::new(ErrorKind::NotFound, message) }
}

/// The name is there, and nobody who offers it may be called.
fn nobody_there(name: &str, entry: &NameEntry, filter: Filter<'_>) -> HubError {
    let name = clip(name);
    if let Some(denied) = entry.candidates.iter().find(|candidate| filter.matches(candidate)) {
        let text = format!(
            "Tool '{name}' of {} has the name of a native tool, and this hub forbids that (shadow=\"deny\").",
            denied.label()
        );
        return HubError::new(ErrorKind::NotAllowed, text);
    }
    let wanted = match (filter.source, filter.server) {
        (_, Some(server)) => format!("server '{}'", clip(server)),
        (Some(source), None) => format!("source '{source}'"),
        (None, None) => "any source".to_owned(),
    };
    let there: Vec<String> = entry.candidates.iter().map(|candidate| candidate.label()).collect();
    HubError::new(
        ErrorKind::NotFound,
        format!("Tool '{name}' is not offered by {wanted}; it is offered by: {}.", there.join(", ")),
    )
}
