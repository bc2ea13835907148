//! The one thread of a store.

use super::shared::Shared;
use std::io;
use std::sync::Arc;

pub fn start(shared: Arc<Shared>) -> io::Result<()> {
    std::thread::Builder::new().name("toolhub-store".into()).spawn(move || shared.serve()).map(drop)
}
