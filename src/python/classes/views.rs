//! Read-only pictures of what is registered, with the statistics of calls, for Python.

use crate::classes::hub::PyHub;
use crate::prelude::*;
use crate::runtime::call_scope;
use crate::values::arguments::callable::python_tool;
use crate::values::arguments::given;
use crate::values::json::{JsonValue, TypedDict};
use toolhub::model::{Effects, Safety, ToolSpec};
use toolhub::registry::{Candidate, NameEntry};

/// What a tool and each of its candidates say of themselves.
#[pyclass(frozen, subclass, module = "toolhub._core")]
pub struct ToolView {
    /// The first one speaks for all.
    candidates: Vec<Arc<Candidate>>,
    /// The hub, kept alive together with the tool.
    owner: Py<PyHub>,
}

impl ToolView {
    fn first(&self) -> &Candidate {
        &self.candidates[0]
    }

    fn spec(&self) -> &ToolSpec {
        self.first().spec()
    }

    /// The effects of the candidate that asks for the most care.
    fn least_safe(&self) -> Effects {
        let effects = self.candidates.iter().map(|candidate| candidate.spec().effects);
        effects.max_by_key(|effects| effects.safety).unwrap_or(Effects::UNKNOWN)
    }
}

#[pymethods]
impl ToolView {
    /// What it says of itself.
    #[getter]
    fn description(&self) -> &str {
        &self.spec().description
    }

    /// The JSON Schema of the arguments.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<TypedDict<'py>> {
        json::to_python(py, &self.spec().parameters).map(TypedDict)
    }

    /// The JSON Schema of its structured results, if its server gives one.
    #[getter]
    fn output_schema<'py>(&self, py: Python<'py>) -> PyResult<Option<TypedDict<'py>>> {
        let schema = py.detach(|| self.first().tool.definition_extras().remove("outputSchema"));
        schema.map(|schema| json::to_python(py, &schema).map(TypedDict)).transpose()
    }

    /// The tags, declared or seen from name and description; those of all candidates.
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

    /// Rules of the schema that are not checked before a call, and why: broken ones, and references without an end.
    #[getter]
    fn unchecked(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.first().tool.unchecked().iter().map(ToString::to_string).collect())
    }

    /// The hints that came with it, as MCP names them (`readOnlyHint`, `title`, …).
    #[getter]
    fn annotations<'py>(&self, py: Python<'py>) -> PyResult<TypedDict<'py>> {
        let annotations = Value::Object(self.spec().annotations.clone());
        json::to_python(py, &annotations).map(TypedDict)
    }

    /// Arguments that were given as examples.
    #[getter]
    fn examples(&self) -> Vec<JsonValue> {
        self.spec().examples.iter().cloned().map(JsonValue).collect()
    }

    /// The group that it was put into, if any.
    #[getter]
    fn category(&self) -> Option<&str> {
        self.spec().category.as_deref()
    }

    /// Where the `SKILL.md` of a skill is, a path or a URI; None for everything else.
    #[getter]
    fn location(&self) -> Option<&str> {
        self.spec().location.as_deref()
    }

    /// Its version, if it has one.
    #[getter]
    fn version(&self) -> Option<&str> {
        self.spec().version.as_deref()
    }

    /// Whether it, or any of its candidates, was declared to change something, or its name says so. See `safety`.
    #[getter]
    fn effects(&self) -> bool {
        self.least_safe().safety == Safety::MayAct
    }

    /// `harmless` on evidence, `may_act` when it was declared or the name says so, otherwise `unknown`; that of the least safe
    /// candidate.
    #[getter]
    fn safety(&self) -> &'static str {
        self.least_safe().safety.name()
    }

    /// What `safety` rests on, in words.
    #[getter]
    fn evidence(&self) -> String {
        self.least_safe().evidence.message().to_string()
    }

    /// What a notebook shows.
    #[pyo3(signature = (include=None, exclude=None))]
    fn _repr_mimebundle_<'py>(
        slf: &Bound<'py, Self>,
        include: Option<&Bound<'py, PyAny>>,
        exclude: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<TypedDict<'py>> {
        static SHOW: Imported = Imported::new("toolhub.display._views", "of_tool");
        // A notebook leaves out what it does not want.
        let _ = (include, exclude);
        Ok(TypedDict(SHOW.get(slf.py())?.call1((slf,))?))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.owner)
    }
}

/// One provider of a tool name.
#[pyclass(frozen, get_all, extends = ToolView, module = "toolhub", name = "Candidate")]
pub struct PyCandidate {
    /// The name of the tool.
    name: String,
    /// Where it comes from: `tools`, `skills` or `mcps`.
    source: &'static str,
    /// The id of its MCP server; None for everything else.
    server: Option<String>,
    /// The smaller one comes first: 0 for `tools`, 1 for `skills`, 2 for `mcps`, unless it was given.
    priority: i32,
    /// Whether it was declared to change nothing. See `safety`.
    read_only: bool,
    /// Whether calling it twice is as good as once, as declared.
    idempotent: bool,
    /// Seconds that one call may take, when it has a limit of its own.
    timeout: Option<f64>,
}

impl PyCandidate {
    pub fn new(owner: &Bound<'_, PyHub>, candidate: Arc<Candidate>) -> PyResult<Py<Self>> {
        let spec = candidate.spec();
        let shown = PyCandidate {
            name: spec.name.to_string(),
            source: candidate.source.name(),
            server: candidate.server.as_deref().map(str::to_owned),
            priority: candidate.priority,
            read_only: spec.effects.are_harmless() && spec.effects.are_declared(),
            idempotent: spec.idempotent,
            timeout: spec.timeout.map(|timeout| timeout.as_secs_f64()),
        };
        Py::new(owner.py(), (shown, ToolView { candidates: vec![candidate], owner: owner.clone().unbind() }))
    }
}

#[pymethods]
impl PyCandidate {
    /// What was registered: the function or object; None for a tool that lives elsewhere.
    #[getter]
    fn tool(slf: &Bound<'_, Self>) -> Option<Py<PyAny>> {
        python_tool(slf.as_super().get().first()).map(|tool| tool.object.clone_ref(slf.py()))
    }

    /// The notes that came with the registration; at least its capabilities.
    #[getter]
    fn meta<'py>(slf: &Bound<'py, Self>) -> PyResult<TypedDict<'py>> {
        let (py, view) = (slf.py(), slf.as_super().get());
        if let Some(meta) = python_tool(view.first()).and_then(|tool| tool.meta.as_ref()) {
            let meta = meta.bind(py);
            // A copy, so that its reader cannot change the hub's; one that goes in circles is only copied at its top.
            return given::copy(meta).or_else(|_| meta.call_method0(intern!(py, "copy"))).map(TypedDict);
        }
        let meta = PyDict::new(py);
        meta.set_item("capabilities", view.capabilities())?;
        if let Some(server) = &slf.get().server {
            meta.set_item("server", server)?;
        }
        Ok(TypedDict(meta.into_any()))
    }

    /// What its calls have shown so far; in a served call, those of its caller.
    #[getter]
    fn stats<'py>(slf: &Bound<'py, Self>) -> PyResult<TypedDict<'py>> {
        let (py, view) = (slf.py(), slf.as_super().get());
        let caller = counted_caller(py, None)?;
        let row = view.owner.get().core().stats_row(view.first(), caller.as_deref(), Instant::now());
        json::to_python(py, &row).map(TypedDict)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> String {
        format!("<Candidate {:?} from {}>", slf.get().name, slf.as_super().get().first().label())
    }
}

/// One tool name and its candidates. What it shows of itself is what its first candidate says.
#[pyclass(frozen, extends = ToolView, module = "toolhub", name = "ToolInfo")]
pub struct ToolInfo(Arc<str>);

impl ToolInfo {
    /// `candidates` are those that [`kept`] returned.
    pub fn new(
        owner: &Bound<'_, PyHub>,
        name: Arc<str>,
        candidates: Vec<Arc<Candidate>>,
    ) -> PyResult<Py<Self>> {
        let view = ToolView { candidates, owner: owner.clone().unbind() };
        Py::new(owner.py(), (ToolInfo(name), view))
    }
}

#[pymethods]
impl ToolInfo {
    /// The name that it is called by.
    #[getter]
    fn name(&self) -> &str {
        &self.0
    }

    /// Its providers, in the order in which they come into question.
    #[getter]
    fn candidates(slf: &Bound<'_, Self>) -> PyResult<Vec<Py<PyCandidate>>> {
        let (py, view) = (slf.py(), slf.as_super().get());
        view.candidates.iter().map(|one| PyCandidate::new(view.owner.bind(py), one.clone())).collect()
    }

    /// Whether `approve` is asked before a call: for all tools but the harmless ones.
    #[getter]
    fn needs_approval(slf: &Bound<'_, Self>) -> bool {
        !slf.as_super().get().least_safe().are_harmless()
    }

    /// Where it comes from: the sources of its candidates, in their order.
    #[getter]
    fn sources(slf: &Bound<'_, Self>) -> Vec<&'static str> {
        slf.as_super().get().candidates.iter().map(|candidate| candidate.source.name()).collect()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> String {
        let labels: Vec<_> = slf.as_super().get().candidates.iter().map(|one| one.label()).collect();
        format!("<ToolInfo {:?} from {}>", slf.get().name(), labels.join(", "))
    }
}

/// The candidates of a name that a listing shows, in order of priority; `None` when none is left.
pub fn kept(entry: &NameEntry, keep: impl Fn(&Candidate) -> bool) -> Option<Vec<Arc<Candidate>>> {
    let mut candidates: Vec<_> =
        entry.candidates.iter().filter(|candidate| keep(candidate)).cloned().collect();
    candidates.sort_by_key(|candidate| (candidate.priority, candidate.id));
    (!candidates.is_empty()).then_some(candidates)
}

/// Stands for all callers in the option of the same name.
const EVERYONE: &str = "*";

/// Whose calls are counted, `None` for those of everyone: the named caller's; without a name, those of the caller of the served
/// call that this code is a part of.
pub fn counted_caller(py: Python<'_>, asked: Option<&str>) -> PyResult<Option<Arc<str>>> {
    let caller = match asked {
        Some(id) => Some(Arc::from(id)),
        None => call_scope::principal(py)?.filter(|own| !own.is_anonymous()).map(|own| own.id.clone()),
    };
    Ok(caller.filter(|id| **id != *EVERYONE))
}
