//! Results: as dicts, as text, and in the form that a model reads.

pub mod blocks;
pub mod result;

pub mod answers;
pub mod text;
