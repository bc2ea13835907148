//! L4, the stages in order: find the candidates, choose, run, record what was learnt, merge the answers.
//!
//! [`Hub::plan_by_name`] and [`Hub::plan_by_capability`] return a [`PlannedRun`]; its driver ends it with
//! [`PlannedRun::end`]; on tokio that is [`Hub::run_planned`]. What surrounds the run of a call (routing, look-up,
//! permission, cache) is [`crate::plan`].

mod effects;
pub mod explain;
mod missing;
mod planned;
mod prompt;
mod recording;
mod result_limit;
mod search;
mod stats;

pub(crate) use effects::not_recorded;
pub use effects::{
    AskedCall, CallRecord, EffectRecorder, EndedRows, blocked_by_run, kept_error, kept_failure, kept_result,
    not_settled, run_unreadable, without_secrets,
};
pub use planned::{PlannedRun, RunReport, answer_text, call_cancelled, cancelled, late, part};
pub use prompt::{PromptRequest, ShownTools};
pub use result_limit::{
    CutText, MIN_RESULT_LIMIT, ResultBudget, ResultLimit, SKILL_LIMIT, ShapeRequest, ShapedText,
};
pub use search::{CallerRecord, SearchQuery};

use crate::execute::{Rules, Run};
use crate::offers::NativeOffers;
use missing::PinRefusals;
pub use missing::several_tools;
use parking_lot::{Mutex, RwLock};
use result_limit::ResultTexts;
use search::KnownCallers;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};
use toolhub_context::prompt::PromptCache;
use toolhub_context::search::{Search, Uses, Vectors};
use toolhub_context::truncate::Limits;
use toolhub_registry::capability::CapabilityRules;
use toolhub_registry::route::{Directory, Labels, Route};
use toolhub_registry::select::{self, Candidates, StrategyInput, StrategyPatterns, Wanted};
use toolhub_registry::{Candidate, Filter, NameEntry, Registry, Snapshot, UsersWord};
use toolhub_store::Store;
use toolhub_store::cassette::{self, Cassette};
use toolhub_store::ledger::Ledger;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Result, clip};
use toolhub_types::limit::Gate;
use toolhub_types::model::{CallOptions, Freshness, Lang, Prefer, Shadow, Source};
use toolhub_types::stats::BreakerPolicy;
use toolhub_types::telemetry::Telemetry;

toolhub_types::named! {
    /// Whether calls that may have effects need a row in the ledger.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum LedgerMode {
        /// Without a row nothing is sent.
        #[default]
        Required = "required",
        /// If the row cannot be written, the call is made without one.
        Optional = "optional",
        /// No rows, except in runs.
        Off = "off",
    }
}

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
    /// Which candidates come first; `None`: by priority, and MCP servers for routed calls.
    pub prefer: Option<Prefer>,
    pub shadow: Shadow,
    /// How the candidates of a name are used, by pattern.
    pub strategies: StrategyPatterns,
    /// How long servers may take to list their tools before a tool is not found.
    pub lookup_timeout: Duration,
    /// The language of the hub's own words.
    pub lang: Lang,
    /// How many characters of a result a run gives to a model.
    pub result_limit: usize,
    /// The limits by kind of tool, for results in prompts.
    pub result_limits: Limits,
    /// The share of the user's embedding in a search, from 0 (words only) to 1 (meaning only).
    pub embed_weight: f32,
    /// Whether calls that may have effects need a row in the ledger.
    pub ledger: LedgerMode,
    /// How long an approval can be used.
    pub approval_lifetime: Duration,
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
            strategies: StrategyPatterns::default(),
            lookup_timeout: Duration::from_secs(10),
            lang: Lang::default(),
            result_limit: 4_000,
            result_limits: Limits::default(),
            embed_weight: 0.3,
            ledger: LedgerMode::default(),
            approval_lifetime: Duration::from_secs(3_600),
        }
    }
}

/// A strategy for candidates of a name says that they are candidates. So does `candidates` in the file.
fn users_word(strategies: &StrategyPatterns) -> UsersWord {
    let strategies = strategies.clone();
    Arc::new(move |candidate| candidate.spec().is_candidate || strategies.name(candidate))
}

/// How many hubs this process has made.
static HUBS: AtomicU64 = AtomicU64::new(0);

#[derive(Default)]
pub struct Hub {
    pub registry: Registry,
    /// No other hub of this process has it.
    pub number: u64,
    pub options: HubOptions,
    /// Its own resources and prompts.
    pub own_offers: NativeOffers,
    rules: RwLock<CapabilityRules>,
    search: Search,
    uses: Mutex<Uses>,
    callers: KnownCallers,
    vectors: RwLock<Vectors>,
    prompts: PromptCache,
    labels: RwLock<Labels>,
    rng: Mutex<fastrand::Rng>,
    gate: Option<Arc<Gate>>,
    source_gates: Vec<(Source, Arc<Gate>)>,
    store: OnceLock<Arc<Store>>,
    /// The file of the store, whether it can be used or not.
    store_path: OnceLock<PathBuf>,
    /// Made when it is first needed.
    own_ledger: OnceLock<Arc<Ledger>>,
    /// The ledger of the last replay.
    replayed: Mutex<Option<(Weak<Cassette>, Arc<Ledger>)>>,
    /// Results that were cut.
    pub texts: Arc<ResultTexts>,
    /// Held while the tool that reads cut results is registered.
    offering: Mutex<()>,
    /// Tools of servers that are refused.
    pub refusals: PinRefusals,
    /// What gets to know of requests to and from MCP peers.
    pub telemetry: Telemetry,
    closed: AtomicBool,
}

impl Hub {
    pub fn new(options: HubOptions) -> Self {
        let rng = options.seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        let gate = |capacity| Gate::new(capacity, options.max_waiting);
        Hub {
            gate: options.max_concurrency.map(gate),
            source_gates: options.source_concurrency.iter().map(|(s, n)| (*s, gate(*n))).collect(),
            registry: Registry::with_word(users_word(&options.strategies)),
            number: HUBS.fetch_add(1, Ordering::Relaxed),
            rng: Mutex::new(rng),
            options,
            ..Hub::default()
        }
    }

    /// Forgets all tools, resources and prompts; every later call is refused.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.clear();
        self.own_offers.clear();
        self.callers.clear();
        self.texts.clear();
        // The ledger of the last replay ends, and its thread.
        let replayed = self.replayed.lock().take();
        drop(replayed);
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
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
    pub fn route(&self, source: Option<&str>, servers: &impl Directory) -> Result<Route> {
        self.labels.read().route(source, servers)
    }

    /// Whether a model may call this tool here, and why not.
    pub fn offers(&self, snapshot: &Snapshot, name: &str, options: &CallOptions) -> Result<()> {
        let wanted = self.wanted(options);
        match snapshot.find(name) {
            None => Err(self.missing(snapshot, name, wanted.filter)),
            Some(entry) if entry.is_hidden() => Err(missing::hidden(name)),
            Some(entry) if entry.candidates.iter().any(|one| wanted.takes(one, &entry)) => Ok(()),
            Some(entry) => Err(self.no_provider(name, &entry, wanted.filter)),
        }
    }

    fn wanted<'a>(&self, options: &'a CallOptions) -> Wanted<'a> {
        Wanted {
            filter: Filter { source: options.source, server: options.server.as_deref() },
            prefer: options.prefer.or(self.options.prefer).unwrap_or_default(),
            shadow: self.options.shadow,
            allowed: options.allowed.as_deref(),
            safety: options.safety,
            is_routed: options.is_routed,
        }
    }

    fn missing(&self, snapshot: &Snapshot, name: &str, filter: Filter<'_>) -> HubError {
        self.refusals.error(name, filter).unwrap_or_else(|| missing::not_found(snapshot, name, filter))
    }

    fn no_provider(&self, name: &str, entry: &NameEntry, filter: Filter<'_>) -> HubError {
        self.refusals.error(name, filter).unwrap_or_else(|| missing::no_provider(name, entry, filter))
    }

    /// The candidates of a name in a snapshot of the registry, so that who judges a call and who runs it see the same ones.
    pub fn plan_by_name(
        &self,
        snapshot: &Arc<Snapshot>,
        name: &str,
        options: &CallOptions,
        now: Instant,
    ) -> Result<Box<PlannedRun>> {
        let planned = self.plan_known(snapshot, name, options, now);
        // Near names take milliseconds when there are very many names.
        planned.unwrap_or_else(|| Err(self.missing(snapshot, name, self.wanted(options).filter)))
    }

    /// The same; `None` for a name that is not registered.
    pub fn plan_known(
        &self,
        snapshot: &Arc<Snapshot>,
        name: &str,
        options: &CallOptions,
        now: Instant,
    ) -> Option<Result<Box<PlannedRun>>> {
        let wanted = self.wanted(options);
        let entry = snapshot.find(name)?;
        let (candidates, healthy) = select::by_name(&entry, wanted, now);
        if candidates.is_empty() {
            return Some(Err(self.no_provider(name, &entry, wanted.filter)));
        }
        Some(Ok(self.plan(entry.name.clone(), Some(entry), (candidates, healthy), options, now)))
    }

    /// An execution of one candidate, whether it is registered or not.
    pub fn plan_for(
        &self,
        candidate: Arc<Candidate>,
        options: &CallOptions,
        now: Instant,
    ) -> Box<PlannedRun> {
        let what = candidate.spec().name.clone();
        self.plan(what, None, (Candidates::from_iter([candidate]), 1), options, now)
    }

    pub fn plan_by_capability(
        &self,
        snapshot: &Arc<Snapshot>,
        tag: &str,
        options: &CallOptions,
        now: Instant,
    ) -> Result<Box<PlannedRun>> {
        let wanted = self.wanted(options);
        let (candidates, healthy) = select::by_capability(snapshot, tag, wanted, &mut self.rng.lock(), now);
        if candidates.is_empty() {
            let known = snapshot.tags().into_keys().take(30).collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { message!("none") } else { known.into() };
            return Err(HubError::new(
                ErrorKind::NoCapability,
                message!("No tool has the capability '{}'. Known capabilities: {}.", clip(tag), known),
            ));
        }
        Ok(self.plan(Arc::from(tag), None, (candidates, healthy), options, now))
    }

    fn plan(
        &self,
        what: Arc<str>,
        entry: Option<Arc<NameEntry>>,
        (candidates, healthy): (Candidates, usize),
        options: &CallOptions,
        now: Instant,
    ) -> Box<PlannedRun> {
        let input = StrategyInput {
            wanted: options.strategy.unwrap_or_default(),
            by_capability: entry.is_none(),
            is_routed: options.is_routed,
            prefer: self.wanted(options).prefer,
            patterns: Some(&self.options.strategies),
        };
        let (strategy, rule) = select::decide(&candidates, &input);
        // Then another candidate may follow a failed one only when the failure proves that nothing happened.
        let guarded = candidates.iter().any(|candidate| select::runs_alone(candidate));
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
        let is_harmless = |one: &Arc<Candidate>| guarded && !select::runs_alone(one);
        for (slot, _) in candidates.iter().enumerate().filter(|(_, one)| is_harmless(one)) {
            run.set_harmless(slot);
        }
        // What a recording answers happens for nobody.
        let caller = options.principal.as_ref().filter(|_| !self.is_replaying());
        Box::new(PlannedRun {
            what,
            candidates,
            recorder: None,
            strategy,
            rule,
            run,
            entry,
            breaker: self.options.breaker,
            caller: caller.and_then(|id| self.callers.visit(id)),
            recorded: None,
            recordings: BTreeMap::new(),
            followers: None,
            is_replayed: false,
            missed: None,
            lang: self.options.lang,
            freshness: Freshness::default(),
            has_waited_for_lock: false,
            in_doubt: Arc::default(),
        })
    }

    /// The cassette that is in.
    pub fn cassette(&self) -> Option<Arc<Cassette>> {
        if cassette::IS_ON.load(Ordering::Relaxed) { cassette::current(Some(self.number)) } else { None }
    }

    /// Whether a cassette answers.
    pub(crate) fn is_replaying(&self) -> bool {
        self.cassette().is_some_and(|cassette| cassette.is_replay())
    }

    /// Whether calls of these candidates have rows outside of a run too.
    pub fn keeps_rows(&self, candidates: &[Arc<Candidate>]) -> bool {
        self.store_path.get().is_some()
            && self.options.ledger != LedgerMode::Off
            && candidates.iter().any(|one| !one.spec().effects.are_harmless())
            // What a recording answers happens for nobody.
            && !self.is_replaying()
    }

    /// Records what these candidates may do, and in a run what the call gives.
    pub fn record(
        &self,
        planned: &mut PlannedRun,
        record: Option<CallRecord>,
        asked: impl FnOnce() -> AskedCall,
    ) {
        let ledger = match &record {
            Some(_) => self.ledger(),
            None if self.keeps_rows(&planned.candidates) => self.own_ledger().clone(),
            None => return,
        };
        let recorder = EffectRecorder::new(ledger, self.options.ledger, asked(), record);
        planned.recorder = Some(Arc::new(recorder));
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
}
