//! The classes and functions that Python sees.

pub mod hub;
pub mod options;
pub mod views;

// What a model reads, and what it wrote.
pub mod parse;
pub mod prompt;
pub mod read_documents;
pub mod routing;
pub mod search;

pub mod llm;
pub mod proof;
pub mod serving;
pub mod skills;
pub mod telemetry;
pub mod upstream;
