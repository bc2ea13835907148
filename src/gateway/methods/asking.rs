//! Questions of a call to its own caller.

use crate::gateway::caller::Caller;
use crate::gateway::exchange::Exchange;
use crate::gateway::questions::OpenQuestions;
use crate::gateway::rpc::INTERNAL_ERROR;
use crate::tool::{AskCaller, BoxFuture, QuestionAnswer};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Tells callers apart. A client without a session is a caller of its own for each of its calls.
pub fn caller_key(caller: &Caller) -> Arc<str> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    match &caller.session {
        Some(session) => Arc::from(format!("{}\n{session}", caller.principal.id)),
        None => Arc::from(format!("call {}", NEXT.fetch_add(1, Ordering::Relaxed))),
    }
}

/// Asks by a request on the stream of the call, which the client answers by a message of its own.
pub fn by_request(questions: &OpenQuestions, exchange: &Exchange) -> AskCaller {
    let caller = caller_key(&exchange.caller);
    let (questions, outlet, asker) =
        (questions.clone(), exchange.outlet.clone(), exchange.caller.client_key());
    let ask = move |method: &str, params: Value| -> BoxFuture<'static, QuestionAnswer> {
        let (questions, outlet, asker, method) =
            (questions.clone(), outlet.clone(), asker.clone(), method.to_owned());
        Box::pin(async move {
            let failed = |why: &str| (INTERNAL_ERROR, why.to_owned());
            let asked = questions.open(&asker).ok_or_else(|| failed("the system gives no random numbers"))?;
            let request = json!({"jsonrpc": "2.0", "id": asked.id(), "method": method, "params": params});
            if !outlet.send(request.to_string()).await {
                return Err(failed("the client takes no events"));
            }
            asked.wait().await
        })
    };
    AskCaller { caller, ask: Arc::new(ask) }
}
