//! What writes on the input of a server's process.
//!
//! A short message with an empty queue is written by the calling thread: no other thread has to wake up for it. On Unix a
//! pipe takes such a message whole or not at all; elsewhere everything goes through the queue.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::process::ChildStdin;
use tokio::sync::Mutex;

#[cfg(unix)]
type Pipe = tokio::net::unix::pipe::Sender;
#[cfg(not(unix))]
type Pipe = ChildStdin;

/// A pipe takes this much at once or nothing (POSIX has 512 as the least; Linux 4096).
#[cfg(unix)]
const WHOLE: usize = libc::PIPE_BUF;

pub struct StdinWriter {
    pipe: Mutex<Option<Pipe>>,
    queued: Arc<AtomicUsize>,
}

/// A queued message; it blocks direct writes.
pub struct Queued(Arc<AtomicUsize>);

impl Drop for Queued {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl StdinWriter {
    pub fn new(stdin: ChildStdin) -> io::Result<Self> {
        #[cfg(unix)]
        let stdin = Pipe::from_owned_fd(stdin.into_owned_fd()?)?;
        Ok(StdinWriter { pipe: Mutex::new(Some(stdin)), queued: Arc::default() })
    }

    pub fn queue(&self) -> Queued {
        self.queued.fetch_add(1, Ordering::AcqRel);
        Queued(self.queued.clone())
    }

    /// Writes one message now, or nothing of it: it is too long, others are ahead of it, or the pipe is full.
    #[cfg(unix)]
    pub fn write_at_once(&self, text: &str) -> bool {
        if text.len() >= WHOLE || self.queued.load(Ordering::Acquire) > 0 {
            return false;
        }
        let Ok(pipe) = self.pipe.try_lock() else { return false };
        let mut line = Vec::with_capacity(text.len() + 1);
        line.extend_from_slice(text.as_bytes());
        line.push(b'\n');
        pipe.as_ref().is_some_and(|pipe| pipe.try_write(&line).is_ok())
    }

    #[cfg(not(unix))]
    pub fn write_at_once(&self, _text: &str) -> bool {
        false
    }

    pub async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        use tokio::io::AsyncWriteExt;
        let mut pipe = self.pipe.lock().await;
        let pipe = pipe.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        pipe.write_all(bytes).await?;
        pipe.flush().await
    }

    /// Closes the input, which tells the server to end.
    pub async fn close(&self) {
        self.pipe.lock().await.take();
    }
}
