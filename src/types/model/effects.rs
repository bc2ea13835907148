//! Whether a call may change something outside the tool, and how we know.

use toolhub_text::{Message, message};

crate::named! {
    /// How careful a caller has to be with a tool.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Safety {
        /// There is evidence that a call changes nothing.
        Harmless = "harmless",
        /// There is no evidence either way.
        #[default]
        Unknown = "unknown",
        /// It was declared to change something, or its name says so.
        MayAct = "may_act",
    }
}

crate::named! {
    /// How far the user trusts what a server says about its own tools. Hints that warn always count.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Trust {
        /// `readOnlyHint: true` is believed, whatever the name says.
        Full = "full",
        /// It is believed unless the name contradicts it.
        #[default]
        Hints = "hints",
        /// Neither a hint nor a name makes a tool harmless, and its candidates never run at once with others on a rule of the hub.
        None = "none",
    }
}

/// What a [`Safety`] rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Evidence {
    /// The user declared it when registering the tool.
    Registration,
    /// The user declared it for all tools of the server.
    ServerOption(&'static str),
    /// An annotation of the tool, as in `readOnlyHint: true`.
    Annotation(&'static str),
    /// A hint that is neither true nor false: it may have been meant as a warning.
    Malformed(&'static str),
    /// A verb in the name that changes something.
    ActingVerb(&'static str),
    /// A verb in the name that only reads, and no other beside it.
    ReadingVerb(&'static str),
    /// A capability of tools that only read, which the user declared for this tool.
    Capability(&'static str),
    /// A word in the name that may be another verb than the reading one.
    SecondVerb(&'static str),
    /// A reading verb in the name that may be a noun.
    Noun(&'static str),
    /// The name goes on after this joining word.
    Joined(&'static str),
    /// A verb of the description that changes something.
    Description(&'static str),
    /// A parameter, or a value of one, that says what is done, as `sql` and `DELETE` do.
    Parameter(&'static str),
    /// The server has `trust: none`, and the user has said nothing about the tool.
    Untrusted,
    /// The tool returns instructions and does nothing else.
    Instructions,
    #[default]
    None,
}

impl Evidence {
    pub fn message(&self) -> Message {
        match self {
            Evidence::Registration => message!("declared at registration"),
            Evidence::ServerOption(option) => message!("declared by the server option `{}`", option),
            Evidence::Annotation(hint) => message!("annotated `{}`", hint),
            Evidence::Malformed(hint) => message!("its hint `{}` is neither true nor false", hint),
            Evidence::ActingVerb(verb) => message!("its name contains the acting verb '{}'", verb),
            Evidence::ReadingVerb(verb) => message!("its name has the reading verb '{}'", verb),
            Evidence::Capability(tag) => message!("declared with the reading capability '{}'", tag),
            Evidence::SecondVerb(word) => message!("the word '{}' in its name may be what it does", word),
            Evidence::Noun(word) => message!("the word '{}' in its name may be a noun", word),
            Evidence::Joined(word) => message!("its name may have another verb after '{}'", word),
            Evidence::Description(verb) => message!("its description has the acting verb '{}'", verb),
            Evidence::Parameter(name) => {
                message!("its parameters name '{}', which may ask for a change", name)
            }
            Evidence::Untrusted => message!("its server is not trusted, so only your own word counts"),
            Evidence::Instructions => message!("it only returns instructions"),
            Evidence::None => message!("nothing shows whether it changes anything"),
        }
    }
}

/// Whether calling a tool changes something, with the evidence; without any it is unknown.
#[derive(Clone, Default, Copy, Debug, PartialEq, Eq)]
pub struct Effects {
    pub safety: Safety,
    pub evidence: Evidence,
}

impl Effects {
    pub const UNKNOWN: Effects = Effects { safety: Safety::Unknown, evidence: Evidence::None };

    pub const fn harmless(evidence: Evidence) -> Self {
        Effects { safety: Safety::Harmless, evidence }
    }

    pub const fn unknown(evidence: Evidence) -> Self {
        Effects { safety: Safety::Unknown, evidence }
    }

    pub const fn may_act(evidence: Evidence) -> Self {
        Effects { safety: Safety::MayAct, evidence }
    }

    pub fn are_harmless(self) -> bool {
        self.safety == Safety::Harmless
    }

    /// True for what the user or the tool's author stated about effects, false for what was concluded.
    pub fn are_declared(self) -> bool {
        matches!(
            self.evidence,
            Evidence::Registration
                | Evidence::ServerOption(_)
                | Evidence::Annotation(_)
                | Evidence::Instructions
        )
    }

    pub fn message(self) -> Message {
        let evidence = self.evidence.message();
        match self.safety {
            Safety::Harmless => message!("harmless: {}", evidence),
            Safety::Unknown => message!("unknown effects: {}", evidence),
            Safety::MayAct => message!("may act: {}", evidence),
        }
    }
}
