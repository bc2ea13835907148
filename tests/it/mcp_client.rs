//! The MCP client against real child processes. The server is this very test program, started again as
//! [`server::server_process`]; anything else that it prints is noise that the client has to skip.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod calls;
mod lifecycle;
mod server;
mod server_skills;
mod server_tasks;
mod skills;
mod store;
mod supervision;
mod tasks;
mod world;
