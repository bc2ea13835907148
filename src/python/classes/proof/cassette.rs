//! Recording and replaying from Python: the switch, questions to models, and cassettes as data.

use crate::classes::hub::PyHub;
use crate::classes::options::named;
use crate::prelude::*;
use crate::runtime::call_scope;
use crate::values::arguments::callable::details_of;
use std::path::PathBuf;
use toolhub::cassette::{
    self, CassetteMode, OnCassette, OpenRecording, RecordedAnswer, Recorder, Recording, Replayer,
};
use toolhub::error::UpstreamError;
use toolhub::model::ToolOutput;
use toolhub::secret;

/// Begins to record the calls of one hub, or of all hubs of this process.
#[pyfunction]
#[pyo3(signature = (path, hub=None))]
pub fn start_recording(path: PathBuf, hub: Option<&Bound<'_, PyHub>>) -> PyResult<()> {
    start(Recorder::create(&path).map(|recorder| CassetteMode::Record(Arc::new(recorder))), hub)
}

/// Begins to answer the calls of one hub, or of all hubs of this process, from a cassette.
#[pyfunction]
#[pyo3(signature = (path, mode, hub=None))]
pub fn start_replay(
    py: Python<'_>,
    path: PathBuf,
    mode: &str,
    hub: Option<&Bound<'_, PyHub>>,
) -> PyResult<()> {
    let mode = named("mode", mode)?;
    start(
        py.detach(|| Replayer::open(&path, mode)).map(|replayer| CassetteMode::Replay(Box::new(replayer))),
        hub,
    )
}

fn start(mode: Result<CassetteMode, String>, hub: Option<&Bound<'_, PyHub>>) -> PyResult<()> {
    let started = mode.and_then(|mode| cassette::start(mode, hub.map(|hub| hub.get().core().number)));
    started.map_err(PyValueError::new_err)
}

/// The number of recorded events, the calls that were missed, the recordings that were not used, and the tools that are
/// defined otherwise now.
type CassetteEnd = (u64, Vec<String>, Vec<String>, Vec<String>);

/// Ends what was begun.
#[pyfunction]
pub fn stop_cassette() -> PyResult<CassetteEnd> {
    let Some(ended) = cassette::stop() else { return Ok(CassetteEnd::default()) };
    match ended.mode() {
        CassetteMode::Record(recorder) => {
            let events = recorder.close().map_err(PyValueError::new_err)?;
            Ok((events, Vec::new(), Vec::new(), Vec::new()))
        }
        CassetteMode::Replay(replayer) => {
            let end = replayer.end();
            Ok((0, end.missed, end.unused, end.notices))
        }
    }
}

/// Ends a cassette whose program was killed; how many events it has, or `None` if it has ended by itself.
#[pyfunction]
pub fn finish_cassette(path: PathBuf) -> PyResult<Option<u64>> {
    cassette::finish_cut(&path).map_err(PyValueError::new_err)
}

/// A question to a model that is recorded or replayed; `None` if there is no cassette.
#[pyfunction]
#[pyo3(signature = (model, request) -> "CassetteQuestion | None")]
pub fn question_on_cassette(model: &str, request: &Bound<'_, PyAny>) -> PyResult<Option<CassetteQuestion>> {
    let Some(cassette) = cassette::current(None) else { return Ok(None) };
    let arguments = json::image(request).map_or(Value::Null, |(value, _)| value);
    let around = call_scope::current(request.py())?;
    let question = cassette.question(model, arguments, around.outer.as_ref());
    match question.map_err(|miss| tool_error(request.py(), &miss))? {
        OnCassette::Recorded(open_recording) => Ok(Some(CassetteQuestion {
            open_recording: Mutex::new(Some(open_recording)),
            recording: None,
            delay: 0.0,
        })),
        OnCassette::Replayed(replayed) => {
            let recording = replayed.recordings.into_iter().next();
            let took = recording.as_ref().filter(|_| replayed.is_timed).map(|one| one.took());
            let delay = took.unwrap_or_default().as_secs_f64();
            Ok(Some(CassetteQuestion { open_recording: Mutex::default(), recording, delay }))
        }
    }
}

/// A question to a model on a cassette.
#[pyclass(frozen, module = "toolhub._core")]
pub struct CassetteQuestion {
    open_recording: Mutex<Option<OpenRecording>>,
    recording: Option<Arc<Recording>>,
    /// Seconds that the answer shall take.
    #[pyo3(get)]
    delay: f64,
}

#[pymethods]
impl CassetteQuestion {
    /// Whether the answer was recorded: the model is not asked.
    #[getter]
    fn is_replayed(&self) -> bool {
        self.recording.is_some()
    }

    /// The recorded answer; raises the recorded error.
    #[pyo3(signature = () -> "object")]
    fn answer<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.recording.as_ref().and_then(|recording| recording.answer.as_ref()) {
            Some(Ok(output)) => json::to_python(py, &output.value),
            Some(Err(error)) => Err(tool_error(py, error)),
            None => {
                let text = "The model was given up before it answered when this was recorded.";
                Err(tool_error(py, &HubError::new(ErrorKind::Cancelled, text)))
            }
        }
    }

    /// Records the answer.
    fn answered(&self, answer: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = json::from_python(answer).map_err(PyValueError::new_err)?;
        self.end(&Some(Ok(ToolOutput::new(value))));
        Ok(())
    }

    /// The exception that the model raised when this was recorded: its class and its arguments, as `failed` was given them.
    #[getter]
    fn exception<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let answer = self.recording.as_ref().and_then(|recording| recording.answer.as_ref());
        let Some(Err(error)) = answer else { return Ok(None) };
        let raised = error.upstream.as_ref().and_then(|raised| raised.data.as_ref());
        raised.map(|raised| json::to_python(py, raised)).transpose()
    }

    /// Records that the model failed, with the details of a `ToolError`, and the class and the arguments of another exception.
    fn failed(
        &self,
        error: &Bound<'_, PyBaseException>,
        message: String,
        exception: Option<&Bound<'_, PyAny>>,
    ) {
        let raised = exception.map(json::with_texts);
        let upstream =
            raised.map(|raised| Arc::new(UpstreamError { message: message.clone(), data: Some(raised) }));
        let details = details_of(error).unwrap_or_else(|| HubError::new(ErrorKind::ToolError, ""));
        self.end(&Some(Err(HubError { message: message.into(), upstream, ..details })));
    }
}

impl CassetteQuestion {
    fn end(&self, answer: &RecordedAnswer) {
        if let Some(open_recording) = self.open_recording.lock().take() {
            open_recording.end(answer);
        }
    }
}

/// The events of a cassette, each with the number of its line; `ValueError` if it is wrong.
#[pyfunction]
#[pyo3(signature = (path) -> "list[tuple[int, dict[str, object]]]")]
pub fn cassette_events<'py>(py: Python<'py>, path: PathBuf) -> PyResult<Vec<(usize, Bound<'py, PyAny>)>> {
    let events = py.detach(|| cassette::read_events(&path)).map_err(PyValueError::new_err)?;
    events.into_iter().map(|(line, event)| Ok((line, json::to_python(py, &Value::Object(event))?))).collect()
}

/// A JSON value with placeholders for secrets, as it is recorded.
#[pyfunction]
#[pyo3(signature = (value) -> "object")]
pub fn scrub<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let plain = json::from_python(value).map_err(PyValueError::new_err)?;
    json::to_python(value.py(), &secret::scrubbed(plain))
}

/// Where two JSON values differ first; `None` if they are equal.
#[pyfunction]
pub fn first_difference(recorded: &Bound<'_, PyAny>, given: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let read = |value: &Bound<'_, PyAny>| json::from_python(value).map_err(PyValueError::new_err);
    Ok(toolhub::canonical::first_difference("args", &read(recorded)?, &read(given)?)
        .map(toolhub::message::Message::into_owned))
}
