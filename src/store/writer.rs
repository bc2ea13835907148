//! The writer threads of a store: one for its changes, one for its ledger.

use std::io;

pub fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.into()).spawn(work).map(drop)
}
