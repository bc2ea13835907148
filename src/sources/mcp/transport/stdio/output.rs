//! What one process has printed that is not MCP: the beginning of its output, and the end of its error stream.

use super::reason::reason;
use crate::sources::mcp::wire::clean;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How much of the error stream is remembered.
const ERROR_LINES: usize = 40;
const ERROR_LINE: usize = 500;
/// How much of a line that is not MCP is shown.
const SHOWN_LINE: usize = 100;

/// A program that writes this much before its first message is not an MCP server. Servers that print a banner, or the output
/// of an installer, stay far below it.
const MAX_NOISE_BYTES: usize = 4_000_000;
const MAX_NOISE_LINES: usize = 10_000;

#[derive(Default)]
pub struct ProcessOutput {
    has_sent_message: AtomicBool,
    /// The first line, made safe to show.
    line: Mutex<Option<String>>,
    bytes: AtomicUsize,
    lines: AtomicUsize,
    /// The last lines of the error stream, safe to show.
    errors: Mutex<VecDeque<String>>,
}

impl ProcessOutput {
    /// Whether there was too much output without a message.
    pub fn is_flood(&self) -> bool {
        !self.has_sent_message.load(Ordering::Relaxed)
            && (self.bytes.load(Ordering::Relaxed) > MAX_NOISE_BYTES
                || self.lines.load(Ordering::Relaxed) > MAX_NOISE_LINES)
    }

    pub fn count(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn read(&self, line: &[u8]) {
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

    /// Remembers a line of the error stream, which must be safe to show.
    pub fn read_error(&self, line: &str) {
        let text = clean(line, ERROR_LINE);
        if !text.is_empty() {
            let mut errors = self.errors.lock();
            errors.push_back(text);
            if errors.len() > ERROR_LINES {
                errors.pop_front();
            }
        }
    }

    /// The last lines of the error stream, safe to show.
    pub fn error_lines(&self) -> Vec<String> {
        self.errors.lock().iter().cloned().collect()
    }

    /// What the error stream says about a failure.
    pub fn reason(&self) -> Option<String> {
        reason(self.errors.lock().make_contiguous())
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
