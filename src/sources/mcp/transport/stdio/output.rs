//! What one process has printed that is not MCP: the beginning of its output, and the end of its error stream.

use crate::mcp::wire::clean;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use toolhub_text::{Message, message};

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
    pub fn doubt(&self) -> Option<Message> {
        if self.has_sent_message.load(Ordering::Relaxed) {
            return None;
        }
        let advice = Message::from("check that `command` and `args` start an MCP server");
        Some(match self.stray_line() {
            Some(line) => message!("it printed '{}', which is not MCP; {}", line, advice),
            None => message!("it sent no MCP message; {}", advice),
        })
    }
}

/// Which of these lines says why a program failed. The last line is often not it: a program logs its end, a runtime adds a stack or
/// its version. Lines are given without indentation.
///
/// The reason is the last one that calls itself an error, otherwise the last one with words. Of several such
/// lines in a row that begin alike, the first one says most.
fn reason(lines: &[String]) -> Option<String> {
    let lines: Vec<&str> = lines.iter().map(|line| bare(line)).filter(|line| has_words(line)).collect();
    let Some(last) = lines.iter().rposition(|line| is_error(line)) else {
        return lines.last().map(|&line| line.to_owned());
    };
    let begin = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let alike = |line: &&&str| is_error(line) && begin(line) == begin(lines[last]);
    let first = last - lines[..last].iter().rev().take_while(alike).count();
    // "error: these arguments are missing:" continues in the next line.
    match lines.get(first + 1).filter(|_| lines[first].ends_with(':')) {
        Some(next) => Some(format!("{} {next}", lines[first])),
        None => Some(lines[first].to_owned()),
    }
}

/// Without the sides of a box.
fn bare(line: &str) -> &str {
    let is_side = |c: char| matches!(c, '\u{2500}'..='\u{259f}' | '|' | '▶' | '×') || c.is_whitespace();
    line.trim_matches(is_side)
}

fn has_words(line: &str) -> bool {
    line.chars().filter(|c| c.is_alphanumeric()).count() > 1
}

/// Whether a word of the line marks it as an error, as in `fatal: …`, `[error] …`, `pkg.ConfigError: …`. The title of a box has no
/// other word.
fn is_error(line: &str) -> bool {
    let words = line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let marks = |word: &str| {
        let word = word.to_ascii_lowercase();
        ["error", "exception", "fatal", "critical"].iter().any(|mark| word.ends_with(mark))
            || word.starts_with("panic")
            || word == "err"
    };
    words.clone().any(marks) && words.count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> Option<String> {
        let lines: Vec<String> =
            text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect();
        reason(&lines)
    }

    #[test]
    fn the_line_with_the_reason_is_found() {
        for (text, expected) in [
            ("starting\nfatal: no API key", "fatal: no API key"),
            ("no database here", "no database here"),
            (
                "/app/index.js:3\nthrow new Error('no key')\n^\n\nError: no key\n    at Object.<anonymous> (/app/index.js:3:7)\n    at node:internal/main\n\nNode.js v20.11.0",
                "Error: no key",
            ),
            (
                "node:internal/modules/cjs/loader:1148\n  throw err;\n  ^\n\nError: Cannot find module '/x.js'\n    at Module._resolve (node:internal:1145:15) {\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v20.11.0",
                "Error: Cannot find module '/x.js'",
            ),
            (
                "Traceback (most recent call last):\n  File \"/x.py\", line 1, in <module>\n    import y\nModuleNotFoundError: No module named 'y'\nINFO shutting down",
                "ModuleNotFoundError: No module named 'y'",
            ),
            (
                "  + Exception Group Traceback (most recent call last):\n  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n    | ValueError: boom\n    +------------------------------------",
                "ValueError: boom",
            ),
            (
                "Usage: x [OPTIONS]\nTry 'x --help' for help.\n╭─ Error ──────────╮\n│ Missing argument 'KEY'. │\n╰──────────────────╯",
                "Missing argument 'KEY'.",
            ),
            (
                "usage: x [-h] --key KEY\nx: error: the following arguments are required: --key",
                "x: error: the following arguments are required: --key",
            ),
            (
                "error: the following required arguments were not provided:\n  --key <KEY>\n\nUsage: x --key <KEY>\n\nFor more information, try '--help'.",
                "error: the following required arguments were not provided: --key <KEY>",
            ),
            (
                "thread 'main' panicked at src/main.rs:2:5:\nno config\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
                "thread 'main' panicked at src/main.rs:2:5: no config",
            ),
            (
                "panic: no config\n\ngoroutine 1 [running]:\nmain.main()\n\t/x.go:4 +0x1d\nexit status 2",
                "panic: no config",
            ),
            (
                "npm error code E404\nnpm error 404 Not Found - GET https://registry/x - Not found\nnpm error 404\nnpm error 404  'x@*' is not in this registry.\nnpm error A complete log of this run can be found in: /x.log",
                "npm error code E404",
            ),
            (
                "  × No solution found when resolving tool dependencies:\n  ╰─▶ Because x was not found, your requirements are unsatisfiable.",
                "Because x was not found, your requirements are unsatisfiable.",
            ),
            ("2026-01-01 12:00:01 ERROR no database\nbye", "2026-01-01 12:00:01 ERROR no database"),
            ("Usage: x", "Usage: x"),
        ] {
            assert_eq!(of(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(of("+----+\n|    |\n+----+"), None);
        assert_eq!(of(""), None);
    }

    proptest! {
        #[test]
        fn a_reason_has_words(lines in prop::collection::vec("[ -~│╭╮]{0,40}", 0..12)) {
            if let Some(found) = reason(&lines) {
                prop_assert!(found.chars().any(char::is_alphanumeric));
            }
        }
    }
}
