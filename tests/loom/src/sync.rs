//! What `src/types/sync.rs` offers, with loom's locks and atomics.
//!
//! `Arc`, `Weak` and `OnceLock` are real: loom has no `Weak` and no `OnceLock`. A switch of threads happens at each lock and
//! atomic, not between two changes of a reference count.

pub use loom::sync::atomic;
pub use std::sync::{Arc, OnceLock, Weak};

/// The interface of `parking_lot::Mutex`.
#[derive(Debug)]
pub struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub fn new(value: T) -> Self {
        Mutex(loom::sync::Mutex::new(value))
    }

    pub fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
        self.0.lock().unwrap()
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

pub mod waiting {
    pub use loom::sync::{Condvar, Mutex, MutexGuard};
    pub use std::sync::PoisonError;
}
