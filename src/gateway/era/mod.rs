//! The two eras of the protocol: how a client is recognised, and the form of results.

pub mod legacy;
pub mod modern;

use crate::Gateway;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use toolhub_protocol::{Era, SERVER_KEY};

/// What a client says of itself, and the version that counts.
#[derive(Clone, Debug)]
pub struct ClientInfo {
    pub version: &'static str,
    pub capabilities: Value,
    pub client: Value,
}

impl ClientInfo {
    /// Of a client that has said nothing.
    pub fn unknown(version: &'static str) -> Self {
        let nothing = || Value::Object(Map::new());
        ClientInfo { version, capabilities: nothing(), client: nothing() }
    }
}

/// Whether clients may keep a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultKind {
    Plain,
    /// A list, or what a server says of itself.
    Cacheable,
}

/// The JSON text of an own result in the form of an era. `fields` is a JSON object without `_meta` and `resultType`.
pub fn own_result(gateway: &Gateway, era: Era, fields: String, kind: ResultKind) -> String {
    match era {
        Era::Legacy => fields,
        Era::Modern => modern_result(gateway, &fields, kind, &[]),
    }
}

/// The same for the modern era, with more members of `_meta`.
pub fn modern_result(gateway: &Gateway, fields: &str, kind: ResultKind, meta: &[(&str, &Value)]) -> String {
    let mut text = String::with_capacity(fields.len() + 200);
    text.push_str("{\"resultType\":\"complete\",");
    if kind == ResultKind::Cacheable {
        // What a caller sees depends on who they are, and may change at any time.
        text.push_str("\"ttlMs\":0,\"cacheScope\":\"private\",");
    }
    text.push_str(&format!("\"_meta\":{{\"{SERVER_KEY}\":{}", gateway.server_info()));
    for (key, value) in meta {
        text.push_str(&format!(",{}:{value}", Value::from(*key)));
    }
    text.push('}');
    match fields.trim_start_matches('{') {
        "}" => {}
        _ => text.push(','),
    }
    text.push_str(fields.strip_prefix('{').unwrap_or(fields));
    text
}

#[derive(Deserialize)]
struct WithResultType {
    #[serde(rename = "resultType")]
    result_type: Option<IgnoredAny>,
}

/// The result of a foreign tool in the form of an era: as it came, with the one member that the modern era requires.
pub fn foreign_result(era: Era, raw: &RawValue) -> String {
    const COMPLETE: &str = "\"resultType\":\"complete\"";
    let text = raw.get();
    let is_typed = || {
        memchr::memmem::find(text.as_bytes(), b"resultType").is_some()
            && serde_json::from_str::<WithResultType>(text).is_ok_and(|result| result.result_type.is_some())
    };
    let Some(members) = text.strip_prefix('{').filter(|_| era == Era::Modern && !is_typed()) else {
        return text.to_owned();
    };
    match members.trim_start().starts_with('}') {
        true => format!("{{{COMPLETE}}}"),
        false => format!("{{{COMPLETE},{members}"),
    }
}

/// The result of a server in the form of an era: as it came, with the members that the modern era requires. What a server
/// calls public may differ between the callers of the gateway.
pub fn foreign_object(era: Era, mut result: Map<String, Value>, kind: ResultKind) -> String {
    if era == Era::Modern {
        result.entry("resultType").or_insert_with(|| Value::from("complete"));
        if kind == ResultKind::Cacheable {
            result.entry("ttlMs").or_insert_with(|| Value::from(0));
            result.insert("cacheScope".to_owned(), Value::from("private"));
        }
    }
    Value::Object(result).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_results_keep_all_they_have() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let odd =
            r#"{ "content":[{"type":"hologram","x":1.000000000000000000001}],"resultTypes":1, "own":null}"#;
        assert_eq!(foreign_result(Era::Legacy, &raw(odd)), odd);
        assert_eq!(
            foreign_result(Era::Modern, &raw(odd)),
            odd.replacen('{', r#"{"resultType":"complete","#, 1)
        );
        assert_eq!(foreign_result(Era::Modern, &raw("{}")), r#"{"resultType":"complete"}"#);
        assert_eq!(foreign_result(Era::Modern, &raw("{ }")), r#"{"resultType":"complete"}"#);
        let typed = r#"{"content":[],"resultType":"complete"}"#;
        assert_eq!(foreign_result(Era::Modern, &raw(typed)), typed);
    }
}
