//! Every `ToolResult`: of a call that ran, of one that was refused, and copies of a result.

use crate::drivers::execution::{Attempt, State, replayed_time};
use crate::prelude::*;
use crate::runtime::interpreter::released;
use crate::values::arguments::callable::{CallableKind, python_tool, raised};
use crate::values::arguments::given::{is_container, occurs_once};
use crate::values::results::blocks::{Blocks, text_of};
use crate::values::results::templates::{
    CandidateTemplates, blank_meta, describe_call, describe_error, empty_meta, fill_meta, fill_success,
    new_attempt, source_name,
};
use crate::values::results::text::merged;
use crate::values::unicode::{start_of, string};
use crate::values::value;
use pyo3::types::PyFrozenSet;
use smallvec::SmallVec;
use std::collections::HashSet;
use toolhub::error::Outcome;
use toolhub::execute::Fate;
use toolhub::hub::PlannedRun;
use toolhub::invisible::error_line;
use toolhub::merge::{self, MergedText};
use toolhub::message::Message;
use toolhub::model::Lang;
use toolhub::plan::answer_kind;
use toolhub::registry::Candidate;
use toolhub::select::Rule;
use toolhub::shape::content::ImageNotes;
use toolhub::tape::recording_of;

/// A new `ToolResult`: a dict with attributes, defined in Python.
fn new_result(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    Ok(value::tool_result(py)?.call0()?.cast_into()?)
}

/// A result that is being made, and its `_meta`.
struct Unfinished<'py> {
    result: Bound<'py, PyDict>,
    meta: Bound<'py, PyDict>,
}

/// A run, and what its attempts have given.
struct EndedAttempts<'a, 'py> {
    py: Python<'py>,
    plan: &'a PlannedRun,
    attempts: &'a mut [Attempt],
}

/// The result of an execution, in the language of its hub.
pub fn build(py: Python<'_>, mut finished: State, now: Instant) -> PyResult<Bound<'_, PyDict>> {
    let Some(plan) = finished.plan.take() else {
        return refused(py, None, &HubError::new(ErrorKind::Cancelled, message!("Cancelled.")));
    };
    let given = EndedAttempts { py, plan: &plan, attempts: &mut finished.attempts };
    let result = given.result(now).or_else(|error| unreadable(py, &plan, error))?;
    mark_language(&result, plan.lang)?;
    Ok(result)
}

/// Frames around the result, which Python writes, follow the language of its hub.
pub fn mark_language(result: &Bound<'_, PyDict>, lang: Lang) -> PyResult<()> {
    match lang {
        Lang::En => Ok(()),
        lang => result.setattr(intern!(result.py(), "_lang"), lang.name()),
    }
}

impl<'py> EndedAttempts<'_, 'py> {
    fn result(mut self, now: Instant) -> PyResult<Bound<'py, PyDict>> {
        let (py, plan, result) = (self.py, self.plan, new_result(self.py)?);
        let has_value =
            |slot: usize| !self.attempts[slot].value.as_ref().is_none_or(|value| value.is_none(py));
        let winners = plan.merged_slots(has_value);
        let best = winners.iter().min().map(|slot| &*plan.candidates[*slot]);
        let meta = match best {
            Some(candidate) => meta_of(py, candidate, plan.lang)?,
            None => blank_meta(py)?,
        };
        let took = replayed_time(plan).unwrap_or_else(|| now.saturating_duration_since(plan.run.begun()));
        describe_call(&meta, best, plan.strategy, took)?;
        if best.is_none() {
            meta.set_item(intern!(py, "tool"), &*plan.what)?;
        }
        if plan.rule != Rule::OneCandidate {
            meta.set_item(intern!(py, "rule"), &*plan.rule.sentence())?;
        }
        let errors = self.describe_attempts(&meta, best.is_some(), now)?;
        let attempts = &mut *self.attempts;
        match winners.as_slice() {
            [] => {
                let final_error = plan
                    .final_error(errors.iter().map(|(slot, error)| (*slot, error)))
                    .in_language(plan.lang);
                let retryable = final_error.is_retryable(plan.is_repeatable());
                let same = || errors.iter().filter(|(_, error)| error.message == final_error.message);
                let sent = same().map(|(slot, _)| *slot).find(|slot| attempts[*slot].blocks.is_some());
                let blocks = sent.and_then(|slot| attempts[slot].blocks.take());
                let unfinished = Unfinished::with(result, meta, blocks)?;
                let exception =
                    same().chain(&errors).find_map(|(slot, _)| attempts[*slot].exception.as_deref());
                match same().find_map(|(slot, _)| attempts[*slot].value.as_ref()) {
                    Some(own) => unfinished.own_failure(&final_error, retryable, own.bind(py)),
                    None => unfinished.failure(&final_error, retryable, exception),
                }
            }
            [only] => {
                let value = attempts[*only].value.take().unwrap_or_else(|| py.None());
                let unfinished = Unfinished::with(result, meta, attempts[*only].blocks.take())?;
                match attempts[*only].is_own_result {
                    true => unfinished.own_success(value.bind(py)),
                    false => unfinished.success(value),
                }
            }
            many => {
                let MergedText { text, truncated } = self.merged(many)?;
                let sources = many.iter().map(|slot| source_name(py, plan.candidates[*slot].source));
                meta.set_item(intern!(py, "synthesized"), true)?;
                meta.set_item(intern!(py, "synthesis_method"), intern!(py, "simple_merge"))?;
                meta.set_item(intern!(py, "source_count"), many.len())?;
                meta.set_item(intern!(py, "truncated"), truncated)?;
                meta.set_item(intern!(py, "sources"), PyList::new(py, sources.collect::<Vec<_>>())?)?;
                result.setattr(intern!(py, "_answer_kind"), answer_kind(plan).name())?;
                result.setattr(intern!(py, "_full"), self.whole_answers(many)?)?;
                Unfinished { result, meta }.success(string(py, &text)?.into_any().unbind())
            }
        }
    }

    /// Lists the candidates that were tried and skipped, and their errors; returns the errors.
    fn describe_attempts(
        &mut self,
        meta: &Bound<'_, PyDict>,
        answered: bool,
        now: Instant,
    ) -> PyResult<Vec<(usize, HubError)>> {
        let (py, plan) = (self.py, self.plan);
        let mut tried: SmallVec<[Bound<'_, PyDict>; 4]> = SmallVec::new();
        let mut warnings: Vec<Message> = Vec::new();
        let mut unchecked: Vec<String> = Vec::new();
        let mut skipped = Vec::new();
        let mut failed = Vec::new();
        let mut errors = Vec::new();
        for (slot, attempt) in self.attempts.iter_mut().enumerate() {
            let candidate = &plan.candidates[slot];
            let fate = plan.run.fate(slot);
            if fate == Fate::NotTried {
                continue;
            }
            warnings.append(&mut attempt.warnings);
            unchecked.extend(attempt.unchecked.drain(..).map(|rule| rule.to_string()));
            let usual = match (fate, templates_of(py, candidate, plan.lang)?) {
                (Fate::Succeeded, Some(templates)) => Some(templates.won.bind(py).copy()?),
                // It lost to one that answered.
                (Fate::Stopped, Some(templates)) if answered => Some(templates.lost.bind(py).copy()?),
                _ => None,
            };
            let ran = match recording_of(candidate) {
                Some(recording) => recording.ms,
                None => plan.run.duration(slot, now).unwrap_or_default().as_secs_f64() * 1e3,
            };
            if let Some(row) = usual {
                row.set_item(intern!(py, "duration_ms"), ran)?;
                tried.push(row);
                continue;
            }
            let row = new_attempt(&tool_name(py, candidate), candidate)?;
            row.set_item(intern!(py, "ok"), fate == Fate::Succeeded)?;
            row.set_item(intern!(py, "duration_ms"), ran)?;
            let reported = attempt.error.take().map(|error| *error);
            if let Some(error) = reported.or_else(|| plan.silent_error(slot)) {
                let error = error.in_language(plan.lang);
                describe_error(&row, &error)?;
                // Losing a race is not an error.
                if fate != Fate::Stopped {
                    failed.push(row.copy()?);
                }
                errors.push((slot, error));
            }
            if fate == Fate::Rejected { skipped.push(row) } else { tried.push(row) }
        }
        meta.set_item(intern!(py, "attempts"), PyList::new(py, tried)?)?;
        if !warnings.is_empty() {
            warnings.dedup();
            let warnings: Vec<_> = warnings.iter().map(|warning| warning.text(plan.lang)).collect();
            meta.set_item(intern!(py, "warnings"), warnings)?;
        }
        if !unchecked.is_empty() {
            unchecked.dedup();
            meta.set_item(intern!(py, "unchecked"), unchecked)?;
        }
        if !skipped.is_empty() {
            meta.set_item(intern!(py, "skipped"), skipped)?;
        }
        if !failed.is_empty() {
            meta.set_item(intern!(py, "errors"), failed)?;
        }
        Ok(errors)
    }

    /// Every answer as it came, with its source.
    fn whole_answers(&self, winners: &[usize]) -> PyResult<Bound<'py, PyList>> {
        let (py, plan) = (self.py, self.plan);
        let answers = PyList::empty(py);
        for slot in winners {
            let row = PyDict::new(py);
            row.set_item(intern!(py, "source"), plan.candidates[*slot].label())?;
            row.set_item(intern!(py, "result"), inner_value(py, &self.attempts[*slot])?)?;
            answers.append(row)?;
        }
        Ok(answers)
    }

    fn merged(&self, winners: &[usize]) -> PyResult<MergedText> {
        let (py, plan) = (self.py, self.plan);
        let mut parts = Vec::with_capacity(winners.len());
        for slot in winners {
            let value = inner_value(py, &self.attempts[*slot])?;
            let text = text_of(&value, self.attempts[*slot].blocks.as_deref(), ImageNotes::Shown)?;
            parts.push((plan.candidates[*slot].label(), text.unwrap_or_default().into()));
        }
        Ok(merged(py, &parts, merge::PART_LIMIT))
    }
}

/// The result of a call whose answer raises when it is read.
fn unreadable<'py>(py: Python<'py>, plan: &PlannedRun, error: PyErr) -> PyResult<Bound<'py, PyDict>> {
    let tool = &plan.what;
    let failed =
        raised(py, CallableKind::Tool, tool, &error).with_outcome(Outcome::Unknown).in_language(plan.lang);
    Unfinished::new(py, Some(tool))?.failure(&failed, failed.is_retryable(false), Some(&error))
}

/// The result of a call that ended before any candidate was tried.
pub fn refused<'py>(py: Python<'py>, tool: Option<&str>, error: &HubError) -> PyResult<Bound<'py, PyDict>> {
    Unfinished::new(py, tool)?.failure(error, error.is_retryable(false), None)
}

/// The result of a call that was made before, with its value.
pub fn succeeded<'py>(py: Python<'py>, tool: &str, value: Py<PyAny>) -> PyResult<Bound<'py, PyDict>> {
    Unfinished::new(py, Some(tool))?.success(value)
}

/// The result of a call that ended before any candidate was tried; the kind decides `retryable` and `outcome`.
#[pyfunction]
pub fn failed_result<'py>(
    tool: &Bound<'py, PyString>,
    kind: &str,
    message: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyAny>> {
    let kind = ErrorKind::named(kind)
        .ok_or_else(|| PyValueError::new_err("kind must be one of toolhub.ErrorKind"))?;
    let error = HubError::new(kind, message.to_string_lossy().into_owned());
    refused(tool.py(), Some(&tool.to_string_lossy()), &error).map(Bound::into_any)
}

/// A copy that its owner may change: keys, value, `_meta` and every attribute.
///
/// A value that cannot be copied is shared, and so is what never changes: an exception with its traceback, and content
/// blocks. Copies run code of the user, so no lock may be held.
pub fn copy_result<'py>(result: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
    let py = result.py();
    let copy = new_result(py)?;
    for (key, value) in result {
        copy.set_item(key, copy_of(&value)?)?;
    }
    for (name, value) in result.getattr(intern!(py, "__dict__"))?.cast_into::<PyDict>()? {
        copy.setattr(name.cast_into::<PyString>()?, copy_of(&value)?)?;
    }
    Ok(copy)
}

fn copy_of<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    static DEEPCOPY: Imported = Imported::new("copy", "deepcopy");
    if value.is_instance_of::<PyBaseException>() || value.is_instance_of::<Blocks>() {
        return Ok(value.clone());
    }
    Ok(DEEPCOPY.get(value.py())?.call1((value,)).unwrap_or_else(|_| value.clone()))
}

impl<'py> Unfinished<'py> {
    /// About nothing is known but, perhaps, the tool.
    fn new(py: Python<'py>, tool: Option<&str>) -> PyResult<Self> {
        let tool = tool.map(|tool| PyString::new(py, tool));
        Ok(Unfinished { result: new_result(py)?, meta: empty_meta(py, tool.as_ref())? })
    }

    /// With what a server sent besides the value: content, structured content and `_meta`.
    fn with(
        result: Bound<'py, PyDict>,
        meta: Bound<'py, PyDict>,
        blocks: Option<Box<Blocks>>,
    ) -> PyResult<Self> {
        let py = result.py();
        if let Some(blocks) = blocks {
            if let Some(server_meta) = &blocks.meta {
                meta.set_item(intern!(py, "server_meta"), json::to_python(py, server_meta)?)?;
            }
            result.setattr(intern!(py, "_blocks"), *blocks)?;
        }
        Ok(Unfinished { result, meta })
    }

    fn success(self, value: Py<PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let Unfinished { result, meta } = self;
        let py = result.py();
        fill_success(&result)?;
        result.set_item(intern!(py, "result"), value)?;
        result.set_item(intern!(py, "_meta"), meta)?;
        Ok(result)
    }

    /// The result of a tool that returned a mapping with `success`: its keys are those of the result.
    fn own_success(self, own: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        take_over(&self.result, own)?;
        self.result.set_item(intern!(own.py(), "result"), value::own_result(own)?)?;
        self.ended(true)
    }

    fn ended(self, success: bool) -> PyResult<Bound<'py, PyDict>> {
        let Unfinished { result, meta } = self;
        result.set_item(intern!(result.py(), "success"), success)?;
        result.set_item(intern!(result.py(), "_meta"), meta)?;
        Ok(result)
    }

    /// The failure that a tool reported with such a mapping. A text is shown as every error is: one line without commands to
    /// terminals. In the place of an error that is absent or empty stands the sentence.
    fn own_failure(
        self,
        error: &HubError,
        retryable: bool,
        own: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = own.py();
        take_over(&self.result, own)?;
        let details = error_details(py, error, retryable)?;
        details.set_item(intern!(py, "message"), &*error.message)?;
        self.meta.set_item(intern!(py, "error"), details)?;
        let result = self.ended(false)?;
        let given = result.get_item(intern!(py, "error"))?;
        let line = match given.as_ref().map(|given| given.cast::<PyString>()) {
            Some(Ok(text)) => {
                let text = start_of(text, usize::MAX)?;
                released(py, text.len(), move || error_line(&text, usize::MAX))
            }
            _ if given.as_ref().is_some_and(|given| given.is_truthy().unwrap_or(true)) => return Ok(result),
            _ => String::new(),
        };
        let shown = if line.is_empty() { &*error.message } else { &line };
        result.set_item(intern!(py, "error"), string(py, shown)?)?;
        Ok(result)
    }

    fn failure(
        self,
        error: &HubError,
        retryable: bool,
        exception: Option<&PyErr>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = self.result.py();
        self.meta.set_item(intern!(py, "error"), error_details(py, error, retryable)?)?;
        fill_success(&self.result)?;
        let result = self.ended(false)?;
        result.set_item(intern!(py, "error"), string(py, &error.message)?)?;
        if let Some(exception) = exception {
            // `into_value` puts the traceback back on the exception; `value` alone would lose it.
            result.setattr(intern!(py, "_exception"), exception.clone_ref(py).into_value(py))?;
        }
        Ok(result)
    }
}

/// Copies the keys of a tool's own result; of a `ToolResult`, which another call gave, also the attributes.
fn take_over(result: &Bound<'_, PyDict>, own: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = result.py();
    result.update(value::as_dict(own)?.as_mapping())?;
    if value::is_tool_result(own)? {
        for (name, value) in own.getattr(intern!(py, "__dict__"))?.cast_into::<PyDict>()? {
            result.setattr(name.cast_into::<PyString>()?, value)?;
        }
    }
    Ok(())
}

/// What a reader of one of several answers wants to see.
fn inner_value<'py>(py: Python<'py>, attempt: &Attempt) -> PyResult<Bound<'py, PyAny>> {
    match &attempt.value {
        Some(value) if attempt.is_own_result => value::own_result(value.bind(py)),
        Some(value) => Ok(value.bind(py).clone()),
        None => Ok(py.None().into_bound(py)),
    }
}

fn error_details<'py>(py: Python<'py>, error: &HubError, retryable: bool) -> PyResult<Bound<'py, PyDict>> {
    let details = PyDict::new(py);
    details.set_item(intern!(py, "kind"), error.kind.name())?;
    details.set_item(intern!(py, "code"), error.code)?;
    details.set_item(intern!(py, "status"), error.status)?;
    details.set_item(intern!(py, "retry_after"), error.retry_after)?;
    details.set_item(intern!(py, "retryable"), retryable)?;
    details.set_item(intern!(py, "outcome"), error.outcome.name())?;
    if !error.suggestions.is_empty() {
        let suggestions: Vec<_> = error.suggestions.iter().map(|name| &**name).collect();
        details.set_item(intern!(py, "suggestions"), suggestions)?;
    }
    if let Some(data) = error.upstream.as_ref().and_then(|sent| sent.data.as_ref()) {
        details.set_item(intern!(py, "data"), json::to_python(py, data)?)?;
    }
    Ok(details)
}

fn templates_of<'a>(
    py: Python<'_>,
    candidate: &'a Candidate,
    lang: Lang,
) -> PyResult<Option<&'a CandidateTemplates>> {
    let Some(tool) = python_tool(candidate) else { return Ok(None) };
    let make = || CandidateTemplates::new(tool.name.bind(py), candidate, lang).map(Box::new);
    tool.templates.get_or_try_init(make).map(Some)
}

fn meta_of<'py>(py: Python<'py>, candidate: &Candidate, lang: Lang) -> PyResult<Bound<'py, PyDict>> {
    if let Some(templates) = templates_of(py, candidate, lang)? {
        return templates.meta.bind(py).copy();
    }
    let meta = blank_meta(py)?;
    fill_meta(&meta, &tool_name(py, candidate), candidate)?;
    Ok(meta)
}

/// A tool's name as the string that was made when it was registered.
fn tool_name<'py>(py: Python<'py>, candidate: &Candidate) -> Bound<'py, PyString> {
    match python_tool(candidate) {
        Some(tool) => tool.name.bind(py).clone(),
        None => PyString::new(py, &candidate.spec().name),
    }
}

/// For an object that does not tell its size.
const UNKNOWN: usize = 64;

/// The bytes of a result with everything in it. Containers of Python are followed, and each object counts once; for other
/// objects their own word counts.
pub fn size_of_result(result: &Bound<'_, PyDict>) -> PyResult<usize> {
    static MEMBERS: Imported = Imported::new("gc", "get_referents");
    let attributes = result.getattr(intern!(result.py(), "__dict__"))?;
    let mut pending = vec![result.clone().into_any(), attributes];
    let mut seen = HashSet::new();
    let mut bytes = 0usize;
    while let Some(object) = pending.pop() {
        // What only its container refers to is not entered: growing a large table is one long step.
        if !occurs_once(&object) && !seen.insert(object.as_ptr() as usize) {
            continue;
        }
        let size = object.call_method0(intern!(object.py(), "__sizeof__")).and_then(|size| size.extract());
        bytes = bytes.saturating_add(size.unwrap_or(UNKNOWN));
        if is_container(&object) || object.is_instance_of::<PyFrozenSet>() {
            pending.extend(MEMBERS.get(object.py())?.call1((&object,))?.cast_into::<PyList>()?.iter());
        }
    }
    Ok(bytes)
}
