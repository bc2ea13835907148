//! Look-ups: the list of a server is requested because a tool is missing, or because a call needs a list that is as current as
//! itself. All that need one at the same time share one request, also one that the session has sent by itself.

use super::{Server, lost};
use crate::mcp::connection::Connection;
use crate::mcp::lifecycle::ConnectReason;
use crate::mcp::tool_list::Listing;
use std::sync::Arc;
use std::time::Instant;
use toolhub_types::error::{ErrorKind, HubError};
use toolhub_types::tool::Freshness;

/// How often a list is requested over a new connection, because one was lost meanwhile.
const MOST_LOOKS: usize = 4;

impl Server {
    /// Lists the tools again because one is missing. A server in back-off is left alone, and callers that look at the
    /// same time share one request. `is_for_call`: a caller has named this server, and waits for it.
    pub async fn look(self: &Arc<Self>, is_for_call: bool) -> Result<(), HubError> {
        if let Some(recorded) = self.take_recorded_list() {
            return recorded.map(drop);
        }
        let begun = Instant::now();
        let reason = if is_for_call { ConnectReason::Call } else { ConnectReason::List };
        let connection = self.connected(reason, None).await?;
        let generation = connection.generation;
        // A list that was on its way has all changes that were announced before, if it has those that are announced now.
        let is_enough = move |server: &Server| {
            server.lists.is_of(generation) && server.lists.came_since(begun) && !server.is_behind()
        };
        self.list_over(connection, begun, false, is_enough).await.map(drop)
    }

    /// Has the present session list its tools, unless it has done so and the list is as current as this.
    pub async fn list_as(self: &Arc<Self>, freshness: Freshness) -> Result<(), HubError> {
        if let Some(recorded) = self.take_recorded_list() {
            return recorded.map(drop);
        }
        let begun = Instant::now();
        let of_now = freshness == Freshness::Now;
        let is_enough = move |server: &Server| {
            server.has_listed() && server.lists.is_since(begun, of_now)
                || !of_now && server.has_current_list()
        };
        for _ in 0..MOST_LOOKS {
            if is_enough(self) {
                return Ok(());
            }
            let connection = self.connected(ConnectReason::Call, None).await?;
            match self.list_over(connection, begun, of_now, is_enough).await {
                Err(error) if error.kind == ErrorKind::Closed => {}
                listed => return listed.map(drop),
            }
        }
        Err(lost())
    }

    pub(super) async fn list_over(
        self: &Arc<Self>,
        connection: Arc<Connection>,
        begun: Instant,
        of_now: bool,
        is_enough: impl Fn(&Server) -> bool,
    ) -> Result<Arc<Listing>, HubError> {
        Self::list(Arc::downgrade(self), connection, begun, of_now, is_enough).await
    }

    /// Since when a request for the list has no answer.
    pub fn listing_since(&self) -> Option<Instant> {
        self.lists.running_since()
    }
}
