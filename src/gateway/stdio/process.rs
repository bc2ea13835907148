//! The endpoint on stdin and stdout of this process. Its client is gone when it has closed its end of either: what runs may end
//! within a moment, and serving ends.

use crate::Gateway;
use crate::stdio::serve_stdio;
use std::fs::File;
use std::io::{self, BufReader};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;
use tokio_util::io::SyncIoBridge;
use tokio_util::sync::CancellationToken;

const PIPE: usize = 64 * 1024;

/// Serves the client that started this process. From now on, what other code prints goes to stderr, because a line that
/// is not a message would break the protocol; and other code, child processes too, finds an empty stdin, because it would
/// take the client's messages.
pub async fn serve_process_stdio(gateway: Arc<Gateway>) -> io::Result<()> {
    let nothing = File::open("/dev/null")?;
    let input = taken(io::stdin().as_fd(), nothing.as_fd())?;
    let output = taken(io::stdout().as_fd(), io::stderr().as_fd())?;
    let watched = output.try_clone()?;
    // Dropping one end ends the other, so neither thread waits for a stream that is over.
    let (reader, to_reader) = tokio::io::duplex(PIPE);
    let (from_writer, writer) = tokio::io::duplex(PIPE);
    let runtime = tokio::runtime::Handle::current();
    let mut to_reader = SyncIoBridge::new_with_handle(to_reader, runtime.clone());
    let mut from_writer = SyncIoBridge::new_with_handle(from_writer, runtime);
    // Threads, because a read of stdin cannot be interrupted; they end with the process or their stream.
    std::thread::Builder::new()
        .name("toolhub-stdin".to_owned())
        .spawn(move || io::copy(&mut BufReader::with_capacity(PIPE, input), &mut to_reader))?;
    // Fires when the client does not read any more, and when all is written.
    let done = CancellationToken::new();
    let written = done.clone();
    let mut output = output;
    std::thread::Builder::new().name("toolhub-stdout".to_owned()).spawn(move || {
        // Either end may go at any time.
        let _ = io::copy(&mut BufReader::with_capacity(PIPE, &mut from_writer), &mut output);
        written.cancel();
    })?;
    let serving = serve_stdio(gateway, reader, writer, done.clone());
    tokio::join!(serving, watch(watched, &done));
    done.cancelled().await;
    Ok(())
}

/// Fires `done` when the other end of a pipe is closed, and ends when it has fired. Where the system does not tell, the next
/// write does.
async fn watch(output: File, done: &CancellationToken) {
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;
    // SAFETY: the descriptor is the file's own, and stays open for as long as it is watched.
    let watched = unsafe { AsyncFd::register_with_interest(output, Interest::ERROR) };
    // Files that are not streams cannot be watched.
    if let Ok(output) = watched
        && let Some(Ok(_)) = done.run_until_cancelled(output.ready(Interest::ERROR)).await
    {
        done.cancel();
    }
}

/// A stream of this process under another descriptor; the usual one leads to `instead`.
fn taken(stream: BorrowedFd<'_>, instead: BorrowedFd<'_>) -> io::Result<File> {
    let own = stream.try_clone_to_owned()?;
    // SAFETY: both descriptors are those of the process, and dup2 touches no memory.
    match unsafe { libc::dup2(instead.as_raw_fd(), stream.as_raw_fd()) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(File::from(own)),
    }
}
