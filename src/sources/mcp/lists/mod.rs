//! What a server has: its tools, resources and prompts.

pub(crate) mod pages;
pub mod resources;
pub mod tool_list;
