//! What a model sees: found tools, prompts, results that fit.

pub mod merge;
pub mod model_output;
pub mod prompt;
pub mod search;
pub mod synthesize;
pub mod truncate;
