//! How other threads talk to an event loop without taking the GIL: a queue and something that wakes the loop.
//!
//! The first message into an empty queue notifies the loop; the loop drains the whole queue in one callback. The wakeup is
//! cleared *before* the queue is taken, so a message that arrives after the swap finds an empty queue and notifies again.
//!
//! `make loom` runs this file in every order of its steps, so it uses nothing but [`crate::sync`].

use crate::sync::{Arc, Mutex};

/// Wakes the reader of a mailbox. It stays notified until it is cleared.
pub trait Notifier {
    fn notify(&self);
    fn clear(&self);
}

pub struct Mailbox<M, N> {
    queue: Mutex<Vec<M>>,
    notifier: N,
}

impl<M, N: Notifier> Mailbox<M, N> {
    pub fn new(notifier: N) -> Arc<Self> {
        Arc::new(Mailbox { queue: Mutex::new(Vec::new()), notifier })
    }

    pub fn notifier(&self) -> &N {
        &self.notifier
    }

    pub fn push(&self, mail: M) {
        let was_empty = {
            let mut queue = self.queue.lock();
            queue.push(mail);
            queue.len() == 1
        };
        if was_empty {
            self.notifier.notify();
        }
    }

    pub fn drain(&self) -> Vec<M> {
        self.notifier.clear();
        std::mem::take(&mut *self.queue.lock())
    }
}
