//! The reasons for a strategy, in words.

use std::sync::Arc;
use toolhub_text::message;
use toolhub_text::message::Message;
use toolhub_types::error::clip;

/// The reason for a strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    OneCandidate,
    /// Candidates that may act never run at once.
    Effects,
    /// Candidates of servers whose effects are unknown do not run at once either.
    UnknownEffects,
    /// The user does not trust the server of a candidate.
    Untrusted,
    /// Answers agree, so the fastest is the best.
    FastestIsBest,
    /// Answers complement each other.
    AnswersComplement,
    TwoCandidates,
    ManyCandidates,
    /// MCP servers are tried first, not together with the others.
    Preferred,
    /// A model asked, and reads one answer.
    Routed,
    /// The tool was registered with a strategy.
    Tool,
    /// The hub has a strategy for this pattern.
    Pattern(Arc<str>),
    /// The caller chose.
    Asked,
}

impl Rule {
    pub fn sentence(&self) -> Message {
        match self {
            Rule::OneCandidate => message!("there is one candidate"),
            Rule::Effects => message!("the tool has effects, so its candidates never run at once"),
            Rule::UnknownEffects => message!(
                "the effects of a server's tool are unknown, so its candidates never run at once unless its server has \
                 assume_read_only"
            ),
            Rule::Untrusted => message!("a candidate's server is not trusted, so it never races"),
            Rule::FastestIsBest => message!("calculation and time tools agree, so the fastest answer wins"),
            Rule::AnswersComplement => message!("search and extraction tools complement each other"),
            Rule::TwoCandidates => message!("there are two candidates"),
            Rule::ManyCandidates => message!("there are several candidates of one kind"),
            Rule::Preferred => message!("MCP servers are preferred to native tools and skills"),
            Rule::Routed => {
                message!("the first match answers a model's call, and the others are its fallback")
            }
            Rule::Tool => message!("the tool was registered with this strategy"),
            Rule::Pattern(pattern) => message!("the hub has this strategy for '{}'", clip(pattern)),
            Rule::Asked => message!("the caller asked for it"),
        }
    }
}
