//! The question that is kept in the store until somebody answers it: what binds the answer, and what a person reads.

use super::permissions::{ApprovalRequest, not_approved};
use super::state::CallPlan;
use crate::hub::Hub;
use serde_json::Value;
use toolhub_registry::identity::{CallIdentity, NotJson};
use toolhub_store::ledger::ApprovalQuestion;
use toolhub_text::canonical::{digest_of, json_digest};
use toolhub_text::invisible::visible_json;
use toolhub_text::secret::{scrubbed, scrubbed_text};
use toolhub_types::aside::is_heavy;
use toolhub_types::error::{ErrorKind, HubError, clip};

/// A question whose text and digest are still to be made, which takes a while for large arguments.
pub struct QuestionWork {
    request: ApprovalRequest,
    identity: CallIdentity,
    run: Option<String>,
    principal: String,
    proposed_in: Option<String>,
    lasts: i64,
    is_new_asked: bool,
    /// All forms of the arguments that would run: they are one question.
    forms: Vec<Value>,
}

impl CallPlan {
    /// The question about a call. The error says what is not JSON in its arguments. A tool that its server has not listed has
    /// no definition that an answer could be bound to. Without `is_new_asked`, only an answer to an earlier question counts.
    pub fn stored_question(
        &self,
        hub: &Hub,
        request: ApprovalRequest,
        forms: Result<Vec<Value>, NotJson>,
        is_new_asked: bool,
    ) -> Result<QuestionWork, HubError> {
        if let Some(unlisted) = request.candidates.iter().find(|one| !one.tool.is_defined()) {
            let server = unlisted.server.as_deref().unwrap_or_default();
            let reason = format!(
                "server '{}' has not listed it, and an approval is bound to what it lists",
                clip(server)
            );
            return Err(not_approved(&request.name, &reason));
        }
        let not_json = |why: NotJson| {
            if why.too_many {
                return why.refusal(&request.name);
            }
            let text = format!(
                "Tool '{}' was not called: an approval is bound to arguments, and these are not JSON: {}.",
                clip(&request.name),
                why.sentence
            );
            HubError::new(ErrorKind::InvalidArguments, text)
        };
        let forms = forms.map_err(not_json)?;
        let identity = self.identity(hub, &request.candidates);
        let identity = identity.unwrap_or_else(|| Err(NotJson::not_given())).map_err(not_json)?;
        Ok(QuestionWork {
            identity,
            run: self.options.run.as_deref().map(str::to_owned),
            principal: self.options.principal.as_deref().unwrap_or_default().to_owned(),
            proposed_in: self.request().proposed_in.clone(),
            lasts: i64::try_from(hub.options.approval_lifetime.as_micros()).unwrap_or(i64::MAX),
            is_new_asked,
            forms,
            request,
        })
    }
}

impl QuestionWork {
    pub fn is_heavy(&self) -> bool {
        self.forms.iter().any(is_heavy)
    }

    pub fn question(self) -> ApprovalQuestion {
        let QuestionWork { request, identity, run, forms, .. } = self;
        // The forms follow from the identity and from whether arguments are coerced.
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
            principal: self.principal,
            tool: request.name.to_string(),
            shown: shown(&request, &identity, forms, self.proposed_in.as_deref()),
            lasts: self.lasts,
            is_new_asked: self.is_new_asked,
            run,
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
