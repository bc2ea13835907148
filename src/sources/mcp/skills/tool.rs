//! One skill of one server, as a candidate of the hub: a call gives its instructions, or one of its files.

use super::read::{Content, verified};
use super::skill::Skill;
use crate::mcp::server::Server;
use crate::skills::call;
use serde_json::{Value, json};
use std::sync::Arc;
use toolhub_registry::schema::ArgumentSchema;
use toolhub_text::message;
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
        let _slot = match &self.server.concurrency {
            Some(slots) => self.server.unless_dismissed(slots.acquire()).await?.ok(),
            None => None,
        };
        let path = call::asked_file(args);
        let uri = match path {
            None => self.skill.uri.clone(),
            Some(path) => self.skill.uri_of(path).ok_or_else(|| self.no_file(path))?,
        };
        let (skill, content) = self.read(&server, &uri).await?;
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

    /// Reading does no harm: when the connection is lost meanwhile, it is read once more.
    async fn read(&self, server: &Arc<Server>, uri: &str) -> Result<(Arc<Skill>, Content), HubError> {
        server.with_connection(|connection| verified(connection, &self.skill, uri)).await
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
