//! Watches over the process of a server and says why it is over.

use super::child::{Process, how_it_ended};
use super::output::ProcessOutput;
use super::stdin_writer::StdinWriter;
use crate::mcp::inbox::Inbox;
use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use toolhub_types::error::{ErrorKind, HubError, Outcome};

/// How long the last output of a process that has exited is read: it is all there, but the reader needs time to run.
const LAST_OUTPUT: Duration = Duration::from_secs(5);
/// A process that closes a stream is often about to exit, and then its exit is the better story.
const BEFORE_EXIT: Duration = Duration::from_millis(700);

/// What the transport and its supervisor share.
pub struct StdioShared {
    pub server: Arc<str>,
    pub retired: OnceLock<HubError>,
}

impl StdioShared {
    pub fn new(server: Arc<str>) -> Self {
        StdioShared { server, retired: OnceLock::new() }
    }

    pub fn gone(&self) -> HubError {
        let gone =
            || HubError::new(ErrorKind::Closed, format!("Server '{}' is not running any more.", self.server));
        self.retired.get().cloned().unwrap_or_else(gone)
    }
}

/// The tasks that read what the process writes.
pub struct Streams {
    pub reader: JoinHandle<()>,
    pub listener: JoinHandle<()>,
}

pub struct ProcessSupervisor {
    pub process: Process,
    pub shared: Arc<StdioShared>,
    pub inbox: Arc<Inbox>,
    pub output: Arc<ProcessOutput>,
    pub input: Arc<StdinWriter>,
    pub closing: CancellationToken,
    /// Set here once the process has exited: what it has written is all that is read.
    pub exited: CancellationToken,
    /// Set by the writer when the input is broken.
    pub input_broken: CancellationToken,
}

/// The first sign that the server is over.
enum Sign {
    Closing,
    Exited(io::Result<ExitStatus>),
    OutputEnded,
    InputClosed,
}

impl ProcessSupervisor {
    /// Waits for the end, and fails all requests with its reason.
    pub async fn watch(&mut self, streams: &mut Streams) {
        let closing = self.closing.clone();
        let sign = tokio::select! {
            biased;
            () = closing.cancelled() => Sign::Closing,
            status = self.process.exited() => Sign::Exited(status),
            _ = &mut streams.reader => Sign::OutputEnded,
            () = self.input_broken.cancelled() => Sign::InputClosed,
            () = self.input.closed() => Sign::InputClosed,
        };
        let is_read = matches!(sign, Sign::OutputEnded);
        let story = match sign {
            Sign::Closing => "was closed".to_owned(),
            Sign::Exited(status) => self.exit_of(status),
            Sign::OutputEnded => self.exit_or("closed its output").await,
            Sign::InputClosed => self.exit_or("closed its input").await,
        };
        if self.exited.is_cancelled() {
            if !is_read {
                let _ = timeout(LAST_OUTPUT, &mut streams.reader).await;
            }
            // The reason is often the last thing that the process wrote.
            let _ = timeout(LAST_OUTPUT, &mut streams.listener).await;
        }
        streams.reader.abort();
        let error = self.error(&story);
        let _ = self.shared.retired.set(error.clone().with_outcome(Outcome::NotSent));
        self.inbox.end(&error);
    }

    fn exit_of(&self, status: io::Result<ExitStatus>) -> String {
        self.exited.cancel();
        status.map_or_else(|_| "exited".to_owned(), how_it_ended)
    }

    /// The exit that follows, or what the process did instead.
    async fn exit_or(&mut self, alive: &str) -> String {
        match timeout(BEFORE_EXIT, self.process.exited()).await {
            Ok(status) => self.exit_of(status),
            Err(_) => alive.to_owned(),
        }
    }

    fn error(&self, story: &str) -> HubError {
        let is_flood = self.output.is_flood();
        // The end of the reader may have ended the process.
        let story = if is_flood { "was stopped because of its output" } else { story };
        let words = match self.closing.is_cancelled() {
            true => None,
            false if is_flood => self.output.doubt(),
            false => self.output.reason().or_else(|| self.output.doubt()),
        };
        let words = words.map(|words| format!(": {words}")).unwrap_or_default();
        HubError::new(ErrorKind::Closed, format!("Server '{}' {story}{words}", self.shared.server))
    }
}
