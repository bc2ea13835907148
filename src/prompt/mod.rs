//! Tools as a model reads them: entries of a system prompt, and schemas in the form of each vendor's API.
//!
//! ```text
//! ToolSpec ─► Shape (references followed, parts put together) ─► entry: detailed · compact · name ─► prompt within a budget
//!                                                             └► vendor: OpenAI · Anthropic · Gemini
//! ```
//!
//! Skills are told apart from tools, in the short form that their format recommends.
//!
//! What tools say of themselves comes from strangers. It is put on one line, without invisible characters and with a
//! limit, so that it cannot imitate the layout around it; and schemas are read to a depth, so that none is endless.

mod budget;
mod clean;
mod docstring;
mod entry;
mod page;
mod schema;
mod shelf;
mod skills;
mod types;
pub mod vendor;

pub use page::{Count, Listed, Page, TooSmall, render};
pub use shelf::{About, Shelf, Version};

/// How much is said of each tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Style {
    Names,
    Compact,
    Detailed,
}

impl Style {
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "names" => Some(Style::Names),
            "compact" => Some(Style::Compact),
            "detailed" => Some(Style::Detailed),
            _ => None,
        }
    }
}

/// The language of the prompt's own words; tools speak as they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lang {
    En,
    Zh,
}

impl Lang {
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "en" => Some(Lang::En),
            "zh" => Some(Lang::Zh),
            _ => None,
        }
    }

    fn pick<'a>(self, en: &'a str, zh: &'a str) -> &'a str {
        match self {
            Lang::En => en,
            Lang::Zh => zh,
        }
    }
}
