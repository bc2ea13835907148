//! The vendors.

use super::names;

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
    pub(super) fn key(self, name: &str) -> String {
        match self {
            Vendor::OpenAi | Vendor::OpenAiStrict => name.to_owned(),
            Vendor::Anthropic => names::key(name, ".-"),
            Vendor::Gemini => names::key(name, ""),
        }
    }
}
