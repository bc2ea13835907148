pub mod function_tool;
pub mod http_server;
pub mod no_upstreams;
pub mod runs_tools;
