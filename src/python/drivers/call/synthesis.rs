//! Asking the user's model to make one answer of several.

use super::services::{LoopCall, meta_of};
use crate::runtime::fork_safe_once::intern;
use crate::runtime::gil::released;
use crate::runtime::lazy_import::Imported;
use crate::values::errors::{class_of, exception_text};
use crate::values::json;
use crate::values::json_to_python::{LargeJson, is_large, without_gil_if};
use crate::values::results::text_of::text_of;
use crate::values::value;
use pyo3::exceptions::{PyException, PyTimeoutError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::time::{Duration, Instant};
use toolhub::error::shown_seconds;
use toolhub::kind::ToolKind;
use toolhub::message;
use toolhub::message::Message;
use toolhub::plan::{CallPlan, CallServices, question, synthesis_prompt};
use toolhub::shape::content::ImageNotes;

impl LoopCall {
    /// Asks the model when several answers were merged, and puts its answer into the result, or why there is none.
    pub(super) async fn ask_model(&self, plan: &CallPlan, result: &Py<PyDict>) -> PyResult<()> {
        static ASK: Imported = Imported::new("toolhub.hub._synthesis", "ask_within");
        static UNTIL_CLOSED: Imported = Imported::new("toolhub._user_functions", "until_closed");
        let Some(llm) = &self.callbacks.llm else { return Ok(()) };
        let is_merged = Python::attach(|py| {
            let merged = meta_of(result.bind(py))?.get_item(intern!(py, "synthesized"))?;
            PyResult::Ok(merged.is_some_and(|one| one.is_truthy().unwrap_or(false)))
        })?;
        if !is_merged {
            return Ok(());
        }
        let begun = Instant::now();
        let asked = match plan.may_synthesize(begun) {
            Ok(limit) => Python::attach(|py| self.prompt(result.bind(py)))?.map(|prompt| (prompt, limit)),
            Err(reason) => Err(reason),
        };
        let failure = match asked {
            Err(reason) => Some(reason),
            Ok((prompt, limit)) => {
                let answer = self.awaited(|py| {
                    let question = ASK.get(py)?.call1((llm, prompt, limit.as_secs_f64()))?;
                    UNTIL_CLOSED.get(py)?.call1((&self.hub, question))
                });
                let answer = answer.await;
                Python::attach(|py| self.synthesized(result.bind(py), answer, limit))?
            }
        };
        Python::attach(|py| {
            let (result, took) = (result.bind(py), begun.elapsed().as_secs_f64() * 1e3);
            let meta = meta_of(result)?;
            if let Some(reason) = failure {
                meta.set_item(intern!(py, "synthesis_reason"), reason.text(self.hub().options.lang))?;
            }
            let before: f64 =
                meta.get_item(intern!(py, "duration_ms"))?.map_or(Ok(0.0), |ms| ms.extract())?;
            meta.set_item(intern!(py, "duration_ms"), before + took)?;
            self.report(py, intern!(py, "synthesised"), (result, took))
        })
    }

    fn prompt(&self, result: &Bound<'_, PyDict>) -> PyResult<Result<String, Message>> {
        let py = result.py();
        let mut answers = Vec::new();
        for row in result.getattr(intern!(py, "_full"))?.cast_into::<PyList>()? {
            let label: String = row.get_item(intern!(py, "source"))?.extract()?;
            let text = text_of(&row.get_item(intern!(py, "result"))?, None, ImageNotes::Shown)?;
            answers.push((label, text.unwrap_or_default()));
        }
        let asked = match json::from_python(self.args.bind(py)) {
            Ok(args) => {
                let args = LargeJson::from(args);
                without_gil_if(py, is_large(&args), || question(&args))
            }
            Err(_) => value::readable(self.args.bind(py))?,
        };
        let kind = result.getattr(intern!(py, "_answer_kind"))?.extract::<String>().ok();
        let kind = kind.and_then(|name| ToolKind::parse(&name)).unwrap_or(ToolKind::Other);
        let size = answers.iter().map(|(_, text)| text.len()).sum();
        Ok(released(py, size, || synthesis_prompt(&asked, answers, kind)))
    }

    /// Takes the answer of the model; gives the reason why there is none.
    fn synthesized(
        &self,
        result: &Bound<'_, PyDict>,
        ended: PyResult<Py<PyAny>>,
        limit: Duration,
    ) -> PyResult<Option<Message>> {
        let py = result.py();
        Ok(match ended {
            Ok(answer) if answer.bind(py).is_truthy()? => {
                let meta = meta_of(result)?;
                result.set_item(intern!(py, "result"), answer)?;
                meta.set_item(intern!(py, "synthesis_method"), intern!(py, "llm"))?;
                // What the merge had cut is not what is shown now.
                meta.set_item(intern!(py, "truncated"), false)?;
                None
            }
            Ok(_) => Some(message!("the model gave an empty answer")),
            Err(error) if self.hub.get().core().is_closed() && error.is_instance_of::<PyException>(py) => {
                Some(message!("the hub was closed"))
            }
            Err(error) if error.is_instance_of::<PyTimeoutError>(py) => {
                Some(message!("the model did not answer within {} s", shown_seconds(limit.as_secs_f64())))
            }
            Err(error) if error.is_instance_of::<PyException>(py) => {
                let class = class_of(error.value(py));
                Some(message!("the model failed: {}: {}", class, exception_text(py, &error)))
            }
            Err(error) => return Err(error),
        })
    }
}
