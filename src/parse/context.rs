//! What every reader works on: the input, the schemas of the tools, and what is known about the text so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::draft::Draft;
use super::extent::{ExtentScan, ValueExtent};
use super::input::InputBuffer;
use super::notation::Notation;
use super::repair::SyntaxRepair;
use super::schemas::ToolSchemas;

/// Maximum number of rescans after an unterminated value; each may rescan the remaining text.
const MAX_RESCANS: usize = 24;

pub(super) struct ReadContext {
    pub input: InputBuffer,
    pub tools: Arc<dyn ToolSchemas>,
    /// The requested dialect.
    pub asked: Option<&'static str>,
    /// A call with a strong marker was found.
    strong: AtomicBool,
    rescans_left: AtomicUsize,
    /// The rest of the text has no calls.
    stopped: AtomicBool,
    /// A message has begun that says what it is.
    has_message: AtomicBool,
}

impl ReadContext {
    pub fn new(input: InputBuffer, tools: Arc<dyn ToolSchemas>, asked: Option<&'static str>) -> Self {
        let rescans_left = AtomicUsize::new(MAX_RESCANS);
        Self {
            input,
            tools,
            asked,
            strong: AtomicBool::new(false),
            rescans_left,
            stopped: AtomicBool::new(false),
            has_message: AtomicBool::new(false),
        }
    }

    /// True if calls of this dialect are read.
    pub fn reads(&self, dialect: &str) -> bool {
        self.asked.is_none_or(|asked| asked == dialect)
    }

    /// Where the value ends whose opening bracket is at `at`.
    pub async fn extent(&self, at: usize, notation: Notation, stops: &[&str]) -> ValueExtent {
        let mut scan = ExtentScan::new(at, notation, stops);
        self.input.wait(|view| scan.look(&view)).await
    }

    pub fn is_strong(&self) -> bool {
        self.strong.load(Ordering::Relaxed)
    }

    pub fn set_strong(&self) {
        self.strong.store(true, Ordering::Relaxed);
    }

    /// Everything up to `to` was only thought: it is text, and nothing is known about the calls that follow.
    pub fn forget(&self, to: usize) {
        self.input.revoke(to);
        self.recall_strength();
        self.stopped.store(false, Ordering::Relaxed);
        self.rescans_left.store(MAX_RESCANS, Ordering::Relaxed);
    }

    /// After calls became text: without a call there was none with a strong marker.
    pub fn recall_strength(&self) {
        if self.input.count_calls() == 0 {
            self.strong.store(false, Ordering::Relaxed);
        }
    }

    /// Notes that a message begins which says what it is; true for the first one.
    pub fn begin_message(&self) -> bool {
        !self.has_message.swap(true, Ordering::Relaxed)
    }

    pub fn has_rescans(&self) -> bool {
        self.rescans_left.load(Ordering::Relaxed) > 0
    }

    /// Takes one of the rescans; `false` when none is left.
    pub fn take_rescan(&self) -> bool {
        let one_less = |left: usize| left.checked_sub(1);
        self.rescans_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
    }

    /// Treats the rest of the text as text.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    pub fn emit(&self, drafts: Vec<Draft>, to: usize, format: &'static str) {
        self.input.emit(drafts, to, format);
    }

    /// Ends the last call at `to`, with its end tag or without.
    pub fn close(&self, to: usize, closed: bool) {
        self.input.extend(to, (!closed).then_some(SyntaxRepair::MissingEndTag));
    }
}
