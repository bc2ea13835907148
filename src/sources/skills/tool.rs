//! A skill in a folder as a candidate of the hub: a call returns its instructions, or one of its files.

use super::call;
use super::files::{self, MAX_FILE, Refused};
use super::skill::FolderSkill;
use serde_json::{Value, json};
use std::sync::Arc;
use toolhub_registry::schema::ArgumentSchema;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, clip};
use toolhub_types::model::{
    Arguments, CheckOptions, Effects, Evidence, Fitting, ToolOutput, ToolSpec, Unchecked,
};
use toolhub_types::tool::{BoxFuture, CallContext, Tool};

pub struct LocalSkill {
    spec: ToolSpec,
    schema: ArgumentSchema,
    skill: Arc<FolderSkill>,
}

impl LocalSkill {
    /// `schema` is the same for all skills, see [`call::parameters`].
    pub fn new(skill: FolderSkill, schema: &Arc<Value>) -> Self {
        let fields = &skill.fields;
        let location = skill.folder.join(&skill.file);
        let spec = ToolSpec {
            description: Arc::from(fields.description.as_str()),
            // No capabilities: a skill describes how something is done and does not do it.
            parameters: schema.clone(),
            effects: Effects::harmless(Evidence::Instructions),
            idempotent: true,
            is_hidden: fields.is_hidden,
            version: fields.metadata.get("version").and_then(Value::as_str).map(Arc::from),
            location: Some(Arc::from(&*location.to_string_lossy())),
            bare_argument: Some(Arc::from(call::TASK)),
            ..ToolSpec::named(fields.name.as_str())
        };
        LocalSkill { spec, schema: ArgumentSchema::new(schema.clone()), skill: Arc::new(skill) }
    }

    pub fn skill(&self) -> &FolderSkill {
        &self.skill
    }

    async fn run(&self, args: &Arguments) -> Result<ToolOutput, HubError> {
        let (skill, path) = (self.skill.clone(), call::asked_file(args).map(str::to_owned));
        let asked = path.clone();
        // Disks can be slow, and network disks very slow.
        let read = tokio::task::spawn_blocking(move || match asked {
            None => skill.value(),
            Some(path) => files::read(&skill.folder, &path, MAX_FILE).map(|bytes| file(&skill, &path, bytes)),
        });
        match read.await {
            Ok(Ok(mut value)) => {
                if path.is_none() {
                    call::put_task(&mut value, args);
                }
                Ok(ToolOutput::new(value))
            }
            Ok(Err(why)) => Err(self.refused(path.as_deref(), &why)),
            Err(_) => Err(HubError::new(ErrorKind::Cancelled, "Reading the skill was cancelled.")),
        }
    }

    fn refused(&self, path: Option<&str>, why: &Refused) -> HubError {
        let name = &self.spec.name;
        let kind = match why {
            Refused::Shared => ErrorKind::NotAllowed,
            Refused::Outside if path.is_some() => ErrorKind::NotAllowed,
            Refused::NoFile if path.is_some() => ErrorKind::InvalidArguments,
            Refused::TooLong { .. } => ErrorKind::Limit,
            _ => ErrorKind::ToolError,
        };
        let text = match (why, path.map(clip)) {
            (Refused::Outside, Some(path)) => message!(
                "The skill '{}' may not read '{}': give the path of a file inside its folder.",
                name,
                path
            ),
            (Refused::NoFile, Some(path)) => message!(
                "The skill '{}' has no file '{}'; call it without arguments to see which it has.",
                name,
                path
            ),
            (_, Some(path)) => message!("The file '{}' of the skill '{}' {}.", path, name, why.why()),
            (_, None) => message!("The SKILL.md of the skill '{}' {}.", name, why.why()),
        };
        HubError::new(kind, text)
    }
}

fn file(skill: &FolderSkill, path: &str, bytes: Vec<u8>) -> Value {
    let mut value = json!({"name": skill.fields.name, "file": path});
    call::put_content(&mut value, bytes);
    value
}

impl Tool for LocalSkill {
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
        Box::pin(call::unless_cancelled(&self.spec.name, ctx, self.run(args)))
    }
}
