//! Which version of HTTP a connection speaks: its first bytes say.

use bytes::Bytes;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

/// What a client of HTTP/2 sends first.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub struct FirstBytes {
    pub is_http2: bool,
    bytes: Bytes,
}

impl FirstBytes {
    /// Reads until the version is certain. The caller limits the time: a client may stay silent.
    pub async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<FirstBytes> {
        let mut bytes = Vec::with_capacity(PREFACE.len());
        loop {
            let rest = (PREFACE.len() - bytes.len()) as u64;
            if (&mut *stream).take(rest).read_buf(&mut bytes).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let is_http2 = bytes == PREFACE;
            if is_http2 || !PREFACE.starts_with(&bytes) {
                return Ok(FirstBytes { is_http2, bytes: bytes.into() });
            }
        }
    }

    /// The stream from its beginning.
    pub fn before<S>(self, stream: S) -> RewoundStream<S> {
        RewoundStream { first: self.bytes, stream }
    }
}

/// A stream of which some bytes have been read already.
pub struct RewoundStream<S> {
    first: Bytes,
    stream: S,
}

impl<S> RewoundStream<S> {
    /// The stream after the bytes that were read first; they have been read again.
    pub fn into_inner(self) -> S {
        self.stream
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for RewoundStream<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let own = self.get_mut();
        if own.first.is_empty() {
            return Pin::new(&mut own.stream).poll_read(cx, buf);
        }
        let count = own.first.len().min(buf.remaining());
        buf.put_slice(&own.first.split_to(count));
        if own.first.is_empty() {
            // Free what was read.
            own.first = Bytes::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for RewoundStream<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    /// Reads what a client sends in these parts, from its beginning.
    async fn seen(parts: &[&[u8]]) -> io::Result<(bool, Vec<u8>)> {
        let (mut client, mut server) = tokio::io::duplex(1);
        let parts: Vec<Vec<u8>> = parts.iter().map(|part| part.to_vec()).collect();
        let sending = tokio::spawn(async move {
            for part in parts {
                client.write_all(&part).await.unwrap();
            }
        });
        let first = FirstBytes::read(&mut server).await?;
        let (is_http2, mut all) = (first.is_http2, Vec::new());
        first.before(server).read_to_end(&mut all).await?;
        sending.await.unwrap();
        Ok((is_http2, all))
    }

    #[tokio::test]
    async fn the_first_bytes_decide_and_none_is_lost() {
        let whole = [PREFACE, b"rest"].concat();
        assert_eq!(seen(&[&whole]).await.unwrap(), (true, whole));
        for request in ["GET / HTTP/1.1\r\n\r\n", "POST /mcp HTTP/1.1\r\n\r\n", "PRI / HTTP/1.1\r\n\r\n"] {
            let request = request.as_bytes().to_vec();
            assert_eq!(seen(&[&request[..1], &request[1..]]).await.unwrap(), (false, request));
        }
    }

    #[tokio::test]
    async fn a_client_that_leaves_before_it_is_certain_is_an_error() {
        for part in [&b""[..], b"P", &PREFACE[..20]] {
            assert_eq!(seen(&[part]).await.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        }
    }
}
