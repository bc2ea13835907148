//! The style and the language of a prompt.

/// How much the prompt says about each tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PromptStyle {
    Names,
    Compact,
    Detailed,
}

impl PromptStyle {
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "names" => Some(PromptStyle::Names),
            "compact" => Some(PromptStyle::Compact),
            "detailed" => Some(PromptStyle::Detailed),
            _ => None,
        }
    }
}

/// The language of the prompt's own words. Descriptions of tools stay as they are.
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

    pub(super) fn pick<'a>(self, en: &'a str, zh: &'a str) -> &'a str {
        match self {
            Lang::En => en,
            Lang::Zh => zh,
        }
    }
}
