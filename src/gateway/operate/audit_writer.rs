//! Writes lines away from the threads of the runtime: a slow disk holds up nobody but those who have to wait for their line.
//!
//! Lines that come while others are written go out together, with one `write` to a file that is opened for appending, so lines of
//! several replicas do not mix.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Result, clip};
use toolhub_types::sync::{Arc, Mutex};

/// The lines that wait to be written.
const MOST_WAITING: usize = 10_000;
/// How long an answer waits for its line. Then no answer waits until a line is written.
const PATIENCE: Duration = Duration::from_millis(200);

type Written = Result<()>;

pub struct AuditSink {
    /// By which it can be opened again.
    path: Option<PathBuf>,
    writer: Box<dyn Write + Send>,
    /// The last write broke off inside a line.
    is_torn: bool,
}

impl AuditSink {
    pub fn new(path: Option<PathBuf>, writer: Box<dyn Write + Send>) -> Self {
        AuditSink { path, writer, is_torn: false }
    }

    /// A file that only its owner can read when it is made here.
    pub fn file(path: &Path) -> Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        let file = options.open(path).map_err(|error| unwritable(path, &error))?;
        Ok(AuditSink::new(Some(path.to_owned()), Box::new(file)))
    }

    fn write(&mut self, text: &[u8]) -> Written {
        let mut counted = Counted { writer: &mut *self.writer, count: 0 };
        let mut written = if self.is_torn { counted.write_all(b"\n") } else { Ok(()) };
        written = written.and_then(|()| counted.write_all(text)).and_then(|()| counted.flush());
        self.is_torn = written.is_err() && (self.is_torn || counted.count > 0);
        let path = self.path.as_deref().unwrap_or(Path::new("stderr"));
        written.map_err(|error| unwritable(path, &error))
    }
}

struct Counted<'a> {
    writer: &'a mut dyn Write,
    count: usize,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.writer.write(bytes)?;
        self.count += count;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

fn unwritable(path: &Path, error: &io::Error) -> HubError {
    let path = path.display().to_string();
    HubError::new(ErrorKind::Limit, message!("The audit log '{}' cannot be written: {}.", clip(&path), error))
}

struct WaitingLine {
    text: Vec<u8>,
    written: Option<oneshot::Sender<Written>>,
}

#[derive(Default)]
struct LineQueue {
    lines: Vec<WaitingLine>,
    /// All that ever came.
    count: u64,
    has_writer: bool,
}

#[derive(Clone)]
pub struct AuditWriter(Arc<WriterState>);

struct WriterState {
    queue: Mutex<LineQueue>,
    sink: Mutex<AuditSink>,
    /// How many lines have left the queue for good.
    done: watch::Sender<u64>,
    lost: AtomicU64,
    is_late: AtomicBool,
}

impl AuditWriter {
    pub fn new(sink: AuditSink) -> Self {
        AuditWriter(Arc::new(WriterState {
            queue: Mutex::default(),
            sink: Mutex::new(sink),
            done: watch::Sender::new(0),
            lost: AtomicU64::new(0),
            is_late: AtomicBool::new(false),
        }))
    }

    /// Opens a file again by its name. Blocks while a line is written.
    pub fn reopen(&self) -> Result<()> {
        let mut sink = self.0.sink.lock();
        if let Some(path) = &sink.path {
            *sink = AuditSink::file(path)?;
        }
        Ok(())
    }

    /// A line whose writer does not wait for it. One that cannot be written is counted.
    pub fn queue(&self, text: Vec<u8>) {
        self.push(WaitingLine { text, written: None });
    }

    /// Returns when the line is written.
    pub async fn write(&self, text: Vec<u8>) -> Written {
        let (written, is_written) = oneshot::channel();
        self.push(WaitingLine { text, written: Some(written) });
        is_written.await.unwrap_or_else(|_| {
            let text = message!("The audit log is too slow: {} lines wait to be written.", MOST_WAITING);
            Err(HubError::new(ErrorKind::Limit, text))
        })
    }

    /// Returns when the lines that were queued before are written, or at once while they take long.
    pub async fn caught_up(&self) {
        let count = self.0.queue.lock().count;
        let mut done = self.0.done.subscribe();
        if *done.borrow() >= count || self.0.is_late.load(Ordering::Relaxed) {
            return;
        }
        if tokio::time::timeout(PATIENCE, done.wait_for(|done| *done >= count)).await.is_err() {
            self.0.is_late.store(true, Ordering::Relaxed);
        }
    }

    /// The lines that could not be written.
    pub fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }

    fn push(&self, line: WaitingLine) {
        let mut queue = self.0.queue.lock();
        if queue.lines.len() >= MOST_WAITING {
            // Dropping it tells who waits for it.
            self.0.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        queue.lines.push(line);
        queue.count += 1;
        if std::mem::replace(&mut queue.has_writer, true) {
            return;
        }
        drop(queue);
        let job = WriteJob(self.0.clone());
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || drop(job))),
            Err(_) => drop(job),
        }
    }
}

/// Writes what waits when it is dropped: also by a runtime that ends and runs nothing any more.
struct WriteJob(Arc<WriterState>);

impl Drop for WriteJob {
    fn drop(&mut self) {
        self.0.write_waiting();
    }
}

impl WriterState {
    /// Writes until nothing waits.
    fn write_waiting(&self) {
        loop {
            let lines = {
                let mut queue = self.queue.lock();
                queue.has_writer = !queue.lines.is_empty();
                std::mem::take(&mut queue.lines)
            };
            if lines.is_empty() {
                return;
            }
            let text: Vec<u8> = lines.iter().flat_map(|line| &line.text).copied().collect();
            let written = self.sink.lock().write(&text);
            let count = lines.len() as u64;
            if written.is_err() {
                self.lost.fetch_add(count, Ordering::Relaxed);
            }
            for waits in lines.into_iter().filter_map(|line| line.written) {
                // Its call may have been cancelled.
                let _ = waits.send(written.clone());
            }
            self.is_late.store(false, Ordering::Relaxed);
            self.done.send_modify(|done| *done += count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// Takes a write when it is told to: how many bytes, then an error.
    struct ToldWriter {
        told: mpsc::Receiver<usize>,
        kept: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for ToldWriter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.told.recv() {
                Ok(0) | Err(_) => Err(io::ErrorKind::StorageFull.into()),
                Ok(most) => {
                    let count = bytes.len().min(most);
                    self.kept.lock().extend(&bytes[..count]);
                    Ok(count)
                }
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn told() -> (AuditWriter, mpsc::Sender<usize>, Arc<Mutex<Vec<u8>>>) {
        let (tell, told) = mpsc::channel();
        let kept = Arc::<Mutex<Vec<u8>>>::default();
        let writer = ToldWriter { told, kept: kept.clone() };
        (AuditWriter::new(AuditSink::new(None, Box::new(writer))), tell, kept)
    }

    #[tokio::test]
    async fn a_disk_that_hangs_holds_up_the_writer_alone() {
        let (writer, tell, kept) = told();
        writer.queue(b"read\n".to_vec());
        // On the only thread of this runtime.
        writer.caught_up().await;
        writer.caught_up().await;
        assert!(writer.0.is_late.load(Ordering::Relaxed) && kept.lock().is_empty());
        let acts = tokio::spawn({
            let writer = writer.clone();
            async move { writer.write(b"begin\n".to_vec()).await }
        });
        tokio::task::yield_now().await;
        assert!(!acts.is_finished());
        (0..2).for_each(|_| tell.send(usize::MAX).unwrap());
        acts.await.unwrap().unwrap();
        writer.caught_up().await;
        assert_eq!(&**kept.lock(), b"read\nbegin\n");
        assert!(!writer.0.is_late.load(Ordering::Relaxed));
    }

    #[tokio::test]
    async fn what_cannot_be_written_is_refused_or_counted_and_a_torn_line_is_ended() {
        let (writer, tell, kept) = told();
        for told in [3, 0, 1, usize::MAX] {
            tell.send(told).unwrap();
        }
        let error = writer.write(b"begin\n".to_vec()).await.unwrap_err();
        assert!(error.message.starts_with("The audit log 'stderr' cannot be written: "), "{}", error.message);
        assert_eq!(writer.lost(), 1);
        writer.write(b"next\n".to_vec()).await.unwrap();
        assert_eq!(&**kept.lock(), b"beg\nnext\n");
        drop(tell);
        writer.queue(b"read\n".to_vec());
        writer.caught_up().await;
        assert_eq!(writer.lost(), 2);
    }

    #[tokio::test]
    async fn the_lines_that_wait_are_bounded() {
        let (writer, _tell, _kept) = told();
        writer.queue(b"first\n".to_vec());
        // It is being written.
        while !writer.0.queue.lock().lines.is_empty() {
            tokio::task::yield_now().await;
        }
        (0..MOST_WAITING).for_each(|_| writer.queue(b"x\n".to_vec()));
        let error = writer.write(b"begin\n".to_vec()).await.unwrap_err();
        assert!(error.message.starts_with("The audit log is too slow"), "{}", error.message);
        assert_eq!(writer.lost(), 1);
    }
}
