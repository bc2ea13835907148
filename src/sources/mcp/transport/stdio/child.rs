//! The process of a server: started with little, ended with all that it has started itself.

#[cfg(unix)]
use super::group;
#[cfg(target_os = "linux")]
use super::sentinel::WatchedGroup;
use crate::mcp::wire::clean;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
#[cfg(target_os = "linux")]
use std::sync::Arc;
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::time::timeout;
use toolhub_types::error::{ErrorKind, HubError};

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
        let mark = group::ProcessMark::new();
        #[cfg(target_os = "linux")]
        let watched = WatchedGroup::new().map(Arc::new);
        #[cfg(unix)]
        {
            #[cfg(target_os = "linux")]
            let entry = watched.clone();
            #[cfg(target_os = "linux")]
            let is_watched = watched.is_some();
            #[cfg(not(target_os = "linux"))]
            let is_watched = false;
            let enter = move || {
                #[cfg(target_os = "linux")]
                if let Some(watched) = &entry {
                    watched.enter();
                }
            };
            // SAFETY: it makes one system call and stores a number.
            unsafe { group::detach(&mut command, is_watched, enter) };
            mark.put(&mut command);
        }
        match command.spawn() {
            Ok(child) => Ok(Process {
                id: child.id(),
                #[cfg(target_os = "linux")]
                watch: child.id().and_then(group::ExitWatch::new),
                #[cfg(unix)]
                mark,
                #[cfg(target_os = "linux")]
                watched,
                child,
                over: false,
            }),
            Err(error) => Err(self.not_started(&error)),
        }
    }

    /// The path that the command is, if it is one and not a name on `PATH`.
    fn path(&self) -> Option<PathBuf> {
        let path = Path::new(&self.command);
        let path = self.cwd.as_ref().map_or_else(|| path.to_owned(), |cwd| cwd.join(path));
        self.command.contains('/').then_some(path)
    }

    fn not_started(&self, error: &io::Error) -> HubError {
        let command = clean(&self.command, 200);
        let missing_folder = self.cwd.as_ref().filter(|cwd| !cwd.is_dir());
        let text = match (missing_folder, error.kind()) {
            (Some(cwd), _) => {
                format!("cannot start '{command}': the folder '{}' does not exist", cwd.display())
            }
            // Such a file that is "not found" lacks its interpreter.
            (_, io::ErrorKind::NotFound) if self.path().is_some_and(|path| path.is_file()) => {
                format!(
                    "cannot start '{command}': the file is there, but not the interpreter that its first line names"
                )
            }
            (_, io::ErrorKind::NotFound) => {
                format!(
                    "cannot start '{command}': there is no such command; install it or give its full path"
                )
            }
            _ if self.path().is_some_and(|path| path.is_dir()) => {
                format!("cannot start '{command}': it is a folder")
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
    #[cfg(target_os = "linux")]
    watch: Option<group::ExitWatch>,
    #[cfg(unix)]
    mark: group::ProcessMark,
    /// Given up before the process is reaped: afterwards the id of its group may belong to another.
    #[cfg(target_os = "linux")]
    watched: Option<Arc<WatchedGroup>>,
    over: bool,
}

/// The processes that a server has started, and those started by them.
#[derive(Default)]
pub struct Descendants {
    #[cfg(unix)]
    seen: Vec<group::SeenProcess>,
}

impl Process {
    pub fn id(&self) -> Option<u32> {
        self.id
    }

    /// Waits for the end of the process. Where the system allows it, the process is not reaped yet, so that its group can
    /// still be signalled safely.
    pub async fn exited(&mut self) -> io::Result<ExitStatus> {
        #[cfg(target_os = "linux")]
        if let Some(watch) = &self.watch {
            return watch.exited().await;
        }
        self.child.wait().await
    }

    /// What it has started, as far as that can be seen: children of a process that has ended lose their parent.
    pub async fn descendants(&self) -> Descendants {
        #[cfg(unix)]
        if let Some(id) = self.id {
            // Reads all of /proc.
            let seen = tokio::task::spawn_blocking(move || group::descendants(id)).await;
            return Descendants { seen: seen.unwrap_or_default() };
        }
        Descendants::default()
    }

    /// Ends the process and everything it has started. Its input must be closed already.
    pub async fn end(mut self, descendants: Descendants) {
        if timeout(AFTER_EOF, self.exited()).await.is_err() {
            #[cfg(unix)]
            self.signal(libc::SIGTERM);
            if timeout(AFTER_TERM, self.exited()).await.is_err() {
                #[cfg(not(unix))]
                let _ = self.child.start_kill();
                #[cfg(unix)]
                self.signal(libc::SIGKILL);
                let _ = timeout(AFTER_TERM, self.exited()).await;
            }
        }
        // What it left behind: members of its session, those that made sessions of their own, and daemons that left it.
        #[cfg(unix)]
        {
            self.signal(libc::SIGKILL);
            let mark = self.mark.clone();
            let kill = move || {
                group::kill(&descendants.seen);
                mark.kill();
            };
            let _ = tokio::task::spawn_blocking(kill).await;
        }
        #[cfg(not(unix))]
        drop(descendants);
        #[cfg(target_os = "linux")]
        drop(self.watched.take());
        self.over = true;
        let _ = timeout(AFTER_TERM, self.child.wait()).await;
    }

    /// Signals the group, unless its id may be in other hands by now.
    #[cfg(unix)]
    fn signal(&self, signal: i32) {
        let Some(group) = self.id.and_then(|id| i32::try_from(id).ok()) else { return };
        let is_reaped = self.child.id().is_none();
        // SAFETY: a plain system call that only asks whether there is such a process.
        if is_reaped && unsafe { libc::kill(group, 0) } == 0 {
            return;
        }
        // SAFETY: a plain system call. The group was made by `setsid` in the child and carries its id, which no other
        // process can have before the child is reaped; afterwards no process of that id exists, as was just checked.
        unsafe { libc::killpg(group, signal) };
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        #[cfg(unix)]
        if !self.over {
            self.signal(libc::SIGKILL);
            self.mark.kill();
        }
        #[cfg(target_os = "linux")]
        drop(self.watched.take());
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Program {
        Program { command: "sh".into(), args: vec!["-c".into(), script.into()], ..Program::default() }
    }

    /// The state in `/proc`, such as `Z` for a zombie.
    fn state(pid: u32) -> Option<char> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.trim_start().chars().next()
    }

    #[tokio::test]
    async fn a_process_is_reaped_only_after_its_group_was_ended() {
        let mut process = shell("exit 7").start().unwrap();
        let id = process.id().unwrap();
        assert_eq!(process.exited().await.unwrap().code(), Some(7));
        assert_eq!(state(id), Some('Z'), "its id is still its own, and so is the id of its group");
        let descendants = process.descendants().await;
        process.end(descendants).await;
        assert_eq!(state(id), None);
    }

    #[tokio::test]
    async fn a_process_outlives_the_thread_that_started_it() {
        let runtime = tokio::runtime::Handle::current();
        let start = move || {
            let _inside = runtime.enter();
            shell("cat; exit 5").start().unwrap()
        };
        let mut process = std::thread::spawn(start).join().unwrap();
        drop(process.child.stdin.take());
        assert_eq!(process.exited().await.unwrap().code(), Some(5));
    }

    #[tokio::test]
    async fn the_signal_that_ended_a_process_is_known() {
        let mut process = shell("kill -9 $$").start().unwrap();
        assert_eq!(how_it_ended(process.exited().await.unwrap()), "was killed by signal 9");
    }
}
