//! Watches over the process of a server and says why it is over.

use super::child::{Process, how_it_ended};
use super::output::ProcessOutput;
use super::pipes::StdinWriter;
use crate::mcp::inbox::Inbox;
use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use toolhub_text::message;
use toolhub_text::message::Message;
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
        let gone = || {
            HubError::new(ErrorKind::Closed, message!("Server '{}' is not running any more.", self.server))
        };
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

impl ProcessSupervisor {
    /// Waits for the end, and fails all requests with its reason.
    pub async fn watch(&mut self, streams: &mut Streams) {
        let server = self.shared.server.clone();
        let mut is_read = false;
        let input_closed = || message!("Server '{}' closed its input", server);
        let closing = self.closing.clone();
        let story = tokio::select! {
            biased;
            () = closing.cancelled() => message!("Server '{}' was closed", server),
            status = self.process.exited() => self.exit_of(status),
            _ = &mut streams.reader => {
                is_read = true;
                self.exit_or(message!("Server '{}' closed its output", server)).await
            }
            () = self.input_broken.cancelled() => self.exit_or(input_closed()).await,
            () = self.input.closed() => self.exit_or(input_closed()).await,
        };
        if self.exited.is_cancelled() {
            if !is_read {
                let _ = timeout(LAST_OUTPUT, &mut streams.reader).await;
            }
            // The reason is often the last thing that the process wrote.
            let _ = timeout(LAST_OUTPUT, &mut streams.listener).await;
        }
        streams.reader.abort();
        let error = self.error(story);
        let _ = self.shared.retired.set(error.clone().with_outcome(Outcome::NotSent));
        self.inbox.end(&error);
    }

    fn exit_of(&self, status: io::Result<ExitStatus>) -> Message {
        self.exited.cancel();
        how_it_ended(&self.shared.server, status)
    }

    /// The exit that follows, or what the process did instead.
    async fn exit_or(&mut self, alive: Message) -> Message {
        let exit = timeout(BEFORE_EXIT, self.process.exited()).await;
        exit.map_or(alive, |status| self.exit_of(status))
    }

    fn error(&self, story: Message) -> HubError {
        // The end of the reader may have ended the process.
        let (story, words) = match self.output.is_flood() {
            true => {
                let server = &self.shared.server;
                (message!("Server '{}' was stopped because of its output", server), self.output.doubt())
            }
            false => (story, self.output.reason().map(Message::from).or_else(|| self.output.doubt())),
        };
        let words = words.filter(|_| !self.closing.is_cancelled());
        let text = words.map_or(story.clone(), |words| message!("{}: {}", story, words));
        HubError::new(ErrorKind::Closed, text)
    }
}
