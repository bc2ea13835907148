//! The process of a server: started with little, ended with all that it has started itself.

use super::group::{self, ProcessMark, SeenProcess};
use super::output::ProcessOutput;
use super::pipes::StdinWriter;
use super::sentinel::WatchedGroup;
use crate::mcp::config::Command;
use crate::mcp::inbox::Inbox;
use crate::mcp::transport::has_events;
use crate::mcp::wire::clean;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{Interest, unix::AsyncFd};
use tokio::process::{self, Child};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Result};

/// How long a server may take to end after its input was closed, and again after being asked to terminate.
const AFTER_EOF: Duration = Duration::from_millis(2500);
const AFTER_TERM: Duration = Duration::from_millis(1500);

/// What a server gets of our environment without being named: where things are and in which language, no secrets.
const INHERITED: &[&str] =
    &["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ"];

/// A running server. Dropped without [`Process::end`], it is killed.
pub struct Process {
    pub child: Child,
    pub id: Option<u32>,
    /// Shows the end of the process before it is reaped, where the system can.
    exit: Option<AsyncFd<OwnedFd>>,
    mark: ProcessMark,
    /// Knows of the end before the process is reaped: afterwards the id of its group may belong to another.
    watched: Option<Arc<WatchedGroup>>,
    over: bool,
}

impl Process {
    /// Starts the process with pipes, in a session of its own, bound to die with this process.
    pub fn start(program: &Command, inherit: &[String]) -> Result<Process> {
        let mut command = process::Command::new(&program.program);
        command.args(&program.args).env_clear();
        for name in INHERITED.iter().copied().chain(inherit.iter().map(String::as_str)) {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.envs(&program.env);
        if let Some(cwd) = &program.cwd {
            command.current_dir(cwd);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let (mark, watched) = (ProcessMark::new(), WatchedGroup::new().map(Arc::new));
        let entry = watched.clone();
        let enter = move || entry.iter().for_each(|watched| watched.enter());
        // SAFETY: it makes one system call and stores a number.
        unsafe { group::detach(&mut command, watched.is_some(), enter) };
        mark.put(&mut command);
        let child = command.spawn().map_err(|error| not_started(program, &error))?;
        let id = child.id();
        let exit = id.and_then(group::pidfd).and_then(|pidfd| {
            // SAFETY: the descriptor is open, and belongs to the `AsyncFd` until that is dropped.
            unsafe { AsyncFd::register_with_interest(pidfd, Interest::READABLE) }.ok()
        });
        Ok(Process { child, id, exit, mark, watched, over: false })
    }

    /// Waits for the end of the process, and reaps it. Where the system allows it, its group is ended before: until then its id
    /// cannot belong to another.
    pub async fn exited(&mut self) -> io::Result<ExitStatus> {
        if let Some(exit) = &self.exit {
            let has_exited = |pidfd: &OwnedFd| match has_events(pidfd, libc::POLLIN) {
                Some(true) => Ok(()),
                _ => Err(io::ErrorKind::WouldBlock.into()),
            };
            exit.async_io(Interest::READABLE, has_exited).await?;
            self.signal(libc::SIGKILL);
            self.watched.iter().for_each(|watched| watched.ended());
        }
        self.child.wait().await
    }

    /// The processes that it has started, and those started by them, as far as that can be seen: children of a process that has
    /// ended lose their parent.
    pub async fn descendants(&self) -> Vec<SeenProcess> {
        // Once it is reaped, its id may be that of another process, whose children these are not.
        let Some(id) = self.child.id() else { return Vec::new() };
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
        // Where its end was seen before it was reaped, the group has ended with it.
        // SAFETY: a plain system call that only asks whether there is such a process.
        if is_reaped && (self.exit.is_some() || unsafe { libc::kill(group, 0) } == 0) {
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

fn not_started(program: &Command, error: &io::Error) -> HubError {
    let command = clean(&program.program, 200);
    let cwd = program.cwd.as_deref().unwrap_or(Path::new(""));
    // If it is a path, and not a name on `PATH`.
    let path = program.program.contains('/').then(|| cwd.join(&program.program));
    let is_file = || path.as_ref().is_some_and(|path| path.is_file());
    let text = match error.kind() {
        _ if program.cwd.is_some() && !cwd.is_dir() => {
            message!("cannot start '{}': the folder '{}' does not exist", command, cwd.display())
        }
        // Such a file that is "not found" lacks its interpreter.
        io::ErrorKind::NotFound if is_file() => message!(
            "cannot start '{}': the file is there, but not the interpreter that its first line names",
            command
        ),
        io::ErrorKind::NotFound => {
            message!("cannot start '{}': there is no such command; install it or give its full path", command)
        }
        _ if path.is_some_and(|path| path.is_dir()) => message!("cannot start '{}': it is a folder", command),
        io::ErrorKind::PermissionDenied => message!("cannot start '{}': it may not be executed", command),
        _ => message!("cannot start '{}': {}", command, error),
    };
    HubError::new(ErrorKind::Connect, text)
}

/// "Server 'x' exited with code 1", "Server 'x' was killed by signal 9".
pub fn how_it_ended(server: &str, status: io::Result<ExitStatus>) -> Message {
    match status.map(|status| (status.signal(), status.code())) {
        Ok((Some(signal), _)) => message!("Server '{}' was killed by signal {}", server, signal),
        Ok((_, Some(code))) => message!("Server '{}' exited with code {}", server, code),
        _ => message!("Server '{}' exited", server),
    }
}

// Watches over the process of a server and says why it is over.

/// How long the last output of a process that has exited is read: it is all there, but the reader needs time to run.
const LAST_OUTPUT: Duration = Duration::from_secs(5);
/// A process that closes a stream is often about to exit, and then its exit is the better story.
const BEFORE_EXIT: Duration = Duration::from_millis(700);

/// What the transport, its tasks and its supervisor share.
pub struct StdioShared {
    pub server: Arc<str>,
    pub inbox: Arc<Inbox>,
    pub output: Arc<ProcessOutput>,
    pub input: StdinWriter,
    pub closing: CancellationToken,
    /// Set by the writer when the input is broken.
    pub input_broken: CancellationToken,
    /// Set once the process has exited: what it has written is all that is read.
    pub exited: CancellationToken,
}

/// Waits for the end of a process, and fails all requests with its reason. `reader` and `listener` read what it writes.
pub async fn watch(
    process: &mut Process,
    shared: &StdioShared,
    reader: &mut JoinHandle<()>,
    listener: &mut JoinHandle<()>,
) {
    let StdioShared { server, output, exited, closing, .. } = shared;
    let exit = |status| {
        exited.cancel();
        how_it_ended(server, status)
    };
    let stream_closed = async {
        tokio::select! {
            biased;
            _ = &mut *reader => message!("Server '{}' closed its output", server),
            () = shared.input_broken.cancelled() => message!("Server '{}' closed its input", server),
            () = shared.input.closed() => message!("Server '{}' closed its input", server),
        }
    };
    let story = tokio::select! {
        biased;
        () = closing.cancelled() => message!("Server '{}' was closed", server),
        status = process.exited() => exit(status),
        alive = stream_closed => timeout(BEFORE_EXIT, process.exited()).await.map_or(alive, exit),
    };
    if exited.is_cancelled() {
        if !reader.is_finished() {
            let _ = timeout(LAST_OUTPUT, &mut *reader).await;
        }
        // The reason is often the last thing that the process wrote.
        let _ = timeout(LAST_OUTPUT, listener).await;
    }
    reader.abort();
    // The end of the reader may have ended the process.
    let (story, words) = match output.is_flood() {
        true => (message!("Server '{}' was stopped because of its output", server), output.doubt()),
        false => (story, output.reason().map(Message::from).or_else(|| output.doubt())),
    };
    let words = words.filter(|_| !closing.is_cancelled());
    let text = words.map_or(story.clone(), |words| message!("{}: {}", story, words));
    shared.inbox.end(&HubError::new(ErrorKind::Closed, text));
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    fn shell(script: &str) -> Process {
        let args = vec!["-c".into(), script.into()];
        Process::start(&Command { program: "sh".into(), args, ..Command::default() }, &[]).unwrap()
    }

    /// The state in `/proc`, such as `Z` for a zombie.
    fn state(pid: u32) -> Option<char> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.trim_start().chars().next()
    }

    #[tokio::test]
    async fn a_process_is_reaped_only_after_its_group_was_ended() {
        let mut process = shell("sleep 60 & echo $!; exit 7");
        let id = process.id.unwrap();
        let mut printed = [0; 16];
        let stdout = process.child.stdout.as_mut().unwrap();
        let read = tokio::io::AsyncReadExt::read(stdout, &mut printed).await.unwrap();
        let left: u32 = std::str::from_utf8(&printed[..read]).unwrap().trim().parse().unwrap();
        assert_eq!(process.exited().await.unwrap().code(), Some(7));
        assert_eq!(state(id), None);
        while state(left).is_some_and(|state| state != 'Z') {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(process.exited().await.unwrap().code(), Some(7), "it may be asked again");
    }

    #[tokio::test]
    async fn a_process_outlives_the_thread_that_started_it() {
        let runtime = tokio::runtime::Handle::current();
        let start = move || {
            let _inside = runtime.enter();
            shell("cat; exit 5")
        };
        let mut process = std::thread::spawn(start).join().unwrap();
        drop(process.child.stdin.take());
        assert_eq!(process.exited().await.unwrap().code(), Some(5));
    }

    #[tokio::test]
    async fn the_signal_that_ended_a_process_is_known() {
        let mut process = shell("kill -9 $$");
        assert_eq!(how_it_ended("x", process.exited().await), "Server 'x' was killed by signal 9");
    }
}
