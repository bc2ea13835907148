//! L0, locks and shared pointers.
//!
//! Files that use these and nothing else of the standard library's synchronisation can be checked by `make loom`: the crate in
//! `tests/loom` includes them and replaces this file.

pub use parking_lot::Mutex;
pub use std::sync::{Arc, OnceLock, Weak, atomic};

/// The standard library's locks, for threads that wait while another thread may fork. `parking_lot` keeps all waiting
/// threads in one table of the process, and a fork could copy that table locked.
pub mod waiting {
    pub use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
}
