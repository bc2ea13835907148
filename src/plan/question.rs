//! The question that is kept in the store until somebody answers it: what binds the answer, and what a person reads.

use super::permissions::{ApprovalRequest, not_approved};
use super::state::CallPlan;
use crate::canonical::{digest_of, json_digest};
use crate::error::{ErrorKind, HubError, clip};
use crate::hub::Hub;
use crate::identity::CallIdentity;
use crate::invisible::visible_json;
use crate::secret::{scrubbed, scrubbed_text};
use crate::store::ledger::ApprovalQuestion;
use serde_json::Value;

impl CallPlan {
    /// All forms of the arguments that would run are one question; the error says what is not JSON in them. A tool that its
    /// server has not listed has no definition that an answer could be bound to.
    pub fn stored_question(
        &self,
        hub: &Hub,
        request: &ApprovalRequest,
        forms: Result<Vec<Value>, String>,
    ) -> Result<ApprovalQuestion, HubError> {
        if let Some(unlisted) = request.candidates.iter().find(|one| !one.tool.is_defined()) {
            let server = unlisted.server.as_deref().unwrap_or_default();
            let reason = format!(
                "server '{}' has not listed it, and an approval is bound to what it lists",
                clip(server)
            );
            return Err(not_approved(&request.name, &reason));
        }
        let not_json = |reason: String| {
            let text = format!(
                "Tool '{}' was not called: an approval is bound to arguments, and these are not JSON: {reason}.",
                clip(&request.name)
            );
            HubError::new(ErrorKind::InvalidArguments, text)
        };
        let forms = forms.map_err(not_json)?;
        let identity = self.identity(hub, &request.candidates);
        let identity = identity.unwrap_or_else(|| Err("they were not given".to_owned())).map_err(not_json)?;
        let run = self.options.run.as_deref();
        // The forms follow from the identity and from whether arguments are coerced.
        let forms_digest = json_digest(&Value::Array(forms.clone()));
        let bound_to = [
            &*identity.digest(),
            if run.is_some() { "run" } else { "" },
            run.unwrap_or_default(),
            &forms_digest,
        ];
        let lasts = hub.options.approval_lifetime.as_micros();
        Ok(ApprovalQuestion {
            digest: digest_of(&bound_to),
            principal: self.options.principal.as_deref().unwrap_or_default().to_owned(),
            run: run.map(str::to_owned),
            tool: request.name.to_string(),
            shown: shown(request, &identity, forms, self.request().proposed_in.as_deref()),
            lasts: i64::try_from(lasts).unwrap_or(i64::MAX),
        })
    }
}

/// Everything that the answer is bound to, in one line and without secrets: `pay on bank {"x":5}, meta {"tenant":1}, run by bank:
/// python bank.py`. A call that may not have been meant is shown with the sentence around it. It is kept in the store; the digest
/// binds the answer to the real values.
fn shown(
    request: &ApprovalRequest,
    identity: &CallIdentity,
    forms: Vec<Value>,
    proposed_in: Option<&str>,
) -> String {
    let json = |value: Value| visible_json(&scrubbed(value).to_string());
    let mut text = clip(&request.name).into_owned();
    if !request.servers.is_empty() {
        let servers = request.servers.iter().map(|id| &**id).collect::<Vec<_>>().join(", ");
        text.push_str(&format!(" on {servers}"));
    }
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
