//! The life of one server as a state machine without a runtime and without I/O.
//!
//! ```text
//! idle ──want──► connecting ──connected──► ready ──lost / idle──► idle        closed is final
//!   ▲                │ failed: later attempts back off
//!   └────────────────┘
//! ```
//!
//! Requests for a connection, the ends of attempts and time are inputs. The results say what the owner has to do: use a
//! session, wait for an attempt, start one, or release what the machine gives back. Every attempt has a generation. An
//! attempt that ends after its server was closed, or after a later attempt began, has no effect.
//!
//! `A` is the handle of an attempt in progress, `S` an established session. The machine owns them, so its state and the
//! resources cannot disagree.

use crate::mcp::backoff::{ListStarts, ReconnectBackoff};
use crate::mcp::protocol::ProtocolHint;
use std::time::{Duration, Instant};
use toolhub_types::error::HubError;

pub struct Lifecycle<A, S> {
    stage: LifeStage<A, S>,
    /// The number of the latest attempt; the session it leads to has the same one.
    pub generation: u64,
    disabled: bool,
    pub backoff: ReconnectBackoff,
    list_starts: ListStarts,
    /// What an earlier connection showed, perhaps one of an earlier process.
    pub hint: Option<ProtocolHint>,
    /// Why the latest attempt or list failed.
    pub error: Option<HubError>,
    last_failure: Option<ConnectFailure>,
    /// When something was last wanted of the server, as its owner says.
    pub last_used: Instant,
}

#[derive(Debug, PartialEq)]
pub enum LifeStage<A, S> {
    Idle,
    Connecting(A),
    Ready { session: S, since: Instant },
    Closed,
}

/// Why a connection is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectReason {
    /// A caller waits for it.
    Call,
    /// The list alone, which no user asked for. Such attempts back off from the first failure on, and are limited in number.
    List,
    /// A user asked for it: the back-off is ignored.
    User,
}

/// Why there is no connection and no attempt to get one.
#[derive(Clone, Debug, PartialEq)]
pub enum Unavailable {
    Closed,
    Disabled,
    BackingOff {
        wait: Duration,
        failures: u32,
        last: Box<ConnectFailure>,
    },
    /// It was started often enough for its list alone.
    ListedOften {
        wait: Duration,
    },
}

/// The failure that counted last for the back-off.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectFailure {
    pub error: HubError,
    pub at: Instant,
    /// How long the connection lived, if there was one.
    pub lived: Option<Duration>,
}

impl<A, S> Lifecycle<A, S> {
    pub fn new(disabled: bool) -> Self {
        Lifecycle {
            stage: LifeStage::Idle,
            generation: 0,
            disabled,
            backoff: ReconnectBackoff::default(),
            list_starts: ListStarts::default(),
            hint: None,
            error: None,
            last_failure: None,
            last_used: Instant::now(),
        }
    }

    /// Asks for a connection: the stage has a session or an attempt, unless it is closed. `start` is called when an attempt has to
    /// begin, with its generation and what is known of the server.
    pub fn want(
        &mut self,
        reason: ConnectReason,
        now: Instant,
        start: impl FnOnce(u64, Option<ProtocolHint>) -> A,
    ) -> Result<&LifeStage<A, S>, Unavailable> {
        if matches!(self.stage, LifeStage::Idle) {
            if self.disabled {
                return Err(Unavailable::Disabled);
            }
            if let Some(unavailable) = self.must_wait(reason, now) {
                return Err(unavailable);
            }
            if reason == ConnectReason::List {
                self.list_starts.record(self.starts_of_attempt(), now);
            }
            self.generation += 1;
            let attempt = start(self.generation, self.hint);
            self.stage = LifeStage::Connecting(attempt);
        }
        Ok(&self.stage)
    }

    fn must_wait(&self, reason: ConnectReason, now: Instant) -> Option<Unavailable> {
        let (backoff, limit) = match reason {
            ConnectReason::User => return None,
            ConnectReason::Call => (self.backoff.wait(now), None),
            ConnectReason::List => {
                (self.backoff.wait_for_list(now), self.list_starts.wait(self.starts_of_attempt(), now))
            }
        };
        let wait = backoff.max(limit)?;
        Some(match &self.last_failure {
            Some(last) if self.backoff.failures > 0 => Unavailable::BackingOff {
                wait,
                failures: self.backoff.failures,
                last: Box::new(last.clone()),
            },
            _ => Unavailable::ListedOften { wait },
        })
    }

    /// A server of unknown era may have to be started a second time, for the older handshake.
    fn starts_of_attempt(&self) -> usize {
        if self.hint.is_some() { 1 } else { 2 }
    }

    /// An attempt succeeded. Gives back the session when it comes too late.
    pub fn connected(
        &mut self,
        generation: u64,
        session: S,
        hint: ProtocolHint,
        now: Instant,
    ) -> Result<(), S> {
        if !self.is_attempt(generation) {
            return Err(session);
        }
        self.stage = LifeStage::Ready { session, since: now };
        self.hint = Some(hint);
        self.error = None;
        Ok(())
    }

    /// An attempt failed, which has no effect when it comes too late.
    pub fn failed(&mut self, generation: u64, error: HubError, now: Instant) {
        if !self.is_attempt(generation) {
            return;
        }
        self.stage = LifeStage::Idle;
        self.backoff.failed(now);
        // The hint may be what is wrong: the next attempt negotiates from the start.
        self.hint = None;
        self.last_failure = Some(ConnectFailure { error: error.clone(), at: now, lived: None });
        self.error = Some(error);
    }

    /// Whether the attempt in progress is this one.
    fn is_attempt(&self, generation: u64) -> bool {
        self.is_connecting() && generation == self.generation
    }

    /// Gives back the session if it is lost, with the time it lived. A short life counts as a failure.
    pub fn take_lost(
        &mut self,
        now: Instant,
        why_lost: impl FnOnce(&S) -> Option<HubError>,
    ) -> Option<(S, Duration)> {
        let LifeStage::Ready { session, since } = &self.stage else { return None };
        let error = why_lost(session)?;
        let lived = now.saturating_duration_since(*since);
        self.last_failure = Some(ConnectFailure { error, at: now, lived: Some(lived) });
        self.backoff.lost(lived, now);
        self.take_session().map(|session| (session, lived))
    }

    /// The server has answered a call. Failures are counted from its last answer.
    pub fn answered(&mut self) {
        if matches!(self.stage, LifeStage::Ready { .. }) {
            self.backoff = ReconnectBackoff::default();
        }
    }

    /// Gives back the session of this generation because nothing uses it. This is not a failure.
    pub fn take_idle(&mut self, generation: u64) -> Option<S> {
        if generation == self.generation { self.take_session() } else { None }
    }

    fn take_session(&mut self) -> Option<S> {
        match std::mem::replace(&mut self.stage, LifeStage::Idle) {
            LifeStage::Ready { session, .. } => Some(session),
            other => {
                self.stage = other;
                None
            }
        }
    }

    /// Closes for good, and gives back what has to be ended.
    pub fn close(&mut self) -> LifeStage<A, S> {
        std::mem::replace(&mut self.stage, LifeStage::Closed)
    }

    /// Whether results of this generation still count: the server is not closed, and no later attempt has begun.
    pub fn is_current(&self, generation: u64) -> bool {
        generation == self.generation && !self.is_closed()
    }

    pub fn is_closed(&self) -> bool {
        matches!(self.stage, LifeStage::Closed)
    }

    pub fn is_connecting(&self) -> bool {
        matches!(self.stage, LifeStage::Connecting(_))
    }

    pub fn session(&self) -> Option<&S> {
        match &self.stage {
            LifeStage::Ready { session, .. } => Some(session),
            _ => None,
        }
    }

    /// The session of this generation listed its tools, or failed to. One that has ended, perhaps for idleness, did not fail.
    pub fn listed(&mut self, generation: u64, error: Option<HubError>) {
        if self.is_current(generation) && (error.is_none() || self.session().is_some()) {
            self.error = error;
        }
    }
}

#[cfg(test)]
#[path = "lifecycle/tests.rs"]
mod tests;
