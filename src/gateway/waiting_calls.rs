//! The calls of modern clients that wait for an answer, between the message that got the questions and the one that brings the
//! answers.
//!
//! Each has a tool that runs, often a thread, so a principal has a limited number of them. A call that ends while it waits (its
//! time is over, its tool gives up) keeps its result for an answer that comes late, until another call needs the place.

use super::conversation::Conversation;
use super::kept_calls::{KeptCall, make_room};
use crate::sync::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long a call waits for an answer before it is cancelled.
const ANSWER_TIME: Duration = Duration::from_secs(300);

struct WaitingCall {
    principal: Arc<str>,
    conversation: Conversation,
    expires: Instant,
}

impl KeptCall for WaitingCall {
    /// The call that was kept first is the first to go.
    type EndedOrder = Instant;

    fn principal(&self) -> &Arc<str> {
        &self.principal
    }

    fn ended(&self) -> Option<Instant> {
        self.conversation.has_ended().then_some(self.expires)
    }
}

#[derive(Default)]
struct WaitingState {
    calls: HashMap<String, WaitingCall>,
    /// A task cancels those whose time is over. One is enough, however often the map is empty in between.
    has_task: bool,
}

/// The calls that wait for the answer of a client.
#[derive(Clone, Default)]
pub struct WaitingCalls(Arc<Mutex<WaitingState>>);

/// Why an id gets no call.
#[derive(Debug, PartialEq, Eq)]
pub enum NotWaiting {
    /// The call has ended, or never was.
    Gone,
    /// It is another call than expected, and goes on waiting.
    Other,
}

impl WaitingCalls {
    /// Keeps a call for its client. Gives it back when `most` of the principal, or too many of all, are waiting already.
    pub fn keep(
        &self,
        principal: &Arc<str>,
        most: usize,
        id: String,
        conversation: Conversation,
    ) -> Result<(), Box<Conversation>> {
        let expires = Instant::now() + ANSWER_TIME;
        let mut state = self.0.lock();
        let Some(ended) = make_room(state.calls.iter(), principal, most) else {
            return Err(Box::new(conversation));
        };
        let ended: Vec<_> = ended.iter().filter_map(|id| state.calls.remove(id)).collect();
        state.calls.insert(id, WaitingCall { principal: principal.clone(), conversation, expires });
        let had_task = std::mem::replace(&mut state.has_task, true);
        drop(state);
        drop(ended);
        if !had_task {
            tokio::spawn(expire(self.clone()));
        }
        Ok(())
    }

    /// The call of this id, if it is the expected one.
    pub fn take(
        &self,
        id: &str,
        is_expected: impl FnOnce(&Conversation) -> bool,
    ) -> Result<Conversation, NotWaiting> {
        let mut state = self.0.lock();
        let call = state.calls.get(id).ok_or(NotWaiting::Gone)?;
        if !is_expected(&call.conversation) {
            return Err(NotWaiting::Other);
        }
        state.calls.remove(id).map(|call| call.conversation).ok_or(NotWaiting::Gone)
    }
}

/// Cancels calls whose time is over, for as long as any are waiting.
async fn expire(calls: WaitingCalls) {
    loop {
        let next = {
            let mut state = calls.0.lock();
            let now = Instant::now();
            state.calls.retain(|_, call| call.expires > now);
            let next = state.calls.values().map(|call| call.expires).min();
            state.has_task = next.is_some();
            next
        };
        match next {
            Some(next) => tokio::time::sleep_until(next).await,
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::conversation::FinishedRequest;
    use crate::gateway::conversation::tests::conversation;
    use crate::gateway::kept_calls::{MOST_KEPT_CALLS, MOST_OF_PRINCIPAL};
    use tokio::sync::oneshot;
    use tokio_util::sync::CancellationToken;

    fn keep(calls: &WaitingCalls, principal: &str, id: &str) -> CancellationToken {
        let cancel = CancellationToken::new();
        let kept = calls.keep(&Arc::from(principal), MOST_OF_PRINCIPAL, id.to_owned(), conversation(&cancel));
        assert!(kept.is_ok(), "{principal} {id}");
        cancel
    }

    fn is_refused(calls: &WaitingCalls, principal: &str, most: usize) -> bool {
        let one_more = conversation(&CancellationToken::new());
        calls.keep(&Arc::from(principal), most, "one more".to_owned(), one_more).is_err()
    }

    #[tokio::test(start_paused = true)]
    async fn calls_end_when_no_answer_comes_and_one_task_watches_them() {
        let calls = WaitingCalls::default();
        let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        for id in ["one", "two", "three"] {
            keep(&calls, "ann", id);
            assert_eq!(calls.take(id, |_| false).err(), Some(NotWaiting::Other));
            assert!(calls.take(id, |_| true).is_ok());
        }
        assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), tasks + 1);
        keep(&calls, "ann", "four").cancelled().await;
        assert_eq!(calls.take("four", |_| true).err(), Some(NotWaiting::Gone));
        tokio::task::yield_now().await;
        assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), tasks);
        // The next one is watched again.
        keep(&calls, "ann", "five").cancelled().await;
    }

    #[tokio::test]
    async fn a_principal_has_a_limited_number_of_calls_and_takes_none_from_others() {
        let calls = WaitingCalls::default();
        for number in 0..MOST_KEPT_CALLS {
            let principal = number / MOST_OF_PRINCIPAL;
            if number % MOST_OF_PRINCIPAL == 0 {
                assert!(!is_refused(&calls, "other", 1));
                assert!(is_refused(&calls, "other", 1), "of {number}");
                assert!(calls.take("one more", |_| true).is_ok());
            }
            keep(&calls, &principal.to_string(), &number.to_string());
        }
        assert!(is_refused(&calls, "0", MOST_OF_PRINCIPAL), "its own limit");
        assert!(is_refused(&calls, "other", MOST_OF_PRINCIPAL), "the limit of all");
    }

    #[tokio::test]
    async fn a_call_that_has_ended_makes_room() {
        let calls = WaitingCalls::default();
        let (done, result) = oneshot::channel();
        let ended = Conversation { result, ..conversation(&CancellationToken::new()) };
        assert!(calls.keep(&Arc::from("ann"), 1, "ended".to_owned(), ended).is_ok());
        assert!(is_refused(&calls, "ann", 1));
        let finished = FinishedRequest { answer: Ok("{}".to_owned()), is_failure: false };
        assert!(done.send(finished).is_ok());
        assert!(!is_refused(&calls, "ann", 1));
        assert_eq!(calls.take("ended", |_| true).err(), Some(NotWaiting::Gone));
    }
}
