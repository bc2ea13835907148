//! Work on large messages, kept from delaying other servers.

use crate::aside;

/// Messages below this size are read in a fraction of a millisecond.
const LARGE: usize = 256 * 1024;

/// Runs work that takes time in proportion to `bytes`. Before a large one, the other tasks of this runtime thread move to
/// another thread.
pub fn heavy<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes > LARGE { aside::in_place(work) } else { work() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_run_while_a_large_message_is_read() {
        let reading = tokio::spawn(async {
            let (sender, receiver) = mpsc::channel();
            tokio::spawn(async move { sender.send(()) });
            heavy(LARGE + 1, || receiver.recv_timeout(Duration::from_secs(20)))
        });
        assert_eq!(reading.await.unwrap(), Ok(()));
    }

    #[tokio::test]
    async fn a_runtime_of_one_thread_does_the_work_itself() {
        assert_eq!(heavy(LARGE + 1, || 7), 7);
    }
}
