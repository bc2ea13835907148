//! Files and folders of `/proc`, read without allocating.

use std::ffi::CStr;

const CHUNK: usize = 4096;
/// Marks are shorter than this.
const OVERLAP: usize = 128;
const LINE: usize = 1024;

/// A file, read piece by piece. The end of each piece is repeated before the next one.
pub struct Chunks {
    fd: i32,
    buffer: [u8; OVERLAP + CHUNK],
    kept: usize,
}

impl Chunks {
    pub fn open(path: &CStr) -> Option<Self> {
        // SAFETY: the path ends with a zero.
        let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        (fd >= 0).then_some(Chunks { fd, buffer: [0; OVERLAP + CHUNK], kept: 0 })
    }

    /// The next piece, without what is repeated. `None` at the end.
    fn next(&mut self) -> Option<(usize, usize)> {
        let space = self.buffer.get_mut(self.kept..)?;
        // SAFETY: the space is this long.
        let read = unsafe { libc::read(self.fd, space.as_mut_ptr().cast(), space.len().min(CHUNK)) };
        let read = usize::try_from(read).ok().filter(|read| *read > 0)?;
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

impl Drop for Chunks {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this value's own.
        unsafe { libc::close(self.fd) };
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

fn decimal(text: &[u8]) -> Option<u64> {
    let digits = text.iter().map(|byte| char::from(*byte).to_digit(10));
    let sum =
        digits.into_iter().try_fold(0_u64, |sum, digit| sum.checked_mul(10)?.checked_add(u64::from(digit?)));
    sum.filter(|_| !text.is_empty())
}

/// Calls `use_path` with the path of a process's file.
pub fn path_in_proc<T>(pid: i32, file: &[u8], use_path: impl FnOnce(&CStr) -> Option<T>) -> Option<T> {
    let mut digits = [0_u8; 10];
    let mut begin = digits.len();
    let mut rest = pid.unsigned_abs();
    while rest > 0 {
        begin = begin.checked_sub(1)?;
        *digits.get_mut(begin)? = b'0'.wrapping_add((rest % 10) as u8);
        rest /= 10;
    }
    let mut path = [0_u8; 64];
    let mut places = path.iter_mut();
    for byte in b"/proc/".iter().chain(digits.get(begin..)?).chain(file) {
        *places.next()? = *byte;
    }
    use_path(CStr::from_bytes_until_nul(&path).ok()?)
}

/// A folder, for the entries whose names are numbers.
pub struct NumberedEntries {
    fd: i32,
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
        let how = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
        // SAFETY: the path ends with a zero.
        let fd = unsafe { libc::open(path.as_ptr(), how) };
        (fd >= 0).then_some(NumberedEntries { fd, buffer: EntryBuffer([0; CHUNK]), at: 0, end: 0 })
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
            let number = decimal(name).and_then(|number| i32::try_from(number).ok());
            self.at = self.at.saturating_add(length);
            if number.is_some() {
                return number;
            }
        }
    }

    fn fill(&mut self) -> Option<()> {
        // SAFETY: the buffer is this long.
        let read = unsafe {
            libc::syscall(libc::SYS_getdents64, self.fd, self.buffer.0.as_mut_ptr(), self.buffer.0.len())
        };
        self.at = 0;
        self.end = usize::try_from(read).ok().filter(|read| *read > 0)?;
        Some(())
    }
}

impl Drop for NumberedEntries {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this value's own.
        unsafe { libc::close(self.fd) };
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
        assert_eq!(decimal(b""), None);
        assert_eq!(decimal(b"99999999999999999999999"), None);
    }
}
