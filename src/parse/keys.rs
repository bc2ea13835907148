//! The keys of a call written as JSON: the one table of what a key may hold. [`super::json_calls`] reads a call by it.

use std::cmp::Reverse;
use std::sync::LazyLock;

use toolhub_text::has_word;

/// Keys for the tool's name.
pub(super) const NAME_KEYS: &[&str] = &["name", "tool_name", "tool", "function_name", "function", "action"];
/// Keys for the arguments.
pub(super) const ARGUMENT_KEYS: &[&str] =
    &["arguments", "parameters", "args", "input", "action_input", "tool_input", "params", "kwargs"];
/// Keys that hold a list of calls.
pub(super) const LIST_KEYS: &[&str] = &["tool_calls", "function_calls"];
/// Keys that hold the call itself.
pub(super) const INNER_KEYS: &[&str] = &["function", "function_call", "functionCall", "tool_call", "custom"];

/// What a key of a call holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyUse {
    Name,
    Arguments,
    /// In an object with a type, `id` is that of the object if there is a `call_id`.
    Id,
    Source,
    /// The call itself.
    Inner,
    /// A list of calls.
    List,
    /// It describes the call, and so is not an argument.
    About,
    /// Not a key of calls: an argument beside the name, or a note.
    Other,
}

const TABLE: &[(KeyUse, &[&str])] = &[
    // Before the names, which have `function` too: an object is the call.
    (KeyUse::Inner, INNER_KEYS),
    (KeyUse::Name, NAME_KEYS),
    (KeyUse::Arguments, ARGUMENT_KEYS),
    (KeyUse::Id, &["id", "call_id", "tool_call_id"]),
    (KeyUse::Source, &["source"]),
    (KeyUse::List, LIST_KEYS),
    (KeyUse::About, &["type", "index", "description"]),
];

impl KeyUse {
    /// What a key holds, and its place among the keys for the same thing.
    pub fn of(key: &str, holds_call: impl Fn() -> bool, holds_list: bool) -> (Self, usize) {
        let fits = |kind: Self| match kind {
            Self::Inner => holds_call(),
            Self::List => holds_list,
            _ => true,
        };
        let place = |keys: &[&str]| keys.iter().position(|known| *known == key);
        let mut found = TABLE.iter().filter_map(|(kind, keys)| Some((*kind, place(keys)?)));
        found.find(|(kind, _)| fits(*kind)).unwrap_or((Self::Other, 0))
    }
}

/// Every key that may come first in a bare call. A key comes before its own prefixes.
pub(super) static FIRST_KEYS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let all = TABLE.iter().flat_map(|(_, keys)| *keys).copied();
    let mut keys: Vec<_> = all.filter(|key| !matches!(*key, "description" | "custom")).collect();
    keys.sort_by_key(|key| Reverse(key.len()));
    keys.dedup();
    keys
});

/// Keys that hold the result of a call. An object that begins with one is data, whatever is inside.
pub(super) const RESULT_KEYS: &[&str] = &[
    "tool_results",
    "tool_result",
    "tool_responses",
    "tool_response",
    "function_response",
    "functionResponse",
];

/// Keys that tell how a call went. An object that has one beside a name is a record of a call that was made.
const RECORD_KEYS: &str = "result results output response observation success succeeded error exit_code duration duration_ms \
    elapsed elapsed_ms started_at finished_at completed_at";

/// True if an object with these keys tells how a call went. A call of an API may have a `status`: its `type` tells it apart.
pub(super) fn is_record<'a>(mut keys: impl Iterator<Item = &'a str> + Clone) -> bool {
    let is_typed = keys.clone().any(|key| key == "type");
    keys.any(|key| has_word(RECORD_KEYS, key) || (key == "status" && !is_typed))
}

/// True if the text of a key is `arguments {`: its closing quote and colon are missing.
pub(super) fn swallows_brace(text: &[u8]) -> bool {
    let Some(key) = text.strip_suffix(b"{") else { return false };
    let key = key.trim_ascii_end();
    let key = key.strip_suffix(b":").unwrap_or(key).trim_ascii();
    ARGUMENT_KEYS.iter().any(|known| known.as_bytes() == key)
}
