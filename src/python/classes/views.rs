//! Read-only pictures of what is registered, with the statistics of calls, for Python.

use crate::classes::hub::PyHub;
use crate::prelude::*;
use crate::runtime::call_scope;
use crate::values::arguments::callable::python_tool;
use crate::values::arguments::copying;
use crate::values::json::JsonValue;
use crate::values::stub_types::TypedDict;
use serde_json::{Map, json};
use std::time::UNIX_EPOCH;
use toolhub::hub::{CallerRecord, Hub};
use toolhub::model::{Effects, Safety};
use toolhub::registry::{Candidate, NameEntry, Snapshot};
use toolhub::stats::{CandidateStats, StatsView};

/// One provider of a tool name.
#[pyclass(frozen, module = "toolhub", name = "Candidate")]
pub struct PyCandidate {
    inner: Arc<Candidate>,
    /// The hub, kept alive together with the tool.
    owner: Py<PyHub>,
}

impl PyCandidate {
    pub fn new(owner: Py<PyHub>, inner: Arc<Candidate>) -> Self {
        PyCandidate { inner, owner }
    }
}

#[pymethods]
impl PyCandidate {
    /// The name of the tool.
    #[getter]
    fn name(&self) -> &str {
        &self.inner.spec().name
    }

    /// What the tool says of itself.
    #[getter]
    fn description(&self) -> &str {
        &self.inner.spec().description
    }

    /// Where it comes from: `tools`, `skills` or `mcps`.
    #[getter]
    fn source(&self) -> &'static str {
        self.inner.source.name()
    }

    /// The id of its MCP server; None for everything else.
    #[getter]
    fn server(&self) -> Option<&str> {
        self.inner.server.as_deref()
    }

    /// The smaller one comes first: 0 for `tools`, 1 for `skills`, 2 for `mcps`, unless it was given.
    #[getter]
    fn priority(&self) -> i32 {
        self.inner.priority
    }

    /// Its tags, declared or seen from name and description.
    #[getter]
    fn capabilities(&self) -> Vec<&str> {
        self.inner.spec().capabilities.iter().map(|tag| &**tag).collect()
    }

    /// The JSON Schema of the arguments.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<TypedDict<'py>> {
        json::to_python(py, &self.inner.spec().parameters).map(TypedDict)
    }

    /// The JSON Schema of its structured results, if its server gives one.
    #[getter]
    fn output_schema<'py>(&self, py: Python<'py>) -> PyResult<Option<TypedDict<'py>>> {
        let schema = py.detach(|| self.inner.tool.definition_extras().remove("outputSchema"));
        schema.map(|schema| json::to_python(py, &schema).map(TypedDict)).transpose()
    }

    /// Rules of the schema that are not checked before a call, and why: broken ones, and references without an end.
    #[getter]
    fn unchecked(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.inner.tool.unchecked().iter().map(ToString::to_string).collect())
    }

    /// The hints that came with it, as MCP names them (`readOnlyHint`, `title`, …).
    #[getter]
    fn annotations<'py>(&self, py: Python<'py>) -> PyResult<TypedDict<'py>> {
        let annotations = Value::Object(self.inner.spec().annotations.clone());
        json::to_python(py, &annotations).map(TypedDict)
    }

    /// Arguments that were given as examples.
    #[getter]
    fn examples(&self) -> Vec<JsonValue> {
        self.inner.spec().examples.iter().cloned().map(JsonValue).collect()
    }

    /// The group that it was put into, if any.
    #[getter]
    fn category(&self) -> Option<&str> {
        self.inner.spec().category.as_deref()
    }

    /// Where the `SKILL.md` of a skill is, a path or a URI; None for everything else.
    #[getter]
    fn location(&self) -> Option<&str> {
        self.inner.spec().location.as_deref()
    }

    /// Its version, if it has one.
    #[getter]
    fn version(&self) -> Option<&str> {
        self.inner.spec().version.as_deref()
    }

    /// Whether it was declared to change something, or its name says so. See `safety`.
    #[getter]
    fn effects(&self) -> bool {
        self.inner.spec().effects.safety == Safety::MayAct
    }

    /// Whether it was declared to change nothing. See `safety`.
    #[getter]
    fn read_only(&self) -> bool {
        let effects = self.inner.spec().effects;
        effects.are_harmless() && effects.are_declared()
    }

    /// `harmless` on evidence, `may_act` when it was declared or the name says so, otherwise `unknown`.
    #[getter]
    fn safety(&self) -> &'static str {
        self.inner.spec().effects.safety.name()
    }

    /// What `safety` rests on, in words.
    #[getter]
    fn evidence(&self) -> String {
        self.inner.spec().effects.evidence.message().to_string()
    }

    /// Whether calling it twice is as good as once, as declared.
    #[getter]
    fn idempotent(&self) -> bool {
        self.inner.spec().idempotent
    }

    /// Seconds that one call may take, when it has a limit of its own.
    #[getter]
    fn timeout(&self) -> Option<f64> {
        self.inner.spec().timeout.map(|timeout| timeout.as_secs_f64())
    }

    /// What was registered: the function or object; None for a tool that lives elsewhere.
    #[getter]
    fn tool(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        python_tool(&self.inner).map(|tool| tool.object.clone_ref(py))
    }

    /// The notes that came with the registration; at least its capabilities.
    #[getter]
    pub fn meta<'py>(&self, py: Python<'py>) -> PyResult<TypedDict<'py>> {
        if let Some(meta) = python_tool(&self.inner).and_then(|tool| tool.meta.as_ref()) {
            let meta = meta.bind(py);
            // A copy, so that its reader cannot change the hub's; one that goes in circles is only copied at its top.
            return copying::copy(meta).or_else(|_| meta.call_method0(intern!(py, "copy"))).map(TypedDict);
        }
        let meta = PyDict::new(py);
        meta.set_item("capabilities", self.capabilities())?;
        if let Some(server) = self.server() {
            meta.set_item("server", server)?;
        }
        Ok(TypedDict(meta.into_any()))
    }

    /// What its calls have shown so far; in a served call, those of its caller.
    #[getter]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<TypedDict<'py>> {
        let counted = CountedCalls::of(py, self.owner.get().core(), None)?;
        row_of(py, &self.inner, &counted, Instant::now()).map(TypedDict)
    }

    /// What a notebook shows.
    #[pyo3(signature = (include=None, exclude=None))]
    fn _repr_mimebundle_<'py>(
        slf: &Bound<'py, Self>,
        include: Option<&Bound<'py, PyAny>>,
        exclude: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<TypedDict<'py>> {
        // A notebook leaves out what it does not want.
        let _ = (include, exclude);
        shown_in_notebook(slf.as_any())
    }

    fn __repr__(&self) -> String {
        format!("<Candidate {:?} from {}>", &*self.inner.spec().name, self.inner.label())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.owner)
    }
}

/// One tool name and its candidates. What it shows of itself is what its first candidate says.
#[pyclass(frozen, module = "toolhub", name = "ToolInfo")]
pub struct ToolInfo {
    name: Arc<str>,
    candidates: Vec<Arc<Candidate>>,
    owner: Py<PyHub>,
}

impl ToolInfo {
    /// The effects of the candidate that asks for the most care.
    fn least_safe(&self) -> Effects {
        let effects = self.candidates.iter().map(|candidate| candidate.spec().effects);
        effects.max_by_key(|effects| effects.safety).unwrap_or(Effects::UNKNOWN)
    }

    /// `None` when no candidate is left.
    pub fn new(
        owner: &Bound<'_, PyHub>,
        entry: &NameEntry,
        keep: impl Fn(&Candidate) -> bool,
    ) -> Option<Self> {
        kept(entry, keep).map(|candidates| ToolInfo::of(owner, entry.name.clone(), candidates))
    }

    /// `candidates` are those that [`kept`] returned.
    pub fn of(owner: &Bound<'_, PyHub>, name: Arc<str>, candidates: Vec<Arc<Candidate>>) -> Self {
        ToolInfo { name, candidates, owner: owner.clone().unbind() }
    }

    fn first(&self, py: Python<'_>) -> PyCandidate {
        PyCandidate::new(self.owner.clone_ref(py), self.candidates[0].clone())
    }
}

#[pymethods]
impl ToolInfo {
    /// The name that it is called by.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// What its first candidate says of itself.
    #[getter]
    fn description(&self) -> &str {
        &self.candidates[0].spec().description
    }

    /// The JSON Schema of the arguments of its first candidate.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<TypedDict<'py>> {
        self.first(py).parameters(py)
    }

    /// The JSON Schema of the structured results of its first candidate, if its server gives one.
    #[getter]
    fn output_schema<'py>(&self, py: Python<'py>) -> PyResult<Option<TypedDict<'py>>> {
        self.first(py).output_schema(py)
    }

    /// The tags of all candidates.
    #[getter]
    fn capabilities(&self) -> Vec<&str> {
        let mut tags = Vec::new();
        for tag in self.candidates.iter().flat_map(|candidate| &candidate.spec().capabilities) {
            if !tags.contains(&&**tag) {
                tags.push(&**tag);
            }
        }
        tags
    }

    /// Its providers, in the order in which they come into question.
    #[getter]
    fn candidates(&self, py: Python<'_>) -> Vec<PyCandidate> {
        self.candidates
            .iter()
            .map(|inner| PyCandidate::new(self.owner.clone_ref(py), inner.clone()))
            .collect()
    }

    /// Rules of the schema that are not checked before a call, and why: broken ones, and references without an end.
    #[getter]
    fn unchecked(&self, py: Python<'_>) -> Vec<String> {
        self.first(py).unchecked(py)
    }

    /// The hints of its first candidate, as MCP names them (`readOnlyHint`, `title`, …).
    #[getter]
    fn annotations<'py>(&self, py: Python<'py>) -> PyResult<TypedDict<'py>> {
        self.first(py).annotations(py)
    }

    /// Arguments that were given as examples.
    #[getter]
    fn examples(&self, py: Python<'_>) -> Vec<JsonValue> {
        self.first(py).examples()
    }

    /// The group that it was put into, if any.
    #[getter]
    fn category(&self) -> Option<&str> {
        self.candidates[0].spec().category.as_deref()
    }

    /// Where the `SKILL.md` of a skill is, a path or a URI; None for everything else.
    #[getter]
    fn location(&self) -> Option<&str> {
        self.candidates[0].spec().location.as_deref()
    }

    /// Its version, if it has one.
    #[getter]
    fn version(&self) -> Option<&str> {
        self.candidates[0].spec().version.as_deref()
    }

    /// Whether any candidate was declared to change something, or its name says so. See `safety`.
    #[getter]
    fn effects(&self) -> bool {
        self.least_safe().safety == Safety::MayAct
    }

    /// The safety of the least safe candidate: `harmless`, `unknown` or `may_act`.
    #[getter]
    fn safety(&self) -> &'static str {
        self.least_safe().safety.name()
    }

    /// What `safety` rests on, in words.
    #[getter]
    fn evidence(&self) -> String {
        self.least_safe().evidence.message().to_string()
    }

    /// Whether `approve` is asked before a call: for all tools but the harmless ones.
    #[getter]
    fn needs_approval(&self) -> bool {
        !self.least_safe().are_harmless()
    }

    /// Where it comes from: the sources of its candidates, in their order.
    #[getter]
    fn sources(&self) -> Vec<&'static str> {
        self.candidates.iter().map(|candidate| candidate.source.name()).collect()
    }

    /// What a notebook shows.
    #[pyo3(signature = (include=None, exclude=None))]
    fn _repr_mimebundle_<'py>(
        slf: &Bound<'py, Self>,
        include: Option<&Bound<'py, PyAny>>,
        exclude: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<TypedDict<'py>> {
        // A notebook leaves out what it does not want.
        let _ = (include, exclude);
        shown_in_notebook(slf.as_any())
    }

    fn __repr__(&self) -> String {
        let labels: Vec<_> = self.candidates.iter().map(|candidate| candidate.label()).collect();
        format!("<ToolInfo {:?} from {}>", self.name(), labels.join(", "))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.owner)
    }
}

fn shown_in_notebook<'py>(tool: &Bound<'py, PyAny>) -> PyResult<TypedDict<'py>> {
    static SHOW: Imported = Imported::new("toolhub.display._views", "of_tool");
    Ok(TypedDict(SHOW.get(tool.py())?.call1((tool,))?))
}

/// The candidates of a name that a listing shows, in order of priority; `None` when none is left.
pub fn kept(entry: &NameEntry, keep: impl Fn(&Candidate) -> bool) -> Option<Vec<Arc<Candidate>>> {
    let mut candidates: Vec<_> =
        entry.candidates.iter().filter(|candidate| keep(candidate)).cloned().collect();
    candidates.sort_by_key(|candidate| (candidate.priority, candidate.id));
    (!candidates.is_empty()).then_some(candidates)
}

/// Whose calls are counted.
pub enum CountedCalls {
    OfEveryone,
    /// Those of one caller of a served hub, if it has made any.
    OfCaller(Option<Arc<CallerRecord>>),
}

/// Stands for all callers in the option of the same name.
const EVERYONE: &str = "*";

impl CountedCalls {
    /// Those of the named caller; without a name, of the caller of the served call that this code is a part of, or of everyone.
    pub fn of(py: Python<'_>, hub: &Hub, caller: Option<&str>) -> PyResult<Self> {
        let own = match caller {
            Some(_) => None,
            None => call_scope::principal(py)?.filter(|principal| !principal.is_anonymous()),
        };
        let id = caller.or(own.as_ref().map(|principal| &*principal.id));
        Ok(match id.filter(|id| *id != EVERYONE) {
            Some(id) => CountedCalls::OfCaller(hub.caller(id)),
            None => CountedCalls::OfEveryone,
        })
    }

    fn view(&self, candidate: &Candidate, now: Instant) -> StatsView {
        match self {
            CountedCalls::OfEveryone => candidate.stats.view(now),
            CountedCalls::OfCaller(Some(caller)) => caller.stats_of(candidate).view(now),
            CountedCalls::OfCaller(None) => CandidateStats::default().view(now),
        }
    }
}

/// What the calls of a candidate have shown so far.
pub fn row_of<'py>(
    py: Python<'py>,
    candidate: &Candidate,
    counted: &CountedCalls,
    now: Instant,
) -> PyResult<Bound<'py, PyAny>> {
    let view = counted.view(candidate, now);
    let failures = view.failures.iter().map(|(kind, count)| (kind.name().to_owned(), json!(count)));
    // Calls of no tool reach 2^53.
    let success_rate = (view.calls > 0).then(|| view.successes as f64 / view.calls as f64);
    let last = view.last_success.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let row = json!({
        "tool": &*candidate.spec().name, "source": candidate.source.name(), "server": candidate.server.as_deref(),
        "variant": candidate.variant, "calls": view.calls, "successes": view.successes,
        "failures": failures.collect::<Map<_, _>>(), "success_rate": success_rate,
        "success_ewma": view.success_rate, "latency_ewma_ms": view.latency_ewma_ms,
        "latency_p50_ms": view.latency_p50_ms, "latency_p95_ms": view.latency_p95_ms,
        "last_success": last.map(|since| since.as_secs_f64()),
        "breaker": view.breaker.name(), "abandoned": view.abandoned,
    });
    json::to_python(py, &row)
}

/// The names whose statistics are asked for, in the order of the list. A candidate counts once, by the name that it gave.
fn asked(snapshot: &Snapshot, name: Option<&str>) -> Vec<Arc<NameEntry>> {
    if let Some(name) = name {
        return snapshot.find(name).into_iter().collect();
    }
    let mut all: Vec<_> = snapshot.families().map(|(_, entry)| entry.clone()).collect();
    all.sort_by_key(|entry| entry.position());
    all
}

/// The rows of each tool name, or of one.
pub fn stats_by_tool<'py>(
    py: Python<'py>,
    snapshot: &Snapshot,
    name: Option<&str>,
    counted: &CountedCalls,
) -> PyResult<Bound<'py, PyDict>> {
    let (grouped, now) = (PyDict::new(py), Instant::now());
    for entry in asked(snapshot, name) {
        let rows = PyList::empty(py);
        for candidate in &entry.candidates {
            rows.append(row_of(py, candidate, counted, now)?)?;
        }
        grouped.set_item(&*entry.name, rows)?;
    }
    Ok(grouped)
}
