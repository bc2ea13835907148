//! What writes on the input of a server's process.
//!
//! A short message with an empty queue is written by the calling thread: no other thread has to wake up for it. A pipe takes
//! such a message whole or not at all.

use crate::mcp::transport::SendStage;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use tokio::io::Interest;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::process::ChildStdin;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// A pipe takes this much at once or nothing (POSIX has 512 as the least; Linux 4096).
const WHOLE: usize = libc::PIPE_BUF;

pub struct StdinWriter {
    pipe: Mutex<Option<Arc<Sender>>>,
    /// Held by each queued message; it blocks direct writes.
    pub queued: Arc<()>,
}

impl StdinWriter {
    pub fn new(stdin: ChildStdin) -> io::Result<Self> {
        let pipe = Sender::from_owned_fd(stdin.into_owned_fd()?)?;
        Ok(StdinWriter { pipe: Mutex::new(Some(Arc::new(pipe))), queued: Arc::default() })
    }

    /// Writes one message now, or nothing of it: it is too long, others are ahead of it, or the pipe is full. True also if it
    /// was withdrawn.
    pub fn write_at_once(&self, text: &str, stage: &SendStage) -> bool {
        if text.len() >= WHOLE || Arc::strong_count(&self.queued) > 1 {
            return false;
        }
        let Ok(pipe) = self.pipe.try_lock() else { return false };
        let mut line = Vec::with_capacity(text.len() + 1);
        line.extend_from_slice(text.as_bytes());
        line.push(b'\n');
        let Some(pipe) = pipe.as_ref() else { return false };
        if !stage.leave() {
            return true;
        }
        let is_written = pipe.try_write(&line).is_ok();
        if !is_written {
            stage.take_back();
        }
        is_written
    }

    /// Writes everything. The error is the number of bytes that the pipe took before it broke.
    pub async fn write(&self, bytes: &[u8]) -> Result<(), usize> {
        let pipe = self.pipe.lock().await;
        let pipe = pipe.as_ref().ok_or(0_usize)?;
        let mut taken = 0;
        while taken < bytes.len() {
            match pipe.writable().await.and_then(|()| pipe.try_write(&bytes[taken..])) {
                Ok(more @ 1..) => taken += more,
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
                _ => return Err(taken),
            }
        }
        Ok(())
    }

    /// Whether the server has not read all that was written. False where the system does not tell.
    pub fn has_unread(&self) -> bool {
        // A write that holds the lock waits for the server to read.
        let Ok(pipe) = self.pipe.try_lock() else { return true };
        let Some(pipe) = pipe.as_ref() else { return false };
        let mut unread: libc::c_int = 0;
        // SAFETY: the descriptor is open, and the call writes one integer that outlives it.
        let asked = unsafe { libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &raw mut unread) };
        asked == 0 && unread > 0
    }

    /// Waits until the server closes its end; for ever where the system does not tell. Dropping the future releases the pipe.
    pub async fn closed(&self) {
        let pipe = self.pipe.lock().await.clone();
        let ended = match pipe {
            Some(pipe) => pipe.ready(Interest::ERROR).await.is_ok_and(|ready| ready.is_error()),
            None => false,
        };
        if !ended {
            std::future::pending().await
        }
    }

    /// Closes the input, which tells the server to end.
    pub async fn close(&self) {
        self.pipe.lock().await.take();
    }
}

// One of the output streams of a process, read until it ends or the process has exited.
//
// A grandchild may hold the stream open after the exit. Then what is in the pipe is all that the process itself wrote, and
// it is read without waiting for more.

pub struct OutputPipe {
    pipe: Receiver,
    exited: CancellationToken,
}

impl OutputPipe {
    pub fn new(stream: io::Result<OwnedFd>, exited: CancellationToken) -> io::Result<Self> {
        Ok(OutputPipe { pipe: Receiver::from_owned_fd(stream?)?, exited })
    }

    /// The next bytes; 0 at the end.
    pub async fn read(&mut self, buffer: &mut [u8]) -> usize {
        while !self.exited.is_cancelled() {
            tokio::select! {
                biased;
                () = self.exited.cancelled() => {}
                ready = self.pipe.readable() => match ready.and_then(|()| self.pipe.try_read(buffer)) {
                    Ok(read) => return read,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    Err(_) => return 0,
                }
            }
        }
        // A grandchild that floods the stream does not keep others from running.
        tokio::task::yield_now().await;
        self.read_rest(buffer)
    }

    /// Asks the system itself: the runtime may not have been notified yet.
    fn read_rest(&self, buffer: &mut [u8]) -> usize {
        // SAFETY: the descriptor is open and stays with the pipe, because the file is never dropped.
        let file = ManuallyDrop::new(unsafe { File::from_raw_fd(self.pipe.as_raw_fd()) });
        loop {
            match (&*file).read(buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => return read.unwrap_or(0),
            }
        }
    }
}
