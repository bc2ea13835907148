//! Carrying out the steps of a plan, and taking in what came of them.

use super::flight::{FlightWait, Landed};
use super::state::{Awaiting, CallDriver, Next};
use crate::argument_checks::Checks;
use crate::awaiting::{Step, iterator_of, new_awaitable};
use crate::errors::{class_of, exception_text};
use crate::execution::{Execution, kept};
use crate::gil::released;
use crate::imported::Imported;
use crate::json;
use crate::large_json::{LargeJson, is_large, without_gil_if};
use crate::localized::localize;
use crate::once::intern;
use crate::result::{copy_result, refused};
use crate::result_size::size_of_result;
use crate::text_of::text_of;
use crate::value;
use pyo3::exceptions::{PyException, PyTimeoutError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use toolhub::aside;
use toolhub::error::{ErrorKind, HubError, Outcome, shown_seconds};
use toolhub::kind::ToolKind;
use toolhub::plan::{
    CallVerdict, Consulted, KeyWork, LookUpRequest, PlanStep, RunEnd, ServerSet, Shareable, Unreachable,
    question, synthesis_prompt,
};
use toolhub::shape::content::ImageNotes;

impl CallDriver {
    /// Asks the plan, and starts what it wants.
    pub(super) fn start_step<'py>(slf: &Bound<'py, Self>) -> PyResult<Next<'py>> {
        let (py, this) = (slf.py(), slf.get());
        let hub = this.hub.get();
        let servers = hub.servers();
        let servers = servers.as_deref().map(|servers| servers as &dyn ServerSet);
        let plan = || this.plan.lock().next(hub.core(), servers, Instant::now());
        let is_known = hub.core().registry.load().find(this.plan.lock().request().target.name()).is_some();
        // Near names of a name that is not known take a while when there are many names.
        let step = if is_known { plan() } else { py.detach(plan) };
        match step {
            PlanStep::Identify(work) => this.identify(py, *work),
            PlanStep::LookUp(request) => this.look_up(py, request),
            PlanStep::AwaitTurn => this.await_turn(py),
            PlanStep::Recall(request) => this.recall(py, &request),
            PlanStep::Replay(kept) => {
                this.report_route(py)?;
                this.replayed(py, &kept).map(Next::Finish)
            }
            PlanStep::Approve(request) => this.ask_approval(py, request),
            PlanStep::Share(shareable) => {
                this.report_route(py)?;
                Self::share(slf, &shareable)
            }
            PlanStep::Run(planned) => {
                this.report_route(py)?;
                let extras = this.state.lock().extras.take();
                let name = planned.what.clone();
                let hub = this.hub.clone_ref(py);
                let approvals = this.state.lock().approvals.take().filter(|_| !planned.is_replayed());
                // What was approved runs as it is.
                let coerce = this.checks.coerce && approvals.is_none();
                let checks = Checks { coerce, ..this.checks };
                let approved = approvals.map(|approvals| approvals.for_run(py, &planned));
                let args = this.args.clone_ref(py);
                let mut execution = Execution::new(hub, Ok(planned), &name, args, checks, extras);
                if let Some(approved) = approved {
                    execution = execution.with_arguments(approved);
                }
                this.state.lock().awaiting = Awaiting::Run;
                Ok(Next::Await(new_awaitable(py, execution)?.into_any()))
            }
            PlanStep::Refuse(error) => this.refuse(py, &error).map(Next::Finish),
        }
    }

    /// Makes the key of a large call on another thread, so that the loop goes on.
    fn identify<'py>(&self, py: Python<'py>, work: KeyWork) -> PyResult<Next<'py>> {
        let end = self.plan.lock().end();
        self.await_core(py, aside::on_thread_until(end, move || work.key()), |this, py, key| {
            let Some(key) = key else {
                let error = this.plan.lock().deadline_passed(Outcome::NotSent);
                return this.refuse(py, &error).map(Next::Finish);
            };
            this.plan.lock().identified(key);
            Ok(Next::Plan)
        })
    }

    fn look_up<'py>(&self, py: Python<'py>, request: LookUpRequest) -> PyResult<Next<'py>> {
        let servers = self.hub.get().servers();
        let ask = async move {
            let end = tokio::time::Instant::now() + request.patience;
            match servers {
                Some(servers) => servers.carry_out(&request, end).await,
                None => Unreachable::new(),
            }
        };
        self.await_core(py, ask, |this, _, unreachable| {
            this.plan.lock().looked_up(unreachable);
            Ok(Next::Plan)
        })
    }

    /// Waits for the calls before this one, and not beyond the deadline, which the plan looks at.
    fn await_turn<'py>(&self, py: Python<'py>) -> PyResult<Next<'py>> {
        let (woken, turn) = oneshot::channel();
        let left = {
            let plan = self.plan.lock();
            plan.on_turn(move || _ = woken.send(()));
            plan.time_left(Instant::now())
        };
        let wait = async move {
            match left {
                None => _ = turn.await,
                Some(left) => _ = tokio::time::timeout(left, turn).await,
            }
        };
        self.await_core(py, wait, |_, _, ()| Ok(Next::Plan))
    }

    fn share<'py>(slf: &Bound<'py, Self>, shareable: &Shareable) -> PyResult<Next<'py>> {
        let (py, this) = (slf.py(), slf.get());
        let now = Instant::now();
        let left = this.plan.lock().time_left(now);
        let wait = FlightWait::new(this.hub.bind(py), left.map(|left| now + left), shareable.time)?;
        let (leader, notify) = (FlightWait::leader(&wait)?, FlightWait::notifier(&wait));
        match this.hub.get().shared_results().consult(shareable, now, leader, notify) {
            Consulted::Hit(cached) => {
                wait.get().stop_waiting(py);
                let result = copy_result(cached.bind(py))?;
                meta_of(&result)?.set_item(intern!(py, "cached"), true)?;
                Self::synthesize(slf, result)
            }
            Consulted::Lead(lead) => {
                wait.get().stop_waiting(py);
                this.state.lock().lead = Some(lead);
                this.plan.lock().not_shared();
                Ok(Next::Plan)
            }
            Consulted::Follow(flight) => {
                wait.get().follow(flight);
                this.state.lock().awaiting = Awaiting::Flight(wait.clone().unbind(), shareable.time);
                Ok(Next::Await(wait.into_any()))
            }
        }
    }

    /// The awaitable of a step has ended.
    pub(super) fn step_ended<'py>(slf: &Bound<'py, Self>, ended: PyResult<Py<PyAny>>) -> PyResult<Next<'py>> {
        let (py, this) = (slf.py(), slf.get());
        let (awaiting, inner) = {
            let mut state = this.state.lock();
            (std::mem::replace(&mut state.awaiting, Awaiting::Nothing), state.inner.take())
        };
        drop(inner);
        match awaiting {
            Awaiting::Core(go_on) => {
                ended?;
                go_on(this, py)
            }
            Awaiting::Approval => this.approval_ended(py, ended),
            Awaiting::Flight(wait, time) => {
                ended?;
                match wait.get().take_landed() {
                    Landed::Result(result) => Self::synthesize(slf, copy_result(result.bind(py))?),
                    // The leader ended without a result, or had less time: consult again, and perhaps lead.
                    Landed::Nothing => Ok(Next::Plan),
                    Landed::Late => {
                        let error = this.plan.lock().deadline_passed(Outcome::Unknown);
                        this.refuse(py, &error).map(Next::Finish)
                    }
                    Landed::TimedOut => {
                        let error = this.plan.lock().followed_too_long(&time);
                        this.refuse(py, &error).map(Next::Finish)
                    }
                }
            }
            Awaiting::Run => {
                let result = ended?.into_bound(py).cast_into::<PyDict>()?;
                this.land(&result)?;
                Self::synthesize(slf, result)
            }
            Awaiting::Synthesis { result, begun, limit } => {
                let result = result.into_bound(py);
                this.synthesized(&result, ended, begun, limit)?;
                Ok(Next::Finish(result))
            }
            Awaiting::Nothing | Awaiting::Done => Ok(Next::Plan),
        }
    }

    /// Hands the result of a run to the calls that share it.
    fn land(&self, result: &Bound<'_, PyDict>) -> PyResult<()> {
        let Some(lead) = self.state.lock().lead.take() else { return Ok(()) };
        let end = end_of(result)?;
        if lead.is_wanted(end) {
            // A value that raises when it is copied is not shared.
            let Ok(copy) = copy_result(result) else { return Ok(()) };
            let bytes = if lead.is_cached(end) { size_of_result(&copy)? } else { 0 };
            lead.land(copy.unbind(), bytes, end, Instant::now());
        }
        Ok(())
    }

    /// Asks the model when several answers were merged; otherwise the result is final.
    fn synthesize<'py>(slf: &Bound<'py, Self>, result: Bound<'py, PyDict>) -> PyResult<Next<'py>> {
        static ASK: Imported = Imported::new("toolhub.hub._synthesis", "ask_within");
        static UNTIL_CLOSED: Imported = Imported::new("toolhub._user_functions", "until_closed");
        let (py, this) = (slf.py(), slf.get());
        let meta = meta_of(&result)?;
        let merged =
            meta.get_item(intern!(py, "synthesized"))?.is_some_and(|one| one.is_truthy().unwrap_or(false));
        let Some(llm) = this.callbacks.llm.as_ref().filter(|_| merged) else {
            return Ok(Next::Finish(result));
        };
        let begun = Instant::now();
        let limit = this.plan.lock().may_synthesize(begun);
        let prompt = match limit {
            Some(limit) => this.prompt(py, &result)?.map(|prompt| (prompt, limit)),
            None => Err("the deadline left no time to ask the model"),
        };
        match prompt {
            Err(reason) => {
                meta.set_item(intern!(py, "synthesis_reason"), reason)?;
                this.report_synthesis(&result, begun)?;
                Ok(Next::Finish(result))
            }
            Ok((prompt, limit)) => {
                let question = ASK.get(py)?.call1((llm, prompt, limit.as_secs_f64()))?;
                let question = UNTIL_CLOSED.get(py)?.call1((&this.hub, question))?;
                let result = result.unbind();
                this.state.lock().awaiting = Awaiting::Synthesis { result, begun, limit };
                Ok(iterator_of(&question)?.map_or(Next::Plan, Next::Await))
            }
        }
    }

    fn prompt(&self, py: Python<'_>, result: &Bound<'_, PyDict>) -> PyResult<Result<String, &'static str>> {
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

    fn synthesized(
        &self,
        result: &Bound<'_, PyDict>,
        ended: PyResult<Py<PyAny>>,
        begun: Instant,
        limit: Duration,
    ) -> PyResult<()> {
        let py = result.py();
        let meta = meta_of(result)?;
        let reason = match ended {
            Ok(answer) if answer.bind(py).is_truthy()? => {
                result.set_item(intern!(py, "result"), answer)?;
                meta.set_item(intern!(py, "synthesis_method"), intern!(py, "llm"))?;
                // What the merge had cut is not what is shown now.
                meta.set_item(intern!(py, "truncated"), false)?;
                None
            }
            Ok(_) => Some("the model gave an empty answer".to_owned()),
            Err(error) if self.hub.get().core().is_closed() && error.is_instance_of::<PyException>(py) => {
                Some("the hub was closed".to_owned())
            }
            Err(error) if error.is_instance_of::<PyTimeoutError>(py) => {
                Some(format!("the model did not answer within {} s", shown_seconds(limit.as_secs_f64())))
            }
            Err(error) if error.is_instance_of::<PyException>(py) => {
                let class = class_of(error.value(py));
                Some(format!("the model failed: {class}: {}", exception_text(py, &error)))
            }
            Err(error) => return Err(error),
        };
        if let Some(reason) = reason {
            meta.set_item(intern!(py, "synthesis_reason"), reason)?;
        }
        self.report_synthesis(result, begun)
    }

    fn report_synthesis(&self, result: &Bound<'_, PyDict>, begun: Instant) -> PyResult<()> {
        let (py, meta) = (result.py(), meta_of(result)?);
        let took = begun.elapsed().as_secs_f64() * 1e3;
        let before: f64 = meta.get_item(intern!(py, "duration_ms"))?.map_or(Ok(0.0), |ms| ms.extract())?;
        meta.set_item(intern!(py, "duration_ms"), before + took)?;
        self.report(py, intern!(py, "synthesised"), (result, took))
    }

    pub(super) fn refuse<'py>(&self, py: Python<'py>, error: &HubError) -> PyResult<Bound<'py, PyDict>> {
        let (name, elapsed) = {
            let plan = self.plan.lock();
            (plan.request().target.name().clone(), plan.elapsed(Instant::now()))
        };
        let result = refused(py, Some(&name), error)?;
        meta_of(&result)?.set_item(intern!(py, "duration_ms"), elapsed.as_secs_f64() * 1e3)?;
        Ok(result)
    }

    fn report_route(&self, py: Python<'_>) -> PyResult<()> {
        if std::mem::replace(&mut self.state.lock().route_reported, true) || self.callbacks.watch.is_none() {
            return Ok(());
        }
        let (rule, source, server) = {
            let plan = self.plan.lock();
            let options = plan.options();
            (plan.route_name(), options.source.map(|source| source.name()), options.server.clone())
        };
        match rule {
            Some(rule) => self.report(py, intern!(py, "routed"), (rule, source, server.as_deref())),
            None => Ok(()),
        }
    }

    /// The result is there: it gets the id and the route of the call, and listeners hear of it.
    pub(super) fn finish(&self, result: Bound<'_, PyDict>) -> PyResult<Step> {
        let py = result.py();
        let end = call_end(result.as_any())?;
        let (route, forbidden) = {
            let mut plan = self.plan.lock();
            let answer = plan.is_told().then(|| kept(&result, false));
            plan.ended(Some(end), answer);
            (plan.route_name(), plan.is_forbidden())
        };
        self.state.lock().awaiting = Awaiting::Done;
        localize(&result, self.hub.get().core().options.lang)?;
        if let Some(route) = route {
            let meta = meta_of(&result)?;
            meta.set_item(intern!(py, "call_id"), self.callbacks.call_id.as_deref())?;
            meta.set_item(intern!(py, "route"), PyString::intern(py, route))?;
        }
        let method = if forbidden { intern!(py, "refused") } else { intern!(py, "finished") };
        self.report(py, method, (&result,))?;
        Ok(Step::Return(result.into_any().unbind()))
    }
}

fn meta_of<'py>(result: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
    Ok(result.as_any().get_item(intern!(result.py(), "_meta"))?.cast_into()?)
}

fn end_of(result: &Bound<'_, PyDict>) -> PyResult<RunEnd> {
    Ok(match failure(result.as_any())? {
        None => RunEnd::Success,
        Some((Some(ErrorKind::Timeout), _)) => RunEnd::TimedOut,
        Some(_) => RunEnd::Failure,
    })
}

/// How a call ended, for the calls after it in its message. A failure that does not say what it did may have done something.
pub fn call_end(result: &Bound<'_, PyAny>) -> PyResult<CallVerdict> {
    Ok(match failure(result)? {
        None => CallVerdict::Over,
        Some((kind, outcome)) => {
            CallVerdict::of_failure(kind.unwrap_or(ErrorKind::ToolError), outcome.unwrap_or(Outcome::Unknown))
        }
    })
}

/// The kind and the outcome of a result that is not a success.
fn failure(result: &Bound<'_, PyAny>) -> PyResult<Option<(Option<ErrorKind>, Option<Outcome>)>> {
    let py = result.py();
    if result.get_item(intern!(py, "success"))?.is_truthy()? {
        return Ok(None);
    }
    let error = result.get_item(intern!(py, "_meta")).and_then(|meta| meta.get_item(intern!(py, "error")));
    let word = |key: &str| Some(error.as_ref().ok()?.get_item(key).ok()?.str().ok()?.to_string());
    let (kind, outcome) = (word("kind"), word("outcome"));
    let kind = ErrorKind::ALL.iter().copied().find(|one| kind.as_deref() == Some(one.name()));
    let outcome = Outcome::ALL.into_iter().find(|one| outcome.as_deref() == Some(one.name()));
    Ok(Some((kind, outcome)))
}
