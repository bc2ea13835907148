//! Tools as a model reads them: entries of a system prompt, and schemas in the form of each vendor's API.
//!
//! ```text
//! ToolSpec ─► SchemaShape (references resolved, parts merged) ─► entry: detailed · compact · name ─► prompt within a budget
//!                                                             └► vendor: OpenAI · Anthropic · Gemini
//! ```
//!
//! Skills have their own section, in the short form that their format recommends.
//!
//! Descriptions come from untrusted servers. Each is put on one line, without invisible characters and with a length limit,
//! so that it cannot imitate the layout around it. Schemas are read to a maximum depth, so that none is endless.

mod budget;
mod clean;
mod docstring;
mod entry;
mod page;
mod schema;
mod skills;
mod types;
pub mod vendor;

pub use budget::Count;
pub use page::{PromptCache, PromptKey, PromptPage, PromptStyle, PromptTool, render};
