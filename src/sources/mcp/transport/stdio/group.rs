//! The process group of a server: made at the start, and ended as a whole.

#[cfg(target_os = "linux")]
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
#[cfg(target_os = "linux")]
use std::os::unix::process::ExitStatusExt;
use std::sync::OnceLock;
use std::{io, process::ExitStatus};
#[cfg(target_os = "linux")]
use tokio::io::{Interest, unix::AsyncFd};
use tokio::process::Command;

/// Gives the process a session of its own: a Ctrl-C at our terminal does not reach it, and it can be ended as a whole.
///
/// On Linux the kernel kills a process that the sentinel does not watch when we die. That signal comes at the end of the thread that
/// forked, not of the process, and a worker of the runtime ends some time after it has read a large message: so it is only the
/// second choice.
///
/// # Safety
/// `enter` is called in the new process before it executes the program, and may only make plain system calls.
pub unsafe fn detach(command: &mut Command, is_watched: bool, enter: impl Fn() + Send + Sync + 'static) {
    #[cfg(target_os = "linux")]
    let parent = std::process::id();
    #[cfg(not(target_os = "linux"))]
    let _ = is_watched;
    // SAFETY: between fork and exec only plain system calls are made, nothing is allocated or locked; the caller promises
    // it of `enter`.
    unsafe {
        command.pre_exec(move || {
            libc::setsid();
            enter();
            #[cfg(target_os = "linux")]
            {
                if !is_watched {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                }
                // We died in between, and what ends our servers may have looked for them already.
                if libc::getppid().unsigned_abs() != parent {
                    libc::_exit(1);
                }
            }
            Ok(())
        });
    }
}

/// A process as it was seen: its id and its start time, which together are never reused.
pub type SeenProcess = (i32, u64);

/// All processes below this one.
#[cfg(target_os = "linux")]
pub fn descendants(root: u32) -> Vec<SeenProcess> {
    let all: Vec<(i32, i32, u64)> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid: i32| stat(pid).map(|(parent, started)| (pid, parent, started)))
        .collect();
    let mut found: Vec<SeenProcess> = Vec::new();
    let mut parents = vec![root as i32];
    while let Some(parent) = parents.pop() {
        for (pid, _, started) in all.iter().filter(|(_, of, _)| *of == parent) {
            found.push((*pid, *started));
            parents.push(*pid);
        }
    }
    found
}

#[cfg(not(target_os = "linux"))]
pub fn descendants(_root: u32) -> Vec<SeenProcess> {
    Vec::new()
}

pub fn kill(descendants: &[SeenProcess]) {
    for (pid, started) in descendants {
        #[cfg(target_os = "linux")]
        if stat(*pid).is_none_or(|(_, now)| now != *started) {
            continue;
        }
        let _ = started;
        // SAFETY: a plain system call on a process that is still the one we saw.
        unsafe { libc::kill(*pid, libc::SIGKILL) };
    }
}

/// The variable that marks a server and all that it starts.
const MARK: &str = "TOOLHUB_SERVER_MARK";
/// How often the processes are looked through: one that is being ended may have started another.
#[cfg(target_os = "linux")]
const ROUNDS: usize = 20;

/// A text in the environment of a server, which everything that it starts inherits: also a daemon that has left its session and
/// its parent. A process that empties its environment is not found.
#[derive(Clone, Debug)]
pub struct ProcessMark(String);

impl ProcessMark {
    pub fn new() -> Self {
        ProcessMark(format!("{}{:016x}", host_mark(), fastrand::u64(..)))
    }

    /// A server may be a hub of its own: what its servers start carries both marks.
    pub fn put(&self, command: &mut Command) {
        let value = match std::env::var(MARK) {
            Ok(outer) => format!("{outer},{}", self.0),
            Err(_) => self.0.clone(),
        };
        command.env(MARK, value);
    }

    /// Ends every process that carries the mark. Reads all of /proc.
    #[cfg(target_os = "linux")]
    pub fn kill(&self) {
        for _ in 0..ROUNDS {
            let marked = self.marked();
            if marked.is_empty() {
                return;
            }
            kill(&marked);
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// Only Linux shows the environment of a process.
    #[cfg(not(target_os = "linux"))]
    pub fn kill(&self) {}

    #[cfg(target_os = "linux")]
    fn marked(&self) -> Vec<SeenProcess> {
        let own = i32::try_from(std::process::id()).ok();
        let pids = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|pid: &i32| Some(*pid) != own)
            // The start time is read first: it proves below that the environment was that of the same process.
            .filter_map(|pid| stat(pid).map(|(_, started)| (pid, started)))
            .filter(|(pid, _)| {
                let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
                memchr::memmem::find(&environment, self.0.as_bytes()).is_some()
            })
            .collect()
    }
}

/// What the marks of all servers of this process begin with. A forked copy of it has another one.
fn host_mark() -> String {
    static RANDOM: OnceLock<u64> = OnceLock::new();
    format!("{}.{:016x}-", std::process::id(), RANDOM.get_or_init(|| fastrand::u64(..)))
}

/// The same for the sentinel, which has no heap.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy)]
pub struct HostMark {
    text: [u8; HostMark::LONGEST],
    length: usize,
}

#[cfg(target_os = "linux")]
impl HostMark {
    const LONGEST: usize = 64;

    pub fn new() -> Self {
        let mut mark = HostMark { text: [0; HostMark::LONGEST], length: 0 };
        for (place, byte) in mark.text.iter_mut().zip(host_mark().bytes()) {
            *place = byte;
            mark.length += 1;
        }
        mark
    }

    pub fn as_bytes(&self) -> &[u8] {
        self.text.get(..self.length).unwrap_or_default()
    }
}

/// (parent, start time) of a process.
#[cfg(target_os = "linux")]
fn stat(pid: i32) -> Option<(i32, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything; what follows the last one is numbers.
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    Some((parent, started))
}

/// Sees the end of a process without reaping it. As long as it is not reaped, its id and the id of its group cannot
/// belong to any other process.
#[cfg(target_os = "linux")]
pub struct ExitWatch {
    pidfd: AsyncFd<OwnedFd>,
    pid: libc::id_t,
}

#[cfg(target_os = "linux")]
impl ExitWatch {
    /// `None` on kernels without `pidfd_open` (before 5.3).
    pub fn new(pid: u32) -> Option<Self> {
        // SAFETY: a plain system call; the process is our child and not reaped, so the id is its own.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        let fd = RawFd::try_from(fd).ok().filter(|fd| *fd >= 0)?;
        // SAFETY: the descriptor is new, and nothing else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: the descriptor is open, and belongs to the `AsyncFd` until that is dropped.
        let pidfd = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }.ok()?;
        Some(ExitWatch { pidfd, pid })
    }

    pub async fn exited(&self) -> io::Result<ExitStatus> {
        loop {
            let mut ready = self.pidfd.readable().await?;
            match self.status()? {
                Some(status) => return Ok(status),
                None => ready.clear_ready(),
            }
        }
    }

    fn status(&self) -> io::Result<Option<ExitStatus>> {
        // SAFETY: the structure is plain data, for which zeros are valid.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let how = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
        // SAFETY: a plain system call that writes into `info`, which outlives it.
        if unsafe { libc::waitid(libc::P_PID, self.pid, &raw mut info, how) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `waitid` has filled in the fields of a SIGCHLD, or left zeros.
        let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
        if pid == 0 {
            return Ok(None);
        }
        // The encoding of wait(2).
        let raw = match info.si_code {
            libc::CLD_EXITED => (status & 0xff) << 8,
            libc::CLD_DUMPED => status | 0x80,
            _ => status,
        };
        Ok(Some(ExitStatus::from_raw(raw)))
    }
}

/// Other systems have nothing that shows the end without reaping.
#[cfg(not(target_os = "linux"))]
pub enum ExitWatch {}

#[cfg(not(target_os = "linux"))]
impl ExitWatch {
    pub fn new(_pid: u32) -> Option<Self> {
        None
    }

    pub async fn exited(&self) -> io::Result<ExitStatus> {
        match *self {}
    }
}
