pub mod function_tool;
pub mod http_server;
