//! Ends the blocking waits of a call whose caller has gone.
//!
//! A thread cannot be cancelled. One that waits for an answer of its caller would wait forever when the caller has gone, so
//! it says for whom it waits, and is woken at the end of that.

use crate::sync::{Arc, Mutex, Weak};

/// A wait of a thread that can end before what it waits for has come.
pub trait CancellableWait: Send + Sync {
    /// What it waits for will not come. Never takes the GIL.
    fn give_up(&self);
}

/// Whether something that threads wait on behalf of is over: a call of a client, or the wait of a function's caller.
#[derive(Default)]
pub struct CancelSignal(Mutex<CancelState>);

#[derive(Default)]
struct CancelState {
    is_over: bool,
    waits: Vec<Weak<dyn CancellableWait>>,
}

impl CancelSignal {
    /// It is over: ends the waits, now and from now on.
    pub fn end(&self) {
        let waits = {
            let mut state = self.0.lock();
            state.is_over = true;
            std::mem::take(&mut state.waits)
        };
        waits.iter().filter_map(Weak::upgrade).for_each(|wait| wait.give_up());
    }

    /// Ends this wait, too, at the end of it. False if it is over already.
    pub fn add(&self, wait: &Arc<impl CancellableWait + 'static>) -> bool {
        let mut state = self.0.lock();
        if !state.is_over {
            state.waits.retain(|other| other.strong_count() > 0);
            let wait = Arc::downgrade(wait);
            state.waits.push(wait);
        }
        !state.is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[derive(Default)]
    struct CountedWait(AtomicUsize);

    impl CancellableWait for CountedWait {
        fn give_up(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn waits_end_once_and_none_begins_after_the_end() {
        let (call, wait, late) =
            (CancelSignal::default(), Arc::new(CountedWait::default()), Arc::new(CountedWait::default()));
        assert!(call.add(&wait));
        call.end();
        call.end();
        assert!(!call.add(&late));
        assert_eq!((wait.0.load(Ordering::Relaxed), late.0.load(Ordering::Relaxed)), (1, 0));
    }
}
