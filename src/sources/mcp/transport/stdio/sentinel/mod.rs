//! A process that ends what the servers have started when the host dies without ending them: SIGKILL, SIGTERM, `os._exit`, a
//! crash.
//!
//! The kernel then ends the servers (parent-death signal), but not their children. The sentinel is a copy of the host that
//! waits for its death, kills the process groups of the servers and every process with the host's mark, and exits. It is
//! started with the first server and ended with the last one. Nothing is executed for it, so no shell, interpreter or file is needed.
//!
//! The groups are in memory that the sentinel shares with the host: a server that is being started writes its own group
//! there before it runs, so there is no moment in which it is unknown.

mod files;
mod groups;
mod process;

use super::group::{host_mark, pidfd};
use groups::GroupTable;
use parking_lot::Mutex;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

static CURRENT: Mutex<Option<Sentinel>> = Mutex::new(None);

struct Sentinel {
    /// The process that started it. A forked copy of that process must not use it.
    host: u32,
    pid: libc::pid_t,
    groups: Arc<GroupTable>,
    servers: usize,
    /// The sentinel holds the other end: this one closes when the host dies or executes another program.
    _lifeline: OwnedFd,
}

/// The place for the group of one server. Dropped when the group has ended.
pub struct WatchedGroup {
    host: u32,
    groups: Arc<GroupTable>,
    slot: usize,
}

impl WatchedGroup {
    /// A place for the group of a server that is about to start. `None` if the system allows no further process or memory: the
    /// server is started anyway.
    pub fn new() -> Option<Self> {
        let host = std::process::id();
        let mut current = CURRENT.lock();
        if let Some(parents) = current.take_if(|sentinel| sentinel.host != host) {
            std::mem::forget(parents);
        }
        let dead = current.take_if(|sentinel| sentinel.has_died());
        let sentinel = match &mut *current {
            Some(sentinel) => sentinel,
            none => {
                // It takes over the servers of one that was killed.
                let (groups, servers) = match dead {
                    Some(dead) => (dead.groups.clone(), dead.servers),
                    None => (Arc::new(GroupTable::new()?), 0),
                };
                none.insert(Sentinel::start(host, groups, servers)?)
            }
        };
        let slot = sentinel.groups.reserve()?;
        sentinel.servers += 1;
        Some(WatchedGroup { host, groups: sentinel.groups.clone(), slot })
    }

    /// Enters the calling process as the leader of the group. Only for the new process of the server.
    pub fn enter(&self) {
        // SAFETY: a plain system call.
        self.groups.set(self.slot, unsafe { libc::getpid() });
    }
}

impl Drop for WatchedGroup {
    fn drop(&mut self) {
        if self.host != std::process::id() {
            return;
        }
        self.groups.free(self.slot);
        let mut current = CURRENT.lock();
        // Not if none could be started in the place of one that had died.
        let Some(sentinel) = current.as_mut().filter(|now| Arc::ptr_eq(&now.groups, &self.groups)) else {
            return;
        };
        sentinel.servers -= 1;
        if sentinel.servers == 0 {
            *current = None;
        }
    }
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
    fn start(host: u32, groups: Arc<GroupTable>, servers: usize) -> Option<Self> {
        let (watched_end, lifeline) = pipe()?;
        // Shows the end of the host also if a forked copy of it lives on with the lifeline.
        let host_fd = pidfd(host);
        let task = process::SentinelTask {
            host: host_fd.as_ref().map_or(-1, AsRawFd::as_raw_fd),
            lifeline: watched_end.as_raw_fd(),
            groups: groups.slots(),
            mark: host_mark().into_bytes().try_into().ok()?,
        };
        let pid = fork(task)?;
        Some(Sentinel { host, pid, groups, servers, _lifeline: lifeline })
    }

    fn has_died(&self) -> bool {
        // SAFETY: a plain system call on a child of ours that only this type reaps.
        unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), libc::WNOHANG | libc::__WALL) != 0 }
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
            libc::waitpid(self.pid, std::ptr::null_mut(), libc::__WALL);
        }
    }
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
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 0)
    }
}

fn pipe() -> Option<(OwnedFd, OwnedFd)> {
    let mut ends: [RawFd; 2] = [-1; 2];
    // SAFETY: the call fills in the two descriptors, which are new, and nothing else owns them.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return None;
        }
        Some((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}
