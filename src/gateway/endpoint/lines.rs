//! Lines of a stream, of bounded length.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

pub enum ReadLine<'a> {
    /// Without its end.
    Line(&'a [u8]),
    /// The line is longer than allowed; it was skipped.
    TooLong,
    /// The stream has ended or failed.
    End,
}

pub struct LineReader<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    limit: usize,
    /// The line so far exceeds the limit and is skipped to its end.
    is_skipping: bool,
    /// `line` was given out and is cleared before the next one.
    is_done: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub fn new(reader: R, limit: usize) -> Self {
        LineReader {
            reader: BufReader::with_capacity(64 * 1024, reader),
            line: Vec::new(),
            limit,
            is_skipping: false,
            is_done: false,
        }
    }

    /// The next line. May be dropped and called again: what was read is kept.
    pub async fn next_line(&mut self) -> ReadLine<'_> {
        if std::mem::take(&mut self.is_done) {
            self.line.clear();
        }
        loop {
            let Ok(available) = self.reader.fill_buf().await else { return ReadLine::End };
            if available.is_empty() {
                // The last message may have no line end.
                self.is_done = true;
                return match self.line.is_empty() {
                    true => ReadLine::End,
                    false => ReadLine::Line(&self.line),
                };
            }
            let end = memchr::memchr(b'\n', available);
            let taken = end.unwrap_or(available.len());
            if self.line.len() + taken > self.limit {
                self.is_skipping = true;
                self.line = Vec::new();
            }
            if !self.is_skipping {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.reader.consume(taken + usize::from(end.is_some()));
            if end.is_some() {
                self.is_done = true;
                return match std::mem::take(&mut self.is_skipping) {
                    true => ReadLine::TooLong,
                    false => ReadLine::Line(&self.line),
                };
            }
        }
    }
}
