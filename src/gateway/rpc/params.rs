//! The parameters of a message: read once, with its envelope, for everyone who looks at them.
//!
//! The check of headers, the audit log and the methods share this one reading. A member that occurs twice anywhere is refused:
//! a proxy that takes the first one and a server that takes the last one would see different requests.

use crate::rpc::RpcError;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::ops::{Deref, DerefMut};
use toolhub_text::check_keys;
use toolhub_types::error::clip;

/// An object without repeated members; empty if the message has none. Its `_meta` is an object, if there is one.
///
/// Boxed: thousands of listeners keep theirs.
#[derive(Clone, Debug, Default)]
pub struct RpcParams(Box<Map<String, Value>>);

impl RpcParams {
    pub fn read(raw: &RawValue) -> Result<Self, RpcError> {
        let refuse = |error: serde_json::Error| RpcError::invalid_params(format!("Invalid params: {error}"));
        check_keys(raw.get()).map_err(refuse)?;
        let mut params = RpcParams(serde_json::from_str(raw.get()).map_err(refuse)?);
        match params.take_object("_meta")? {
            Some(meta) => _ = params.insert("_meta".to_owned(), Value::Object(meta)),
            None => _ = params.remove("_meta"),
        }
        Ok(params)
    }

    pub fn meta(&self) -> Option<&Map<String, Value>> {
        self.get("_meta").and_then(Value::as_object)
    }

    /// A member that must be there.
    pub fn text(&self, member: &str) -> Result<&str, RpcError> {
        self.get(member).and_then(Value::as_str).ok_or_else(|| must_be(member, "a string"))
    }

    /// Takes a member out; `None` if it is missing or null.
    pub fn take_object(&mut self, member: &str) -> Result<Option<Map<String, Value>>, RpcError> {
        match self.remove(member) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(_) => Err(must_be(member, "an object")),
        }
    }

    /// Takes out an object of texts; empty if it is missing or null.
    pub fn take_texts(&mut self, member: &str) -> Result<Map<String, Value>, RpcError> {
        let texts = self.take_object(member)?.unwrap_or_default();
        match texts.iter().find(|(_, value)| !value.is_string()) {
            None => Ok(texts),
            Some((name, _)) => Err(must_be(&format!("{member}.{}", clip(name)), "a string")),
        }
    }
}

impl From<Map<String, Value>> for RpcParams {
    fn from(members: Map<String, Value>) -> Self {
        RpcParams(Box::new(members))
    }
}

impl Deref for RpcParams {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for RpcParams {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

pub fn must_be(member: &str, what: &str) -> RpcError {
    RpcError::invalid_params(format!("Invalid params: '{member}' must be {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::INVALID_PARAMS;
    use proptest::prelude::*;
    use serde_json::json;

    fn read(text: &str) -> Result<RpcParams, RpcError> {
        RpcParams::read(&RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn a_member_that_occurs_twice_is_refused_at_any_depth() {
        for text in [
            r#"{"name":"a","name":"b"}"#,
            r#"{"name":"a","n\u0061me":"b"}"#,
            r#"{"arguments":{},"arguments":{}}"#,
            r#"{"arguments":{"path":"a","path":"a"}}"#,
            r#"{"arguments":{"list":[1,{"x":1.5,"x":2}]}}"#,
            r#"{"_meta":{"a":null,"a":null}}"#,
        ] {
            let refused = read(text).unwrap_err();
            assert_eq!(refused.code, INVALID_PARAMS, "{text}");
            assert!(refused.message.contains("occurs twice"), "{}", refused.message);
        }
        let text =
            r#"{"a":{"x":[1,-1,1.5,123456789012345678901234567890,-0.10],"y":[true,null,"x"]},"b":{"x":0}}"#;
        assert_eq!(json!(*read(text).unwrap()).to_string(), text, "digits are kept");
    }

    #[test]
    fn members_have_the_form_that_the_protocol_gives_them() {
        assert!(read(r#"{"_meta":5}"#).is_err());
        assert!(read(r#"{"_meta":null}"#).unwrap().meta().is_none());
        let mut params = read(r#"{"a":{"x":"1"},"b":{"x":1},"c":null,"d":[]}"#).unwrap();
        assert_eq!(params.text("a").unwrap_err().message, "Invalid params: 'a' must be a string");
        assert_eq!(params.take_texts("a").unwrap().len(), 1);
        assert_eq!(params.take_texts("b").unwrap_err().message, "Invalid params: 'b.x' must be a string");
        assert!(params.take_object("c").unwrap().is_none());
        assert!(params.take_object("d").is_err());
    }

    proptest! {
        /// What is read is what any other reader reads, whichever of several equal members it takes.
        #[test]
        fn readers_agree(members in prop::collection::vec(("[ab]", prop_oneof![Just("1"), Just("{\"a\":1,\"b\":2}"), Just("[{\"a\":{}}]")]), 0..5)) {
            let text: Vec<String> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
            let text = format!("{{{}}}", text.join(","));
            let repeats = members.iter().enumerate().any(|(at, (name, _))| members[..at].iter().any(|(other, _)| other == name));
            match read(&text) {
                Ok(params) => {
                    prop_assert!(!repeats);
                    prop_assert_eq!(Value::Object(*params.0), serde_json::from_str::<Value>(&text).unwrap());
                }
                Err(_) => prop_assert!(repeats, "{}", text),
            }
        }
    }
}
