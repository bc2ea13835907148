//! The runs of a store, noted beside it. A run protects from doing something twice only as long as its loss is noticed: in a
//! new store every call of it would be the first one, and in an older copy every call that was made since.
//!
//! Each run has a line of a fixed size: its digest, and the number of its last row that may have been sent. The number is
//! raised in place. A run that is noted and not in the store, or is there with a lower number, was in a store that is gone,
//! was damaged and renamed, or was replaced by an older copy. Its calls are refused. Notes are written after what they note
//! was committed and before anything is sent, so a process that is killed in between leaves a run that can be resumed.
//!
//! An approval that was used has a line too: in an older copy it would be free to use again.
//!
//! # Why lines are never removed
//! A line protects from the loss of the store, and after a loss nothing else tells which runs there were. Whatever rule drops
//! a line (age, number, a size of the file), a run of that name would begin again without a word, and its effects would happen
//! twice. A summary of dropped lines, such as a Bloom filter, would refuse names that were never used. The file is cheap
//! instead: 50 bytes for a run and for an approval that was used, so 50 MB for a million of them, while each run has rows of
//! some hundred bytes in the store. A process reads it once, and then what was added. A program with that many runs can begin
//! a new store, whose file begins anew with it; removing only this file gives up the protection for all runs, which is a
//! decision for a person.

use parking_lot::Mutex;
use ring::digest::{Context, SHA256};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const NOTE: &str = "# The runs of the store beside this file, as digests. Calls of a run that is here and not in the store are \
                    refused, because they may have been made. Remove this file together with the store to start again.\n";

/// Bytes of a digest that are noted.
const LENGTH: usize = 16;
/// Characters of a digest.
const DIGITS: usize = 2 * LENGTH;
/// Characters of a line: digest, space, number. Lines of earlier versions have no number.
const WIDTH: usize = DIGITS + 1 + 16;

type RunMark = [u8; LENGTH];

/// What is noted of one run.
#[derive(Clone, Copy, Default)]
struct RunNote {
    /// The number of its last row.
    number: u64,
    /// Where its line begins; `None` for one without a number.
    at: Option<u64>,
}

/// The runs that are noted in one file.
pub struct RunMarks {
    pub path: PathBuf,
    read: Mutex<ReadMarks>,
}

#[derive(Default)]
struct ReadMarks {
    known: HashMap<RunMark, RunNote>,
    /// How much of the file is read.
    length: u64,
    /// Some of it is nothing that was written here: what it was before is not known.
    is_damaged: bool,
}

impl RunMarks {
    pub fn beside(store: &Path) -> Self {
        let mut name = store.as_os_str().to_owned();
        name.push(".runs");
        RunMarks { path: PathBuf::from(name), read: Mutex::default() }
    }

    /// Whether a run was in another store, or further in this one. `begun` is the number of its last row in the store, `None`
    /// if the run is not there. Where the notes cannot be read, it may have been.
    pub fn is_lost(&self, (principal, run): (&str, &str), begun: Option<u64>) -> bool {
        match self.noted(&mark(principal, run)) {
            Ok(None) => false,
            Ok(Some(number)) => begun.is_none_or(|begun| begun < number),
            Err(_) => true,
        }
    }

    /// Notes a run of the store, if it is not noted yet.
    pub fn note(&self, principal: &str, run: &str) -> Result<(), String> {
        let mark = mark(principal, run);
        let mut read = self.read.lock();
        if read.known.contains_key(&mark) {
            return Ok(());
        }
        self.add(&mut read, &mark, 0).map_err(|error| self.unwritable(&error))
    }

    /// Notes that a row of a run may be sent from now on.
    pub fn raise(&self, (principal, run): (&str, &str), number: u64) -> Result<(), String> {
        let mark = mark(principal, run);
        let mut read = self.read.lock();
        let known = read.known.get(&mark).copied().unwrap_or_default();
        if number <= known.number {
            return Err(format!("it is older than '{}' says", self.path.display()));
        }
        let raised = match known.at.map(|at| self.overwrite(&mark, at, number)) {
            Some(Ok(true)) => {
                read.known.insert(mark, RunNote { number, ..known });
                Ok(())
            }
            // It has no number yet, or the file was removed or replaced while it was in use.
            None | Some(Ok(false)) => self.add(&mut read, &mark, number),
            Some(Err(error)) => Err(error),
        };
        raised.map_err(|error| self.unwritable(&error))
    }

    /// Whether this approval was used. Where the notes cannot be read, it may have been.
    pub fn is_used(&self, approval: &str) -> bool {
        self.noted(&approval_mark(approval)).map_or(true, |noted| noted.is_some())
    }

    /// Notes that an approval is used.
    pub fn use_up(&self, approval: &str) -> Result<(), String> {
        self.add(&mut self.read.lock(), &approval_mark(approval), 0).map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &io::Error) -> String {
        format!("'{}' cannot be written: {error}", self.path.display())
    }

    /// The number that is noted now, by other processes too.
    fn noted(&self, mark: &RunMark) -> io::Result<Option<u64>> {
        let mut read = self.read.lock();
        self.refresh(&mut read)?;
        if read.is_damaged {
            return Err(io::Error::new(ErrorKind::InvalidData, "it is damaged"));
        }
        let Some(known) = read.known.get(mark).copied() else { return Ok(None) };
        let Some(at) = known.at else { return Ok(Some(known.number)) };
        let mut file = self.open(OpenOptions::new().read(true))?;
        if let Some(number) = number_at(&mut file, mark, at)? {
            read.known.insert(*mark, RunNote { number, ..known });
            return Ok(Some(number));
        }
        // Another file is in the place of the one that was read.
        *read = ReadMarks::default();
        self.refresh(&mut read)?;
        Ok(read.known.get(mark).map(|known| known.number))
    }

    /// Raises the number of a line. False if the line is not there any more.
    fn overwrite(&self, mark: &RunMark, at: u64, number: u64) -> io::Result<bool> {
        let mut file = match self.open(OpenOptions::new().read(true).write(true)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            opened => opened?,
        };
        let Some(noted) = number_at(&mut file, mark, at)? else { return Ok(false) };
        // Another process that had the run in between may have noted more.
        if noted < number {
            file.seek(SeekFrom::Start(at + DIGITS as u64 + 1))?;
            file.write_all(format!("{number:016x}").as_bytes())?;
        }
        Ok(true)
    }

    /// Adds a line, in one write, and at its beginning whatever a process that was killed has left.
    fn add(&self, read: &mut ReadMarks, mark: &RunMark, number: u64) -> io::Result<()> {
        let mut file = self.open(OpenOptions::new().append(true).create(true))?;
        let note = if file.metadata()?.len() == 0 { NOTE } else { "\n" };
        let digits: String = mark.iter().map(|byte| format!("{byte:02x}")).collect();
        file.write_all(format!("{note}{digits} {number:016x}\n").as_bytes())?;
        // A power cut that leaves zeros in its place would make every run a lost one.
        file.sync_data()?;
        self.refresh(read)
    }

    /// Opens the file. A pipe in its place would block.
    fn open(&self, options: &OpenOptions) -> io::Result<File> {
        match std::fs::metadata(&self.path) {
            Ok(found) if !found.is_file() => Err(io::Error::new(ErrorKind::InvalidInput, "it is not a file")),
            _ => options.open(&self.path),
        }
    }

    /// Reads what was added, by other processes too.
    fn refresh(&self, read: &mut ReadMarks) -> io::Result<()> {
        let mut file = match self.open(OpenOptions::new().read(true)) {
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
        for line in added[..whole].split_inclusive(|byte| *byte == b'\n') {
            let at = read.length;
            read.length += line.len() as u64;
            let line = &line[..line.len() - 1];
            let Some((mark, number)) = parsed(line) else {
                read.is_damaged |= !is_harmless(line);
                continue;
            };
            let known = read.known.entry(mark).or_default();
            // All processes raise the first line of a run that has a number.
            if let (None, Some(number)) = (known.at, number) {
                *known = RunNote { number, at: Some(at) };
            }
        }
        Ok(())
    }
}

/// The number of the line at a place. `None` if it is not the line of this run.
fn number_at(file: &mut File, mark: &RunMark, at: u64) -> io::Result<Option<u64>> {
    let mut line = [0; WIDTH];
    file.seek(SeekFrom::Start(at))?;
    match file.read_exact(&mut line) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    Ok(parsed(&line).filter(|(found, _)| found == mark).and_then(|(_, number)| number))
}

/// A comment, an empty line, or the beginning of a line whose process was killed.
fn is_harmless(line: &[u8]) -> bool {
    let is_part = line.len() < WIDTH && line.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b' ');
    is_part || line.starts_with(b"#")
}

/// The run of a line, and its number if it has one.
fn parsed(line: &[u8]) -> Option<(RunMark, Option<u64>)> {
    let (digits, number) = match line.len() {
        DIGITS => (line, None),
        WIDTH if line[DIGITS] == b' ' => {
            let number = std::str::from_utf8(&line[DIGITS + 1..]).ok()?;
            // One that cannot be read may have been any.
            (&line[..DIGITS], Some(u64::from_str_radix(number, 16).unwrap_or(u64::MAX)))
        }
        _ => return None,
    };
    let mut mark = RunMark::default();
    for (byte, digits) in mark.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some((mark, number))
}

fn mark(principal: &str, run: &str) -> RunMark {
    // With its length, so that no other pair has the same bytes.
    digest(&[&(principal.len() as u64).to_le_bytes(), principal.as_bytes(), run.as_bytes()])
}

/// No principal has this length, so no run has the mark of an approval.
fn approval_mark(approval: &str) -> RunMark {
    digest(&[&u64::MAX.to_le_bytes(), approval.as_bytes()])
}

fn digest(parts: &[&[u8]]) -> RunMark {
    let mut context = Context::new(&SHA256);
    parts.iter().for_each(|part| context.update(part));
    let mut mark = RunMark::default();
    mark.copy_from_slice(&context.finish().as_ref()[..LENGTH]);
    mark
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;

    const MONDAY: (&str, &str) = ("", "monday");

    fn two_readers() -> (RunMarks, RunMarks) {
        let store = std::env::temp_dir().join(format!("toolhub-runs-{}", crate::store::ledger::new_row_id()));
        (RunMarks::beside(&store), RunMarks::beside(&store))
    }

    #[test]
    fn a_noted_run_is_lost_for_other_readers_too_and_half_a_line_harms_no_other() {
        let (one, other) = two_readers();
        assert!(!other.is_lost(MONDAY, None));
        one.note("", "monday").unwrap();
        one.note("", "monday").unwrap();
        assert!(other.is_lost(MONDAY, None));
        assert!(!other.is_lost(("m", "onday"), None));
        OpenOptions::new().append(true).open(&one.path).unwrap().write_all(b"0123").unwrap();
        one.note("ann", "monday").unwrap();
        assert!(other.is_lost(("ann", "monday"), None));
        std::fs::remove_file(&one.path).unwrap();
        assert!(!other.is_lost(MONDAY, None));
    }

    #[test]
    fn a_number_is_raised_in_place_and_other_readers_see_it() {
        let (one, other) = two_readers();
        one.note("", "monday").unwrap();
        one.note("", "tuesday").unwrap();
        assert!(!other.is_lost(MONDAY, Some(0)));
        let length = std::fs::metadata(&one.path).unwrap().len();
        (1..=300).for_each(|number| one.raise(MONDAY, number).unwrap());
        assert_eq!(std::fs::metadata(&one.path).unwrap().len(), length);
        assert!(other.is_lost(MONDAY, Some(299)) && !other.is_lost(MONDAY, Some(300)));
        assert!(!other.is_lost(("", "tuesday"), Some(0)));
        assert!(one.raise(MONDAY, 300).is_err(), "the store is older");
        std::fs::remove_file(&one.path).unwrap();
        one.raise(MONDAY, 301).unwrap();
        assert!(other.is_lost(MONDAY, Some(300)) && !other.is_lost(MONDAY, Some(301)));
        std::fs::remove_file(&one.path).unwrap();
    }

    #[test]
    fn what_is_damaged_says_that_any_run_is_lost_and_a_pipe_does_not_block() {
        let (one, other) = two_readers();
        one.note("", "monday").unwrap();
        let whole = std::fs::read(&one.path).unwrap();
        for damage in [&b"\x00\xff garbage\n"[..], b"0123456789abcdeg\n", &[0; 64]] {
            let text = [&whole[..], damage, b"\n"].concat();
            std::fs::write(&one.path, text).unwrap();
            let reader = RunMarks::beside(&one.path.with_extension(""));
            assert!(reader.is_lost(("", "tuesday"), None) && reader.is_used("any"), "{damage:?}");
        }
        std::fs::remove_file(&one.path).unwrap();
        std::fs::create_dir(&one.path).unwrap();
        assert!(other.is_lost(MONDAY, None));
        assert!(other.note("", "tuesday").unwrap_err().contains("it is not a file"));
        std::fs::remove_dir(&one.path).unwrap();
    }

    #[test]
    fn a_line_without_a_number_is_read_and_gets_one() {
        let (one, other) = two_readers();
        let digits: String = mark("", "monday").iter().map(|byte| format!("{byte:02x}")).collect();
        std::fs::write(&one.path, format!("{NOTE}{digits}\n")).unwrap();
        assert!(one.is_lost(MONDAY, None) && !one.is_lost(MONDAY, Some(0)));
        one.note("", "monday").unwrap();
        one.raise(MONDAY, 7).unwrap();
        assert!(other.is_lost(MONDAY, Some(6)) && !other.is_lost(MONDAY, Some(7)));
        std::fs::remove_file(&one.path).unwrap();
    }
}
