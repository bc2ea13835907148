//! Files and folders of `/proc`, read without allocating.

use std::ffi::CStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::str::FromStr;

const CHUNK: usize = 4096;
/// Marks are shorter than this.
const OVERLAP: usize = 128;
const LINE: usize = 1024;

/// Opens a file or a folder.
fn open(path: &CStr, kind: i32) -> Option<File> {
    // SAFETY: the path ends with a zero.
    let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC | kind) };
    // SAFETY: the descriptor is new, and nothing else owns it.
    (fd >= 0).then(|| unsafe { File::from_raw_fd(fd) })
}

/// A file, read piece by piece. The end of each piece is repeated before the next one.
pub struct Chunks {
    file: File,
    buffer: [u8; OVERLAP + CHUNK],
    kept: usize,
}

impl Chunks {
    pub fn open(path: &CStr) -> Option<Self> {
        Some(Chunks { file: open(path, 0)?, buffer: [0; OVERLAP + CHUNK], kept: 0 })
    }

    /// The next piece, without what is repeated. `None` at the end.
    fn next(&mut self) -> Option<(usize, usize)> {
        let end = self.kept.saturating_add(CHUNK);
        let read = self.file.read(self.buffer.get_mut(self.kept..end)?).ok().filter(|read| *read > 0)?;
        Some((self.kept, self.kept.saturating_add(read)))
    }

    /// Whether the file has this text.
    pub fn find(mut self, text: &[u8]) -> Option<bool> {
        while let Some((_, end)) = self.next() {
            if self.buffer.get(..end)?.windows(text.len()).any(|window| window == text) {
                return Some(true);
            }
            self.kept = end.min(OVERLAP);
            self.buffer.copy_within(end.saturating_sub(self.kept)..end, 0);
        }
        Some(false)
    }
}

/// Calls `use_line` for each line of a file, up to its first [`LINE`] bytes.
pub fn each_line(path: &CStr, mut use_line: impl FnMut(&[u8]) -> Option<()>) {
    let Some(mut file) = Chunks::open(path) else { return };
    let (mut line, mut length) = ([0_u8; LINE], 0_usize);
    while let Some((begin, end)) = file.next() {
        for byte in file.buffer.get(begin..end).unwrap_or_default() {
            if *byte == b'\n' {
                use_line(line.get(..length).unwrap_or_default());
                length = 0;
            } else if let Some(place) = line.get_mut(length) {
                *place = *byte;
                length = length.saturating_add(1);
            }
        }
    }
}

/// The decimal numbers between the spaces of a text; a field that is none counts as 0.
pub fn numbers(text: &[u8]) -> impl Iterator<Item = u64> {
    let fields = text.split(|byte| *byte == b' ').filter(|field| !field.is_empty()).skip(1);
    fields.map(|field| decimal(field).unwrap_or(0))
}

fn decimal<T: FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The environment of a process.
pub fn environment(pid: i32) -> Option<Chunks> {
    let mut path = [0_u8; 64];
    write!(path.as_mut_slice(), "/proc/{pid}/environ\0").ok()?;
    Chunks::open(CStr::from_bytes_until_nul(&path).ok()?)
}

/// A folder, for the entries whose names are numbers.
pub struct NumberedEntries {
    folder: File,
    buffer: EntryBuffer,
    at: usize,
    end: usize,
}

/// The kernel writes aligned structures.
#[repr(C, align(8))]
struct EntryBuffer([u8; CHUNK]);

impl NumberedEntries {
    /// Where the length and the name are in an entry: after two numbers of 64 bits, and a type.
    const LENGTH: usize = 16;
    const NAME: usize = 19;

    pub fn open(path: &CStr) -> Option<Self> {
        let folder = open(path, libc::O_DIRECTORY)?;
        Some(NumberedEntries { folder, buffer: EntryBuffer([0; CHUNK]), at: 0, end: 0 })
    }

    pub fn next_number(&mut self) -> Option<i32> {
        loop {
            if self.at >= self.end {
                self.fill()?;
            }
            let entry = self.buffer.0.get(self.at..self.end)?;
            let length = [*entry.get(Self::LENGTH)?, *entry.get(Self::LENGTH + 1)?];
            let length = usize::from(u16::from_ne_bytes(length)).max(Self::NAME);
            let name = entry.get(Self::NAME..length)?.split(|byte| *byte == 0).next()?;
            let number = decimal(name);
            self.at = self.at.saturating_add(length);
            if number.is_some() {
                return number;
            }
        }
    }

    fn fill(&mut self) -> Option<()> {
        let (folder, buffer) = (self.folder.as_raw_fd(), &mut self.buffer.0);
        // SAFETY: the buffer is this long.
        let read = unsafe { libc::syscall(libc::SYS_getdents64, folder, buffer.as_mut_ptr(), buffer.len()) };
        self.at = 0;
        self.end = usize::try_from(read).ok().filter(|read| *read > 0)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_wherever_the_pieces_end() {
        let mut seen = Vec::new();
        each_line(c"/proc/self/maps", |line| {
            seen.push(String::from_utf8_lossy(line).into_owned());
            Some(())
        });
        assert!(seen.len() > 20);
        assert!(seen.iter().all(|line| line.contains('-') && line.split(' ').count() > 4), "{seen:#?}");
    }

    #[test]
    fn every_process_is_in_the_folder() {
        let mut all = NumberedEntries::open(c"/proc").unwrap();
        let found: Vec<i32> = std::iter::from_fn(|| all.next_number()).collect();
        assert!(found.contains(&1) && found.contains(&std::process::id().cast_signed()), "{found:?}");
    }

    #[test]
    fn numbers_are_decimal() {
        assert_eq!(numbers(b") S 12 x 345").collect::<Vec<_>>(), [0, 12, 0, 345]);
        assert_eq!(decimal::<u64>(b""), None);
        assert_eq!(decimal::<u64>(b"99999999999999999999999"), None);
    }
}
