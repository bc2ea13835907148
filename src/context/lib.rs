//! What a model sees: found tools, prompts, results that fit.

pub mod merge;
pub mod prompt;
pub mod search;
pub mod shape;
pub mod synthesize;
pub mod truncate;
