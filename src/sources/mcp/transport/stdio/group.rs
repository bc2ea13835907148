//! The process group of a server: made at the start, and ended as a whole.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
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
    let parent = std::process::id();
    // SAFETY: between fork and exec only plain system calls are made, nothing is allocated or locked; the caller promises
    // it of `enter`.
    unsafe {
        command.pre_exec(move || {
            libc::setsid();
            enter();
            if !is_watched {
                #[cfg(target_os = "linux")]
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            }
            // We died in between, and what ends our servers may have looked for them already.
            if libc::getppid().unsigned_abs() != parent {
                libc::_exit(1);
            }
            Ok(())
        });
    }
}

/// A process as it was seen: its id and its start time, which together are never reused.
pub type SeenProcess = (i32, u64);

/// All processes, with their parents. Only Linux shows them.
fn processes() -> impl Iterator<Item = (SeenProcess, i32)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        stat(pid).map(|(parent, started)| ((pid, started), parent))
    })
}

/// What a look through all processes has found.
struct Look {
    begun: Instant,
    /// All processes, with their parents.
    all: Vec<(SeenProcess, i32)>,
    /// The processes that carry a mark of this host.
    carriers: HashMap<Vec<u8>, Vec<SeenProcess>>,
}

const LONGEST_LOOK: Duration = Duration::from_secs(1);
static LAST_LOOK: Mutex<Option<Arc<Look>>> = Mutex::new(None);

impl Look {
    /// A look that begins now. Reads all of /proc: those who ask meanwhile share the next one, because hundreds of servers may
    /// end at once.
    fn begun_now() -> Arc<Look> {
        let asked = Instant::now();
        // After a fork during a look, whoever holds the lock does not exist here.
        let Some(mut last) = LAST_LOOK.try_lock_for(LONGEST_LOOK) else { return Arc::new(Look::new()) };
        match &*last {
            Some(look) if look.begun >= asked => look.clone(),
            _ => last.insert(Arc::new(Look::new())).clone(),
        }
    }

    fn new() -> Look {
        let (begun, prefix, own) = (Instant::now(), host_mark(), std::process::id().cast_signed());
        let (all, mut carriers) = (processes().collect::<Vec<_>>(), HashMap::<_, Vec<_>>::new());
        for (seen, _) in all.iter().filter(|((pid, _), _)| *pid != own) {
            // The start time was read before: it proves that the environment was that of the same process.
            let environment = std::fs::read(format!("/proc/{}/environ", seen.0)).unwrap_or_default();
            for at in memchr::memmem::find_iter(&environment, &prefix) {
                let mark = environment[at..].iter().copied().take(WHOLE_MARK).collect();
                carriers.entry(mark).or_default().push(*seen);
            }
        }
        Look { begun, all, carriers }
    }
}

/// All processes below this one.
pub fn descendants(root: u32) -> Vec<SeenProcess> {
    let look = Look::begun_now();
    let (mut found, mut parents) = (Vec::new(), vec![root.cast_signed()]);
    while let Some(parent) = parents.pop() {
        for (seen, _) in look.all.iter().filter(|(_, of)| *of == parent) {
            found.push(*seen);
            parents.push(seen.0);
        }
    }
    found
}

pub fn kill(seen: &[SeenProcess]) {
    for (pid, started) in seen {
        if stat(*pid).is_some_and(|(_, now)| now == *started) {
            // SAFETY: a plain system call on a process that is still the one we saw.
            unsafe { libc::kill(*pid, libc::SIGKILL) };
        }
    }
}

/// The variable that marks a server and all that it starts.
const MARK: &str = "TOOLHUB_SERVER_MARK";
/// How often the processes are looked through: one that is being ended may have started another.
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

    /// Ends every process that carries the mark.
    pub fn kill(&self) {
        for _ in 0..ROUNDS {
            match Look::begun_now().carriers.get(self.0.as_bytes()) {
                Some(marked) => kill(marked),
                None => return,
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The bytes that the marks of all servers of this process begin with.
pub const HOST_MARK: usize = 26;
/// The bytes of a whole mark.
const WHOLE_MARK: usize = HOST_MARK + 16;

/// A forked copy of this process has another one.
pub fn host_mark() -> String {
    static RANDOM: OnceLock<u64> = OnceLock::new();
    format!("{:08x}.{:016x}-", std::process::id(), RANDOM.get_or_init(|| fastrand::u64(..)))
}

/// (parent, start time) of a process.
fn stat(pid: i32) -> Option<(i32, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything; what follows the last one is numbers.
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    Some((parent, started))
}

/// Shows the end of a process. `None` on kernels before 5.3, and on other systems.
#[cfg(target_os = "linux")]
pub fn pidfd(pid: u32) -> Option<OwnedFd> {
    // SAFETY: a plain system call; the descriptor is new, and nothing else owns it.
    unsafe {
        let fd = i32::try_from(libc::syscall(libc::SYS_pidfd_open, pid, 0)).ok()?;
        (fd >= 0).then(|| std::os::fd::FromRawFd::from_raw_fd(fd))
    }
}

#[cfg(not(target_os = "linux"))]
pub fn pidfd(_pid: u32) -> Option<OwnedFd> {
    None
}
