//! Questions to the user's functions: for an approval, and to the model for one answer of several.

use super::{LoopCall, meta_of};
use crate::prelude::*;
use crate::runtime::interpreter::released;
use crate::values::arguments::given;
use crate::values::errors::exception_text;
use crate::values::json::LargeJson;
use crate::values::results::blocks::text_of;
use crate::values::value;
use pyo3::exceptions::PyTimeoutError;
use serde_json::Map;
use toolhub::error::shown_seconds;
use toolhub::kind::ToolKind;
use toolhub::message::Message;
use toolhub::model_output::content::ImageNotes;
use toolhub::plan::{
    ApprovalRequest, CallPlan, CallServices, FunctionAnswer, NOT_APPROVED, question, synthesis_prompt,
};

impl LoopCall {
    /// The question to a function of the user, within the deadline of the call.
    pub(super) fn question<'py>(
        &self,
        py: Python<'py>,
        plan: &CallPlan,
        number: usize,
        (request, args, meta): (&ApprovalRequest, &Py<PyAny>, Map<String, Value>),
    ) -> PyResult<Bound<'py, PyAny>> {
        static APPROVAL: Imported = Imported::new("toolhub.permissions", "Approval");
        let nobody = || PyRuntimeError::new_err("there is nobody to ask for an approval");
        let permissions = self.permissions.as_ref().ok_or_else(nobody)?;
        let programs = self.hub.get().core().definition(&request.candidates).programs();
        let Ok(shown) = given::copy(args.bind(py)) else {
            return Err(PyRuntimeError::new_err("arguments that were copied cannot be copied again"));
        };
        let servers = PyTuple::new(py, request.servers.iter().map(|id| &**id))?;
        let approval = APPROVAL.get(py)?.call1((
            &*request.name,
            shown,
            self.call_id.as_deref(),
            servers,
            &*request.description,
            json::to_python(py, &Value::Object(meta))?,
            PyTuple::new(py, programs)?,
            plan.request().proposed_in.as_deref(),
        ))?;
        let left = plan.time_left(Instant::now()).map(|left| left.as_secs_f64());
        let question = permissions.bind(py).call_method1(intern!(py, "ask"), (number, approval, left))?;
        self.cancel_on_close(question)
    }

    /// What a function of the user answers, unless the hub is closed before.
    fn cancel_on_close<'py>(&self, question: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        static CANCEL_ON_CLOSE: Imported = Imported::new("toolhub._user_functions", "cancel_on_close");
        CANCEL_ON_CLOSE.get(question.py())?.call1((&self.hub, question))
    }

    pub(super) fn approval_limit(&self, py: Python<'_>) -> f64 {
        let permissions = self.permissions.as_ref();
        let limit = permissions.and_then(|one| one.bind(py).getattr(intern!(py, "timeout")).ok());
        limit.and_then(|limit| limit.extract().ok()).unwrap_or_default()
    }

    /// Asks the model when several answers were merged, and puts its answer into the result, or why there is none.
    pub(super) async fn ask_model(&self, plan: &CallPlan, result: &Py<PyDict>) -> PyResult<()> {
        let Some(llm) = &self.llm else { return Ok(()) };
        let is_merged = Python::attach(|py| {
            let merged = meta_of(result.bind(py))?.get_item(intern!(py, "synthesized"))?;
            PyResult::Ok(merged.is_some_and(|one| one.is_truthy().unwrap_or(false)))
        })?;
        if !is_merged {
            return Ok(());
        }
        let begun = Instant::now();
        let answer = self.model_answer(plan, result, llm, begun).await?;
        Python::attach(|py| {
            let (result, took) = (result.bind(py), begun.elapsed().as_secs_f64() * 1e3);
            let meta = meta_of(result)?;
            match answer {
                Ok(answer) => {
                    result.set_item(intern!(py, "result"), answer)?;
                    meta.set_item(intern!(py, "synthesis_method"), intern!(py, "llm"))?;
                    // What the merge had cut is not what is shown now.
                    meta.set_item(intern!(py, "truncated"), false)?;
                }
                Err(reason) => {
                    meta.set_item(intern!(py, "synthesis_reason"), reason.text(self.hub().options.lang))?;
                }
            }
            let before: f64 =
                meta.get_item(intern!(py, "duration_ms"))?.map_or(Ok(0.0), |ms| ms.extract())?;
            meta.set_item(intern!(py, "duration_ms"), before + took)?;
            self.report(py, intern!(py, "synthesised"), (result, took))
        })
    }

    /// What the model makes of several answers, or why there is nothing.
    async fn model_answer(
        &self,
        plan: &CallPlan,
        result: &Py<PyDict>,
        llm: &Py<PyAny>,
        begun: Instant,
    ) -> PyResult<Result<Py<PyAny>, Message>> {
        static ASK: Imported = Imported::new("toolhub.hub._synthesis", "ask_within");
        let limit = match plan.may_synthesize(begun) {
            Ok(limit) => limit,
            Err(reason) => return Ok(Err(reason)),
        };
        let prompt = match Python::attach(|py| self.prompt(result.bind(py)))? {
            Ok(prompt) => prompt,
            Err(reason) => return Ok(Err(reason)),
        };
        let seconds = limit.as_secs_f64();
        let answer =
            self.awaited(|py| self.cancel_on_close(ASK.get(py)?.call1((llm, prompt, seconds))?)).await;
        Python::attach(|py| match answer {
            Ok(answer) if answer.bind(py).is_truthy()? => Ok(Ok(answer)),
            Ok(_) => Ok(Err(message!("the model gave an empty answer"))),
            Err(error) if !error.is_instance_of::<PyException>(py) => Err(error),
            Err(_) if self.hub().is_closed() => Ok(Err(message!("the hub was closed"))),
            Err(error) if error.is_instance_of::<PyTimeoutError>(py) => {
                Ok(Err(message!("the model did not answer within {} s", shown_seconds(seconds))))
            }
            Err(error) => {
                let class = class_of(error.value(py));
                Ok(Err(message!("the model failed: {}: {}", class, exception_text(py, &error))))
            }
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
                let args = LargeJson(args);
                py.detach(|| question(&args))
            }
            Err(_) => value::readable(self.args.bind(py))?,
        };
        let kind = result.getattr(intern!(py, "_answer_kind"))?.extract::<String>().ok();
        let kind = kind.and_then(|name| ToolKind::parse(&name)).unwrap_or(ToolKind::Other);
        let size = answers.iter().map(|(_, text)| text.len()).sum();
        Ok(released(py, size, || synthesis_prompt(&asked, answers, kind)))
    }
}

/// `True` goes, `False` refuses, None leaves it to the next; everything else is a mistake, and never an approval.
pub fn function_answer(answer: &Bound<'_, PyAny>) -> FunctionAnswer {
    if answer.is_none() {
        return FunctionAnswer::Pass;
    }
    match answer.cast::<PyBool>() {
        Ok(answer) if answer.is_true() => FunctionAnswer::Go,
        Ok(_) => FunctionAnswer::Refuse(NOT_APPROVED.into()),
        Err(_) => FunctionAnswer::Refuse(message!(
            "approve must answer True, False or None, got {}",
            class_of(answer)
        )),
    }
}

/// A question that failed is a refusal. A cancellation or an interrupt is for the caller.
pub fn failed_question(py: Python<'_>, error: PyErr, limit: f64) -> PyResult<FunctionAnswer> {
    if error.is_instance_of::<PyTimeoutError>(py) {
        return Ok(FunctionAnswer::Refuse(message!("it was not approved within {} s", shown_seconds(limit))));
    }
    if !error.is_instance_of::<PyException>(py) {
        return Err(error);
    }
    Ok(FunctionAnswer::Refuse(message!("asking for approval failed ({})", class_of(error.value(py)))))
}
