//! The MCP client against real child processes. The server is this very test program, started again as
//! [`server::server_process`]; anything else that it prints is noise that the client has to skip.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

#[path = "mcp_client/calls.rs"]
mod calls;
#[path = "mcp_client/lifecycle.rs"]
mod lifecycle;
#[path = "mcp_client/server.rs"]
mod server;
#[path = "mcp_client/server_skills.rs"]
mod server_skills;
#[path = "mcp_client/server_tasks.rs"]
mod server_tasks;
#[path = "mcp_client/skills.rs"]
mod skills;
#[path = "mcp_client/store.rs"]
mod store;
#[path = "mcp_client/supervision.rs"]
mod supervision;
#[path = "mcp_client/tasks.rs"]
mod tasks;
#[path = "mcp_client/world.rs"]
mod world;
