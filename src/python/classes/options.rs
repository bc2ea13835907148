//! The options of a call and the patterns of permissions, from Python's values to the core's words.

use crate::prelude::*;
use crate::values::arguments::argument_checks::Checks;
use pyo3::conversion::FromPyObjectOwned;
use toolhub::Named;
use toolhub::invisible::one_line;
use toolhub::model::CallOptions;
use toolhub::pattern::PatternList;
use toolhub::select::StrategyPatterns;
use toolhub::text::nearest;
use toolhub::truncate::Limits;

/// The options of one call, made once and reused.
#[pyclass(frozen, module = "toolhub._core", name = "CallOptions")]
pub struct PyCallOptions {
    pub options: CallOptions,
    pub checks: Checks,
    pub cache_ttl: Option<Duration>,
    pub single_flight: bool,
    /// The result may be shared with identical calls.
    pub may_share: bool,
}

#[pymethods]
impl PyCallOptions {
    #[new]
    #[pyo3(signature = (strategy=None, timeout=None, deadline=None, max_parallel=None, hedge_after=None, source=None, server=None, validate=true, coerce=true, prefer=None, cache_ttl=None, single_flight=false, none_is_input=false, run=None))]
    #[expect(clippy::too_many_arguments, reason = "one for each keyword of hub.execute")]
    fn new(
        strategy: Option<&str>,
        timeout: Option<f64>,
        deadline: Option<f64>,
        max_parallel: Option<usize>,
        hedge_after: Option<f64>,
        source: Option<&str>,
        server: Option<&str>,
        validate: bool,
        coerce: bool,
        prefer: Option<&str>,
        cache_ttl: Option<f64>,
        single_flight: bool,
        none_is_input: bool,
        run: Option<&str>,
    ) -> PyResult<Self> {
        if let Some(run) = run.filter(|run| one_line(run).is_empty()) {
            let given = if run.is_empty() { "an empty text" } else { "a text without visible characters" };
            return Err(PyValueError::new_err(format!("run must be the name of a run, got {given}")));
        }
        let options = CallOptions {
            strategy: strategy.map(|name| named("strategy", name)).transpose()?,
            timeout: seconds("timeout", timeout)?,
            // What is left of a budget may be below zero: nothing is left.
            deadline: seconds("deadline", deadline.map(|left| if left < 0.0 { 0.0 } else { left }))?,
            max_parallel,
            hedge_after: seconds("hedge_after", hedge_after)?,
            source: source.map(|name| named("source", name)).transpose()?,
            server: server.map(Arc::from),
            prefer: prefer.map(|name| named("prefer", name)).transpose()?,
            run: run.map(Arc::from),
            ..CallOptions::default()
        };
        let cache_ttl = seconds("cache_ttl", cache_ttl)?;
        let checks = Checks { validate, coerce, none_is_input };
        let may_share = cache_ttl.is_some() || single_flight;
        Ok(PyCallOptions { options, checks, cache_ttl, single_flight, may_share })
    }
}

pub fn seconds(what: &str, value: Option<f64>) -> PyResult<Option<Duration>> {
    let convert = |seconds: f64| {
        // 30 years is effectively unlimited and safe to add to any clock. NaN is refused.
        let bounded = if seconds > 1e9 { 1e9 } else { seconds };
        Duration::try_from_secs_f64(bounded).map_err(|_| {
            PyValueError::new_err(format!("{what} must be a number of seconds, 0 or more, got {seconds}"))
        })
    };
    value.map(convert).transpose()
}

/// An argument that has to be text, or an error that names it.
pub fn as_text<'a, 'py>(what: &str, value: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyString>> {
    value.cast::<PyString>().map_err(|_| wrong(what, "text", value))
}

/// Options by name, as Python gave them. One that is None was not given.
pub struct GivenOptions<'a, 'py>(pub &'a Bound<'py, PyDict>);

impl<'py> GivenOptions<'_, 'py> {
    pub fn get<T: FromPyObjectOwned<'py>>(&self, name: &str, expected: &str) -> PyResult<Option<T>> {
        let given = self.0.get_item(name)?.filter(|value| !value.is_none());
        given.map(|value| value.extract().map_err(|_| wrong(name, expected, &value))).transpose()
    }

    pub fn named<T: Named>(&self, name: &str) -> PyResult<Option<T>> {
        self.get::<String>(name, "text")?.map(|given| named(name, &given)).transpose()
    }

    pub fn seconds(&self, name: &str) -> PyResult<Option<Duration>> {
        seconds(name, self.get(name, "a number of seconds")?)
    }
}

pub fn wrong(what: &str, expected: &str, given: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!("{what} must be {expected}, got {}", class_of(given)))
}

/// What a name means; the error says which names there are.
pub fn named<T: Named>(what: &str, name: &str) -> PyResult<T> {
    T::named(name).ok_or_else(|| {
        let names = T::NAMES.join("', '");
        let names =
            names.rsplit_once(", ").map_or(names.clone(), |(first, last)| format!("{first} or {last}"));
        PyValueError::new_err(format!("{what} must be '{names}', got {name:?}"))
    })
}

/// The strategies of a hub, by pattern.
pub fn strategy_patterns(given: &[(String, String)]) -> PyResult<StrategyPatterns> {
    let parsed = given.iter().map(|(pattern, name)| Ok((pattern.as_str(), named("strategy", name)?)));
    StrategyPatterns::new(parsed.collect::<PyResult<Vec<_>>>()?).map_err(PyValueError::new_err)
}

/// The limits of results by kind of tool, with these changes.
pub fn kind_limits(given: &[(String, usize)]) -> PyResult<Limits> {
    let mut limits = Limits::default();
    for (kind, limit) in given {
        if !limits.set(kind, *limit) {
            let near = nearest(kind, Limits::NAMES.into_iter());
            let hint = near.map_or_else(
                || format!("the kinds are {}", Limits::NAMES.join(", ")),
                |near| format!("did you mean '{near}'?"),
            );
            return Err(PyValueError::new_err(format!("result_limits has no kind '{kind}'; {hint}")));
        }
    }
    Ok(limits)
}

/// Patterns that allow and, with `!`, forbid tools.
#[pyclass(frozen, module = "toolhub", name = "PatternList")]
pub struct PyPatternList {
    pub inner: Arc<PatternList>,
}

#[pymethods]
impl PyPatternList {
    #[new]
    #[pyo3(signature = (patterns: "list[str]"))]
    fn new(patterns: Vec<Bound<'_, PyString>>) -> Self {
        let patterns: Vec<_> = patterns.iter().map(|pattern| pattern.to_string_lossy()).collect();
        PyPatternList { inner: Arc::new(PatternList::new(patterns.iter().map(|pattern| &**pattern))) }
    }

    /// Whether a tool is allowed on this server; None is a tool that belongs to no server.
    fn allows(&self, name: &Bound<'_, PyString>, server: Option<&Bound<'_, PyString>>) -> bool {
        let server = server.map(|server| server.to_string_lossy());
        self.inner.allows(&name.to_string_lossy(), server.as_deref())
    }

    /// Whether a tool of this name may be allowed on some server.
    fn may_allow(&self, name: &Bound<'_, PyString>) -> bool {
        self.inner.may_allow(&name.to_string_lossy())
    }

    /// Whether a pattern names a server, so that the provider of a tool decides.
    #[getter]
    fn names_servers(&self) -> bool {
        self.inner.names_servers()
    }
}
