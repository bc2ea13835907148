//! Whether the pins of a store are complete. A pin protects only as long as its loss is noticed: without it, the definition
//! that a server shows next would be the first one, and accepted.
//!
//! The first pin leaves two marks, a row in the file and a small file beside it. A store that has the second mark but not
//! the first is a new one in the place of one that had pins.

use super::pins::StoredPin;
use std::fs;
use std::path::{Path, PathBuf};

/// The server and the tool of the row that marks the pins of a file as complete. A row with a server and this tool marks
/// those of one server.
pub const ALL: &str = "";

const NOTE: &str = "The store beside this file has held pins of MCP tools. If the store is lost, tools of servers with `pin` \
                    are refused until they are accepted. Remove this file together with the store to start again.\n";

fn mark(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".pins");
    PathBuf::from(name)
}

/// Leaves the mark beside the file. If that fails, the loss of the file will not be noticed, but the pins hold.
pub fn leave(path: &Path) {
    let mark = mark(path);
    if !mark.exists() {
        let _ = fs::write(mark, NOTE);
    }
}

/// Whether pins were lost: the file had some once, and these are not all.
pub fn are_lost(path: &Path, pins: &[StoredPin]) -> bool {
    let is_whole = pins.iter().any(|pin| &*pin.server == ALL && &*pin.tool == ALL);
    !is_whole && mark(path).exists()
}

/// What the loss means, for a notice.
pub fn consequence(path: &Path) -> String {
    format!(
        "Its pins are lost: the tools of servers with `pin` are refused until hub.accept_pin() accepts them (to start \
         again, remove '{}').",
        mark(path).display()
    )
}
