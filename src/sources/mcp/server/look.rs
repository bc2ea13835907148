//! Look-ups: the list of a server is requested because a tool is missing. All that miss a tool at the same time share one
//! request, also one that the session has sent by itself.

use super::{ConnectionRequest, Look, Server, lost, outcome};
use crate::mcp::lifecycle::ConnectReason;
use crate::mcp::listing;
use futures_util::FutureExt;
use futures_util::future::WeakShared;
use std::sync::Arc;
use std::time::Instant;
use tokio::time::timeout;
use toolhub_types::error::{ErrorKind, HubError};
use toolhub_types::tool::Freshness;

/// A look may wait for a request that is too old, and the one after it for one that the session has sent by itself.
const MOST_LOOKS: usize = 4;

impl Server {
    /// Lists the tools again because one is missing. A server in back-off is left alone, and callers that look at the
    /// same time share one request. `is_for_call`: a caller has named this server, and waits for it.
    pub async fn look(self: &Arc<Self>, is_for_call: bool) -> Result<(), HubError> {
        if let Some(recorded) = self.take_recorded_list() {
            return recorded.map(drop);
        }
        let look = {
            let mut life = self.life.lock();
            let known = life.look.as_ref().and_then(WeakShared::upgrade).filter(|look| look.peek().is_none());
            known.unwrap_or_else(|| {
                let server = self.clone();
                let look: Look = Box::pin(async move { server.look_now(is_for_call).await });
                let look = look.shared();
                life.look = look.downgrade();
                look
            })
        };
        look.await
    }

    /// Has the present session list its tools, unless it has done so and the list is as current as this. Callers that wait at the
    /// same time share one request: that which is running may be too old for them, the one after it is not.
    pub async fn list_as(self: &Arc<Self>, freshness: Freshness) -> Result<(), HubError> {
        let begun = Instant::now();
        let is_new = || self.has_listed() && self.lists.is_since(begun);
        let is_listed = || is_new() || (freshness < Freshness::Now && self.has_current_list());
        for _ in 0..MOST_LOOKS {
            if is_listed() {
                return Ok(());
            }
            if freshness == Freshness::Now {
                self.lists.want_now();
            }
            match self.look(true).await {
                // The next look makes a new connection.
                Err(error) if error.kind == ErrorKind::Closed => {}
                looked => looked?,
            }
        }
        is_listed().then_some(()).ok_or_else(lost)
    }

    /// Since when a request for the list has no answer.
    pub fn listing_since(&self) -> Option<Instant> {
        self.lists.running_since()
    }

    async fn look_now(self: &Arc<Self>, is_for_call: bool) -> Result<(), HubError> {
        let reason = if is_for_call { ConnectReason::Call } else { ConnectReason::List };
        let mut ended = self.lists.ended();
        let before = *ended.borrow_and_update();
        match self.begin(reason, None)? {
            ConnectionRequest::Ready(link) => {
                if self.lists.is_running(link.generation, self.callbacks().changes()) {
                    // The list that is on its way has all announced changes. It goes on when this caller gives up.
                    let _ = timeout(self.list_limit(), ended.wait_for(|ended| *ended > before)).await;
                    if let Some(answer) = self.list_answer() {
                        return answer;
                    }
                }
                Self::list(Arc::downgrade(self), link, self.list_limit()).await.map(drop)
            }
            ConnectionRequest::InProgress(attempt) => {
                outcome(attempt).await.map_err(|error| self.auto_connect_failed(error))?;
                // A new session lists its tools by itself. The end of an earlier session counts as a round, too.
                let is_answered = |ended: &usize| *ended > before && self.list_answer().is_some();
                let _ = timeout(self.list_limit(), ended.wait_for(is_answered)).await;
                self.list_answer().unwrap_or_else(|| Err(listing::unanswered(self.list_limit())))
            }
        }
    }

    /// What came of the list of the present session, if anything.
    fn list_answer(&self) -> Option<Result<(), HubError>> {
        let error = self.life.lock().machine.error().cloned();
        error.map(Err).or_else(|| self.has_listed().then_some(Ok(())))
    }
}
