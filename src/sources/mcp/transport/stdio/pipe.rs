//! One of the output streams of a process, read until it ends or the process has exited.
//!
//! A grandchild may hold the stream open after the exit. Then what is in the pipe is all that the process itself wrote, and
//! it is read without waiting for more.

use std::fs::File;
use std::io::{self, Read};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use tokio::net::unix::pipe::Receiver;
use tokio_util::sync::CancellationToken;

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
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
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
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read.unwrap_or(0),
            }
        }
    }
}
