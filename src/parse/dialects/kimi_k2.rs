//! The header of a call of Kimi K2: `functions.name:0`.
//!
//! It is the id of the call too. After a conversation whose ids another API issued, the model imitates those and leaves
//! the name out: `3`, `call_3`, `toolu_01A`. Such a call is an error: a missing name is never guessed.

use crate::read::section::SectionHeader;
use crate::schemas::{self, ToolSchemas};

pub(super) fn header(text: &str, tools: &dyn ToolSchemas) -> SectionHeader {
    let id = text.trim();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let name = id.strip_prefix("functions.").unwrap_or(id);
    let name = match name.rsplit_once(':') {
        Some((name, index)) if is_number(index) => name,
        _ => name,
    };
    let named = |name: &str| SectionHeader::Name { name: name.to_owned(), id: Some(id.to_owned()) };
    if tools.parameters(name).is_some() {
        return named(name);
    }
    // `functionsname5`, `functions_name_5`: the model lost the marks between the parts, or wrote others.
    let rest = name.strip_prefix("functions").unwrap_or_default();
    let counted = rest.trim_end_matches(|c: char| c.is_ascii_digit());
    let separated = |text| str::trim_start_matches(text, ['_', '-', ':', '.']);
    let forms = [counted, counted.trim_end_matches(['_', '-', ':', '.']), rest];
    let forms = forms.into_iter().chain(forms.map(separated));
    if let Some(bare) = schemas::only_known(tools, forms) {
        return named(bare);
    }
    match is_number(name) || (name == id && is_issued(id)) {
        true => named(""),
        false => named(name),
    }
}

/// True for an id as the chat APIs issue them.
fn is_issued(id: &str) -> bool {
    let issued = |prefix: &str| {
        let rest = id.strip_prefix(prefix)?.trim_start_matches(['_', '-']);
        Some(rest.bytes().any(|byte| byte.is_ascii_digit()) && !rest.contains(['.', ':']))
    };
    ["call", "toolu", "chatcmpl-tool"].iter().find_map(|prefix| issued(prefix)).unwrap_or_default()
}
