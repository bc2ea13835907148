//! A process that ends what the servers have started when the host dies without ending them: SIGKILL, SIGTERM, `os._exit`, a
//! crash.
//!
//! The kernel then ends the servers (parent-death signal), but not their children. The sentinel is a copy of the host that
//! waits for its death, kills the process groups of the servers and every process with the host's mark, and exits. It is
//! started with the first server and ended with the last one. Nothing is executed for it, so no shell, interpreter or file is needed.
//!
//! The groups are in memory that the sentinel shares with the host: a server that is being started writes its own group
//! there before it runs, so there is no moment in which it is unknown.

mod process;

use super::group::{host_mark, pidfd};
use parking_lot::Mutex;
use std::fs;
use std::io::PipeWriter;
use std::os::fd::AsRawFd;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, Ordering};

/// Servers at one time whose groups are known. The mark finds the children of any more.
const SLOTS: usize = 16 * 1024;
const FREE: i32 = 0;
const RESERVED: i32 = -1;

/// The process groups of the servers, in memory that the host shares with the sentinel. It stays mapped.
type GroupSlots = &'static [AtomicI32];

/// The beginning and the end of a piece of memory.
type Mapping = (u64, u64);

/// Smaller pieces of memory are kept in the sentinel: the variables of libraries are among them.
const LARGE: u64 = 1024 * 1024;

static CURRENT: Mutex<Option<SentinelWatch>> = Mutex::new(None);

/// What watches over the servers of one process.
struct SentinelWatch {
    /// That process. A forked copy of it must not use this.
    host: u32,
    groups: GroupSlots,
    sentinel: Option<Sentinel>,
}

struct Sentinel {
    pid: libc::pid_t,
    /// The sentinel holds the other end: this one closes when the host dies or executes another program.
    _lifeline: PipeWriter,
}

/// The place for the group of one server. Dropped when the group has ended.
pub struct WatchedGroup {
    host: u32,
    slot: &'static AtomicI32,
}

impl WatchedGroup {
    /// A place for the group of a server that is about to start. `None` if the system allows no further process or memory: the
    /// server is started anyway.
    pub fn new() -> Option<Self> {
        let host = std::process::id();
        let mut current = CURRENT.lock();
        if let Some(parents) = current.take_if(|watch| watch.host != host) {
            std::mem::forget(parents);
        }
        let watch = match &mut *current {
            Some(watch) => watch,
            none => none.insert(SentinelWatch { host, groups: shared_slots()?, sentinel: None }),
        };
        // Another one takes over the servers of one that was killed.
        if watch.sentinel.as_ref().is_some_and(Sentinel::has_died) {
            // Its number may be that of another process soon.
            watch.sentinel = None;
        }
        if watch.sentinel.is_none() {
            watch.sentinel = Some(Sentinel::start(host, watch.groups)?);
        }
        Some(WatchedGroup { host, slot: reserve(watch.groups)? })
    }

    /// Enters the calling process as the leader of the group. Only for the new process of the server.
    pub fn enter(&self) {
        // SAFETY: a plain system call.
        self.slot.store(unsafe { libc::getpid() }, Ordering::Release);
    }

    /// The group has ended, and its id may soon be that of another. What else the server has started is still watched.
    pub fn ended(&self) {
        self.slot.store(RESERVED, Ordering::Release);
    }
}

impl Drop for WatchedGroup {
    fn drop(&mut self) {
        if self.host != std::process::id() {
            return;
        }
        self.slot.store(FREE, Ordering::Release);
        // A place is reserved under this lock.
        let mut current = CURRENT.lock();
        let is_free = |slot: &AtomicI32| slot.load(Ordering::Acquire) == FREE;
        if let Some(watch) = current.as_mut().filter(|watch| watch.groups.iter().all(is_free)) {
            watch.sentinel = None;
        }
    }
}

fn shared_slots() -> Option<GroupSlots> {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: new memory of this size, at an address that the kernel chooses, aligned to a page. It begins as zeros, and is
    // never unmapped.
    unsafe {
        let start = libc::mmap(null_mut(), SLOTS * size_of::<AtomicI32>(), access, kind, -1, 0);
        (start != libc::MAP_FAILED).then(|| std::slice::from_raw_parts(start.cast(), SLOTS))
    }
}

fn reserve(groups: GroupSlots) -> Option<&'static AtomicI32> {
    let is_reserved = |slot: &&AtomicI32| {
        slot.compare_exchange(FREE, RESERVED, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    };
    groups.iter().find(is_reserved)
}

/// In the child of a fork: the sentinel is the parent's.
pub fn forget() {
    // SAFETY: the child has one thread, this one. If the lock was held at the fork, its holder does not exist here.
    unsafe {
        if CURRENT.is_locked() {
            CURRENT.force_unlock();
        }
    }
    std::mem::forget(CURRENT.lock().take());
}

impl Sentinel {
    fn start(host: u32, groups: GroupSlots) -> Option<Self> {
        let (watched_end, lifeline) = std::io::pipe().ok()?;
        // Shows the end of the host also if a forked copy of it lives on with the lifeline.
        let host_fd = pidfd(host);
        let task = process::SentinelTask {
            host: host_fd.as_ref().map_or(-1, AsRawFd::as_raw_fd),
            lifeline: watched_end.as_raw_fd(),
            groups,
            mark: host_mark().into_bytes().try_into().ok()?,
            arguments: arguments(),
            memory: large_memory(),
        };
        Some(Sentinel { pid: fork(task)?, _lifeline: lifeline })
    }

    fn has_died(&self) -> bool {
        // SAFETY: a plain system call on a child of ours that only this type reaps.
        unsafe { libc::waitpid(self.pid, null_mut(), libc::WNOHANG | libc::__WALL) != 0 }
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        if self.has_died() {
            return;
        }
        // SAFETY: plain system calls on a child of ours that is not reaped, so the id is its own.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, null_mut(), libc::__WALL);
        }
    }
}

/// Where the command line of this process is.
fn arguments() -> Option<Mapping> {
    let stat = fs::read("/proc/self/stat").ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(45);
    let place = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(place).filter(|(begin, end)| *begin != 0 && begin < end)
}

/// The large memory of this process that its copy does not use: it has a copy of this thread's stack and variables.
fn large_memory() -> [Mapping; process::MAPPINGS] {
    let local = 0_u8;
    // SAFETY: the place of the error number is always valid.
    let kept = [(&raw const local).addr() as u64, unsafe { libc::__errno_location() }.addr() as u64];
    let maps = fs::read("/proc/self/maps").unwrap_or_default();
    let maps = String::from_utf8_lossy(&maps);
    let mut large = maps.lines().filter_map(|line| large_mapping(line, kept));
    std::array::from_fn(|_| large.next().unwrap_or_default())
}

/// The bounds of a mapping that is large, private, writable, of no file, and has none of these addresses.
fn large_mapping(line: &str, kept: [u64; 2]) -> Option<Mapping> {
    let mut fields = line.split_ascii_whitespace();
    let (bounds, access) = (fields.next()?.split_once('-')?, fields.next()?);
    let (inode, name) = (fields.nth(2)?, fields.next().unwrap_or_default());
    let address = |text| u64::from_str_radix(text, 16).ok();
    let (begin, end) = (address(bounds.0)?, address(bounds.1)?);
    let is_plain = inode == "0" && (name.is_empty() || name == "[heap]" || name.starts_with("[anon"));
    let is_large = end.checked_sub(begin)? >= LARGE;
    let is_kept = kept.iter().any(|address| (begin..end).contains(address));
    (matches!(access.as_bytes(), [_, b'w', _, b'p']) && is_plain && is_large && !is_kept)
        .then_some((begin, end))
}

/// A copy of this process that does the task. It is not announced by SIGCHLD, and a `wait` of the program for any child does not
/// see it.
fn fork(task: process::SentinelTask) -> Option<libc::pid_t> {
    // SAFETY: the sets are plain data, filled in by the calls. The copy runs nothing but `run`, which neither allocates nor
    // locks nor returns, with all signals blocked: no handler of the host runs in it.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        if libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before) != 0 {
            return None;
        }
        // Not `fork`: that runs the handlers which libraries register for it.
        let pid = libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0);
        if pid == 0 {
            process::run(&task);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, null_mut());
        libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_given_once_until_it_is_free() {
        let groups = shared_slots().unwrap();
        let (first, second) = (reserve(groups).unwrap(), reserve(groups).unwrap());
        assert!(!std::ptr::eq(first, second));
        second.store(FREE, Ordering::Release);
        assert!(std::ptr::eq(reserve(groups).unwrap(), second));
        let rest = std::iter::from_fn(|| reserve(groups)).count();
        assert_eq!(rest, SLOTS - 2, "and then there is none");
    }

    #[test]
    fn only_large_private_memory_without_the_stack_is_given_back() {
        let given = |line: &str| large_mapping(line, [0x7f00_0010_0000, 0]);
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
        let own = fs::read("/proc/self/cmdline").unwrap();
        assert_eq!((end - begin) as usize, own.len());
    }
}
