//! L5, where tools come from.

pub mod function;
pub mod mcp;
pub mod skills;
