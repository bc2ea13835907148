//! The process of a server: started with little, ended with all that it has started itself.

use crate::error::{ErrorKind, HubError};
use crate::sources::mcp::wire::clean;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// How long a server may take to end after its input was closed, and again after being asked to terminate.
const AFTER_EOF: Duration = Duration::from_millis(2500);
const AFTER_TERM: Duration = Duration::from_millis(1500);

/// What a server gets of our environment without being named: where things are and in which language, no secrets.
#[cfg(unix)]
const INHERITED: &[&str] =
    &["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ"];
#[cfg(not(unix))]
const INHERITED: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
];

/// What to start.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub command: String,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub cwd: Option<PathBuf>,
    /// Further variables of our environment that the server gets.
    pub inherit: Vec<String>,
}

impl Program {
    /// Starts the process with pipes, in a session of its own, bound to die with this process.
    pub fn start(&self) -> Result<Process, HubError> {
        let mut command = Command::new(&self.command);
        command.args(&self.args).env_clear();
        for name in INHERITED.iter().copied().chain(self.inherit.iter().map(String::as_str)) {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.envs(&self.env);
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        #[cfg(unix)]
        unix::detach(&mut command);
        match command.spawn() {
            Ok(child) => Ok(Process { id: child.id(), child, over: false }),
            Err(error) => Err(self.not_started(&error)),
        }
    }

    fn not_started(&self, error: &io::Error) -> HubError {
        let command = clean(&self.command, 200);
        let missing_folder = self.cwd.as_ref().filter(|cwd| !cwd.is_dir());
        let text = match (missing_folder, error.kind()) {
            (Some(cwd), _) => {
                format!("cannot start '{command}': the folder '{}' does not exist", cwd.display())
            }
            (_, io::ErrorKind::NotFound) => {
                format!(
                    "cannot start '{command}': there is no such command; install it or give its full path"
                )
            }
            (_, io::ErrorKind::PermissionDenied) => {
                format!("cannot start '{command}': it may not be executed")
            }
            _ => format!("cannot start '{command}': {error}"),
        };
        HubError::new(ErrorKind::Connect, text)
    }
}

/// A running server. Dropped without [`Process::end`], it is killed.
pub struct Process {
    pub child: Child,
    id: Option<u32>,
    over: bool,
}

/// The processes below one.
#[cfg(unix)]
pub struct Family(Vec<unix::Seen>);
#[cfg(not(unix))]
pub struct Family();

impl Process {
    pub fn id(&self) -> Option<u32> {
        self.id
    }

    pub async fn exited(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// What it has started, as long as that can be seen: children of a process that has ended belong to nobody.
    pub fn family(&self) -> Family {
        #[cfg(unix)]
        return Family(self.id.map(unix::descendants).unwrap_or_default());
        #[cfg(not(unix))]
        Family()
    }

    /// Ends the process and everything it has started. Its input must be closed already.
    pub async fn end(mut self, family: Family) {
        if timeout(AFTER_EOF, self.child.wait()).await.is_err() {
            #[cfg(unix)]
            self.signal(libc::SIGTERM);
            if timeout(AFTER_TERM, self.child.wait()).await.is_err() {
                #[cfg(not(unix))]
                let _ = self.child.start_kill();
                #[cfg(unix)]
                self.signal(libc::SIGKILL);
                let _ = timeout(AFTER_TERM, self.child.wait()).await;
            }
        }
        // What it left behind: members of its session, and those that made sessions of their own.
        #[cfg(unix)]
        {
            self.signal(libc::SIGKILL);
            unix::kill(&family.0);
        }
        #[cfg(not(unix))]
        drop(family);
        self.over = true;
    }

    #[cfg(unix)]
    fn signal(&self, signal: i32) {
        if let Some(group) = self.id.and_then(|id| i32::try_from(id).ok()) {
            // SAFETY: a plain system call. The group was made by `setsid` in the child and carries its id.
            unsafe { libc::killpg(group, signal) };
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        #[cfg(unix)]
        if !self.over {
            self.signal(libc::SIGKILL);
        }
    }
}

/// "exited with code 1", "was killed by signal 9".
pub fn how_it_ended(status: ExitStatus) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = status.signal() {
            return format!("was killed by signal {signal}");
        }
    }
    match status.code() {
        Some(code) => format!("exited with code {code}"),
        None => "exited".to_owned(),
    }
}

#[cfg(unix)]
mod unix {
    use tokio::process::Command;

    /// A session of its own, so that a Ctrl-C at our terminal is not the server's, and so that it can be ended as a whole;
    /// on Linux the kernel kills it when we die without a word.
    pub fn detach(command: &mut Command) {
        #[cfg(target_os = "linux")]
        let parent = std::process::id();
        // SAFETY: between fork and exec only plain system calls are made, nothing is allocated or locked.
        unsafe {
            command.pre_exec(move || {
                libc::setsid();
                #[cfg(target_os = "linux")]
                {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    // Died in between: nobody would ever send that signal.
                    if libc::getppid().unsigned_abs() != parent {
                        libc::_exit(1);
                    }
                }
                Ok(())
            });
        }
    }

    /// A process as it was seen: its id and its start time, which together are never reused.
    pub type Seen = (i32, u64);

    /// All processes below this one.
    #[cfg(target_os = "linux")]
    pub fn descendants(root: u32) -> Vec<Seen> {
        let all: Vec<(i32, i32, u64)> = std::fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter_map(|pid: i32| stat(pid).map(|(parent, started)| (pid, parent, started)))
            .collect();
        let mut found: Vec<Seen> = Vec::new();
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
    pub fn descendants(_root: u32) -> Vec<Seen> {
        Vec::new()
    }

    pub fn kill(family: &[Seen]) {
        for (pid, started) in family {
            #[cfg(target_os = "linux")]
            if stat(*pid).is_none_or(|(_, now)| now != *started) {
                continue;
            }
            let _ = started;
            // SAFETY: a plain system call on a process that is still the one we saw.
            unsafe { libc::kill(*pid, libc::SIGKILL) };
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
}
