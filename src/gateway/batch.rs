//! Batches: several messages in one. Their requests run beside each other, each in a task of its own.

use crate::Gateway;
use crate::era;
use crate::exchange::refusal_status;
use crate::operate::HeldMessage;
use crate::rpc::{
    BATCH_VERSION, BatchEntry, ClientMessage, INTERNAL_ERROR, RpcError, RpcId, RpcRequest, error_message,
};
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use toolhub_types::principal::Principal;

/// The answers to a batch, as they come. A request goes on when this is dropped; its token stops it.
#[derive(Default)]
pub struct BatchAnswers {
    /// By the order of their requests; `None` until it has come, or if there is none.
    come: Vec<Option<HeldMessage>>,
    pub coming: FuturesUnordered<BoxFuture<'static, (usize, Option<HeldMessage>)>>,
}

impl BatchAnswers {
    /// Runs the requests of a batch. `prepared` gives one that counts as running, and whose answer may be none; `notice` takes a
    /// message that gets no answer.
    pub fn of<C, F: Future<Output = Option<HeldMessage>> + Send + 'static>(
        entries: Vec<BatchEntry>,
        (gateway, principal): (&Gateway, &Principal),
        client: &mut C,
        prepared: impl Fn(&mut C, RpcRequest) -> Result<F, RpcError>,
        notice: impl Fn(&mut C, ClientMessage),
    ) -> Self {
        let mut answers = BatchAnswers::default();
        for entry in entries {
            let refused = match entry {
                Ok(ClientMessage::Request(request)) => {
                    let id = request.id.clone();
                    match fits(&request).and_then(|()| prepared(client, request)) {
                        Ok(answer) => {
                            answers.run(id, answer);
                            continue;
                        }
                        Err(error) => (Some(id), error),
                    }
                }
                Ok(message) => {
                    notice(client, message);
                    continue;
                }
                Err(unreadable) => (unreadable.id, unreadable.error),
            };
            gateway.refused(refusal_status(&refused.1), Some(principal));
            answers.come.push(Some(error_message(refused.0.as_ref(), &refused.1).into()));
        }
        answers
    }

    fn run(&mut self, id: RpcId, request: impl Future<Output = Option<HeldMessage>> + Send + 'static) {
        let place = self.come.len();
        self.come.push(None);
        let running = tokio::spawn(request);
        self.coming.push(Box::pin(async move {
            let failed = || error_message(Some(&id), &RpcError::new(INTERNAL_ERROR, "Internal error"));
            (place, running.await.unwrap_or_else(|_| Some(failed().into())))
        }));
    }

    /// Nothing in the batch wants an answer.
    pub fn is_empty(&self) -> bool {
        self.come.is_empty()
    }

    /// Waits for the rest; may be dropped and called again.
    pub async fn completed(&mut self) {
        while let Some((place, answer)) = self.coming.next().await {
            self.come[place] = answer;
        }
    }

    /// Those that have come and were not taken, in the order of the requests.
    pub fn taken(&mut self) -> Vec<HeldMessage> {
        self.come.iter_mut().filter_map(Option::take).collect()
    }

    /// The same as one message, on one line.
    pub fn message(&mut self) -> HeldMessage {
        HeldMessage::join(self.taken(), |texts| format!("[{}]", texts.join(",")))
    }
}

/// Refuses a request that cannot be part of a batch.
fn fits(request: &RpcRequest) -> Result<(), RpcError> {
    if request.method == "initialize" {
        return Err(RpcError::invalid_request("Invalid Request: 'initialize' must not be part of a batch"));
    }
    if era::is_modern(&request.method, request.params.meta()) {
        return Err(RpcError::invalid_request(format!(
            "Invalid Request: a batch holds messages of protocol version {BATCH_VERSION} only"
        )));
    }
    Ok(())
}
