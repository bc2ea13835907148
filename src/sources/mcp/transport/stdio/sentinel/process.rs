//! The sentinel's own process: a copy of one thread of the host.
//!
//! Other threads of the host may have held any lock when the copy was made. So nothing here allocates, locks or panics: of the
//! standard library it uses only system calls and what works on its arguments alone. All data is on the stack, because the large
//! memory of the host is given back first.

use super::GroupSlots;
use super::files::{NumberedEntries, each_line, environment, numbers};
use crate::mcp::transport::stdio::group::HOST_MARK;
use std::sync::atomic::Ordering;

/// What `ps` shows; at most 15 characters.
const NAME: &[u8] = b"toolhub-guard";
/// How often the processes are looked through: one that is being ended may have started another.
const ROUNDS: usize = 100;
static BETWEEN_ROUNDS: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 5_000_000 };
/// Smaller pieces of memory are kept: the variables of libraries are among them.
const LARGE: u64 = 1024 * 1024;
/// The descriptors that are closed one by one on kernels before 5.9.
const DESCRIPTORS: i32 = 65_536;

pub struct SentinelTask {
    /// A pidfd of the host, or -1.
    pub host: i32,
    pub lifeline: i32,
    pub groups: GroupSlots,
    pub mark: [u8; HOST_MARK],
}

/// Waits for the host to die, ends what its servers left, and exits.
///
/// # Safety
/// Only for a process that was just made by `clone`, with all signals blocked.
pub unsafe fn run(task: &SentinelTask) -> ! {
    // SAFETY: system calls on values of this process, whose other threads do not exist.
    unsafe {
        // Signals for the group or the terminal of the host are not for this process.
        libc::setsid();
        libc::chdir(c"/".as_ptr());
        let fds = keep_only(task.host, task.lifeline);
        rename();
        give_back_memory();
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
unsafe fn rename() {
    // SAFETY: the name ends with a zero. The kernel checks addresses that are written through its file.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, c"toolhub-guard".as_ptr());
        let Some((begin, end)) = arguments() else { return };
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

/// Where the command line of this process is.
fn arguments() -> Option<(u64, u64)> {
    let mut place = None;
    each_line(c"/proc/self/stat", |line| {
        let name_end = line.iter().rposition(|byte| *byte == b')')?;
        let mut fields = numbers(line.get(name_end..)?).skip(45);
        place = fields.next().zip(fields.next());
        None
    });
    place.filter(|(begin, end)| *begin != 0 && begin < end)
}

/// Gives back the large private memory that came with the copy. Otherwise every page that the host changes would exist twice.
unsafe fn give_back_memory() {
    let local = 0_u8;
    // SAFETY: the place of the error number is always valid.
    let kept = [(&raw const local).addr() as u64, unsafe { libc::__errno_location() }.addr() as u64];
    each_line(c"/proc/self/maps", |line| {
        let (begin, end) = large_memory(line, kept)?;
        // SAFETY: this memory holds nothing that this process still uses: neither its stack nor its thread's variables.
        unsafe { libc::madvise(begin as *mut libc::c_void, (end - begin) as usize, libc::MADV_DONTNEED) };
        Some(())
    });
}

/// The bounds of a mapping that is large, private, writable, of no file, and has none of these addresses.
fn large_memory(line: &[u8], kept: [u64; 2]) -> Option<(u64, u64)> {
    let mut fields = line.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    let (bounds, access) = (fields.next()?, fields.next()?);
    let inode = fields.nth(2)?;
    let name = fields.next().unwrap_or_default();
    let mut bounds = bounds.split(|byte| *byte == b'-').map(hexadecimal);
    let (begin, end) = (bounds.next()??, bounds.next()??);
    let is_private = access.get(1) == Some(&b'w') && access.get(3) == Some(&b'p');
    let is_plain = inode == b"0" && (name.is_empty() || name == b"[heap]" || name.starts_with(b"[anon"));
    let is_large = end.checked_sub(begin)? >= LARGE;
    let is_kept = kept.iter().any(|address| (begin..end).contains(address));
    (is_private && is_plain && is_large && !is_kept).then_some((begin, end))
}

fn hexadecimal(text: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_large_private_memory_without_the_stack_is_given_back() {
        let given = |line: &str| large_memory(line.as_bytes(), [0x7f00_0010_0000, 0]);
        let heap = "55d0c0000000-55d0c0200000 rw-p 00000000 00:00 0                          [heap]";
        assert_eq!(given(heap), Some((0x55d0_c000_0000, 0x55d0_c020_0000)));
        assert_eq!(
            given("55d0c0000000-55d0c0200000 rw-p 00000000 00:00 0"),
            Some((0x55d0_c000_0000, 0x55d0_c020_0000))
        );
        for kept in [
            "7f0000000000-7f0000200000 rw-p 00000000 00:00 0",
            "55d0c0000000-55d0c0001000 rw-p 00000000 00:00 0",
            "55d0c0000000-55d0c0200000 rw-s 00000000 00:00 0",
            "55d0c0000000-55d0c0200000 r--p 00000000 00:00 0",
            "55d0c0000000-55d0c0200000 rw-p 00000000 08:01 1234                       /usr/lib/libc.so.6",
            "7ffd00000000-7ffd00200000 rw-p 00000000 00:00 0                          [stack]",
            "nonsense",
            "",
        ] {
            assert_eq!(given(kept), None, "{kept}");
        }
    }

    #[test]
    fn the_command_line_is_found_in_the_memory() {
        let (begin, end) = arguments().unwrap();
        let own = std::fs::read("/proc/self/cmdline").unwrap();
        assert_eq!((end - begin) as usize, own.len());
    }

    #[test]
    fn a_mark_is_found_in_the_environment_wherever_it_is() {
        let finds = |mark: &[u8]| environment(std::process::id().cast_signed())?.find(mark);
        let own = std::fs::read("/proc/self/environ").unwrap();
        for start in (0..own.len().saturating_sub(24)).step_by(7) {
            assert_eq!(finds(&own[start..start + 24]), Some(true), "at {start}");
        }
        assert_eq!(finds(b"a mark that is in no environment"), Some(false));
    }
}
