//! Decides whether a tool may change something. No other code decides it.
//!
//! | evidence, first line that fits | safety |
//! |---|---|
//! | the user's declaration for this tool, or `effects` for its server | as declared |
//! | `destructiveHint: true`, `readOnlyHint: false` | may act |
//! | `readOnlyHint: true` of a server with `trust: full` | harmless |
//! | an acting verb anywhere in the name, unless the tool adds numbers | may act |
//! | `readOnlyHint: true`, unless the server has `trust: none` | harmless |
//! | `assume_read_only` for the server | harmless |
//! | a name that may hold another verb (`time_set`, `fetch_push`, `get_it_sent`, `count_down`) | unknown |
//! | a reading verb at the start of the name | harmless |
//! | a reading capability, and a description without an acting verb | harmless |
//! | none of these | unknown |
//!
//! A name overrides a *server's* annotation but never the user: a server that calls `delete_user` read-only is not
//! believed, a user is, and so is a server that the user trusts in full.

mod doubt;
mod glued;
mod name;
mod verbs;
mod wide;

use crate::model::{Effects, Evidence, Trust};
use crate::text::name_words;
use name::NameWords;
use serde_json::{Map, Value};
use verbs::READING_CAPABILITIES;

/// Everything that is known about a tool before its first call.
pub struct EffectsInput<'a> {
    pub name: &'a str,
    pub description: &'a str,
    pub parameters: &'a Value,
    /// The annotations of this tool, without the user's options for its server.
    pub capabilities: &'a [String],
    pub annotations: &'a Map<String, Value>,
    pub declaration: Declaration,
}

/// What the user declared, for the tool or for its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declaration {
    /// Nothing was declared; the annotations are the user's own.
    None,
    /// `effects` or `read_only` of this tool: true when it may act.
    Tool(bool),
    /// A server's tool, whose annotations are claims; holds the user's options for that server.
    Server { effects: Option<bool>, assume_read_only: bool, trust: Trust },
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
    let hint = |key: &str| tool.annotations.get(key).and_then(Value::as_bool);
    let (assume_read_only, trust) = match tool.declaration {
        Declaration::Tool(acts) => return as_declared(acts, Evidence::Registration),
        Declaration::Server { effects: Some(acts), .. } => {
            return as_declared(acts, Evidence::ServerOption("effects"));
        }
        Declaration::Server { assume_read_only, trust, .. } => (assume_read_only, trust),
        Declaration::None => (false, Trust::Full),
    };
    let read_only = Effects::harmless(Evidence::Annotation("readOnlyHint: true"));
    if hint("destructiveHint") == Some(true) {
        return Effects::may_act(Evidence::Annotation("destructiveHint: true"));
    }
    match hint("readOnlyHint") {
        Some(false) => return Effects::may_act(Evidence::Annotation("readOnlyHint: false")),
        Some(true) if trust == Trust::Full => return read_only,
        _ => {}
    }
    let name = NameWords::new(tool.name);
    if let Some(verb) = name.acting_verb() {
        return match is_addition(&name, tool.parameters) {
            true => Effects::harmless(Evidence::Addition),
            false => Effects::may_act(Evidence::ActingVerb(verb)),
        };
    }
    if hint("readOnlyHint") == Some(true) && trust != Trust::None {
        return read_only;
    }
    if assume_read_only {
        return Effects::harmless(Evidence::ServerOption("assume_read_only"));
    }
    if name.is_doubtful() {
        return Effects::UNKNOWN;
    }
    if let Some(verb) = name.reading_verb() {
        return Effects::harmless(Evidence::ReadingVerb(verb));
    }
    let reading = READING_CAPABILITIES.iter().find(|tag| tool.capabilities.iter().any(|own| own == *tag));
    match reading {
        Some(tag) if !name::description_acts(tool.description) => {
            Effects::harmless(Evidence::Capability(tag))
        }
        _ => Effects::UNKNOWN,
    }
}

/// Words that may stand beside `add` when numbers are added.
const OF_NUMBERS: &[&str] =
    &["add", "two", "up", "number", "numbers", "integer", "integers", "int", "ints", "float", "floats"];

/// True when a tool adds numbers, as opposed to adding something somewhere: its name contains nothing else, and every
/// parameter is a number or a list of numbers and is not an id.
fn is_addition(name: &NameWords, parameters: &Value) -> bool {
    let is_number = |schema: &Value| matches!(schema["type"].as_str(), Some("number" | "integer"));
    let are_numbers = |schema: &Value| schema["type"] == "array" && is_number(&schema["items"]);
    let is_id = |parameter: &str| name_words(parameter).iter().any(|word| word == "id" || word == "ids");
    let words = name.words();
    let named =
        words.iter().any(|word| word == "add") && words.iter().all(|word| OF_NUMBERS.contains(&&**word));
    named
        && parameters["properties"].as_object().is_some_and(|properties| {
            !properties.is_empty()
                && properties.iter().all(|(parameter, schema)| {
                    (is_number(schema) || are_numbers(schema)) && !is_id(parameter)
                })
        })
}

#[cfg(test)]
mod tests;
