//! The writer thread of a store.

use super::shared::SharedStore;
use std::io;
use std::sync::Arc;

pub fn start(shared: Arc<SharedStore>) -> io::Result<()> {
    std::thread::Builder::new().name("toolhub-store".into()).spawn(move || shared.run_writer()).map(drop)
}
