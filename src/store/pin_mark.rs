//! Whether the pins of a store are complete. A pin protects only as long as its loss is noticed: without it, the definition
//! that a server shows next would be the first one, and accepted.
//!
//! The first pin leaves a row in the file that marks it, and a small file beside it with the names of all pinned tools. A
//! store without the row but with the small file is a new one in the place of one that had pins. A name in the small file
//! without a row in the store is a pin that was lost.

use super::pins::StoredPin;
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The server and the tool of the row that marks the pins of a file as complete. A row with a server and this tool marks
/// those of one server.
pub const ALL: &str = "";

/// Server and tool.
pub type PinName = (Arc<str>, Arc<str>);

const NOTE: &str = "The store beside this file has held pins of MCP tools. If the store is lost, tools of servers with `pin` \
                    are refused until they are accepted. Remove this file together with the store to start again.\n";

fn mark(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".pins");
    PathBuf::from(name)
}

/// Leaves the mark beside the file. If that fails, the loss of the file will not be noticed, but the pins hold.
pub fn leave(path: &Path) {
    let _ = note(path, &[]);
}

/// Adds the names of tools that were pinned to the mark, and waits until they are on the disk.
pub fn note(path: &Path, names: &[PinName]) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(mark(path))?;
    // Two processes must not cut each other's lines.
    file.lock()?;
    let end = end_of_lines(&mut file)?;
    file.set_len(end)?;
    let mut lines = if end == 0 { NOTE.to_owned() } else { String::new() };
    for (server, tool) in names {
        lines.push_str(&serde_json::json!([&**server, &**tool]).to_string());
        lines.push('\n');
    }
    if lines.is_empty() {
        return Ok(());
    }
    file.write_all(lines.as_bytes())?;
    file.sync_data()
}

/// Where the last whole line ends: a process that was killed may have left a part of one, whose pin did not count yet.
fn end_of_lines(file: &mut File) -> io::Result<u64> {
    let mut content = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut content)?;
    let end = content.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    Ok(end as u64)
}

/// What the pins of a store say about its past.
#[derive(Debug, Default)]
pub struct PinLosses {
    /// The file had pins once, and these are not all.
    pub are_lost: bool,
    /// Tools that were pinned and have no pin now.
    pub missing: HashSet<PinName>,
}

impl PinLosses {
    pub fn matter(&self) -> bool {
        self.are_lost || !self.missing.is_empty()
    }
}

/// Compares the pins of a file with the mark beside it, and notes those that the mark does not have.
pub fn losses(path: &Path, pins: &[StoredPin], is_read_only: bool) -> PinLosses {
    let is_whole = pins.iter().any(|pin| &*pin.server == ALL && &*pin.tool == ALL);
    let present: HashSet<PinName> = pins
        .iter()
        .filter(|pin| &*pin.tool != ALL)
        .map(|pin| (pin.server.clone(), pin.tool.clone()))
        .collect();
    let noted = match fs::read(mark(path)) {
        Ok(content) => read(&content),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(HashSet::new()),
        Err(_) => None,
    };
    let Some(noted) = noted else {
        return PinLosses { are_lost: true, missing: HashSet::new() };
    };
    if !is_whole {
        return PinLosses { are_lost: mark(path).exists(), missing: HashSet::new() };
    }
    let unnoted: Vec<PinName> = present.difference(&noted).cloned().collect();
    if !unnoted.is_empty() && !is_read_only {
        // If that fails, the loss of these pins will not be noticed, but they hold.
        let _ = note(path, &unnoted);
    }
    PinLosses { are_lost: false, missing: noted.difference(&present).cloned().collect() }
}

/// The names in a mark; `None` for one that is damaged.
fn read(content: &[u8]) -> Option<HashSet<PinName>> {
    let whole = &content[..content.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)];
    let text = std::str::from_utf8(whole).ok()?;
    let lines = text.strip_prefix(NOTE).or_else(|| text.is_empty().then_some(""))?;
    lines.lines().map(|line| serde_json::from_str::<(Arc<str>, Arc<str>)>(line).ok()).collect()
}

/// What the loss means, for a notice.
pub fn consequence(path: &Path) -> String {
    format!(
        "Its pins are lost: the tools of servers with `pin` are refused until hub.pins.accept() accepts them (to start \
         again, remove '{}').",
        mark(path).display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_that_cannot_be_read_is_no_evidence_that_nothing_was_pinned() {
        let line = "[\"mail\",\"send\"]\n";
        let whole = format!("{NOTE}{line}");
        let one = HashSet::from([(Arc::from("mail"), Arc::from("send"))]);
        assert_eq!(read(whole.as_bytes()), Some(one.clone()));
        assert_eq!(
            read(format!("{whole}[\"mail\",\"re").as_bytes()),
            Some(one),
            "a part of a line did not count"
        );
        assert_eq!(read(b""), Some(HashSet::new()));
        for damaged in [line, &format!("{NOTE}x\n{line}"), &format!("{NOTE}[1]\n"), &whole[3..]] {
            assert_eq!(read(damaged.as_bytes()), None, "{damaged:?}");
        }
    }
}
