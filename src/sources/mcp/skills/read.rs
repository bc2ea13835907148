//! Reading a file of a skill from its server, and only what the skill says that it has.

use super::skill::Skill;
use crate::mcp::connection::{Connection, RequestExtras};
use crate::mcp::convert::wrong_answer;
use crate::mcp::message::Params;
use crate::mcp::wire::clean;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;
use toolhub_text::message;
use toolhub_text::message::Message;
use toolhub_types::error::{ErrorKind, HubError};

/// A file as it came.
pub struct Content {
    pub bytes: Vec<u8>,
    pub mime_type: Option<String>,
}

#[derive(Deserialize)]
struct Fetched {
    #[serde(default)]
    contents: Vec<Value>,
}

#[derive(Deserialize)]
struct Got {
    skill: Box<RawValue>,
}

/// Reads a file and verifies it. What does not fit may have changed after it was listed: then the server is asked once
/// what the skill is now, and that is the skill that counts from here on.
pub async fn verified(
    connection: Arc<Connection>,
    skill: &Arc<Skill>,
    uri: &str,
) -> Result<(Arc<Skill>, Content), HubError> {
    let content = fetch(&connection, uri).await?;
    let Err(why) = fits(skill, uri, &content) else { return Ok((skill.clone(), content)) };
    let now = current(&connection, skill).await.filter(|now| now != &**skill);
    let now = now.filter(|now| fits(now, uri, &content).is_ok());
    now.map(|now| (Arc::new(now), content)).ok_or_else(|| refused(skill, &why))
}

fn fits(skill: &Skill, uri: &str, content: &Content) -> Result<(), Message> {
    skill.verify(uri, &content.bytes)?;
    if uri == &*skill.uri {
        let text = std::str::from_utf8(&content.bytes).map_err(|_| message!("it is not UTF-8 text"))?;
        skill.instructions(text)?;
    }
    Ok(())
}

fn refused(skill: &Skill, why: &Message) -> HubError {
    let (name, uri) = (&skill.name, clean(&skill.uri, 200));
    let text = message!("The skill '{}' ({}) is not what its server listed: {}.", name, uri, why);
    HubError::new(ErrorKind::Protocol, text)
}

async fn fetch(connection: &Connection, uri: &str) -> Result<Content, HubError> {
    let extras = RequestExtras { name: Some(Arc::from(uri)), ..RequestExtras::default() };
    let raw = connection.request("resources/read", Params::new().with("uri", uri), extras).await?;
    let wrong = |why: Message| wrong_answer(format_args!("resources/read of '{}'", clean(uri, 200)), why);
    let read: Fetched = serde_json::from_str(raw.get()).map_err(|error| wrong(error.to_string().into()))?;
    let named = |one: &&Value| one.get("uri").and_then(Value::as_str) == Some(uri);
    let found = match read.contents.as_slice() {
        [one] => one,
        several => several.iter().find(named).ok_or_else(|| wrong(message!("it has no such content")))?,
    };
    let text = |key: &str| found.get(key).and_then(Value::as_str);
    let bytes = match (text("text"), text("blob")) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (None, Some(blob)) => STANDARD.decode(blob).map_err(|_| wrong(message!("its blob is not base64")))?,
        (None, None) => return Err(wrong(message!("it has neither text nor blob"))),
    };
    Ok(Content { bytes, mime_type: text("mimeType").map(|kind| clean(kind, 100)) })
}

/// The skill as its server describes it now; `None` when it does not, or not properly.
async fn current(connection: &Connection, skill: &Skill) -> Option<Skill> {
    let asked = Params::new().with("uri", &*skill.uri);
    let raw = connection.request("skills/get", asked, RequestExtras::default()).await.ok()?;
    let got: Got = serde_json::from_str(raw.get()).ok()?;
    Skill::read(&got.skill).ok().filter(|now| now.uri == skill.uri)
}
