//! The sentinel's own process: a copy of one thread of the host.
//!
//! Other threads of the host may have held any lock when the copy was made. So nothing here allocates, locks or panics: of the
//! standard library it uses only system calls and what works on its arguments alone. All data is on the stack, because the large
//! memory of the host is given back first.

use super::{GroupSlots, Mapping};
use crate::mcp::transport::stdio::group::HOST_MARK;
use std::ffi::CStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::atomic::Ordering;

/// What `ps` shows; at most 15 characters.
const NAME: &[u8] = b"toolhub-guard";
/// How often the processes are looked through: one that is being ended may have started another.
const ROUNDS: usize = 100;
static BETWEEN_ROUNDS: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 5_000_000 };
/// The most pieces of large memory that are given back. The others exist twice once the host changes them.
pub const MAPPINGS: usize = 1_000;
/// The descriptors that are closed one by one on kernels before 5.9.
const DESCRIPTORS: i32 = 65_536;

pub struct SentinelTask {
    /// A pidfd of the host, or -1.
    pub host: i32,
    pub lifeline: i32,
    pub groups: GroupSlots,
    pub mark: [u8; HOST_MARK],
    /// Where the command line is.
    pub arguments: Option<Mapping>,
    /// What is given back.
    pub memory: [Mapping; MAPPINGS],
}

/// Waits for the host to die, ends what its servers left, and exits.
///
/// # Safety
/// Only for a process that was just made by `clone`, with all signals blocked.
pub unsafe fn run(task: &SentinelTask) -> ! {
    // SAFETY: system calls on values of this process, whose other threads do not exist. The memory that is given back holds
    // neither its stack nor its thread's variables.
    unsafe {
        // Signals for the group or the terminal of the host are not for this process.
        libc::setsid();
        libc::chdir(c"/".as_ptr());
        let fds = keep_only(task.host, task.lifeline);
        rename(task.arguments);
        // Otherwise every page that the host changes would exist twice.
        for (begin, end) in task.memory {
            libc::madvise(begin as *mut libc::c_void, end.wrapping_sub(begin) as usize, libc::MADV_DONTNEED);
        }
        wait(fds);
        end_groups(task.groups);
        for _ in 0..ROUNDS {
            if !end_marked(&task.mark) {
                break;
            }
            libc::nanosleep(&raw const BETWEEN_ROUNDS, std::ptr::null_mut());
        }
        libc::_exit(0)
    }
}

/// Closes all other descriptors: a socket or pipe of the host must not stay open because of this process.
unsafe fn keep_only(host: i32, lifeline: i32) -> [libc::pollfd; 2] {
    // SAFETY: system calls on descriptors that only this process uses.
    unsafe {
        // First out of the way of the numbers that they get.
        let high = [host, lifeline].map(|fd| libc::fcntl(fd, libc::F_DUPFD, 3));
        libc::close(0);
        let host = if high[0] < 0 { -1 } else { libc::dup2(high[0], 0) };
        let lifeline = libc::dup2(high[1], 1);
        if libc::syscall(libc::SYS_close_range, 2, u32::MAX, 0) != 0 {
            for fd in 2..DESCRIPTORS {
                libc::close(fd);
            }
        }
        [(host, libc::POLLIN), (lifeline, 0)].map(|(fd, events)| libc::pollfd { fd, events, revents: 0 })
    }
}

unsafe fn wait(mut fds: [libc::pollfd; 2]) {
    // SAFETY: the array outlives the call, and the length is its own.
    while unsafe { libc::poll(fds.as_mut_ptr(), 2, -1) } < 0 {
        // SAFETY: the place of the error number is always valid.
        if unsafe { *libc::__errno_location() } != libc::EINTR {
            return;
        }
    }
}

/// Another name and command line than the host's, so that a search for the host's does not find two processes.
unsafe fn rename(arguments: Option<Mapping>) {
    // SAFETY: the name ends with a zero. The kernel checks addresses that are written through its file.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, c"toolhub-guard".as_ptr());
        let Some((begin, end)) = arguments else { return };
        let memory = libc::open(c"/proc/self/mem".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        for at in begin..end {
            let byte = NAME.get(at.wrapping_sub(begin) as usize).copied().unwrap_or(0);
            let byte = if at.wrapping_add(1) == end { 0 } else { byte };
            if libc::pwrite(memory, (&raw const byte).cast(), 1, at.cast_signed()) != 1 {
                break;
            }
        }
        libc::close(memory);
    }
}

unsafe fn end_groups(groups: GroupSlots) {
    for group in groups.iter().map(|slot| slot.load(Ordering::Acquire)).filter(|group| *group > 1) {
        // SAFETY: a plain system call. The host had not reaped the leader of the group when it died.
        unsafe { libc::killpg(group, libc::SIGKILL) };
    }
}

/// Ends the processes that carry the mark. False if there were none.
unsafe fn end_marked(mark: &[u8]) -> bool {
    let Some(mut all) = NumberedEntries::open(c"/proc") else { return false };
    let mut found = false;
    while let Some(pid) = all.next_number() {
        // SAFETY: plain system calls; the descriptor stays with this process even if its number is given to another one.
        unsafe {
            let process = libc::syscall(libc::SYS_pidfd_open, pid, 0);
            if process < 0 {
                continue;
            }
            if environment(pid).and_then(|environment| environment.find(mark)) == Some(true) {
                found = true;
                libc::syscall(libc::SYS_pidfd_send_signal, process, libc::SIGKILL, 0, 0);
            }
            libc::close(process as i32);
        }
    }
    found
}

// Files and folders of `/proc`, read without allocating.

const CHUNK: usize = 4096;
/// Marks are shorter than this.
const OVERLAP: usize = 128;

/// Opens a file or a folder.
fn open(path: &CStr, kind: i32) -> Option<File> {
    // SAFETY: the path ends with a zero.
    let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC | kind) };
    // SAFETY: the descriptor is new, and nothing else owns it.
    (fd >= 0).then(|| unsafe { File::from_raw_fd(fd) })
}

/// A file, read piece by piece. The end of each piece is repeated before the next one.
struct Chunks {
    file: File,
    buffer: [u8; OVERLAP + CHUNK],
    kept: usize,
}

impl Chunks {
    fn open(path: &CStr) -> Option<Self> {
        Some(Chunks { file: open(path, 0)?, buffer: [0; OVERLAP + CHUNK], kept: 0 })
    }

    /// Whether the file has this text.
    fn find(mut self, text: &[u8]) -> Option<bool> {
        loop {
            let room = self.buffer.get_mut(self.kept..self.kept.saturating_add(CHUNK))?;
            let end = match self.file.read(room) {
                Ok(read @ 1..) => self.kept.saturating_add(read),
                _ => return Some(false),
            };
            if self.buffer.get(..end)?.windows(text.len()).any(|window| window == text) {
                return Some(true);
            }
            self.kept = end.min(OVERLAP);
            self.buffer.copy_within(end.saturating_sub(self.kept)..end, 0);
        }
    }
}

/// The environment of a process.
fn environment(pid: i32) -> Option<Chunks> {
    let mut path = [0_u8; 64];
    write!(path.as_mut_slice(), "/proc/{pid}/environ\0").ok()?;
    Chunks::open(CStr::from_bytes_until_nul(&path).ok()?)
}

/// A folder, for the entries whose names are numbers.
struct NumberedEntries {
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

    fn open(path: &CStr) -> Option<Self> {
        let folder = open(path, libc::O_DIRECTORY)?;
        Some(NumberedEntries { folder, buffer: EntryBuffer([0; CHUNK]), at: 0, end: 0 })
    }

    fn next_number(&mut self) -> Option<i32> {
        loop {
            if self.at >= self.end {
                self.fill()?;
            }
            let entry = self.buffer.0.get(self.at..self.end)?;
            let length = [*entry.get(Self::LENGTH)?, *entry.get(Self::LENGTH + 1)?];
            let length = usize::from(u16::from_ne_bytes(length)).max(Self::NAME);
            let name = entry.get(Self::NAME..length)?.split(|byte| *byte == 0).next()?;
            let number = std::str::from_utf8(name).ok().and_then(|name| name.parse().ok());
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
    fn a_mark_is_found_in_the_environment_wherever_it_is() {
        let finds = |mark: &[u8]| environment(std::process::id().cast_signed())?.find(mark);
        let own = std::fs::read("/proc/self/environ").unwrap();
        for start in (0..own.len().saturating_sub(24)).step_by(7) {
            assert_eq!(finds(&own[start..start + 24]), Some(true), "at {start}");
        }
        assert_eq!(finds(b"a mark that is in no environment"), Some(false));
    }

    #[test]
    fn every_process_is_in_the_folder() {
        let mut all = NumberedEntries::open(c"/proc").unwrap();
        let found: Vec<i32> = std::iter::from_fn(|| all.next_number()).collect();
        assert!(found.contains(&1) && found.contains(&std::process::id().cast_signed()), "{found:?}");
    }
}
