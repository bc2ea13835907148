//! Tools in the form of each vendor's API, adapted to what it accepts.
//!
//! | vendor | beyond what all take |
//! |---|---|
//! | OpenAI | descriptions of 1,024 characters |
//! | OpenAI, strict | every object closed, every parameter required (optional ones may be null), few keywords |
//! | Anthropic | an object at the top, without alternatives; names of parameters of letters, digits, `_`, `.`, `-` |
//! | Gemini | a part of OpenAPI: no references, one type each, only text in enums, no open objects; names of parameters of letters, digits, `_` |
//!
//! All take a tree without references, so that is built first; keywords that a vendor does not support are put into the
//! description. One bad tool would fail the whole request, so it is left out, with the reason.
//!
//! A name that every vendor accepts stays. Any other is built from its valid characters and a checksum of the whole, so it
//! depends only on the name itself: it means the same tool in a later conversation, whatever else is registered by then.

mod declare;
mod gemini;
mod inline;
mod restore;
mod strict;
mod words;

pub use declare::{ToolDeclaration, VendorNames, declare};
pub use restore::restore;

use std::fmt::Write;

toolhub_types::named! {
    /// The vendor of an API.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Vendor {
        OpenAi = "openai",
        OpenAiStrict = "openai_strict",
        Anthropic = "anthropic",
        Gemini = "gemini",
    }
}

impl Vendor {
    /// True if this API has messages of this format, as the parser names them.
    pub fn is_of(self, format: &str) -> bool {
        match self {
            Vendor::OpenAi | Vendor::OpenAiStrict => matches!(format, "openai" | "openai_responses"),
            Vendor::Anthropic => format == "anthropic",
            Vendor::Gemini => format == "gemini",
        }
    }

    /// The name of a parameter for its models.
    fn key(self, name: &str) -> String {
        match self {
            Vendor::OpenAi | Vendor::OpenAiStrict => name.to_owned(),
            Vendor::Anthropic => key(name, ".-"),
            Vendor::Gemini => key(name, ""),
        }
    }
}

const LONGEST: usize = 64;
/// An underscore and eight digits.
const CHECK: usize = 9;
/// The name of a tool without a single valid character in its name.
const TOOL: &str = "tool";

/// Letters, digits, `_` and `-`, at most 64, first a letter or `_`: what OpenAI, Anthropic and Gemini all accept.
pub fn is_vendor_name(name: &str) -> bool {
    fits(name, "-")
}

/// The name of a tool for the APIs.
pub fn vendor_name(name: &str) -> String {
    if is_vendor_name(name) { name.to_owned() } else { made(name, TOOL) }
}

/// Whether a name ends as those that are made for an API.
fn looks_made(name: &str) -> bool {
    let check = name.len().checked_sub(CHECK).map(|at| &name.as_bytes()[at..]);
    check.is_some_and(|check| check[0] == b'_' && check[1..].iter().all(u8::is_ascii_hexdigit))
}

/// The tool with this API name. A tool with exactly this name comes first.
pub fn original_name<'a>(asked: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if !looks_made(asked) || !is_vendor_name(asked) {
        return None;
    }
    // Two names with the same checksum are made on purpose; neither is called.
    let mut found = names.filter(|name| !is_vendor_name(name) && made(name, TOOL) == asked);
    found.next().filter(|_| found.next().is_none())
}

/// The name of a parameter for an API that accepts letters, digits, `_` and `also`.
fn key(name: &str, also: &str) -> String {
    if fits_key(name, also) { name.to_owned() } else { made(name, "param") }
}

fn fits_key(name: &str, also: &str) -> bool {
    let first = name.bytes().next();
    // An API that accepts `.` and `-` accepts any first character.
    let begins = !also.is_empty() || first.is_some_and(|b| !b.is_ascii_digit());
    begins
        && (1..=LONGEST).contains(&name.len())
        && name.bytes().all(|b| is_word(b) || also.as_bytes().contains(&b))
}

fn fits(name: &str, also: &str) -> bool {
    name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_') && fits_key(name, also)
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

fn made(name: &str, otherwise: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        match c {
            _ if out.len() == LONGEST - CHECK => break,
            c if c.is_ascii_alphanumeric() => {
                if out.is_empty() && c.is_ascii_digit() {
                    out.push('_');
                }
                out.push(c);
            }
            _ if out.ends_with('_') || out.is_empty() => {}
            _ => out.push('_'),
        }
    }
    out.truncate(LONGEST - CHECK);
    let base = match out.trim_end_matches('_') {
        "" => otherwise,
        base => base,
    };
    let mut out = base.to_owned();
    let _ = write!(out, "_{:08x}", check_sum(name));
    out
}

/// FNV-1a, folded: the same on every machine and in every version.
fn check_sum(name: &str) -> u32 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 32) as u32 ^ hash as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn good_names_stay() {
        for name in ["add", "read_file", "a-b", "_x", &"a".repeat(64)] {
            assert_eq!(vendor_name(name), name);
        }
    }

    #[test]
    fn different_names_stay_different() {
        let names =
            ["a.b", "a b", "a/b", "a_b", "搜索", "查询", "1st", "-x", "", &"a".repeat(65), &"a".repeat(66)];
        let made: std::collections::HashSet<String> = names.iter().map(|name| vendor_name(name)).collect();
        assert_eq!(made.len(), names.len());
        assert_eq!(vendor_name("server/skill.v2"), "server_skill_v2_d44bcde9");
    }

    proptest! {
        #[test]
        fn every_name_is_accepted_and_comes_back(name in ".{0,100}") {
            let made = vendor_name(&name);
            prop_assert!(is_vendor_name(&made), "{made}");
            if made != name {
                let all = ["other", name.as_str(), "a.b.c"];
                prop_assert_eq!(original_name(&made, all.into_iter()), Some(name.as_str()));
            }
        }

        #[test]
        fn parameters_too(name in ".{1,100}") {
            prop_assert!(fits_key(&key(&name, ".-"), ".-"));
            prop_assert!(fits(&key(&name, ""), ""));
        }
    }
}
