//! The calls of modern clients that wait for an answer, between the message that got the questions and the one that brings the
//! answers.
//!
//! Each has a tool that runs, often a thread, so a principal has a limited number of them. A call that ends while it waits (its
//! time is over, its tool gives up) keeps its result for an answer that comes late, until another call needs the place or the
//! results take too much memory.

use super::by_principal::PrincipalTable;
use super::conversation::{Conversation, ResultSize};
use super::kept_calls::{MOST_KEPT_BYTES, MOST_KEPT_CALLS};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use toolhub_types::sync::Mutex;

/// How long a call waits for an answer before it is cancelled.
const ANSWER_TIME: Duration = Duration::from_secs(300);
/// The results of one principal that are kept at once, in bytes.
const MOST_BYTES_OF_PRINCIPAL: usize = 16 * 1024 * 1024;

struct WaitingCall {
    conversation: Conversation,
    expires: Instant,
}

impl WaitingCall {
    fn result_bytes(&self) -> usize {
        self.conversation.result_size.bytes()
    }
}

struct WaitingState {
    calls: PrincipalTable<String, WaitingCall>,
    /// A task cancels those whose time is over. One is enough, however often the map is empty in between.
    has_task: bool,
}

/// The calls that wait for the answer of a client.
#[derive(Clone)]
pub struct WaitingCalls(Arc<Mutex<WaitingState>>);

impl Default for WaitingCalls {
    fn default() -> Self {
        let calls = PrincipalTable::new(MOST_KEPT_CALLS);
        WaitingCalls(Arc::new(Mutex::new(WaitingState { calls, has_task: false })))
    }
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
        let Some(ended) = state.calls.make_room(principal, most, |call| call.conversation.has_ended()) else {
            return Err(Box::new(conversation));
        };
        let size = conversation.result_size.clone();
        state.calls.insert(principal, id, WaitingCall { conversation, expires });
        let had_task = std::mem::replace(&mut state.has_task, true);
        drop(state);
        drop(ended);
        // It may have ended before it was kept.
        self.has_result(principal, &size);
        if !had_task {
            tokio::spawn(expire(self.clone()));
        }
        Ok(())
    }

    /// A call has ended, and may be waiting. Older results go if there are too many, those of its principal first.
    pub fn has_result(&self, principal: &str, size: &ResultSize) {
        if size.bytes() == 0 {
            return;
        }
        let mut state = self.0.lock();
        let is_ended = |call: &WaitingCall| call.conversation.result_size.is(size);
        if !state.calls.of(principal).any(is_ended) {
            return;
        }
        let (own, all) = ((Some(principal), MOST_BYTES_OF_PRINCIPAL), (None, MOST_KEPT_BYTES));
        let dropped = [own, all]
            .map(|(whose, most)| state.calls.shrink(whose, most, WaitingCall::result_bytes, is_ended));
        drop(state);
        drop(dropped);
    }

    /// The call of this id; `None` when it has ended, or waits elsewhere.
    pub fn take(&self, principal: &str, id: &str) -> Option<Conversation> {
        self.0.lock().calls.remove(principal, id).map(|call| call.conversation)
    }
}

/// Cancels calls whose time is over, for as long as any are waiting.
async fn expire(calls: WaitingCalls) {
    loop {
        let (next, expired) = {
            let mut state = calls.0.lock();
            let now = Instant::now();
            let expired = state.calls.retain(|_, call| call.expires > now);
            let next = state.calls.values().map(|call| call.expires).min();
            state.has_task = next.is_some();
            (next, expired)
        };
        // Without the lock: it cancels them.
        drop(expired);
        match next {
            Some(next) => tokio::time::sleep_until(next).await,
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::FinishedRequest;
    use crate::conversation::tests::conversation;
    use crate::kept_calls::MOST_OF_PRINCIPAL;
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
            assert!(calls.take("bob", id).is_none());
            assert!(calls.take("ann", id).is_some());
        }
        assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), tasks + 1);
        keep(&calls, "ann", "four").cancelled().await;
        assert!(calls.take("ann", "four").is_none());
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
                assert!(calls.take("other", "one more").is_some());
            }
            keep(&calls, &principal.to_string(), &number.to_string());
        }
        assert!(is_refused(&calls, "0", MOST_OF_PRINCIPAL), "its own limit");
        assert!(is_refused(&calls, "other", MOST_OF_PRINCIPAL), "the limit of all");
    }

    /// A call that waits and has ended with a result of this size.
    fn keep_ended(calls: &WaitingCalls, principal: &str, id: &str, bytes: usize) {
        let (done, result) = oneshot::channel();
        let ended = Conversation { result, ..conversation(&CancellationToken::new()) };
        let size = ended.result_size.clone();
        assert!(calls.keep(&Arc::from(principal), MOST_OF_PRINCIPAL, id.to_owned(), ended).is_ok());
        let finished = FinishedRequest { answer: Ok("x".repeat(bytes)), is_failure: false };
        size.set(&finished);
        assert!(done.send(finished).is_ok());
        calls.has_result(principal, &size);
    }

    fn kept(calls: &WaitingCalls) -> Vec<String> {
        let mut ids: Vec<String> = calls.0.lock().calls.keys().cloned().collect();
        ids.sort_unstable();
        ids
    }

    #[tokio::test(start_paused = true)]
    async fn the_results_that_nobody_fetches_have_a_limit_in_bytes() {
        let (calls, part) = (WaitingCalls::default(), MOST_BYTES_OF_PRINCIPAL / 4);
        let running = keep(&calls, "ann", "running");
        for number in 0..6 {
            keep_ended(&calls, "ann", &format!("ann {number}"), part);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(kept(&calls), ["ann 2", "ann 3", "ann 4", "ann 5", "running"]);
        // One that is larger than the limit stays until the next one comes.
        keep_ended(&calls, "ann", "huge", 2 * MOST_BYTES_OF_PRINCIPAL);
        assert_eq!(kept(&calls), ["huge", "running"]);
        keep_ended(&calls, "ann", "small", 1);
        assert_eq!(kept(&calls), ["running", "small"]);
        assert!(!running.is_cancelled());
        assert!(calls.take("ann", "small").is_some());
        // All together have a limit too; who comes late takes from the oldest.
        for number in 0..6 {
            keep_ended(&calls, &format!("{number}"), &format!("of {number}"), MOST_BYTES_OF_PRINCIPAL);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(kept(&calls), ["of 2", "of 3", "of 4", "of 5", "running"]);
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
        assert!(calls.take("ann", "ended").is_none());
    }
}
