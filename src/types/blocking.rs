//! L0, long computations on a tokio runtime, kept from delaying its other tasks.

use crate::model::left_after;
use serde_json::Value;
use std::panic::resume_unwind;
use std::time::Instant;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;

/// The computations that may run at a time on threads of their own. More would only share the same processors.
static THREADS: Semaphore = Semaphore::const_new(2);

/// Runs a computation on this thread. On a worker thread of a runtime, the other tasks of that thread move to another one.
pub fn block_in_place<T>(work: impl FnOnce() -> T) -> T {
    let has_workers =
        Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    if has_workers { tokio::task::block_in_place(work) } else { work() }
}

/// Messages below this size are read and written in a fraction of a millisecond.
pub const LARGE: usize = 256 * 1024;

/// Runs work that takes time in proportion to `bytes`: a large one as [`block_in_place`] does.
pub fn block_if_large<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes > LARGE { block_in_place(work) } else { work() }
}

/// Whether work on all of a JSON value is heavy: it has long texts, or many values.
pub fn is_large(value: &Value) -> bool {
    const VALUE: usize = 64;
    left_after(value, VALUE, LARGE).is_none()
}

/// Runs a computation on a thread that no task waits for. `None` if the runtime ends before it begins.
pub async fn on_blocking_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let permit = THREADS.acquire().await.ok()?;
    let running = tokio::task::spawn_blocking(move || {
        let result = work();
        drop(permit);
        result
    });
    match running.await {
        Ok(result) => Some(result),
        Err(ended) => ended.try_into_panic().ok().map(|panic| resume_unwind(panic)),
    }
}

/// The same, if it ends in time.
pub async fn on_blocking_thread_until<T: Send + 'static>(
    end: Option<Instant>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    match end {
        None => on_blocking_thread(work).await,
        Some(end) => tokio::time::timeout_at(end.into(), on_blocking_thread(work)).await.ok().flatten(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_run_meanwhile() {
        let (sender, receiver) = mpsc::channel();
        let (second, both) = (sender.clone(), |receiver: &mpsc::Receiver<()>| {
            receiver.recv_timeout(Duration::from_secs(20)).is_ok()
        });
        let here = tokio::spawn(async move {
            tokio::spawn(async move { sender.send(()) });
            block_in_place(|| both(&receiver)).then_some(receiver)
        });
        let receiver = here.await.unwrap().expect("the other task ran during the computation");
        let there = tokio::spawn(on_blocking_thread(move || both(&receiver)));
        tokio::spawn(async move { second.send(()) });
        assert_eq!(there.await.unwrap(), Some(true));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_run_while_a_large_message_is_read() {
        let reading = tokio::spawn(async {
            let (sender, receiver) = mpsc::channel();
            tokio::spawn(async move { sender.send(()) });
            block_if_large(LARGE + 1, || receiver.recv_timeout(Duration::from_secs(20)))
        });
        assert_eq!(reading.await.unwrap(), Ok(()));
    }

    #[tokio::test]
    async fn a_runtime_of_one_thread_does_the_work_itself() {
        assert_eq!(block_in_place(|| 7), 7);
        assert_eq!(block_if_large(LARGE + 1, || 7), 7);
        assert_eq!(on_blocking_thread(|| 7).await, Some(7));
    }
}
