//! L0, locks and shared pointers.
//!
//! One place decides which implementation the core's locks have.

pub use parking_lot::Mutex;
pub use std::sync::{Arc, OnceLock, Weak, atomic};

/// The standard library's locks, for threads that wait while another thread may fork. `parking_lot` keeps all waiting
/// threads in one table of the process, and a fork could copy that table locked.
pub mod waiting {
    pub use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
}
