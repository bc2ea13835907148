//! A server as a child process: one message a line on its input and output.
//!
//! One task writes (callers only queue, so a server that does not read delays no deadline), one reads, one drains
//! the error stream, one watches over the process and ends it. A request that is given up before it was written is never
//! sent. One that is alone is written by its caller, if the pipe takes it at once: see [`pipes`].

mod child;
mod group;
mod output;
#[cfg(target_os = "linux")]
mod sentinel;
/// Other systems have no sentinel.
#[cfg(not(target_os = "linux"))]
mod sentinel {
    pub enum WatchedGroup {}

    impl WatchedGroup {
        pub fn new() -> Option<Self> {
            None
        }

        pub fn enter(&self) {}

        pub fn ended(&self) {}
    }
}
mod pipes;

use child::{Process, StdioShared};
pub use output::ProcessOutput;
#[cfg(target_os = "linux")]
pub use sentinel::forget as forget_sentinel;

use super::{OutgoingRequest, SendStage, Transport, too_large};
use crate::mcp::config::{Command, ServerOptions};
use crate::mcp::inbox::{Answerer, Inbox};
use crate::mcp::wire::IdScan;

use pipes::{OutputPipe, StdinWriter};
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use toolhub_protocol::lines::{Line, Lines};
use toolhub_text::message;
use toolhub_types::blocking::block_if_large;
use toolhub_types::error::{ErrorKind, HubError, Result};
use toolhub_types::telemetry::{SpanAttribute, SpanAttributes};
use toolhub_types::tool::BoxFuture;

/// How many messages may wait to be written.
const QUEUE: usize = 64;
/// From this many concurrent requests on, writes are batched.
const CROWD: usize = 4;
/// How much is put into one write when more messages wait.
const WRITE_AT_ONCE: usize = 64 * 1024;

/// An error line without an end counts as a line after this time.
const UNFINISHED_LINE: Duration = Duration::from_millis(300);

/// Hears each line of the error stream, and says how it may be shown.
pub type OnStderrLine = Box<dyn Fn(&str) -> String + Send + Sync>;

pub struct Stdio {
    shared: Arc<StdioShared>,
    queue: mpsc::Sender<Outgoing>,
    pid: Option<u32>,
    over: CancellationToken,
}

struct Outgoing {
    text: String,
    stage: Arc<SendStage>,
    /// As long as it is there, messages are not written directly.
    _queued: Arc<()>,
}

impl Outgoing {
    fn new(text: String, stage: Arc<SendStage>, input: &StdinWriter) -> Self {
        Outgoing { text, stage, _queued: input.queued.clone() }
    }
}

impl Stdio {
    /// Starts the server's process. It lives until [`Transport::close`], or until this is dropped.
    pub fn open(
        server: Arc<str>,
        program: &Command,
        ServerOptions { inherit_env, max_message_bytes, .. }: &ServerOptions,
        inbox: Arc<Inbox>,
        on_stderr_line: OnStderrLine,
        output: Arc<ProcessOutput>,
    ) -> Result<Arc<Self>> {
        let mut process = Process::start(program, inherit_env)?;
        let child = &mut process.child;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(no_pipes("the server's process was started without its pipes"));
        };
        let exited = CancellationToken::new();
        let stdout = OutputPipe::new(stdout.into_owned_fd(), exited.clone()).map_err(no_pipes)?;
        let stderr = OutputPipe::new(stderr.into_owned_fd(), exited.clone()).map_err(no_pipes)?;
        let shared = Arc::new(StdioShared {
            server,
            inbox,
            output,
            input: StdinWriter::new(stdin).map_err(no_pipes)?,
            closing: CancellationToken::new(),
            input_broken: CancellationToken::new(),
            exited,
        });
        let (queue, queued) = mpsc::channel(QUEUE);
        let pid = process.id;
        let writer = tokio::spawn(write(shared.clone(), queued));
        let mut reader = tokio::spawn(read(stdout, *max_message_bytes, shared.clone(), queue.downgrade()));
        let mut listener = tokio::spawn(listen(stderr, shared.clone(), on_stderr_line));
        let transport = Stdio { shared: shared.clone(), queue, pid, over: CancellationToken::new() };
        // Also when the runtime goes, and the process with it.
        let ended = transport.over.clone().drop_guard();
        tokio::spawn(async move {
            let _ended = ended;
            child::watch(&mut process, &shared, &mut reader, &mut listener).await;
            let descendants = process.descendants().await;
            // Closing the input is the sign for the server to end, so the writer goes first.
            writer.abort();
            let _ = writer.await;
            shared.input.close().await;
            process.end(descendants).await;
            // A grandchild may hold the error stream open.
            listener.abort();
        });
        Ok(Arc::new(transport))
    }

    async fn exchange(&self, request: &OutgoingRequest) -> Result<Box<RawValue>> {
        let expected = self.shared.inbox.await_answer(request.id)?;
        // In a crowd messages are queued, so that many leave together.
        let StdioShared { inbox, input, .. } = &*self.shared;
        if inbox.waiting() >= CROWD || !input.write_at_once(&request.body, &request.stage) {
            let outgoing = Outgoing::new(request.body.clone(), request.stage.clone(), input);
            // When the writer is gone, the supervisor is about to say why.
            let _ = self.queue.send(outgoing).await;
        }
        expected.answer().await
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        self.shared.closing.cancel();
    }
}

impl Transport for Stdio {
    fn request<'a>(&'a self, request: &'a OutgoingRequest) -> BoxFuture<'a, Result<Box<RawValue>>> {
        Box::pin(self.exchange(request))
    }

    fn send<'a>(&'a self, message: String) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let outgoing = Outgoing::new(message, Arc::default(), &self.shared.input);
            self.queue.send(outgoing).await.map_err(|_| {
                let text = message!("Server '{}' is not running any more.", self.shared.server);
                self.retired().unwrap_or_else(|| HubError::new(ErrorKind::Closed, text))
            })
        })
    }

    fn retired(&self) -> Option<HubError> {
        self.shared.inbox.retired()
    }

    fn pid(&self) -> Option<u32> {
        self.pid
    }

    fn has_unread(&self) -> bool {
        self.shared.input.has_unread()
    }

    fn place(&self) -> SpanAttributes {
        vec![(SpanAttribute::Network, "pipe".into())]
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.shared.closing.cancel();
            self.over.cancelled().await;
        })
    }
}

/// Writes what is queued; messages that wait together leave together.
async fn write(shared: Arc<StdioShared>, mut queued: mpsc::Receiver<Outgoing>) {
    let (mut batch, mut leaving) = (Vec::new(), Vec::new());
    while let Some(first) = queued.recv().await {
        let mut next = Some(first);
        while let Some(outgoing) = next {
            if outgoing.stage.leave() {
                batch.extend_from_slice(outgoing.text.as_bytes());
                batch.push(b'\n');
                leaving.push(outgoing);
            }
            next = if batch.len() < WRITE_AT_ONCE { queued.try_recv().ok() } else { None };
        }
        if let Err(taken) = shared.input.write(&batch).await {
            let mut begin = 0;
            for outgoing in &leaving {
                // Nothing of it was taken.
                if begin >= taken {
                    outgoing.stage.take_back();
                }
                begin += outgoing.text.len() + 1;
            }
            shared.input_broken.cancel();
            return;
        }
        leaving.clear();
        batch.clear();
        batch.shrink_to(WRITE_AT_ONCE);
    }
}

async fn read(
    mut stdout: OutputPipe,
    limit: usize,
    shared: Arc<StdioShared>,
    queue: mpsc::WeakSender<Outgoing>,
) {
    let StdioShared { inbox, output, .. } = &*shared;
    let mut lines = Lines::new(limit);
    // Of a message that is too long. Its id may be the last member.
    let mut oversize = IdScan::default();
    let fail = |oversize: &IdScan| {
        if let Some(id) = oversize.id() {
            inbox.settle(id, Err(too_large(limit)));
        }
    };
    let mut buffer = vec![0; 64 * 1024];
    while let read @ 1.. = stdout.read(&mut buffer).await {
        lines.feed(&buffer[..read], |line| match line {
            Line::Whole(line) if line.trim_ascii().is_empty() => {}
            Line::Whole(line) => {
                let received = inbox.receive(line, None, &|| answerer(&shared, &queue));
                output.read(line, received.is_stray);
            }
            Line::TooLong(head) => {
                oversize = block_if_large(head.len(), || IdScan::of(head));
                fail(&oversize);
            }
            Line::Skipped(more) => {
                oversize.feed(more);
                fail(&oversize);
            }
        });
        output.count(read);
        if output.is_flood() {
            return;
        }
    }
}

/// The way back for a request of the server.
fn answerer(shared: &Arc<StdioShared>, queue: &mpsc::WeakSender<Outgoing>) -> Option<Answerer> {
    let (shared, queue) = (shared.clone(), queue.upgrade()?);
    Some(Box::new(move |text| {
        Box::pin(async move {
            let _ = queue.send(Outgoing::new(text, Arc::default(), &shared.input)).await;
        })
    }))
}

/// Drains the error stream and remembers its last lines.
async fn listen(mut stderr: OutputPipe, shared: Arc<StdioShared>, on_stderr_line: OnStderrLine) {
    let mut lines = Lines::new(64 * 1024);
    let take = |line: Line<'_>| {
        if let Line::Whole(text) | Line::TooLong(text) = line {
            shared.output.read_error(&on_stderr_line(&String::from_utf8_lossy(text)));
        }
    };
    let mut buffer = vec![0; 16 * 1024];
    loop {
        // What a server prints before it hangs may have no line end.
        let patience = if lines.is_between_lines() { Duration::MAX } else { UNFINISHED_LINE };
        match timeout(patience, stderr.read(&mut buffer)).await {
            Ok(0) => break,
            Ok(read) => lines.feed(&buffer[..read], take),
            Err(_) => lines.end(take),
        }
    }
    lines.end(take);
}

fn no_pipes(error: impl std::fmt::Display) -> HubError {
    HubError::new(ErrorKind::Connect, format!("the server's streams cannot be used: {error}"))
}
