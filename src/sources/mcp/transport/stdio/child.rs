//! The process of a server: started with little, ended with all that it has started itself.

use super::group::{self, ExitWatch, ProcessMark, SeenProcess};
use super::sentinel::WatchedGroup;
use crate::mcp::wire::clean;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::time::timeout;
use toolhub_text::message;
use toolhub_text::message::Message;
use toolhub_types::error::{ErrorKind, HubError};

/// How long a server may take to end after its input was closed, and again after being asked to terminate.
const AFTER_EOF: Duration = Duration::from_millis(2500);
const AFTER_TERM: Duration = Duration::from_millis(1500);

/// What a server gets of our environment without being named: where things are and in which language, no secrets.
const INHERITED: &[&str] =
    &["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ"];

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
        let (mark, watched) = (ProcessMark::new(), WatchedGroup::new().map(Arc::new));
        let entry = watched.clone();
        let enter = move || entry.iter().for_each(|watched| watched.enter());
        // SAFETY: it makes one system call and stores a number.
        unsafe { group::detach(&mut command, watched.is_some(), enter) };
        mark.put(&mut command);
        match command.spawn() {
            Ok(child) => Ok(Process {
                id: child.id(),
                watch: child.id().and_then(ExitWatch::new),
                mark,
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
                message!("cannot start '{}': the folder '{}' does not exist", command, cwd.display())
            }
            // Such a file that is "not found" lacks its interpreter.
            (_, io::ErrorKind::NotFound) if self.path().is_some_and(|path| path.is_file()) => {
                message!(
                    "cannot start '{}': the file is there, but not the interpreter that its first line names",
                    command
                )
            }
            (_, io::ErrorKind::NotFound) => {
                message!(
                    "cannot start '{}': there is no such command; install it or give its full path",
                    command
                )
            }
            _ if self.path().is_some_and(|path| path.is_dir()) => {
                message!("cannot start '{}': it is a folder", command)
            }
            (_, io::ErrorKind::PermissionDenied) => {
                message!("cannot start '{}': it may not be executed", command)
            }
            _ => message!("cannot start '{}': {}", command, error),
        };
        HubError::new(ErrorKind::Connect, text)
    }
}

/// A running server. Dropped without [`Process::end`], it is killed.
pub struct Process {
    pub child: Child,
    id: Option<u32>,
    watch: Option<ExitWatch>,
    mark: ProcessMark,
    /// Given up before the process is reaped: afterwards the id of its group may belong to another.
    watched: Option<Arc<WatchedGroup>>,
    over: bool,
}

impl Process {
    pub fn id(&self) -> Option<u32> {
        self.id
    }

    /// Waits for the end of the process. Where the system allows it, the process is not reaped yet, so that its group can
    /// still be signalled safely.
    pub async fn exited(&mut self) -> io::Result<ExitStatus> {
        match &self.watch {
            Some(watch) => watch.exited().await,
            None => self.child.wait().await,
        }
    }

    /// The processes that it has started, and those started by them, as far as that can be seen: children of a process that has
    /// ended lose their parent.
    pub async fn descendants(&self) -> Vec<SeenProcess> {
        let Some(id) = self.id else { return Vec::new() };
        // Reads all of /proc.
        tokio::task::spawn_blocking(move || group::descendants(id)).await.unwrap_or_default()
    }

    /// Ends the process and everything it has started. Its input must be closed already.
    pub async fn end(mut self, descendants: Vec<SeenProcess>) {
        if timeout(AFTER_EOF, self.exited()).await.is_err() {
            self.signal(libc::SIGTERM);
            if timeout(AFTER_TERM, self.exited()).await.is_err() {
                self.signal(libc::SIGKILL);
                let _ = timeout(AFTER_TERM, self.exited()).await;
            }
        }
        // What it left behind: members of its session, those that made sessions of their own, and daemons that left it.
        self.signal(libc::SIGKILL);
        let mark = self.mark.clone();
        let kill = move || {
            group::kill(&descendants);
            mark.kill();
        };
        let _ = tokio::task::spawn_blocking(kill).await;
        self.watched = None;
        self.over = true;
        let _ = timeout(AFTER_TERM, self.child.wait()).await;
    }

    /// Signals the group, unless its id may be in other hands by now.
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
        if !self.over {
            self.signal(libc::SIGKILL);
            self.mark.kill();
        }
        self.watched = None;
    }
}

/// "Server 'x' exited with code 1", "Server 'x' was killed by signal 9".
pub fn how_it_ended(server: &str, status: io::Result<ExitStatus>) -> Message {
    match status.map(|status| (status.signal(), status.code())) {
        Ok((Some(signal), _)) => message!("Server '{}' was killed by signal {}", server, signal),
        Ok((_, Some(code))) => message!("Server '{}' exited with code {}", server, code),
        _ => message!("Server '{}' exited", server),
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
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
        assert_eq!(how_it_ended("x", process.exited().await), "Server 'x' was killed by signal 9");
    }
}
