//! L5, where tools come from.

pub mod catalog;
pub mod llm;

pub mod mcp;
pub mod skills;
mod web;
