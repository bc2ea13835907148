//! Decides whether a tool may change something. No other code decides it.
//!
//! | evidence, first line that fits | safety |
//! |---|---|
//! | the user's declaration for this tool, or `effects` for its server | as declared |
//! | `destructiveHint: true`, `readOnlyHint: false` | may act |
//! | `readOnlyHint: true` of a server with `trust: full` | harmless |
//! | an acting verb anywhere in the name | may act |
//! | `destructiveHint` or `readOnlyHint` that is neither true nor false | unknown |
//! | `readOnlyHint: true`, unless the server has `trust: none` | harmless |
//! | `assume_read_only` for the server | harmless |
//! | the server has `trust: none` | unknown |
//! | a reading verb in the name and no other, or a reading capability that the user declared for this tool | harmless, unless the description or a parameter speaks of a change: then unknown |
//! | none of these | unknown |
//!
//! A name overrides a *server's* annotation but never the user: a server that calls `delete_user` read-only is not
//! believed, a user is, and so is a server that the user trusts in full. Capabilities that were read out of a text serve the
//! search and are not evidence.

mod name;
mod raised;
mod verbs;

use name::read_name;
use raised::raised;
use serde_json::{Map, Value};
use toolhub_types::model::{Effects, Evidence, Safety, Trust};
use verbs::READING_CAPABILITIES;

/// Everything that is known about a tool before its first call.
pub struct EffectsInput<'a> {
    pub name: &'a str,
    pub description: &'a str,
    pub parameters: &'a Value,
    /// The annotations of this tool, without the user's options for its server.
    pub annotations: &'a Map<String, Value>,
    pub declaration: Declaration<'a>,
}

/// What the user declared, for the tool or for its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declaration<'a> {
    /// A tool of the user, who also wrote its annotations.
    Tool {
        /// `effects` or `read_only`: true when it may act.
        acts: Option<bool>,
        /// The capabilities that the user gave, not those that were read out of name and description.
        capabilities: &'a [String],
    },
    /// A server's tool, whose annotations are claims; holds the user's options for that server.
    Server { effects: Option<bool>, assume_read_only: bool, trust: Trust },
}

/// The acting verb in the name of a tool of which nothing else is known: empty if it may act all the same, `None` if the name
/// says that it is harmless.
pub fn acting_verb(name: &str) -> Option<&'static str> {
    let found = assess(&EffectsInput {
        name,
        description: "",
        parameters: &Value::Null,
        annotations: &Map::new(),
        declaration: Declaration::Tool { acts: None, capabilities: &[] },
    });
    match found.evidence {
        Evidence::ActingVerb(verb) => Some(verb),
        _ => (found.safety != Safety::Harmless).then_some(""),
    }
}

/// Reads `effects` and `read_only`, which must not contradict each other.
pub fn declared(effects: Option<bool>, read_only: Option<bool>) -> Result<Option<bool>, &'static str> {
    match (effects, read_only) {
        (Some(true), Some(true)) => Err("effects=True and read_only=True contradict each other"),
        (Some(false), Some(false)) => Err("effects=False and read_only=False contradict each other"),
        (Some(acts), _) => Ok(Some(acts)),
        (None, read_only) => Ok(read_only.map(|read_only| !read_only)),
    }
}

/// Weighs the evidence.
pub fn assess(tool: &EffectsInput<'_>) -> Effects {
    let as_declared = |acts: bool, evidence| match acts {
        true => Effects::may_act(evidence),
        false => Effects::harmless(evidence),
    };
    let (trust, assume_read_only, capabilities) = match tool.declaration {
        Declaration::Tool { acts: Some(acts), .. } => return as_declared(acts, Evidence::Registration),
        Declaration::Server { effects: Some(acts), .. } => {
            return as_declared(acts, Evidence::ServerOption("effects"));
        }
        Declaration::Tool { capabilities, .. } => (Trust::Full, false, capabilities),
        Declaration::Server { assume_read_only, trust, .. } => (trust, assume_read_only, &[][..]),
    };
    let hint = |key: &str| tool.annotations.get(key).and_then(Value::as_bool);
    let read_only = Effects::harmless(Evidence::Annotation("readOnlyHint: true"));
    if hint("destructiveHint") == Some(true) {
        return Effects::may_act(Evidence::Annotation("destructiveHint: true"));
    }
    let is_malformed =
        |key: &&str| tool.annotations.get(*key).is_some_and(|it| !it.is_boolean() && !it.is_null());
    let malformed = ["destructiveHint", "readOnlyHint"].into_iter().find(is_malformed);
    match hint("readOnlyHint") {
        Some(false) => return Effects::may_act(Evidence::Annotation("readOnlyHint: false")),
        Some(true) if trust == Trust::Full && malformed.is_none() => return read_only,
        _ => {}
    }
    let name = read_name(tool.name);
    if name.safety == Safety::MayAct {
        return name;
    }
    if let Some(key) = malformed {
        return Effects::unknown(Evidence::Malformed(key));
    }
    if hint("readOnlyHint") == Some(true) && trust != Trust::None {
        return read_only;
    }
    if assume_read_only {
        return Effects::harmless(Evidence::ServerOption("assume_read_only"));
    }
    if trust == Trust::None {
        return Effects::unknown(Evidence::Untrusted);
    }
    let declared = READING_CAPABILITIES.iter().find(|tag| capabilities.iter().any(|own| own == *tag));
    let told = match (name.safety, declared) {
        (Safety::Unknown, Some(tag)) => Effects::harmless(Evidence::Capability(tag)),
        _ => name,
    };
    match told.are_harmless() {
        true => raised(tool.description, tool.parameters).map_or(told, Effects::unknown),
        false => told,
    }
}

#[cfg(test)]
mod tests;
