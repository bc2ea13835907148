//! Lines of a stream, of bounded length.

use bytes::{Bytes, BytesMut};
use std::io;
use tokio_util::codec::Decoder;

/// Takes lines out of what was read. `None` stands for a line that is longer than allowed, which is skipped.
pub struct LineDecoder {
    limit: usize,
    /// How much of what was read has no line end.
    seen: usize,
    /// The line so far exceeds the limit.
    is_skipping: bool,
}

impl LineDecoder {
    pub fn new(limit: usize) -> Self {
        LineDecoder { limit, seen: 0, is_skipping: false }
    }

    /// The line of `length` bytes at the beginning, which is taken out of `read`.
    fn line(&mut self, read: &mut BytesMut, length: usize) -> Option<Bytes> {
        self.seen = 0;
        let line = read.split_to(length).freeze();
        let is_whole = !std::mem::take(&mut self.is_skipping) && length <= self.limit;
        is_whole.then_some(line)
    }
}

impl Decoder for LineDecoder {
    type Item = Option<Bytes>;
    type Error = io::Error;

    fn decode(&mut self, read: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        if let Some(end) = memchr::memchr(b'\n', &read[self.seen..]) {
            let line = self.line(read, self.seen + end);
            let _ = read.split_to(1);
            return Ok(Some(line));
        }
        if read.len() > self.limit {
            self.is_skipping = true;
            read.clear();
        }
        self.seen = read.len();
        Ok(None)
    }

    /// The last message may have no line end.
    fn decode_eof(&mut self, read: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        let line = self.decode(read)?;
        Ok(line.or_else(|| (!read.is_empty()).then(|| self.line(read, read.len()))))
    }
}
