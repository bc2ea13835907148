//! The end of a session that is lost, and of a server: it was removed or replaced, or the hub is closed.

use super::{ConnectAttempt, Server};
use crate::mcp::callbacks::QUESTIONS;
use crate::mcp::lifecycle::LifeStage;
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::SemaphorePermit;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result};
use toolhub_types::tool::AskCaller;

/// How long a call may take from the choice of its server to its beginning there.
const PLANNED_CALLS_BEGIN: Duration = Duration::from_millis(500);
/// How often a server that was removed is asked whether its last call has ended.
const GLANCE: Duration = Duration::from_millis(100);

impl Server {
    /// Before a call begins whose caller can be asked: ends a session in which the server was told otherwise, because it is
    /// older than the serving of the hub. The call makes a new one. While other calls run, the session stays.
    pub(crate) fn let_it_ask(&self, ask: Option<&AskCaller>) {
        if !ask.is_some_and(|ask| QUESTIONS.iter().any(|name| ask.capabilities[*name].is_object())) {
            return;
        }
        let mut life = self.life.lock();
        let stale = life.session().map(|session| &session.connection).filter(|connection| {
            let is_free = self.calls.load(Ordering::Acquire) == 0;
            is_free && connection.knows_of_no_answers() && !connection.is_in_use()
        });
        let generation = stale.map(|connection| connection.generation);
        if let Some(session) = generation.and_then(|generation| life.take_idle(generation)) {
            tokio::spawn(session.close());
        }
    }

    /// Ends a session that is lost, and reports why.
    pub(super) fn end_lost(&self) {
        let lost = self.life.lock().take_lost(Instant::now(), |session| session.connection.retired());
        let Some((session, lived)) = lost else { return };
        let why = session.connection.retired();
        drop(session);
        self.tell_lost(Some(lived), why.as_ref());
    }

    /// Tells the hub's listeners that the server is not there any more.
    pub(crate) fn tell_lost(&self, lived: Option<Duration>, why: Option<&HubError>) {
        let mut details = json!({"duration_ms": lived.map(|lived| lived.as_secs_f64() * 1e3)});
        if let Some(error) = why {
            details["kind"] = error.kind.name().into();
            details["error"] = (&*error.message).into();
        }
        self.callbacks().tell("disconnected", details);
    }

    /// The server was removed or replaced: what runs may end, and calls that wait for a slot or a connection are refused, so
    /// that they can be planned again.
    pub fn dismiss(&self) {
        self.dismissed.cancel();
    }

    /// The end of the wait of a call; an error if the server is dismissed before. What is ready at once is used.
    pub(crate) async fn unless_dismissed<T>(&self, wait: impl Future<Output = T>) -> Result<T> {
        tokio::select! {
            biased;
            done = wait => Ok(done),
            () = self.dismissed.cancelled() => {
                let text = message!(
                    "Server '{}' was removed or replaced before the call began; nothing was sent.",
                    self.id()
                );
                Err(HubError::new(ErrorKind::Closed, text).with_outcome(Outcome::NotSent))
            }
        }
    }

    /// One of the server's slots, until the server that the hub offers is dismissed.
    pub(crate) async fn slot(&self, offered: &Server) -> Result<Option<SemaphorePermit<'_>>> {
        let Some(slots) = &self.concurrency else { return Ok(None) };
        Ok(offered.unless_dismissed(slots.acquire()).await?.ok())
    }

    /// Closes a server that was removed or replaced, when its last call has ended.
    pub async fn retire(&self) {
        // A call that was planned before the removal may be about to begin.
        tokio::time::sleep(PLANNED_CALLS_BEGIN).await;
        while self.calls.load(Ordering::Acquire) > 0 {
            tokio::time::sleep(GLANCE).await;
        }
        self.close().await;
    }

    /// Ends the connection and every attempt for good, also those of callers. Calls in flight fail.
    pub async fn close(&self) {
        for server in self.callers.take() {
            server.close_own().await;
        }
        self.close_own().await;
    }

    async fn close_own(&self) {
        let released = self.life.lock().close();
        match released {
            LifeStage::Idle | LifeStage::Closed => {}
            LifeStage::Ready { session, .. } => session.close().await,
            LifeStage::Connecting(ConnectAttempt { outcome, task }) => {
                drop(task);
                // The attempt drops its connection before this ends.
                let _ = outcome.await;
            }
        }
    }
}
