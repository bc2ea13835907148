//! The members of a JSON-RPC message, each as raw text. What makes a message valid is decided by its reader: the client of MCP
//! servers is lenient, the gateway is strict.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The last of several members with one name counts.
#[derive(Default)]
pub struct RpcEnvelope<'a> {
    pub jsonrpc: Option<&'a RawValue>,
    pub id: Option<&'a RawValue>,
    pub method: Option<&'a RawValue>,
    pub params: Option<&'a RawValue>,
    pub result: Option<&'a RawValue>,
    pub error: Option<&'a RawValue>,
    /// There are members that JSON-RPC does not know.
    pub has_other: bool,
    /// A member of JSON-RPC occurs more than once.
    pub has_twice: bool,
}

impl<'de> Deserialize<'de> for RpcEnvelope<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = RpcEnvelope<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON-RPC message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut envelope = RpcEnvelope::default();
                while let Some(MemberName(key)) = map.next_key()? {
                    let place = match &*key {
                        "jsonrpc" => &mut envelope.jsonrpc,
                        "id" => &mut envelope.id,
                        "method" => &mut envelope.method,
                        "params" => &mut envelope.params,
                        "result" => &mut envelope.result,
                        "error" => &mut envelope.error,
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                            envelope.has_other = true;
                            continue;
                        }
                    };
                    let is_second = place.replace(map.next_value()?).is_some();
                    envelope.has_twice |= is_second;
                }
                Ok(envelope)
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// A member's name, borrowed where it has no escapes.
#[derive(Deserialize)]
struct MemberName<'a>(#[serde(borrow)] Cow<'a, str>);
