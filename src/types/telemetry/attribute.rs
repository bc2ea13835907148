//! The attributes of spans and metrics: the only place where their names are written.

use serde_json::Value;

pub type SpanAttributes = Vec<(SpanAttribute, Value)>;

crate::named! {
    /// An attribute of the conventions, or one of ours.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SpanAttribute {
        Method = "mcp.method.name",
        Tool = "gen_ai.tool.name",
        Prompt = "gen_ai.prompt.name",
        /// `execute_tool` for a call of a tool, absent for everything else.
        Operation = "gen_ai.operation.name",
        Resource = "mcp.resource.uri",
        RequestId = "jsonrpc.request.id",
        /// The code of a JSON-RPC error.
        StatusCode = "rpc.response.status_code",
        /// The code of a JSON-RPC error, `tool_error` for a result with `isError`, or the kind of the error.
        ErrorType = "error.type",
        ProtocolVersion = "mcp.protocol.version",
        /// A digest: who knows the id of a session may use it.
        SessionId = "mcp.session.id",
        Network = "network.transport",
        NetworkProtocol = "network.protocol.name",
        Address = "server.address",
        Port = "server.port",
        /// The id that the hub has for a server.
        Server = "toolhub.server",
    }
}

impl SpanAttribute {
    /// Whether metrics have it too. What has many values, such as an id, would make a series of its own each time.
    pub fn is_in_metrics(self) -> bool {
        use SpanAttribute::{RequestId, Resource, Server, SessionId};
        !matches!(self, Resource | RequestId | SessionId | Server)
    }
}
