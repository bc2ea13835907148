//! The reasons for a strategy, in words.

use std::borrow::Cow;
use std::sync::Arc;
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
    pub fn sentence(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Rule::OneCandidate => "there is one candidate",
            Rule::Effects => "the tool has effects, so its candidates never run at once",
            Rule::UnknownEffects => {
                "the effects of a server's tool are unknown, so its candidates never run at once unless its server has \
                 assume_read_only"
            }
            Rule::Untrusted => "a candidate's server is not trusted, so it never races",
            Rule::FastestIsBest => "calculation and time tools agree, so the fastest answer wins",
            Rule::AnswersComplement => "search and extraction tools complement each other",
            Rule::TwoCandidates => "there are two candidates",
            Rule::ManyCandidates => "there are several candidates of one kind",
            Rule::Preferred => "MCP servers are preferred to native tools and skills",
            Rule::Routed => "the first match answers a model's call, and the others are its fallback",
            Rule::Tool => "the tool was registered with this strategy",
            Rule::Pattern(pattern) => {
                return Cow::Owned(format!("the hub has this strategy for '{}'", clip(pattern)));
            }
            Rule::Asked => "the caller asked for it",
        })
    }
}
