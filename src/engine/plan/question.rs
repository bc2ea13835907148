//! The question that is kept in the store until somebody answers it: what binds the answer, and what a person reads.

use super::HeavyWork;
use super::drive::WithoutRun;
use super::state::{ApprovalRequest, CallPlan, NOT_APPROVED, not_approved, not_json};
use crate::hub::Hub;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use toolhub_registry::identity::{CallIdentity, NotJson};
use toolhub_store::ledger::{ApprovalAnswer, ApprovalQuestion, FileProblem, Ledger};
use toolhub_store::real_place;
use toolhub_text::canonical::{digest_of, json_digest};
use toolhub_text::invisible::{error_line, visible_json};
use toolhub_text::secret::{scrubbed, scrubbed_text};
use toolhub_text::{Message, message};
use toolhub_types::blocking::is_large;
use toolhub_types::error::{ErrorKind, HubError, Result, clip};

/// Characters of a reason that are shown.
const LONGEST: usize = 20_000;

impl CallPlan {
    /// The question about a call. The error says what is not JSON in its arguments. A tool that its server has not listed has
    /// no definition that an answer could be bound to. Without `is_new_asked`, only an answer to an earlier question counts.
    /// Also tells whether the arguments are large.
    pub(super) fn stored_question(
        &self,
        hub: &Hub,
        request: ApprovalRequest,
        forms: Result<Vec<Value>, NotJson>,
        is_new_asked: bool,
    ) -> Result<(HeavyWork<ApprovalQuestion>, bool)> {
        if let Some(unlisted) = request.candidates.iter().find(|one| !one.tool.is_defined()) {
            let server = unlisted.server.as_deref().unwrap_or_default();
            let reason = message!(
                "server '{}' has not listed it, and an approval is bound to what it lists",
                clip(server)
            );
            return Err(not_approved(&request.name, reason));
        }
        let not_json = |why: NotJson| {
            let text = message!(
                "Tool '{}' was not called: an approval is bound to arguments, and these are not JSON: {}.",
                clip(&request.name),
                why.sentence
            );
            not_json(&request.name, &why, text)
        };
        let forms = forms.map_err(not_json)?;
        let identity = self.identity(hub, &request.candidates).map_err(not_json)?;
        let run = self.options.run.as_deref().map(str::to_owned);
        let principal = self.options.principal.as_deref().unwrap_or_default().to_owned();
        let proposed_in = self.request.proposed_in.clone();
        let lasts = i64::try_from(hub.options.approval_lifetime.as_micros()).unwrap_or(i64::MAX);
        let is_large = forms.iter().any(is_large);
        let question = move || {
            // The forms follow from the identity and from whether arguments are coerced. All that would run are one question.
            let forms = Value::Array(forms);
            let forms_digest = json_digest(&forms);
            let bound_to = [
                &*identity.digest(),
                if run.is_some() { "run" } else { "" },
                run.as_deref().unwrap_or_default(),
                &forms_digest,
            ];
            ApprovalQuestion {
                digest: digest_of(&bound_to),
                values: identity.definition.bound_values(),
                principal,
                tool: request.name.to_string(),
                shown: shown(&request, &identity, forms, proposed_in.as_deref()),
                lasts,
                is_new_asked,
                run,
            }
        };
        Ok((HeavyWork(Box::new(question)), is_large))
    }

    /// What the answer of the store means; the error ends the call.
    pub(super) fn stored_answer(
        &self,
        answer: Result<ApprovalAnswer, FileProblem>,
        ledger: &Arc<Ledger>,
        now: Instant,
    ) -> Result<Result<(), Message>, Box<WithoutRun>> {
        match answer {
            Ok(ApprovalAnswer::Approved(_) | ApprovalAnswer::NeverAsked) => Ok(Ok(())),
            Ok(ApprovalAnswer::Denied(reason)) => {
                let reason = reason.map(|reason| error_line(&reason, LONGEST)).filter(|one| !one.is_empty());
                let given = |given: String| message!("it was not approved: {}", given);
                Ok(Err(reason.map_or(NOT_APPROVED.into(), given)))
            }
            Ok(ApprovalAnswer::Pending(id)) => {
                let outcome = Err(waiting(self.request.target.name(), &id, ledger.path()));
                Err(Box::new(WithoutRun { outcome, paused: Some(id), is_replayed: false }))
            }
            Err(problem) => {
                self.check_deadline_beside(Some(ledger), now)?;
                let reason = message!("its approval cannot be asked for ({})", problem.why());
                if !problem.is_locked() {
                    return Ok(Err(reason));
                }
                Err(problem.refusal(not_approved(self.request.target.name(), reason).message).into())
            }
        }
    }
}

/// Everything that the answer is bound to, in one line and without secrets: `pay on bank {"x":5}, meta {"tenant":1}, run by bank:
/// python bank.py`. A call that may not have been meant is shown with the sentence around it. It is kept in the store; the digest
/// binds the answer to the real values.
fn shown(
    request: &ApprovalRequest,
    identity: &CallIdentity,
    forms: Value,
    proposed_in: Option<&str>,
) -> String {
    let json = |value: Value| visible_json(&scrubbed(value).to_string());
    let mut text = clip(&request.name).into_owned();
    if !request.servers.is_empty() {
        let servers = request.servers.iter().map(|id| &**id).collect::<Vec<_>>().join(", ");
        text.push_str(&format!(" on {servers}"));
    }
    let forms = if let Value::Array(forms) = forms { forms } else { Vec::new() };
    let forms: Vec<_> = forms.into_iter().map(json).collect();
    text.push_str(&format!(" {}", forms.join(" or ")));
    let parts = identity.key.parts();
    for (name, part) in parts.iter().filter(|(name, _)| matches!(name.as_str(), "meta" | "passed_on")) {
        if part.as_object().is_some_and(|part| !part.is_empty()) {
            text.push_str(&format!(", {name} {}", json(part.clone())));
        }
    }
    let programs = identity.definition.programs();
    if !programs.is_empty() {
        text.push_str(&format!(", run by {}", visible_json(&scrubbed_text(&programs.join(" or ")))));
    }
    if let Some(sentence) = proposed_in {
        let sentence = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
        text.push_str(&format!(", in the text: {}", visible_json(&scrubbed_text(&sentence))));
    }
    text
}

/// The command works as it is printed, also in another folder; without a store no other process can decide.
fn waiting(tool: &str, id: &str, store: Option<&Path>) -> HubError {
    let tool = clip(tool);
    let text = match store.map(|store| shell_word(&real_place(store).to_string_lossy())) {
        Some(store) => message!(
            "Tool '{}' was not called: it waits for approval {}. Approve it with hub.approve('{}') or `toolhub approve {} --store \
             {}`, and make the call again.",
            tool,
            id,
            id,
            id,
            store
        ),
        None => message!(
            "Tool '{}' was not called: it waits for approval {}. Approve it with hub.approve('{}'), and make the call again.",
            tool,
            id,
            id
        ),
    };
    HubError::new(ErrorKind::Paused, text)
}

/// A text as one word of a POSIX shell.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// Longer texts are cut, and so are lists and objects with more members.
const LONGEST_TEXT: usize = 200;
const MOST_MEMBERS: usize = 20;
/// How many brackets are tried that begin no JSON.
const TRIES: usize = 100;

/// The JSON in a text with its long values cut. A mark stands outside of quotation marks, where no value can imitate it.
pub fn in_short(shown: &str) -> String {
    let (mut short, mut rest, mut tries) = (String::new(), shown, TRIES);
    while let Some(at) = rest.find(['{', '[']).filter(|_| tries > 0) {
        let (before, json) = rest.split_at(at);
        short.push_str(before);
        let mut values = serde_json::Deserializer::from_str(json).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                write(&value, &mut short);
                rest = &json[values.byte_offset()..];
            }
            _ => {
                short.push_str(&json[..1]);
                (rest, tries) = (&json[1..], tries - 1);
            }
        }
    }
    short.push_str(rest);
    short
}

fn write(value: &Value, short: &mut String) {
    match value {
        Value::String(text) => write_text(text, short),
        Value::Array(items) => {
            short.push('[');
            write_members(items.len(), "items", short, items.iter(), write);
            short.push(']');
        }
        Value::Object(members) => {
            short.push('{');
            write_members(members.len(), "members", short, members.iter(), |(key, value), short| {
                write_text(key, short);
                short.push(':');
                write(value, short);
            });
            short.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => short.push_str(&value.to_string()),
    }
}

fn write_members<T>(
    count: usize,
    what: &str,
    short: &mut String,
    members: impl Iterator<Item = T>,
    one: impl Fn(T, &mut String),
) {
    let half = if count > MOST_MEMBERS { MOST_MEMBERS / 2 } else { count };
    for (at, member) in members.enumerate() {
        if at == half && half < count {
            short.push_str(&format!(",…({count} {what})…"));
        }
        if at < half || at >= count - half {
            if at > 0 {
                short.push(',');
            }
            one(member, short);
        }
    }
}

fn write_text(text: &str, short: &mut String) {
    let quoted = |part: &str| visible_json(&Value::from(part).to_string());
    let length = text.chars().count();
    if length <= LONGEST_TEXT {
        return short.push_str(&quoted(text));
    }
    let place = |count: usize| text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    let (start, end) = (&text[..place(LONGEST_TEXT / 2)], &text[place(length - LONGEST_TEXT / 2)..]);
    short.push_str(&format!("{}…({length} characters)…{}", quoted(start), quoted(end)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_values_stay_as_they_are() {
        let text = r#"pay on bank {"to":"eve","all":[1,2.50,null]}, meta {"tenant":1}, run by bank: {x"#;
        assert_eq!(in_short(text), text);
    }

    #[test]
    fn long_values_are_cut_in_the_middle() {
        let (long, list) = (format!("{}{}", "a".repeat(500), "z".repeat(500)), vec![0; 1_000]);
        let text = format!(
            "pay {}",
            serde_json::json!({"first": 1, "text": long, "list": list, "amount": 5, "last": "\"…(9 items)…\""})
        );
        let (a, z, zeros) = ("a".repeat(100), "z".repeat(100), ["0"; 10].join(","));
        assert_eq!(
            in_short(&text),
            format!(
                r#"pay {{"first":1,"text":"{a}"…(1000 characters)…"{z}","list":[{zeros},…(1000 items)…,{zeros}],"amount":5,"last":"\"…(9 items)…\""}}"#
            )
        );
    }
}
