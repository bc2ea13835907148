//! The runs of a store, noted beside it. A run protects from doing something twice only as long as its loss is noticed: in a
//! new store every call of it would be the first one.
//!
//! A run that is noted and not in the store was in one that is gone, was damaged and renamed, or was replaced by an older
//! copy. Its calls are refused. A run is noted after it was written and before anything is sent, so a process that is killed
//! in between leaves one that can be resumed.

use parking_lot::Mutex;
use ring::digest::{Context, SHA256};
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const NOTE: &str = "# The runs of the store beside this file, as digests. Calls of a run that is here and not in the store are \
                    refused, because they may have been made. Remove this file together with the store to start again.\n";

/// Bytes of a digest that are noted.
const LENGTH: usize = 16;

type RunMark = [u8; LENGTH];

/// The runs that are noted in one file.
pub struct RunMarks {
    pub path: PathBuf,
    read: Mutex<ReadMarks>,
}

#[derive(Default)]
struct ReadMarks {
    known: HashSet<RunMark>,
    /// How much of the file is read.
    length: u64,
}

impl RunMarks {
    pub fn beside(store: &Path) -> Self {
        let mut name = store.as_os_str().to_owned();
        name.push(".runs");
        RunMarks { path: PathBuf::from(name), read: Mutex::default() }
    }

    /// Whether a run that is not in the store was in it. Where the notes cannot be read, it may have been.
    pub fn is_lost(&self, principal: &str, run: &str) -> bool {
        let mut read = self.read.lock();
        self.refresh(&mut read).is_err() || read.known.contains(&mark(principal, run))
    }

    /// Notes a run of the store, if it is not noted yet.
    pub fn note(&self, principal: &str, run: &str) -> Result<(), String> {
        let mark = mark(principal, run);
        let mut read = self.read.lock();
        if read.known.contains(&mark) {
            return Ok(());
        }
        self.append(&mark)
            .map_err(|error| format!("'{}' cannot be written: {error}", self.path.display()))?;
        read.known.insert(mark);
        Ok(())
    }

    /// In one write, with a line of its own whatever a process that was killed has left.
    fn append(&self, mark: &RunMark) -> io::Result<()> {
        let mut file = OpenOptions::new().append(true).create(true).open(&self.path)?;
        let note = if file.metadata()?.len() == 0 { NOTE } else { "\n" };
        let digits: String = mark.iter().map(|byte| format!("{byte:02x}")).collect();
        file.write_all(format!("{note}{digits}\n").as_bytes())
    }

    /// Reads what was added, by other processes too.
    fn refresh(&self, read: &mut ReadMarks) -> io::Result<()> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                *read = ReadMarks::default();
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        if length < read.length {
            *read = ReadMarks::default();
        }
        file.seek(SeekFrom::Start(read.length))?;
        let mut added = Vec::new();
        file.read_to_end(&mut added)?;
        let whole = added.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        read.known.extend(added[..whole].split(|byte| *byte == b'\n').filter_map(parsed));
        read.length += whole as u64;
        Ok(())
    }
}

fn parsed(line: &[u8]) -> Option<RunMark> {
    let mut mark = RunMark::default();
    if line.len() != 2 * LENGTH {
        return None;
    }
    for (byte, digits) in mark.iter_mut().zip(line.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(mark)
}

fn mark(principal: &str, run: &str) -> RunMark {
    let mut context = Context::new(&SHA256);
    // With its length, so that no other pair has the same bytes.
    context.update(&(principal.len() as u64).to_le_bytes());
    context.update(principal.as_bytes());
    context.update(run.as_bytes());
    let mut mark = RunMark::default();
    mark.copy_from_slice(&context.finish().as_ref()[..LENGTH]);
    mark
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noted_run_is_lost_for_other_readers_too_and_half_a_line_harms_no_other() {
        let store = std::env::temp_dir().join(format!("toolhub-runs-{}", crate::store::ledger::new_row_id()));
        let (one, other) = (RunMarks::beside(&store), RunMarks::beside(&store));
        assert!(!other.is_lost("", "monday"));
        one.note("", "monday").unwrap();
        one.note("", "monday").unwrap();
        assert!(other.is_lost("", "monday"));
        assert!(!other.is_lost("m", "onday"));
        std::fs::OpenOptions::new().append(true).open(&one.path).unwrap().write_all(b"0123").unwrap();
        one.note("ann", "monday").unwrap();
        assert!(other.is_lost("ann", "monday"));
        std::fs::remove_file(&one.path).unwrap();
        assert!(!other.is_lost("", "monday"));
    }
}
