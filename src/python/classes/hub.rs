//! The hub, as Python sees it. Thin: it turns Python values into words of the core and back.

use crate::classes::options::{GivenOptions, as_text, kind_limits, named, strategy_patterns};
use crate::classes::prompt::VendorForms;
use crate::classes::proof::ledger::refused;
use crate::classes::views::{PyCandidate, ToolInfo, counted_caller, kept};
use crate::prelude::*;
use crate::runtime::bridge::{self, BridgeFuture};
use crate::runtime::process::{self, OpenHub};
use crate::runtime::tool_loops::ServedLoops;
use crate::values::arguments::callable::{PythonTool, callable, python_tool, traverse_offer};
use crate::values::json::JsonValue;
use pyo3::exceptions::PyRecursionError;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{OnceLock, Weak};
use std::thread::{self, ThreadId};
use toolhub::catalog::Servers;
use toolhub::hub::{Hub, HubOptions, several_tools};
use toolhub::limit::Gate;
use toolhub::plan::{ServerSet, SharedResults, unknown_server, unknown_to};
use toolhub::registry::capability::answering;
use toolhub::registry::{Candidate, Filter, ReplaceRule};
use toolhub::stats::BreakerPolicy;
use toolhub::system;

#[pyclass(frozen, module = "toolhub._core", name = "Hub")]
pub struct PyHub {
    pub core: Arc<Hub>,
    generation: u64,
    /// The set of MCP servers, once it is made. It holds the core; its maker holds it.
    pub servers: OnceLock<Weak<Servers>>,
    /// The results that identical calls share.
    pub shared: SharedResults<Py<PyDict>>,
    pub vendor_forms: VendorForms,
    call_ids: AtomicU64,
    closed_by: OnceLock<ThreadId>,
    open: Mutex<Option<OpenHub>>,
    /// Where its Python tools run when it is served.
    pub served_on: Arc<ServedLoops>,
}

impl PyHub {
    pub fn core(&self) -> &Hub {
        &self.core
    }

    pub fn servers(&self) -> Option<Arc<Servers>> {
        self.servers.get().and_then(Weak::upgrade)
    }

    /// Whether another thread than this one has closed the hub.
    pub fn is_closed_elsewhere(&self) -> bool {
        self.core.is_closed() && self.closed_by.get() != Some(&thread::current().id())
    }

    /// An id for a call to which the model gave none.
    pub fn next_call_id(&self) -> String {
        format!("call_{}", self.call_ids.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Refuses a call in the child of a fork, whose locks no thread will ever release, and on a stack that is nearly full:
    /// a tool that calls the hub again and again must end in an exception, not in a crash.
    pub fn check_process(&self) -> PyResult<()> {
        if system::remaining() < system::RESERVE {
            return Err(PyRecursionError::new_err(
                "calls of the hub are nested too deeply for this thread's stack",
            ));
        }
        process::check_generation(self.generation)
    }

    /// False in the child of a fork.
    pub fn is_of_this_process(&self) -> bool {
        self.generation == process::generation()
    }

    /// The core, for what [`Self::check_process`] does not refuse.
    pub fn checked_core(&self) -> PyResult<&Hub> {
        self.check_process().map(|()| self.core())
    }
}

#[pymethods]
impl PyHub {
    /// An option that is missing or None has the core's default.
    #[new]
    fn new(options: &Bound<'_, PyDict>) -> PyResult<Self> {
        const WHOLE: &str = "a whole number";
        const PAIRS: &str = "a list of pairs";
        let (given, usual) = (GivenOptions(options), HubOptions::default());
        let embed_weight = given.get("embed_weight", "a number")?.unwrap_or(usual.embed_weight);
        if !(0.0..=1.0).contains(&embed_weight) {
            let text =
                format!("embed_weight must be from 0 (words only) to 1 (meaning only), got {embed_weight}");
            return Err(PyValueError::new_err(text));
        }
        let sources: Vec<(String, usize)> = given.get("source_concurrency", PAIRS)?.unwrap_or_default();
        let sources = sources.into_iter().map(|(name, n)| Ok((named("source", &name)?, n)));
        let strategies: Vec<(String, String)> = given.get("strategies", PAIRS)?.unwrap_or_default();
        let limits: Vec<(String, usize)> = given.get("result_limits", PAIRS)?.unwrap_or_default();
        let options = HubOptions {
            timeout: given.seconds("timeout")?.unwrap_or(usual.timeout),
            max_parallel: given.get("max_parallel", WHOLE)?.unwrap_or(usual.max_parallel),
            grace: given.seconds("cancel_grace")?.unwrap_or(usual.grace),
            breaker: BreakerPolicy {
                threshold: given.get("breaker_threshold", WHOLE)?.unwrap_or(usual.breaker.threshold),
                rest: given.seconds("breaker_rest")?.unwrap_or(usual.breaker.rest),
                ..usual.breaker
            },
            max_concurrency: given.get("max_concurrency", WHOLE)?,
            source_concurrency: sources.collect::<PyResult<_>>()?,
            max_waiting: given.get("max_waiting", WHOLE)?.unwrap_or(usual.max_waiting),
            seed: given.get("seed", WHOLE)?,
            prefer: given.named("prefer")?,
            shadow: given.named("shadow")?.unwrap_or(usual.shadow),
            strategies: strategy_patterns(&strategies)?,
            lookup_timeout: given.seconds("lookup_timeout")?.unwrap_or(usual.lookup_timeout),
            lang: given.named("lang")?.unwrap_or(usual.lang),
            result_limit: given.get("result_limit", WHOLE)?.unwrap_or(usual.result_limit),
            result_limits: kind_limits(&limits)?,
            embed_weight,
            ledger: given.named("ledger")?.unwrap_or(usual.ledger),
            approval_lifetime: given.seconds("approval_lifetime")?.unwrap_or(usual.approval_lifetime),
        };
        Ok(PyHub {
            core: Arc::new(Hub::new(options)),
            generation: process::generation(),
            servers: OnceLock::new(),
            shared: SharedResults::default(),
            vendor_forms: VendorForms::default(),
            call_ids: AtomicU64::new(0),
            closed_by: OnceLock::new(),
            open: Mutex::new(Some(OpenHub::new())),
            served_on: Arc::default(),
        })
    }

    /// Registers what `toolhub._signature.build.describe` has described; returns the candidate and the one it replaces.
    ///
    /// `replace` removes every candidate of the same name, source and server, `instead_of` the one made from that object.
    #[pyo3(signature = (described, source, server, priority, options, replace=false, instead_of=None))]
    #[expect(clippy::too_many_arguments, reason = "one for each option of a registration")]
    fn register(
        slf: &Bound<'_, Self>,
        described: &Bound<'_, PyAny>,
        source: &str,
        server: Option<&str>,
        priority: Option<i32>,
        options: &Bound<'_, PyDict>,
        replace: bool,
        instead_of: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Py<PyCandidate>, Option<Py<PyCandidate>>)> {
        let core = &slf.get().core;
        slf.get().check_process()?;
        let tool = Arc::new(callable(core, slf.get().served_on.clone(), described, options)?);
        let replacement = match instead_of {
            _ if replace => ReplaceRule::All,
            Some(object) => ReplaceRule::Object(object.as_ptr() as usize),
            None => ReplaceRule::Same,
        };
        let (source, server) = (named("source", source)?, server.map(Arc::from));
        let gate = tool.spec.max_concurrency.map(|n| Gate::new(n, core.options.max_waiting));
        let made =
            Candidate::new(core.registry.next_id(), source, server, Arc::new(PythonTool(tool.clone())));
        let candidate = Candidate { priority: priority.unwrap_or(made.priority), gate, ..made };
        // A tool is made for one registration, so this is the first time.
        let _ = tool.stats.set(candidate.stats.clone());
        let (registered, replaced) = core.registry.register(candidate, replacement);
        let seen = |candidate| PyCandidate::new(slf, candidate);
        Ok((seen(registered)?, replaced.into_iter().next().map(seen).transpose()?))
    }

    /// Removes candidates of a name; with `object` only those that were made from it.
    #[pyo3(signature = (name, source=None, server=None, object=None))]
    fn unregister(
        slf: &Bound<'_, Self>,
        name: &Bound<'_, PyAny>,
        source: Option<&str>,
        server: Option<&str>,
        object: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        slf.get().check_process()?;
        let filter = filter(source, server)?;
        let object = object.map(|object| object.as_ptr() as usize);
        let is_meant = |candidate: &Candidate| {
            let own = candidate.tool.identity().map(|identity| identity.object);
            filter.matches(candidate) && (object.is_none() || object == own)
        };
        let name = as_text("name", name)?.to_string_lossy();
        let removed = slf.get().core.registry.unregister(&name, is_meant);
        removed.map_err(|entry| refused(slf, ErrorKind::InvalidArguments, several_tools(&name, &entry)))
    }

    #[pyo3(signature = (source=None, server=None, capability=None, category=None) -> "list[ToolInfo]")]
    fn tools<'py>(
        slf: &Bound<'py, Self>,
        source: Option<&str>,
        server: Option<&str>,
        capability: Option<&str>,
        category: Option<&str>,
    ) -> PyResult<Vec<Py<ToolInfo>>> {
        let filter = filter(source, server)?;
        let capability = capability.map(str::to_lowercase);
        let tags = capability.as_deref().map(|asked| answering(asked).concat());
        let tags = tags.as_ref();
        let keep = |candidate: &Candidate| {
            let spec = candidate.spec();
            filter.matches(candidate)
                && tags.is_none_or(|tags| tags.iter().any(|tag| spec.has_capability(tag)))
                && category.is_none_or(|wanted| spec.category.as_deref() == Some(wanted))
        };
        let (py, snapshot) = (slf.py(), slf.get().core.registry.snapshot());
        let shown: Vec<_> = py.detach(|| {
            snapshot.entries().filter_map(|(name, entry)| Some((name.clone(), kept(entry, keep)?))).collect()
        });
        shown.into_iter().map(|(name, candidates)| ToolInfo::new(slf, name, candidates)).collect()
    }

    /// Raises unless a server of this id is configured, or a registered tool has it.
    fn require_server(&self, py: Python<'_>, id: &str) -> PyResult<()> {
        let servers = self.servers();
        let servers = servers.as_deref().map(|servers| servers as &dyn ServerSet);
        match unknown_to(&self.core.registry.snapshot(), servers, id) {
            Some(error) => Err(tool_error(py, &error.in_language(self.core.options.lang))),
            None => Ok(()),
        }
    }

    /// The sentence that no server of this id is configured, with the ids that are.
    fn unknown_server(&self, id: &str) -> String {
        let known = self.servers().map(|servers| servers.ids()).unwrap_or_default();
        unknown_server(id, known).in_language(self.core.options.lang).message.into_owned()
    }

    fn get(slf: &Bound<'_, Self>, name: &Bound<'_, PyAny>) -> PyResult<Option<Py<ToolInfo>>> {
        let name = as_text("name", name)?.to_string_lossy();
        let snapshot = slf.get().core.registry.load();
        let Some(entry) = snapshot.find(&name) else { return Ok(None) };
        let meant = entry.meant(&entry.candidates);
        let candidates = kept(&entry, |one| meant.is_none_or(|tool| tool.admits(one)));
        candidates.map(|candidates| ToolInfo::new(slf, entry.name.clone(), candidates)).transpose()
    }

    fn find_by_capability<'py>(
        slf: &Bound<'py, Self>,
        capability: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<Py<PyCandidate>>> {
        let (py, snapshot) = (slf.py(), slf.get().core.registry.snapshot());
        let tag = as_text("capability", capability)?.to_string_lossy().to_lowercase();
        let found = py.detach(|| snapshot.answering(&tag));
        found.into_iter().flatten().map(|candidate| PyCandidate::new(slf, candidate)).collect()
    }

    /// The harmless tools that do the same as one that failed, best first.
    fn stand_ins(&self, py: Python<'_>, tool: &str) -> Vec<String> {
        py.detach(|| self.core.stand_ins(tool)).iter().map(|name| name.to_string()).collect()
    }

    /// The harmless tools of the kind that words ask for, best first.
    fn tools_for(&self, py: Python<'_>, said: &str) -> Vec<String> {
        py.detach(|| self.core.tools_for(said)).iter().map(|name| name.to_string()).collect()
    }

    fn capabilities(&self) -> BTreeMap<String, usize> {
        self.core.registry.load().tags().into_iter().map(|(tag, count)| (tag.to_owned(), count)).collect()
    }

    /// Awaits the version after the next change of the tools, or the present one if it is later than `version`.
    fn changed_after<'py>(&self, py: Python<'py>, version: u64) -> PyResult<Bound<'py, BridgeFuture>> {
        let mut changes = self.core.registry.watch();
        bridge::run(py, async move {
            let changed = changes.wait_for(|now| *now > version).await.map(|now| *now);
            Ok(changed.unwrap_or(version))
        })
    }

    #[getter]
    fn version(&self) -> u64 {
        self.core.registry.load().version()
    }

    fn __len__(&self) -> usize {
        self.core.registry.load().len()
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.core.registry.load().find(&as_text("name", name)?.to_string_lossy()).is_some())
    }

    /// `caller` is the id of a principal, or `*`; None: the caller of the served call that this code is a part of, or everyone.
    #[pyo3(signature = (name=None, caller=None) -> "dict[str, list[dict[str, Any]]]")]
    fn stats(
        &self,
        py: Python<'_>,
        name: Option<&Bound<'_, PyAny>>,
        caller: Option<&str>,
    ) -> PyResult<JsonValue> {
        let core = self.checked_core()?;
        let name = name.map(|name| as_text("name", name)).transpose()?.map(|name| name.to_string_lossy());
        let caller = counted_caller(py, caller)?;
        Ok(JsonValue(py.detach(|| core.stats_by_tool(name.as_deref(), caller.as_deref()))))
    }

    fn capability_rules(&self) -> PyResult<Vec<(String, Vec<String>)>> {
        Ok(self.checked_core()?.capability_rules().tags())
    }

    fn add_capability_words(&self, tag: &str, words: Vec<String>) -> PyResult<()> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.checked_core()?.change_capability_rules(|rules| rules.add(tag, &words));
        Ok(())
    }

    fn remove_capability(&self, tag: &str) -> PyResult<bool> {
        let mut removed = false;
        self.checked_core()?.change_capability_rules(|rules| removed = rules.remove(tag));
        Ok(removed)
    }

    fn extract_capabilities(&self, name: &str, description: &str) -> PyResult<Vec<String>> {
        Ok(self.checked_core()?.capability_rules().of_tool(name, description))
    }

    /// Forgets all tools and cached results; every later call is refused.
    fn close(&self) -> PyResult<()> {
        self.check_process()?;
        self.closed_by.get_or_init(|| thread::current().id());
        self.core.close();
        self.shared.clear();
        drop(self.open.lock().take());
        Ok(())
    }

    /// Tools may refer back to their hub, so the garbage collector has to see them. Only the registry's own reference to a
    /// tool is shown: an execution that runs it keeps the hub itself alive.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        for (_, entry) in self.core.registry.snapshot().families() {
            for candidate in &entry.candidates {
                if let Some(tool) = python_tool(candidate) {
                    tool.traverse(&visit)?;
                }
            }
        }
        for offer in self.core.own_offers.all() {
            traverse_offer(&offer, &visit)?;
        }
        self.shared.try_each(|result| visit.call(result))
    }

    fn __clear__(&self) {
        self.core.registry.clear();
        self.core.own_offers.clear();
        self.shared.clear();
    }
}

fn filter<'a>(source: Option<&str>, server: Option<&'a str>) -> PyResult<Filter<'a>> {
    Ok(Filter { source: source.map(|name| named("source", name)).transpose()?, server })
}

/// The tags that the built-in rules find for a tool; with `finer` also those that only registered tools get by default
/// (`pdf`, `analyze`, `test`, `webapp`, `history`).
#[pyfunction]
#[pyo3(signature = (name, description="", *, finer=false))]
pub fn extract_capabilities(name: &str, description: &str, finer: bool) -> Vec<String> {
    static RULES: std::sync::LazyLock<toolhub::registry::capability::CapabilityRules> =
        std::sync::LazyLock::new(Default::default);
    if finer { RULES.of_tool(name, description) } else { RULES.extract(name, description) }
}
