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

mod declare;
mod gemini;
mod inline;
mod names;
mod open;
mod restore;
mod strict;
mod words;

pub use declare::{ToolDeclaration, VendorNames, declare};
pub use names::{is_vendor_name, original_name, vendor_name};
pub use restore::restore;

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
            Vendor::Anthropic => names::key(name, ".-"),
            Vendor::Gemini => names::key(name, ""),
        }
    }
}
