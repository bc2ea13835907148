//! What can go wrong, as data: one table of kinds, one error type.
//!
//! An error has two faces. [`HubError::message`] is for the operator and the program: it may name servers, addresses and what a
//! process has printed. [`HubError::public`] is for callers who share the hub with others. Both are plain sentences, never a debug
//! dump, in the language of their reader.

use crate::model::ToolOutput;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use toolhub_text::invisible::line;
use toolhub_text::message;
use toolhub_text::message::{AsMessage, Lang, Message};

/// Whom the messages of a kind are for.
#[derive(PartialEq)]
enum ErrorWords {
    /// They speak of the caller's own request, or are the tool's own.
    Own,
    /// They may have what others must not see: servers, addresses, what a process has printed.
    Inner,
}

/// One row for each kind: the variant, its wire name, whether a retry can help, whom its messages are for, what it
/// says of effects, and the sentence without internals.
macro_rules! kinds {
    ($($variant:ident, $name:literal, $retryable:literal, $words:ident, $outcome:ident, $sentence:literal;)*) => {
        /// The kinds of errors that code can switch on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum ErrorKind { $($variant),* }

        impl ErrorKind {
            pub const ALL: &'static [ErrorKind] = &[$(ErrorKind::$variant),*];
            pub fn name(self) -> &'static str { match self { $(ErrorKind::$variant => $name),* } }
            pub fn named(name: &str) -> Option<Self> { Self::ALL.iter().copied().find(|kind| kind.name() == name) }
            pub fn retryable(self) -> bool { match self { $(ErrorKind::$variant => $retryable),* } }
            fn words(self) -> ErrorWords { match self { $(ErrorKind::$variant => ErrorWords::$words),* } }
            /// What is known of the effects of such a failure, unless more is known of the call.
            fn outcome(self) -> Outcome { match self { $(ErrorKind::$variant => Outcome::$outcome),* } }
            /// A sentence without internals, safe to show to a model.
            pub fn sentence(self) -> &'static str { match self { $(ErrorKind::$variant => $sentence),* } }
        }
    };
}

kinds! {
    NotFound, "not_found", false, Own, NotSent, "There is no tool of that name.";
    NoCapability, "no_capability", false, Own, NotSent, "No tool has that capability.";
    InvalidArguments, "invalid_arguments", false, Own, NotSent, "The arguments do not fit the tool's parameters.";
    Timeout, "timeout", true, Inner, Unknown, "The tool did not answer in time.";
    Cancelled, "cancelled", false, Own, Unknown, "The call was cancelled.";
    Connect, "connect", true, Inner, NotSent, "The tool's server could not be started or reached.";
    Closed, "closed", true, Inner, Unknown, "The connection to the tool's server was lost.";
    Auth, "auth", false, Inner, Failed, "The tool's server refused the credentials.";
    Http, "http", false, Inner, Failed, "The tool's server answered with an HTTP error.";
    Rpc, "rpc", false, Inner, Failed, "The tool's server answered with an error.";
    Protocol, "protocol", false, Inner, Failed, "The tool's server sent a malformed message.";
    Limit, "limit", false, Inner, Failed, "A size or count limit was exceeded.";
    ToolError, "tool_error", false, Own, Failed, "The tool ran and failed.";
    NotAllowed, "not_allowed", false, Inner, NotSent, "This tool may not be called here.";
    Overloaded, "overloaded", true, Own, NotSent, "Too many calls are waiting; try again later.";
    Paused, "paused", false, Own, NotSent, "The call waits for a decision.";
    NotSent, "not_sent", false, Own, NotSent, "An earlier call of the message has to be cleared up first.";
    Proposed, "proposed", false, Own, NotSent, "The call may not have been meant; say it alone to make it.";
}

impl ErrorKind {
    /// Whether a failure of this kind speaks about the candidate's health. Wrong arguments, refusals and
    /// cancellations are the caller's doing and must not rest a healthy tool.
    pub fn blames_candidate(self) -> bool {
        match self {
            ErrorKind::Connect => true,
            ErrorKind::Cancelled => false,
            other => other.outcome() != Outcome::NotSent,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

crate::named! {
    /// What is known about the effects of a failed call, from the least to the most that may have happened.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Outcome {
        /// Nothing left this process: the call certainly had no effect.
        NotSent = "not_sent",
        /// The tool or its server answered: it failed, or was refused.
        Failed = "failed",
        /// It may have run.
        Unknown = "unknown",
    }
}

/// Where a served hub says [`Outcome::Unknown`] of a call: in the `_meta` of a result, in the `data` of an error.
pub const OUTCOME_KEY: &str = "toolhub/outcome";

/// The member of `_meta` with which a hub asks the hub in front of the servers for their tools of now, because somebody approves one.
pub const NOW_KEY: &str = "toolhub/now";

/// What most functions around calls give.
pub type Result<T, E = HubError> = std::result::Result<T, E>;

/// A failed call: kind, one clear sentence, and the details that code may want.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HubError {
    pub kind: ErrorKind,
    pub message: Message,
    /// What a caller reads who shares the hub with others, if neither the message nor the sentence of the kind fits.
    #[serde(skip)]
    pub public: Option<&'static str>,
    pub outcome: Outcome,
    /// Something was sent, and it is proven that nothing happened all the same, so that the call may be made again or by
    /// another candidate. No kind of error and no tool proves it: only a transport does, see `sources::mcp::proof`.
    #[serde(skip)]
    pub nothing_happened: bool,
    /// JSON-RPC error code of a server.
    pub code: Option<i64>,
    /// HTTP status of a server.
    pub status: Option<u16>,
    /// Seconds after which the server wants to be asked again.
    pub retry_after: Option<f64>,
    /// Near names, when there is no such name.
    pub suggestions: Vec<std::sync::Arc<str>>,
    /// What a server's tool answered, which reports the failure; without a value.
    #[serde(skip)]
    pub answer: Option<std::sync::Arc<ToolOutput>>,
    /// A server's JSON-RPC error in its own words, for a caller that passes it on.
    #[serde(skip)]
    pub upstream: Option<std::sync::Arc<UpstreamError>>,
}

/// What a server sent in its JSON-RPC error beside the code, without control characters and secrets.
#[derive(Clone, Debug, PartialEq)]
pub struct UpstreamError {
    /// The server's own text; [`HubError::message`] is the sentence around it.
    pub message: String,
    pub data: Option<Value>,
}

impl HubError {
    pub fn new(kind: ErrorKind, message: impl Into<Message>) -> Self {
        HubError {
            kind,
            message: message.into(),
            public: None,
            outcome: kind.outcome(),
            nothing_happened: false,
            code: None,
            status: None,
            retry_after: None,
            suggestions: Vec::new(),
            answer: None,
            upstream: None,
        }
    }

    pub fn with_outcome(mut self, outcome: Outcome) -> Self {
        self.outcome = outcome;
        self.nothing_happened = false;
        self
    }

    /// What a caller may read who shares the hub with others: nothing of servers, of other callers or of this machine.
    pub fn public(&self) -> Message {
        if self.kind.words() == ErrorWords::Own && self.public.is_none() {
            return self.message.clone();
        }
        let sentence = Message::from(self.public.unwrap_or_else(|| self.kind.sentence()));
        match (self.outcome, self.retry_after) {
            (Outcome::Unknown, _) => message!("{} It may still have run.", sentence),
            (_, Some(seconds)) => message!("{} Try again in {} s.", sentence, shown_seconds(seconds)),
            _ => sentence,
        }
    }

    /// The error for a reader of this language: its message is a finished text.
    pub fn in_language(self, lang: Lang) -> Self {
        match lang {
            Lang::En => self,
            lang => HubError { message: self.message.text(lang).into_owned().into(), ..self },
        }
    }

    /// The failure of an attempt, of which something was sent or not: that is known, whatever the error says about itself.
    pub fn of_attempt(mut self, was_sent: bool) -> Self {
        self.outcome = match (was_sent, self.outcome) {
            (false, _) => Outcome::NotSent,
            (true, _) if self.nothing_happened => Outcome::Failed,
            (true, Outcome::NotSent) => Outcome::Failed,
            (true, outcome) => outcome,
        };
        self
    }

    /// Whether the same call may be repeated and may then succeed. What has run is repeated only if that does no harm:
    /// `repeatable` says so of the tool.
    pub fn is_retryable(&self, repeatable: bool) -> bool {
        const BUSY: [u16; 4] = [429, 502, 503, 504];
        let transient = self.kind.retryable() || self.status.is_some_and(|status| BUSY.contains(&status));
        transient && (repeatable || self.is_without_effect())
    }

    /// Whether nothing was sent, or nothing happened all the same. To be asked of an error whose outcome is that of its call:
    /// what a kind says by itself does not know whether the tool was called.
    pub fn is_without_effect(&self) -> bool {
        self.outcome == Outcome::NotSent || self.nothing_happened
    }
}

/// A name for a sentence. Names come from models and servers: they may be of any length and hold commands to terminals
/// or line ends that forge a line of a log.
pub fn clip(name: &str) -> Cow<'_, str> {
    const CHARS: usize = 100;
    // Cleaning only removes, so what is left of this much is enough, and a name of megabytes costs nothing.
    let start = name.char_indices().nth(20 * CHARS).map_or(name, |(end, _)| &name[..end]);
    let clean = line(start);
    match clean.char_indices().nth(CHARS) {
        Some((end, _)) => Cow::Owned(format!("{}…", &clean[..end])),
        None if start.len() < name.len() => Cow::Owned(format!("{clean}…")),
        None => clean,
    }
}

/// A number of seconds for a sentence: three digits, without zeros at the end.
pub fn shown_seconds(seconds: f64) -> String {
    let digits = if seconds >= 1e-6 { (2.0 - seconds.log10().floor()).clamp(0.0, 6.0) as usize } else { 0 };
    let text = format!("{seconds:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

impl fmt::Display for HubError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for HubError {}

impl AsMessage for HubError {
    fn as_message(&self) -> &Message {
        &self.message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_name_of_its_own_and_a_sentence() {
        let mut names: Vec<_> = ErrorKind::ALL.iter().map(|k| k.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ErrorKind::ALL.len());
        assert!(ErrorKind::ALL.iter().all(|k| k.sentence().ends_with('.')));
    }

    #[test]
    fn a_name_in_a_sentence_is_short_and_one_clean_line() {
        assert!(matches!(clip("get user"), Cow::Borrowed("get user")));
        assert_eq!(clip("\u{1b}[31mred\u{1b}[0m\nERROR forged\u{202e}"), "red ERROR forged");
        assert_eq!(clip(&"é".repeat(101)), format!("{}…", "é".repeat(100)));
        let long = format!("a{}b", "\u{200b}".repeat(1_000_000));
        assert_eq!(clip(&long), "a…");
    }

    #[test]
    fn the_public_face_has_nothing_of_servers() {
        let detail = "Server 'billing' exited with code 3: could not settle the invoice of bob";
        for kind in ErrorKind::ALL {
            let error = HubError::new(*kind, detail);
            let is_inner = kind.words() == ErrorWords::Inner;
            assert_eq!(error.public().contains("billing"), !is_inner, "{kind}");
        }
        let closed = HubError::new(ErrorKind::Closed, detail);
        assert_eq!(closed.public(), "The connection to the tool's server was lost. It may still have run.");
        let busy = HubError { retry_after: Some(2.0), ..HubError::new(ErrorKind::Http, detail) };
        assert_eq!(busy.public(), "The tool's server answered with an HTTP error. Try again in 2 s.");
    }

    #[test]
    fn serde_names_are_the_table_names() {
        for kind in ErrorKind::ALL {
            assert_eq!(serde_json::to_value(kind).ok(), Some(serde_json::json!(kind.name())));
        }
    }

    #[test]
    fn what_has_run_is_retryable_only_if_it_may_be_repeated() {
        for kind in ErrorKind::ALL {
            for outcome in [Outcome::NotSent, Outcome::Failed, Outcome::Unknown] {
                let error = HubError::new(*kind, "x").with_outcome(outcome);
                assert_eq!(error.is_retryable(true), kind.retryable());
                assert_eq!(error.is_retryable(false), kind.retryable() && outcome == Outcome::NotSent);
            }
        }
        let busy = HubError { status: Some(503), ..HubError::new(ErrorKind::Http, "x") };
        let busy = busy.with_outcome(Outcome::Unknown);
        assert!(busy.is_retryable(true) && !busy.is_retryable(false));
    }

    #[test]
    fn no_kind_of_error_proves_that_nothing_happened_after_the_tool_was_called() {
        for kind in ErrorKind::ALL {
            let error = HubError { code: Some(-32602), ..HubError::new(*kind, "x") }.of_attempt(true);
            assert!(!error.is_without_effect(), "{kind}");
        }
        let proven = HubError { nothing_happened: true, ..HubError::new(ErrorKind::Http, "x") };
        assert!(proven.is_without_effect());
        assert_eq!(proven.clone().of_attempt(true).outcome, Outcome::Failed);
        assert!(!proven.with_outcome(Outcome::Unknown).is_without_effect(), "a doubt takes the proof away");
    }

    #[test]
    fn seconds_are_rounded_for_people() {
        for (seconds, shown) in [
            (1.998_123, "2"),
            (0.05, "0.05"),
            (29.97, "30"),
            (12.34, "12.3"),
            (0.0, "0"),
            (120.4, "120"),
            (0.5, "0.5"),
        ] {
            assert_eq!(shown_seconds(seconds), shown);
        }
    }
}
