//! What one process has printed that is not MCP: the beginning of its output, and the end of its error stream.

use super::reason::reason;
use crate::mcp::wire::clean;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::OnceLock;
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
    /// The first line that is not MCP, made safe to show.
    stray: OnceLock<String>,
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

    /// Counts a line of the output; one that `is_stray` is not MCP.
    pub fn read(&self, line: &[u8], is_stray: bool) {
        if !is_stray {
            self.has_sent_message.store(true, Ordering::Relaxed);
            return;
        }
        self.lines.fetch_add(1, Ordering::Relaxed);
        if self.stray.get().is_none() {
            let text = clean(&String::from_utf8_lossy(line), SHOWN_LINE);
            if !text.is_empty() {
                let _ = self.stray.set(text);
            }
        }
    }

    /// The first line of the output that is not MCP, safe to show.
    pub fn stray_line(&self) -> Option<&str> {
        self.stray.get().map(String::as_str)
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
        Some(match self.stray_line() {
            Some(line) => format!("it printed '{line}', which is not MCP; {advice}"),
            None => format!("it sent no MCP message; {advice}"),
        })
    }
}
