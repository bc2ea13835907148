//! A server as a child process: one message a line on its input and output.
//!
//! One task writes (callers only queue, so a server that does not read delays no deadline), one reads, one drains
//! the error stream, one watches over the process and ends it. A request that is given up before it was written is never
//! sent. One that is alone is written by its caller, if the pipe takes it at once: see [`stdin_writer`].

mod child;
#[cfg(unix)]
mod group;
mod lines;
mod stdin_writer;

pub use child::Program;

use super::{OutgoingRequest, SendStage, Transport};
use crate::error::{ErrorKind, HubError, Outcome};
use crate::sources::mcp::inbox::{Answerer, Inbox};
use crate::sources::mcp::protocol::Era;
use crate::sources::mcp::wire::{clean, guess_id};
use crate::tool::BoxFuture;
use child::{Process, how_it_ended};
use lines::{Line, Lines};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use stdin_writer::{Queued, StdinWriter};
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// How many messages may wait to be written.
const QUEUE: usize = 64;
/// From this many concurrent requests on, writes are batched.
const CROWD: usize = 4;
/// How much is put into one write when more messages wait.
const WRITE_AT_ONCE: usize = 64 * 1024;
/// What a process wrote before it ended is still read.
const LAST_OUTPUT: Duration = Duration::from_millis(200);
/// How long the error stream of a process that has ended is read on. It ends with the process, unless a grandchild holds it
/// open; on a busy machine the reader may come late.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How much of the error stream is remembered.
const WORDS: usize = 20;
const WORD: usize = 500;
/// How much of a line that is not MCP is shown.
const SHOWN_LINE: usize = 100;

/// A program that writes this much before its first message is not an MCP server. Servers that print a banner, or the output
/// of an installer, stay far below it.
const MAX_NOISE_BYTES: usize = 4_000_000;
const MAX_NOISE_LINES: usize = 10_000;

/// Hears each line of the error stream, and says how it may be shown.
pub type OnStderrLine = Box<dyn Fn(&str) -> String + Send>;

/// What a program has written that is not MCP, until its first message. It tells a user who named the wrong program.
#[derive(Default)]
pub struct FirstOutput {
    has_sent_message: AtomicBool,
    /// The first line, made safe to show.
    line: Mutex<Option<String>>,
    bytes: AtomicUsize,
    lines: AtomicUsize,
}

impl FirstOutput {
    /// Whether there was too much output without a message.
    fn is_flood(&self) -> bool {
        !self.has_sent_message.load(Ordering::Relaxed)
            && (self.bytes.load(Ordering::Relaxed) > MAX_NOISE_BYTES
                || self.lines.load(Ordering::Relaxed) > MAX_NOISE_LINES)
    }

    fn read(&self, line: &[u8]) {
        if self.has_sent_message.load(Ordering::Relaxed) {
            return;
        }
        if line.trim_ascii_start().starts_with(b"{") || line.trim_ascii_start().starts_with(b"[") {
            self.has_sent_message.store(true, Ordering::Relaxed);
            return;
        }
        self.lines.fetch_add(1, Ordering::Relaxed);
        let mut first = self.line.lock();
        if first.is_none() {
            *first = Some(clean(&String::from_utf8_lossy(line), SHOWN_LINE)).filter(|text| !text.is_empty());
        }
    }

    /// Why the program is probably not an MCP server, as the rest of a sentence; `None` when it has sent a message.
    pub fn doubt(&self) -> Option<String> {
        if self.has_sent_message.load(Ordering::Relaxed) {
            return None;
        }
        let advice = "check that `command` and `args` start an MCP server";
        Some(match &*self.line.lock() {
            Some(line) => format!("it printed '{line}', which is not MCP; {advice}"),
            None => format!("it sent no MCP message; {advice}"),
        })
    }
}

pub struct Stdio {
    shared: Arc<StdioShared>,
    queue: mpsc::Sender<Outgoing>,
    input: Arc<StdinWriter>,
    inbox: Arc<Inbox>,
    pid: Option<u32>,
    closing: CancellationToken,
    over: watch::Receiver<bool>,
}

struct StdioShared {
    server: Arc<str>,
    retired: Mutex<Option<HubError>>,
    stderr_tail: Mutex<VecDeque<String>>,
}

struct Outgoing {
    text: String,
    stage: Arc<SendStage>,
    _queued: Queued,
}

impl Outgoing {
    fn new(text: String, input: &StdinWriter) -> Self {
        let stage = Arc::new(SendStage::default());
        stage.queue();
        Outgoing { text, stage, _queued: input.queue() }
    }
}

/// Withdraws an abandoned message.
struct OnItsWay(Arc<SendStage>);

impl Drop for OnItsWay {
    fn drop(&mut self) {
        self.0.withdraw();
    }
}

impl Stdio {
    /// Starts the server's process. It lives until [`Transport::close`], or until this is dropped.
    pub fn open(
        server: Arc<str>,
        program: &Program,
        limit: usize,
        inbox: Arc<Inbox>,
        on_stderr_line: OnStderrLine,
        first_output: Arc<FirstOutput>,
    ) -> Result<Arc<Self>, HubError> {
        let mut process = program.start()?;
        let pipes = (process.child.stdin.take(), process.child.stdout.take(), process.child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(HubError::new(
                ErrorKind::Connect,
                "the server's process was started without its pipes",
            ));
        };
        let shared =
            Arc::new(StdioShared { server, retired: Mutex::default(), stderr_tail: Mutex::default() });
        let (queue, queued) = mpsc::channel(QUEUE);
        let (ended, over) = watch::channel(false);
        let closing = CancellationToken::new();
        let pid = process.id();
        let input = Arc::new(StdinWriter::new(stdin).map_err(|error| {
            HubError::new(ErrorKind::Connect, format!("the server's input cannot be written to: {error}"))
        })?);
        let writer = tokio::spawn(write(input.clone(), queued));
        let answers = (queue.downgrade(), input.clone());
        let reader = tokio::spawn(read(stdout, limit, inbox.clone(), answers, first_output.clone()));
        let mut listener = tokio::spawn(listen(stderr, shared.clone(), on_stderr_line));
        let mut supervisor = ProcessSupervisor {
            process,
            shared: shared.clone(),
            inbox: inbox.clone(),
            closing: closing.clone(),
            first_output,
        };
        let closing_input = input.clone();
        tokio::spawn(async move {
            supervisor.watch(reader, &mut listener).await;
            let descendants = supervisor.process.descendants().await;
            // Closing the input is the sign for the server to end, so the writer goes first.
            writer.abort();
            let _ = writer.await;
            closing_input.close().await;
            supervisor.process.end(descendants).await;
            // A grandchild may hold the error stream open.
            listener.abort();
            let _ = ended.send(true);
        });
        Ok(Arc::new(Stdio { shared, queue, input, inbox, pid, closing, over }))
    }

    async fn exchange(&self, request: &OutgoingRequest) -> Result<Box<RawValue>, HubError> {
        let expected = self.inbox.await_answer(request.id)?;
        request.stage.queue();
        let _on_its_way = OnItsWay(request.stage.clone());
        if !self.write_at_once(request) {
            let outgoing = Outgoing {
                text: request.body.clone(),
                stage: request.stage.clone(),
                _queued: self.input.queue(),
            };
            if self.queue.send(outgoing).await.is_err() {
                return Err(self.shared.gone().with_outcome(Outcome::NotSent));
            }
        }
        let reply = expected.answer().await;
        match reply {
            Err(error) if !request.stage.may_have_left() => Err(error.with_outcome(Outcome::NotSent)),
            reply => reply,
        }
    }

    /// In a crowd messages are queued, so that many leave together.
    fn write_at_once(&self, request: &OutgoingRequest) -> bool {
        let written = self.inbox.waiting() < CROWD && self.input.write_at_once(&request.body);
        if written {
            request.stage.leave();
        }
        written
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

impl Transport for Stdio {
    fn request<'a>(&'a self, request: &'a OutgoingRequest) -> BoxFuture<'a, Result<Box<RawValue>, HubError>> {
        Box::pin(self.exchange(request))
    }

    fn send<'a>(&'a self, message: String) -> BoxFuture<'a, Result<(), HubError>> {
        Box::pin(async move {
            let outgoing = Outgoing::new(message, &self.input);
            self.queue.send(outgoing).await.map_err(|_| self.shared.gone())
        })
    }

    fn on_negotiated(&self, _era: Era, _version: &'static str) {}

    fn cancels_by_drop(&self) -> bool {
        false
    }

    fn retired(&self) -> Option<HubError> {
        self.shared.retired.lock().clone()
    }

    fn pid(&self) -> Option<u32> {
        self.pid
    }

    fn stderr_tail(&self) -> Option<String> {
        self.shared.stderr_tail()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.closing.cancel();
            let mut over = self.over.clone();
            // The sender is only dropped when the runtime goes, and the process with it.
            let _ = over.wait_for(|over| *over).await;
        })
    }
}

impl StdioShared {
    fn gone(&self) -> HubError {
        let gone =
            || HubError::new(ErrorKind::Closed, format!("Server '{}' is not running any more.", self.server));
        self.retired.lock().clone().unwrap_or_else(gone)
    }

    fn stderr_tail(&self) -> Option<String> {
        self.stderr_tail.lock().back().cloned()
    }
}

/// Watches over a process and says why it is over.
struct ProcessSupervisor {
    process: Process,
    shared: Arc<StdioShared>,
    inbox: Arc<Inbox>,
    closing: CancellationToken,
    first_output: Arc<FirstOutput>,
}

impl ProcessSupervisor {
    async fn watch(
        &mut self,
        mut reader: tokio::task::JoinHandle<()>,
        listener: &mut tokio::task::JoinHandle<()>,
    ) {
        let closing = self.closing.clone();
        let story = tokio::select! {
            _ = closing.cancelled() => "was closed".to_owned(),
            status = self.process.exited() => {
                let _ = timeout(LAST_OUTPUT, &mut reader).await;
                // The reason is often the last thing that the process wrote.
                let _ = timeout(LAST_WORDS, &mut *listener).await;
                status.map_or_else(|_| "exited".to_owned(), how_it_ended)
            }
            _ = &mut reader => match timeout(LAST_OUTPUT, self.process.exited()).await {
                Ok(Ok(status)) => {
                    let _ = timeout(LAST_WORDS, &mut *listener).await;
                    how_it_ended(status)
                }
                _ => "closed its output".to_owned(),
            },
        };
        reader.abort();
        // The end of the reader may have ended the process.
        let story = match self.first_output.is_flood() {
            true => "was stopped because of its output".to_owned(),
            false => story,
        };
        let words = match self.closing.is_cancelled() {
            true => None,
            false if self.first_output.is_flood() => self.first_output.doubt(),
            false => self.shared.stderr_tail().or_else(|| self.first_output.doubt()),
        };
        let words = words.map(|words| format!(": {words}")).unwrap_or_default();
        let error =
            HubError::new(ErrorKind::Closed, format!("Server '{}' {story}{words}", self.shared.server));
        *self.shared.retired.lock() = Some(error.clone().with_outcome(Outcome::NotSent));
        self.inbox.end(&error);
    }
}

/// Writes what is queued; messages that wait together leave together.
async fn write(input: Arc<StdinWriter>, mut queued: mpsc::Receiver<Outgoing>) {
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
        // A broken pipe is seen by the supervisor too, which knows more about it.
        if input.write(&batch).await.is_err() {
            return;
        }
        leaving.clear();
        batch.clear();
        batch.shrink_to(WRITE_AT_ONCE);
    }
}

async fn read(
    mut stdout: ChildStdout,
    limit: usize,
    inbox: Arc<Inbox>,
    answers: WayBack,
    first_output: Arc<FirstOutput>,
) {
    let mut lines = Lines::new(limit);
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = stdout.read(&mut buffer).await {
        lines.feed(&buffer[..read], |line| match line {
            Line::Whole([]) => {}
            Line::Whole(line) => {
                first_output.read(line);
                inbox.receive(line, None, &|| answerer(&answers));
            }
            Line::TooLong(head) => {
                if let Some(id) = guess_id(&String::from_utf8_lossy(head)) {
                    inbox.settle(id, Err(too_long(limit)));
                }
            }
        });
        first_output.bytes.fetch_add(read, Ordering::Relaxed);
        if first_output.is_flood() {
            return;
        }
    }
}

type WayBack = (mpsc::WeakSender<Outgoing>, Arc<StdinWriter>);

/// The way back for a request of the server.
fn answerer((queue, input): &WayBack) -> Option<Answerer> {
    let (queue, input) = (queue.upgrade()?, input.clone());
    Some(Box::new(move |text| {
        Box::pin(async move {
            let _ = queue.send(Outgoing::new(text, &input)).await;
        })
    }))
}

pub fn too_long(limit: usize) -> HubError {
    HubError::new(
        ErrorKind::Limit,
        format!(
            "The server's message is longer than the limit of {limit} bytes; raise 'max_message_bytes' if you trust it."
        ),
    )
}

/// Drains the error stream and remembers its last lines.
async fn listen(mut stderr: ChildStderr, shared: Arc<StdioShared>, on_stderr_line: OnStderrLine) {
    let mut lines = Lines::new(64 * 1024);
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        lines.feed(&buffer[..read], |line| {
            let (Line::Whole(text) | Line::TooLong(text)) = line;
            let text = clean(&on_stderr_line(&String::from_utf8_lossy(text)), WORD);
            if !text.is_empty() {
                let mut words = shared.stderr_tail.lock();
                words.push_back(text);
                if words.len() > WORDS {
                    words.pop_front();
                }
            }
        });
    }
}
