//! Requests about one resource, template or prompt. Only what the protocol allows can be said, so that no server is sent more.

use super::arguments::{PartialArgument, check_texts};
use serde_json::{Map, Value, json};
use toolhub_types::error::HubError;
use toolhub_types::model::OfferKind;

#[derive(Clone, Debug)]
pub enum OfferQuery {
    /// `resources/read`
    Read { uri: String },
    /// `prompts/get`
    Get { name: String, arguments: Map<String, Value> },
    /// `completion/complete`, of a prompt or of a template.
    Complete { of: OfferKind, key: String, argument: PartialArgument },
}

impl OfferQuery {
    pub fn method(&self) -> &'static str {
        match self {
            OfferQuery::Read { .. } => "resources/read",
            OfferQuery::Get { .. } => "prompts/get",
            OfferQuery::Complete { .. } => "completion/complete",
        }
    }

    /// The URI or name, as the one who asks knows it.
    pub fn key(&self) -> &str {
        match self {
            OfferQuery::Read { uri: key } | OfferQuery::Get { name: key, .. } => key,
            OfferQuery::Complete { key, .. } => key,
        }
    }

    /// Where the key is looked up.
    pub fn kinds(&self) -> &'static [OfferKind] {
        match self {
            OfferQuery::Read { .. } => OfferKind::READ,
            OfferQuery::Get { .. } | OfferQuery::Complete { of: OfferKind::Prompts, .. } => {
                &[OfferKind::Prompts]
            }
            OfferQuery::Complete { .. } => &[OfferKind::ResourceTemplates, OfferKind::Resources],
        }
    }

    /// Refuses arguments that are not texts.
    pub fn check(&self) -> Result<(), HubError> {
        match self {
            OfferQuery::Read { .. } => Ok(()),
            OfferQuery::Get { name, arguments } => check_texts(name, arguments),
            OfferQuery::Complete { key, argument, .. } => check_texts(key, &argument.context),
        }
    }

    /// The parameters of the request to a server that knows it by this key.
    pub fn params(&self, key: &str) -> Map<String, Value> {
        let params = match self {
            OfferQuery::Read { .. } => json!({"uri": key}),
            OfferQuery::Get { arguments, .. } => json!({"name": key, "arguments": arguments}),
            OfferQuery::Complete { of, argument, .. } => {
                let reference = match of {
                    OfferKind::Prompts => json!({"type": "ref/prompt", "name": key}),
                    _ => json!({"type": "ref/resource", "uri": key}),
                };
                let partial = json!({"name": argument.name, "value": argument.value});
                match argument.context.is_empty() {
                    true => json!({"ref": reference, "argument": partial}),
                    false => {
                        let context = json!({"arguments": argument.context});
                        json!({"ref": reference, "argument": partial, "context": context})
                    }
                }
            }
        };
        match params {
            Value::Object(params) => params,
            _ => Map::new(),
        }
    }

    /// The member that the answer must have.
    pub fn answered_by(&self) -> &'static str {
        match self {
            OfferQuery::Read { .. } => "contents",
            OfferQuery::Get { .. } => "messages",
            OfferQuery::Complete { .. } => "completion",
        }
    }
}
