//! The order of the calls of one message.
//!
//! A call that is not known to be harmless waits until all calls before it have ended, and every later call waits for it.
//! After one that paused, was refused or may have run, later calls that are not known to be harmless are not made. A call is
//! judged when its candidates are selected; until then it counts as one that may act.

use std::sync::Arc;
use tokio::sync::watch;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Outcome, clip};

/// The calls of one message, by their places in it.
#[derive(Clone)]
pub struct MessageOrder(Arc<watch::Sender<Places>>);

struct Places {
    calls: Vec<CallPlace>,
    /// How many calls from the first one on have ended, and how many have ended or are harmless.
    ended: usize,
    passable: usize,
    /// The first call after which nothing is made that may act.
    stop: Option<Stop>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CallPlace {
    /// Not ended, and not known to be harmless.
    Open,
    Harmless,
    Ended,
}

struct Stop {
    place: usize,
    tool: Arc<str>,
    why: CallVerdict,
}

/// How a call ended, as far as later calls have to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallVerdict {
    /// It succeeded, or failed for certain.
    Over,
    /// It waits for a decision.
    Paused,
    /// It was not allowed, not approved or beyond a limit, or may not have been meant.
    Refused,
    /// It may have run.
    Unknown,
}

impl CallVerdict {
    /// Of a call with this failure, or none.
    pub fn of(failure: Option<(ErrorKind, Outcome)>) -> Self {
        let Some(failure) = failure else { return CallVerdict::Over };
        match failure {
            (ErrorKind::Paused, _) => CallVerdict::Paused,
            (ErrorKind::NotAllowed | ErrorKind::Proposed, _) => CallVerdict::Refused,
            (_, Outcome::Unknown) => CallVerdict::Unknown,
            // A budget, too many values or calls, a locked store: it was not made, and is still wanted.
            (ErrorKind::Limit | ErrorKind::Overloaded, _) => CallVerdict::Refused,
            (_, Outcome::NotSent | Outcome::Failed) => CallVerdict::Over,
        }
    }
}

/// Whether a call may be made.
pub(super) enum Due {
    Now,
    Later,
    Never(HubError),
}

impl MessageOrder {
    pub fn new(calls: usize) -> Self {
        let calls = vec![CallPlace::Open; calls];
        MessageOrder(Arc::new(watch::Sender::new(Places { calls, ended: 0, passable: 0, stop: None })))
    }

    /// The turn of the call at this place, counted from 0. It ends when the turn is dropped, if not before.
    pub fn turn(&self, place: usize, tool: Arc<str>) -> MessageTurn {
        MessageTurn { order: self.clone(), place, tool, has_ended: false }
    }
}

impl Places {
    /// Whether others may have become due.
    fn set(&mut self, place: usize, now: CallPlace) -> bool {
        let Some(call) = self.calls.get_mut(place) else { return false };
        let is_new = std::mem::replace(call, now) != now;
        if now == CallPlace::Open {
            self.passable = self.passable.min(place);
        }
        let run = |from: usize, is_in: fn(&CallPlace) -> bool| {
            from + self.calls[from..].iter().take_while(|call| is_in(call)).count()
        };
        self.ended = run(self.ended, |call| *call == CallPlace::Ended);
        self.passable = run(self.passable, |call| *call != CallPlace::Open);
        is_new
    }

    fn is_due(&self, place: usize) -> bool {
        match self.calls.get(place) {
            Some(CallPlace::Open) => self.ended >= place || self.stopped(place).is_some(),
            Some(CallPlace::Harmless) => self.passable >= place,
            Some(CallPlace::Ended) | None => true,
        }
    }

    fn stopped(&self, place: usize) -> Option<&Stop> {
        self.stop.as_ref().filter(|stop| stop.place < place)
    }
}

/// The place of one call in its message.
pub struct MessageTurn {
    order: MessageOrder,
    place: usize,
    tool: Arc<str>,
    has_ended: bool,
}

impl MessageTurn {
    /// Notes what is known of the call, and tells whether it may be made.
    pub(super) fn take(&self, is_harmless: bool) -> Due {
        let now = if is_harmless { CallPlace::Harmless } else { CallPlace::Open };
        self.order.0.send_if_modified(|places| places.set(self.place, now));
        let places = self.order.0.borrow();
        match places.stopped(self.place).filter(|_| !is_harmless) {
            Some(stop) => Due::Never(not_made(&self.tool, stop)),
            None if places.is_due(self.place) => Due::Now,
            None => Due::Later,
        }
    }

    /// Until it is worth asking again.
    pub(super) fn comes(&self) -> impl Future<Output = ()> + Send + 'static {
        let (mut places, place) = (self.order.0.subscribe(), self.place);
        async move { _ = places.wait_for(|places| places.is_due(place)).await }
    }

    /// The call has ended; later calls may go on, or are not made.
    pub fn end(&mut self, end: CallVerdict) {
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        self.order.0.send_if_modified(|places| {
            let was_harmless = places.calls.get(self.place) == Some(&CallPlace::Harmless);
            let stops = match end {
                CallVerdict::Over => false,
                CallVerdict::Paused | CallVerdict::Refused => true,
                // A read that may have run has changed nothing.
                CallVerdict::Unknown => !was_harmless,
            };
            if stops && places.stop.as_ref().is_none_or(|stop| self.place < stop.place) {
                places.stop = Some(Stop { place: self.place, tool: self.tool.clone(), why: end });
            }
            places.set(self.place, CallPlace::Ended)
        });
    }
}

impl Drop for MessageTurn {
    /// Given up: nobody knows what became of it.
    fn drop(&mut self) {
        self.end(CallVerdict::Unknown);
    }
}

fn not_made(tool: &str, stop: &Stop) -> HubError {
    let (tool, before) = (clip(tool), clip(&stop.tool));
    let why = match stop.why {
        CallVerdict::Paused => message!("waits for a decision"),
        CallVerdict::Refused => message!("was refused"),
        CallVerdict::Unknown | CallVerdict::Over => message!("may have run (outcome unknown)"),
    };
    let text = message!(
        "Tool '{}' was not called: '{}', called earlier in the same message, {}. Make the call again if it is \
         still wanted.",
        tool,
        before,
        why
    );
    HubError::new(ErrorKind::NotSent, text)
}
