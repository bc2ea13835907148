//! The style of a prompt.

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
