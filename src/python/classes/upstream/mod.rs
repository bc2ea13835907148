//! The MCP servers of a hub, and the resources and prompts that they and the hub offer.

pub mod callbacks;
pub mod in_process;
pub mod servers;

pub mod offers;
