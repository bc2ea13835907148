//! One skill of one server, as a candidate of the hub: a call gives its instructions, or one of its files.

use super::Skill;
use crate::mcp::connection::{Connection, RequestExtras};
use crate::mcp::convert::wrong_answer;
use crate::mcp::message::Params;
use crate::mcp::server::Server;
use crate::mcp::wire::{clean, parsed};
use crate::skills::call;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use toolhub_registry::schema::ArgumentSchema;
use toolhub_text::message;
use toolhub_text::message::Message;
use toolhub_types::error::{ErrorKind, HubError, clip};
use toolhub_types::model::{
    Arguments, CheckOptions, Effects, Evidence, Fitting, ToolOutput, ToolSpec, Unchecked,
};
use toolhub_types::tool::{BoxFuture, CallContext, Tool};

pub struct SkillTool {
    spec: ToolSpec,
    schema: ArgumentSchema,
    skill: Arc<Skill>,
    server: Arc<Server>,
}

/// A file as it came.
struct Content {
    bytes: Vec<u8>,
    mime_type: Option<String>,
}

impl SkillTool {
    /// `name` is the one in the hub, under the label of the server.
    pub fn new(server: Arc<Server>, skill: Arc<Skill>, name: Arc<str>) -> Self {
        let parameters = call::parameters();
        let spec = ToolSpec {
            description: Arc::from(skill.description.as_str()),
            // No capabilities: it tells how something is done and does not do it.
            parameters: parameters.clone(),
            effects: Effects::harmless(Evidence::Instructions),
            idempotent: true,
            location: Some(skill.uri.clone()),
            bare_argument: Some(Arc::from(call::TASK)),
            timeout: server.config().options.timeout,
            ..ToolSpec::named(name)
        };
        SkillTool { spec, schema: ArgumentSchema::new(parameters), skill, server }
    }

    async fn run(&self, args: &Arguments, ctx: &CallContext) -> Result<ToolOutput, HubError> {
        let server = self.server.for_caller(ctx.extras.principal.as_ref())?;
        let _slot = server.slot(&self.server).await?;
        let path = call::asked_file(args);
        let uri = match path {
            None => self.skill.uri.clone(),
            Some(path) => self.skill.uri_of(path).ok_or_else(|| self.no_file(path))?,
        };
        // Reading does no harm: when the connection is lost meanwhile, it is read once more.
        let verified = server.with_connection(|connection| verified(connection, &self.skill, &uri)).await;
        let (skill, content) = verified?;
        if skill != self.skill {
            // The list is out of date.
            self.server.callbacks().announce_change();
        }
        let value = match path {
            None => {
                let mut value = self.instructions(&skill, &content)?;
                call::put_task(&mut value, args);
                value
            }
            Some(path) => self.file(path, content),
        };
        Ok(ToolOutput::new(value))
    }

    fn instructions(&self, skill: &Skill, content: &Content) -> Result<Value, HubError> {
        let text = String::from_utf8_lossy(&content.bytes);
        let instructions = skill.instructions(&text).map_err(|why| {
            HubError::new(ErrorKind::Protocol, message!("The skill '{}' is unreadable: {}.", skill.name, why))
        })?;
        Ok(json!({
            "name": skill.name, "server": self.server.id(), "instructions": instructions,
            "folder": skill.folder(), "resources": skill.resources(),
        }))
    }

    fn file(&self, path: &str, content: Content) -> Value {
        let mut value = json!({"name": self.skill.name, "server": self.server.id(), "file": path});
        if let Some(kind) = content.mime_type {
            value["mimeType"] = json!(kind);
        }
        call::put_content(&mut value, content.bytes);
        value
    }

    fn no_file(&self, path: &str) -> HubError {
        let text = message!(
            "The skill '{}' has no file '{}'; call it without arguments to see which it has.",
            self.spec.name,
            clip(path)
        );
        HubError::new(ErrorKind::InvalidArguments, text)
    }
}

impl Tool for SkillTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, args: &Arguments, options: &CheckOptions<'_>) -> Result<Fitting<Arguments>, HubError> {
        self.schema.check(&self.spec.name, args, options)
    }

    fn unchecked(&self) -> &[Unchecked] {
        self.schema.unchecked()
    }

    fn call<'a>(
        &'a self,
        args: &'a Arguments,
        ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, HubError>> {
        Box::pin(call::unless_cancelled(&self.spec.name, ctx, self.run(args, ctx)))
    }
}

/// Reads a file and verifies it. What does not fit may have changed after it was listed: then the server is asked once
/// what the skill is now, and that is the skill that counts from here on.
async fn verified(
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
    let read = parsed(Some(&raw));
    let found = match read["contents"].as_array().map_or(&[][..], Vec::as_slice) {
        [one] => Some(one),
        several => several.iter().find(|one| one["uri"].as_str() == Some(uri)),
    };
    let found = found.ok_or_else(|| wrong(message!("it has no such content")))?;
    let text = |key: &str| found[key].as_str();
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
    let got: HashMap<&str, &RawValue> = serde_json::from_str(raw.get()).ok()?;
    Skill::read(got.get("skill")?).ok().filter(|now| now.uri == skill.uri)
}
