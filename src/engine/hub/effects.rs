//! What records the effects of a call: the rows of its attempts, and what a run keeps of it.

use super::LedgerMode;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};
use toolhub_registry::Candidate;
use toolhub_registry::identity::{CallContent, CallKey, CallTarget, definition_change};
use toolhub_store::ledger::{
    EffectEnd, EffectState, FileProblem, LateDigests, Ledger, NewEffect, OccurrenceTicket, RunMemory,
    new_row_id,
};
use toolhub_text::secret::scrubbed_text;
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result, clip};
use toolhub_types::model::{CallOptions, KeyDigests};
use toolhub_types::system::kill_point;

/// A call of a run, while it is made.
pub struct CallRecord {
    pub run: String,
    pub call: String,
    pub ticket: Arc<OccurrenceTicket>,
}

/// The call that is recorded, as its caller asked for it.
pub struct AskedCall {
    target: CallTarget,
    options: CallOptions,
    /// What it sends, until its digests are made.
    pub(crate) content: Mutex<Option<CallContent>>,
    /// Known before its first row if somebody else has to recognise the call too.
    digests: OnceLock<KeyDigests>,
}

impl AskedCall {
    /// `options` are those that the caller gave, before a route or permissions narrow them.
    pub fn new(target: CallTarget, options: CallOptions, key: Option<&CallKey>) -> Self {
        let digests = key.map(|key| OnceLock::from(key.digests().clone())).unwrap_or_default();
        AskedCall { target, options, content: Mutex::default(), digests }
    }

    pub(crate) fn digests(&self) -> KeyDigests {
        let content = || self.content.lock().take().unwrap_or_default();
        let made = || CallKey::new(&self.target, &self.options, content()).digests().clone();
        self.digests.get_or_init(made).clone()
    }
}

/// Writes the rows of one run of candidates. Rows that nobody has ended when it is dropped may have happened.
pub struct EffectRecorder {
    ledger: Arc<Ledger>,
    mode: LedgerMode,
    pub(crate) asked: Arc<AskedCall>,
    call: String,
    run: Option<String>,
    record: Mutex<Option<CallRecord>>,
    /// The candidates that have a row, and its id; `None` once whoever ends them has taken them.
    rows: Mutex<Option<Vec<(usize, String)>>>,
}

impl EffectRecorder {
    pub(super) fn new(
        ledger: Arc<Ledger>,
        mode: LedgerMode,
        asked: AskedCall,
        record: Option<CallRecord>,
    ) -> Self {
        EffectRecorder {
            ledger,
            mode,
            asked: Arc::new(asked),
            call: record.as_ref().map_or_else(new_row_id, |record| record.call.clone()),
            run: record.as_ref().map(|record| record.run.clone()),
            record: Mutex::new(record),
            rows: Mutex::new(Some(Vec::new())),
        }
    }

    /// The rows, for whoever ends them.
    pub(super) fn take_rows(&self) -> Vec<(usize, String)> {
        self.rows.lock().take().unwrap_or_default()
    }

    /// Whether rows wait for another process that has locked the store.
    pub(super) fn waits_for_lock(&self) -> bool {
        self.ledger.is_locked() && self.rows.lock().as_ref().is_some_and(|rows| !rows.is_empty())
    }

    /// Whether the call is recognised without being told its content.
    pub fn knows_call(&self) -> bool {
        self.asked.digests.get().is_some() || self.asked.content.lock().is_some()
    }

    /// Writes the row of an attempt, unless it has one or the call has ended; `written` hears whether it could be.
    pub fn write(
        &self,
        slot: usize,
        candidate: &Candidate,
        written: impl FnOnce(Result<()>) + Send + 'static,
    ) {
        // Held until the row is on its way, so that its end comes after it.
        let mut rows = self.rows.lock();
        let Some(rows) = rows.as_mut().filter(|rows| rows.iter().all(|(one, _)| *one != slot)) else {
            return;
        };
        let (id, asked) = (new_row_id(), self.asked.clone());
        let definition = candidate.definition().digest.clone();
        let digests = LateDigests::new(Box::new(move || asked.digests()));
        rows.push((slot, id.clone()));
        let row = NewEffect {
            id,
            run: self.run.clone(),
            call: self.call.clone(),
            principal: self.asked.options.principal.as_deref().unwrap_or_default().to_owned(),
            tool: candidate.spec().name.clone(),
            source: candidate.source.name(),
            server: candidate.server.clone(),
            definition,
            digests,
        };
        let may_go_on = self.mode == LedgerMode::Optional && self.run.is_none();
        let name = candidate.spec().name.clone();
        let done = move |result: Result<(), FileProblem>| {
            written(match result {
                Err(problem) if !may_go_on => Err(not_recorded(&name, &problem)),
                _ => Ok(()),
            });
        };
        self.ledger.begin(row, Box::new(done));
    }
}

/// The rows of a run of candidates that is over, to be written.
pub struct EndedRows {
    pub(super) recorder: Arc<EffectRecorder>,
    pub(super) ends: Vec<EffectEnd>,
}

impl EndedRows {
    /// Writes how the attempts ended, and in a run what the call gave; `result` is asked only if it is kept.
    pub fn write(self, has_succeeded: bool, result: impl FnOnce() -> Option<Value>) {
        let EndedRows { recorder, ends } = self;
        let call = recorder.record.lock().take().map(|CallRecord { call, ticket, .. }| {
            let is_unknown = ends.iter().any(|end| end.state == EffectState::Unknown);
            let may_have_acted = ends.iter().any(|end| !end.is_harmless());
            // A success is one, whatever the candidates did that it stopped. What failed without effects is made again; what
            // may have happened is asked about.
            let kept = if has_succeeded || (may_have_acted && !is_unknown) { result() } else { None };
            if kept.is_some() {
                ticket.end();
            }
            (call, kept.map(|kept| without_secrets(kept).to_string()))
        });
        kill_point();
        recorder.ledger.finish(ends, call);
    }
}

/// People read what failed in the ledger too. A value stays as it is: the run goes on with it.
pub fn without_secrets(mut kept: Value) -> Value {
    if let Some(Value::String(error)) = kept.get_mut("error") {
        *error = scrubbed_text(error).into_owned();
    }
    kept
}

impl Drop for EffectRecorder {
    fn drop(&mut self) {
        let unknown = |(_, id)| EffectEnd {
            id,
            state: EffectState::Unknown,
            error: Some("it was abandoned".into()),
            repeatable: false,
        };
        self.ledger.finish(self.take_rows().into_iter().map(unknown).collect(), None);
    }
}

/// The error of an attempt whose row cannot be written.
pub(crate) fn not_recorded(tool: &str, problem: &FileProblem) -> HubError {
    let text = message!(
        "Tool '{}' was not called: it may have effects, and the ledger in the store cannot be written ({}). Make the \
         store writable, or allow calls without a row with ToolHub(ledger=\"optional\").",
        clip(tool),
        problem.why()
    );
    problem.refusal(text)
}

/// The error of a call of a run that must not be made now; `None` if it may be.
pub fn blocked_by_run(tool: &str, run: &str, memory: &RunMemory) -> Option<HubError> {
    let (tool, run) = (clip(tool), clip(run));
    let paused = |text: Message| Some(HubError::new(ErrorKind::Paused, text));
    match memory {
        RunMemory::New(_) | RunMemory::Over(_) | RunMemory::Answered(..) | RunMemory::Settled(..) => None,
        RunMemory::Unknown(row) => paused(message!(
            "Tool '{}' was not called again: in run '{}' an earlier attempt may have happened (row {}). Check \
             what happened, then call hub.settle('{}', ...) with 'done', 'failed' or 'again'.",
            tool,
            run,
            row,
            row
        )),
        RunMemory::Changed { row, before, now } => {
            let change = definition_change(before, now);
            paused(match row {
                None => message!(
                    "Tool '{}' was not called: in run '{}' it was called with a different definition of the tool ({}). Use \
                     another run.",
                    tool,
                    run,
                    change
                ),
                Some(row) => message!(
                    "Tool '{}' was not called: in run '{}' it was called with a different definition of the tool ({}). Use \
                     another run, or call hub.settle('{}', ...) with 'done', 'failed' or 'again'.",
                    tool,
                    run,
                    change,
                    row
                ),
            })
        }
        RunMemory::Refused(why) => {
            Some(HubError::new(ErrorKind::NotAllowed, message!("Tool '{}' was not called: {}", tool, why)))
        }
    }
}

/// Why a row cannot be settled.
pub fn not_settled(id: &str) -> Message {
    let id = clip(id);
    message!("The ledger has no row '{}' with an unknown outcome; only such a row can be settled.", id)
}

/// The error of a call of a run whose ledger cannot be asked.
pub fn run_unreadable(tool: &str, run: &str, problem: &FileProblem) -> HubError {
    let (tool, run, why) = (clip(tool), clip(run), problem.why());
    let text =
        message!("Tool '{}' was not called: what run '{}' has done cannot be read ({}).", tool, run, why);
    problem.refusal(text)
}

/// What a run keeps of a call: its value, or its error.
pub fn kept_result(result: &Result<Value>) -> Value {
    match result {
        Ok(value) => json!({"success": true, "result": value}),
        Err(error) => kept_failure(json!(error.message), error.kind.name(), error.outcome.name()),
    }
}

/// A failure as a run keeps it.
pub fn kept_failure(error: Value, kind: &str, outcome: &str) -> Value {
    json!({"success": false, "error": error, "kind": kind, "outcome": outcome})
}

/// The error of a call that a run has kept.
pub fn kept_error(kept: &Value) -> HubError {
    let word = |member: &str| kept.get(member).and_then(Value::as_str);
    let kind = word("kind").and_then(ErrorKind::named).unwrap_or(ErrorKind::ToolError);
    let error = HubError::new(kind, word("error").unwrap_or("The call failed.").to_owned());
    match word("outcome").and_then(Outcome::parse) {
        Some(outcome) => error.with_outcome(outcome),
        None => error,
    }
}
