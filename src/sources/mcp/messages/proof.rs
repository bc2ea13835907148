//! What the failure of a call proves. This is the one place of the rule.
//!
//! A call that was sent may have happened. It is proven that it did not if all of this is true:
//!
//! - The server refused it: with a JSON-RPC error exactly as the specification has it, whose code says that the method, the tool
//!   or the parameters are wrong; or with the status 429.
//! - Nothing was heard of the call before that, and nothing else came with it, or can still come on another stream.
//! - The call left once: it was neither redirected nor sent again with other credentials.
//! - The tool is known and has no output schema. Servers report a result that breaks it with the code of invalid parameters.
//!
//! A refused session (see [`Refusal::of_call`]) lets the same server have the call once more, and proves nothing to anybody else.
//!
//! Any other error that is well formed is `failed`: the server says that it has worked on the call, and that it failed. All
//! else is `unknown`, and so is a call of which a hub in between says so, see [`of_report`].
//!
//! [`Refusal::of_call`]: crate::mcp::transport::http::exchange::Refusal::of_call

use crate::mcp::transport::SendStage;
use serde_json::Value;
use toolhub_protocol::{INVALID_PARAMS, METHOD_NOT_FOUND, RpcEnvelope};
use toolhub_types::error::{ErrorKind, HubError, OUTCOME_KEY, Outcome};

/// What the `error` of an answer says about the call that it answers, if it came alone.
pub fn of_answer(error: HubError, envelope: &RpcEnvelope<'_>, sent: &Value) -> HubError {
    let code = sent.get("code").and_then(Value::as_i64);
    let is_well_formed = code.is_some() && sent.get("message").is_some_and(Value::is_string);
    let reported = of_report(error.upstream.as_ref().and_then(|upstream| upstream.data.as_ref()));
    // Servers refuse a tool that they do not know in either way.
    let refuses = matches!(error.code, Some(METHOD_NOT_FOUND | INVALID_PARAMS));
    let is_alone = envelope.jsonrpc.is_some_and(|version| version.get() == "\"2.0\"")
        && envelope.id.is_some_and(|id| id.get().parse::<u64>().is_ok())
        && envelope.result.is_none()
        && envelope.params.is_none()
        && !envelope.has_other
        && !envelope.has_twice;
    let outcome = if is_well_formed && !refuses { reported } else { Outcome::Unknown };
    let is_proven = refuses && is_well_formed && is_alone && reported == Outcome::Failed;
    HubError { outcome, nothing_happened: is_proven, ..error }
}

/// The outcome of a call that is reported as failed. A hub in between may know that the call may have run, and says so in the
/// `_meta` of a result or the `data` of an error. Any server may say it: it only makes a call less certain.
pub fn of_report(said: Option<&Value>) -> Outcome {
    match said.and_then(|said| said.get(OUTCOME_KEY)) {
        Some(outcome) if outcome == Outcome::Unknown.name() => Outcome::Unknown,
        _ => Outcome::Failed,
    }
}

/// An answer that is not a success of HTTP. `is_of_method`: the error has the id of the call. `may_have_result`: the body is a
/// result nevertheless, or a stream, which may bring one.
///
/// 429 says that the server did not take the request. Every other refusal (4xx) is an answer, but no proof: a server may pass on
/// the 403 or 404 of a service that its tool had called. After 5xx, after 408, after a redirect, and after a request that was
/// accepted and never answered, the tool may have run. That includes 503: load balancers send it after the server got the
/// request.
pub fn of_status(error: HubError, status: u16, is_of_method: bool, may_have_result: bool) -> HubError {
    let outcome = match (error.kind, status) {
        // The server has answered in its own words. Without the id they may come from any layer of it.
        (ErrorKind::Rpc, _) if is_of_method || status < 500 => error.outcome,
        (_, 408 | 429) => Outcome::Unknown,
        (_, 400..=499) => Outcome::Failed,
        _ => Outcome::Unknown,
    };
    let nothing_happened = match status {
        429 => !may_have_result,
        400..=499 => error.nothing_happened,
        _ => false,
    };
    HubError { outcome, nothing_happened, ..error }
}

/// The error of a request whose answer comes on one stream while the status of its POST comes on another. `is_taken`: the server
/// has taken the POST, so both say the same.
pub fn of_two_streams(error: HubError, is_taken: bool) -> HubError {
    HubError { nothing_happened: error.nothing_happened && is_taken, ..error }
}

/// The error of a request, once it is over. `is_heard`: something came from the server that may be about it, before the answer.
pub fn of_request(error: HubError, stage: &SendStage, is_heard: bool) -> HubError {
    if !stage.may_have_left() {
        return error.with_outcome(Outcome::NotSent);
    }
    let has_left_once = stage.has_left_once();
    let outcome = match error.outcome {
        // A kind of error says that nothing was sent, but something was.
        Outcome::NotSent => Outcome::Unknown,
        // The last answer says nothing about the first one, unless both refuse the credentials.
        Outcome::Failed if !has_left_once && error.kind != ErrorKind::Auth => Outcome::Unknown,
        outcome => outcome,
    };
    HubError { outcome, nothing_happened: error.nothing_happened && has_left_once && !is_heard, ..error }
}

/// The error of a call of a tool. `may_check_result`: the server may have checked what the tool returned.
pub fn of_call(error: HubError, may_check_result: bool) -> HubError {
    let nothing_happened = error.nothing_happened && !(error.kind == ErrorKind::Rpc && may_check_result);
    HubError { nothing_happened, ..error }
}

/// Whether a server refused the session of a try that was sent: it may have the call once more, and nobody else may.
pub fn only_lets_resend(error: &HubError) -> bool {
    error.kind == ErrorKind::Closed && error.nothing_happened
}

/// The error of the last of several tries. `is_in_doubt`: an earlier one may have happened.
pub fn of_last_try(error: HubError, is_in_doubt: bool) -> HubError {
    match is_in_doubt {
        true => error.with_outcome(Outcome::Unknown),
        // Each earlier one was refused, or not sent.
        false => HubError { nothing_happened: error.is_without_effect(), ..error },
    }
}
