//! The attributes of spans and metrics: the only place where their names are written.

/// A value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValue {
    Text(String),
    Number(i64),
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        AttributeValue::Text(text.to_owned())
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        AttributeValue::Text(text)
    }
}

impl From<u16> for AttributeValue {
    fn from(number: u16) -> Self {
        AttributeValue::Number(number.into())
    }
}

pub type SpanAttributes = Vec<(SpanAttribute, AttributeValue)>;

macro_rules! attributes {
    ($($(#[$doc:meta])* $variant:ident, $name:literal, $place:ident;)*) => {
        /// An attribute of the conventions, or one of ours.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum SpanAttribute {
            $($(#[$doc])* $variant,)*
        }

        impl SpanAttribute {
            pub const ALL: &[SpanAttribute] = &[$(SpanAttribute::$variant,)*];

            pub fn name(self) -> &'static str {
                match self {
                    $(SpanAttribute::$variant => $name,)*
                }
            }

            /// Whether metrics have it too. What has many values, such as an id, would make a series of its own each time.
            pub fn is_in_metrics(self) -> bool {
                match self {
                    $(SpanAttribute::$variant => attributes!(@ $place),)*
                }
            }
        }
    };
    (@ everywhere) => { true };
    (@ spans) => { false };
}

attributes! {
    Method, "mcp.method.name", everywhere;
    Tool, "gen_ai.tool.name", everywhere;
    Prompt, "gen_ai.prompt.name", everywhere;
    /// `execute_tool` for a call of a tool, absent for everything else.
    Operation, "gen_ai.operation.name", everywhere;
    Resource, "mcp.resource.uri", spans;
    RequestId, "jsonrpc.request.id", spans;
    /// The code of a JSON-RPC error.
    StatusCode, "rpc.response.status_code", everywhere;
    /// The code of a JSON-RPC error, `tool_error` for a result with `isError`, or the kind of the error.
    ErrorType, "error.type", everywhere;
    ProtocolVersion, "mcp.protocol.version", everywhere;
    /// A digest: who knows the id of a session may use it.
    SessionId, "mcp.session.id", spans;
    Network, "network.transport", everywhere;
    NetworkProtocol, "network.protocol.name", everywhere;
    Address, "server.address", everywhere;
    Port, "server.port", everywhere;
    /// The id that the hub has for a server.
    Server, "toolhub.server", spans;
}
