//! Questions of a call to its own caller.

use crate::caller::Caller;
use crate::exchange::Exchange;
use crate::questions::OpenQuestions;
use crate::relay::Outlet;
use crate::rpc::INTERNAL_ERROR;
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use toolhub_types::tool::{AskRound, QuestionAnswer, RoundQuestion};

/// Tells callers apart. Clients of 2026-07-28 have no session: those with credentials are one caller, and one without is a
/// caller of its own for each of its calls.
pub fn caller_key(caller: &Caller) -> Arc<str> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    match &caller.session {
        Some(session) => Arc::from(format!("{}\n{session}", caller.principal.id)),
        None if !caller.principal.is_anonymous() => Arc::from(format!("{}\n", caller.principal.id)),
        None => Arc::from(format!("call {}", NEXT.fetch_add(1, Ordering::Relaxed))),
    }
}

/// Asks by requests on the stream of the call, each of which the client answers by a message of its own.
pub fn by_request(questions: &OpenQuestions, exchange: &Exchange) -> AskRound {
    let (questions, outlet, caller) = (questions.clone(), exchange.outlet.clone(), exchange.caller.clone());
    Arc::new(move |round: Vec<RoundQuestion>, _| {
        let asker = caller.client_key();
        let each = round.into_iter().map(|question| {
            ask(questions.clone(), outlet.clone(), asker.clone(), question.method, question.params)
        });
        Box::pin(join_all(each.collect::<Vec<_>>()))
    })
}

pub async fn ask(
    questions: OpenQuestions,
    outlet: Outlet,
    asker: Arc<str>,
    method: String,
    params: Value,
) -> QuestionAnswer {
    let failed = |why: &str| (INTERNAL_ERROR, why.to_owned());
    let asked = questions.open(&asker).ok_or_else(|| failed("could not read random bytes from the OS"))?;
    let request = json!({"jsonrpc": "2.0", "id": asked.id(), "method": method, "params": params});
    if !outlet.send(request.to_string()).await {
        return Err(failed("the client takes no events"));
    }
    asked.wait().await
}
