//! Skills as candidates of a hub: what their calls have in common, from folders and from servers, and those from folders.

use super::files::{self, MAX_FILE, Refused};
use super::skill::FolderSkill;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::sync::Arc;
use toolhub_registry::schema::ArgumentSchema;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Result, clip};
use toolhub_types::model::{
    Arguments, CheckOptions, Effects, Evidence, Fitting, ToolOutput, ToolSpec, Unchecked,
};
use toolhub_types::tool::{BoxFuture, CallContext, Tool};

/// The argument that free text is for.
pub const TASK: &str = "task";
/// The argument that asks for a resource.
pub const FILE: &str = "file";

/// The parameters of every skill.
pub fn parameters() -> Arc<Value> {
    let task = "What the skill is needed for, in your own words. It comes back with the instructions.";
    let file = "The path of one of the skill's resources, to read it instead of the instructions.";
    Arc::new(json!({
        "type": "object",
        "properties": {
            TASK: {"type": "string", "description": task},
            FILE: {"type": "string", "description": file},
        },
        "additionalProperties": false,
    }))
}

/// The path of the resource that a call asks for.
pub fn asked_file(args: &Arguments) -> Option<&str> {
    args.get(FILE).and_then(Value::as_str)
}

/// Adds the task of a call to the instructions, after the name of the skill.
fn put_task(value: &mut Value, args: &Arguments) {
    let task = args.get(TASK).and_then(Value::as_str).map(str::trim).filter(|task| !task.is_empty());
    if let (Some(task), Value::Object(fields)) = (task, value) {
        fields.shift_insert(1.min(fields.len()), TASK.to_owned(), json!(task));
    }
}

/// Adds the content of a file, as text if it is text.
pub fn with_content(mut value: Value, bytes: Vec<u8>) -> Value {
    match String::from_utf8(bytes) {
        Ok(text) => value["text"] = json!(text),
        Err(binary) => value["blob"] = json!(STANDARD.encode(binary.as_bytes())),
    }
    value
}

/// Where a skill is read from.
pub trait SkillSource: Send + Sync + 'static {
    /// Its instructions, or the file that a call asks for. `name` is the one in the hub.
    fn read<'a>(
        &'a self,
        name: &'a str,
        args: &'a Arguments,
        ctx: &'a CallContext,
    ) -> impl Future<Output = Result<Value>> + Send;
}

/// A skill as a candidate of the hub: a call returns its instructions, or one of its files.
pub struct SkillTool<S> {
    spec: ToolSpec,
    schema: ArgumentSchema,
    pub source: S,
}

impl<S: SkillSource> SkillTool<S> {
    /// No capabilities: a skill describes how something is done and does not do it.
    pub fn new(source: S, parameters: Arc<Value>, spec: ToolSpec) -> Self {
        let schema = ArgumentSchema::new(parameters.clone());
        let (effects, bare_argument) = (Effects::harmless(Evidence::Instructions), Some(Arc::from(TASK)));
        let spec = ToolSpec { parameters, effects, bare_argument, idempotent: true, ..spec };
        SkillTool { spec, schema, source }
    }
}

impl<S: SkillSource> Tool for SkillTool<S> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, args: &Arguments, options: &CheckOptions<'_>) -> Result<Fitting<Arguments>> {
        self.schema.check(&self.spec.name, args, options)
    }

    fn unchecked(&self) -> &[Unchecked] {
        self.schema.unchecked()
    }

    fn call<'a>(&'a self, args: &'a Arguments, ctx: &'a CallContext) -> BoxFuture<'a, Result<ToolOutput>> {
        Box::pin(async move {
            let name = &self.spec.name;
            let read = ctx.cancel.run_until_cancelled(self.source.read(name, args, ctx)).await;
            let mut value = read.unwrap_or_else(|| {
                let text = message!("Reading the skill '{}' was cancelled.", name);
                Err(HubError::new(ErrorKind::Cancelled, text))
            })?;
            if asked_file(args).is_none() {
                put_task(&mut value, args);
            }
            Ok(ToolOutput::new(value))
        })
    }
}

/// The error of a file that the skill does not have.
pub fn no_file(name: &str, path: &str) -> HubError {
    let text = message!(
        "The skill '{}' has no file '{}'; call it without arguments to see which it has.",
        name,
        clip(path)
    );
    HubError::new(ErrorKind::InvalidArguments, text)
}

// A skill in a folder.

pub type LocalSkill = SkillTool<Arc<FolderSkill>>;

impl LocalSkill {
    /// `schema` is the same for all skills, see [`parameters`].
    pub fn local(skill: FolderSkill, schema: &Arc<Value>) -> Self {
        let fields = &skill.fields;
        let location = skill.folder.join(&skill.file);
        let spec = ToolSpec {
            description: Arc::from(fields.description.as_str()),
            is_hidden: fields.is_hidden,
            version: fields.metadata.get("version").and_then(Value::as_str).map(Arc::from),
            location: Some(Arc::from(&*location.to_string_lossy())),
            ..ToolSpec::named(fields.name.as_str())
        };
        SkillTool::new(Arc::new(skill), schema.clone(), spec)
    }
}

impl SkillSource for Arc<FolderSkill> {
    async fn read(&self, name: &str, args: &Arguments, _: &CallContext) -> Result<Value> {
        let (skill, path) = (self.clone(), asked_file(args).map(str::to_owned));
        let asked = path.clone();
        // Disks can be slow, and network disks very slow.
        let read = tokio::task::spawn_blocking(move || match asked {
            None => skill.value(),
            Some(path) => {
                let file = json!({"name": skill.fields.name, "file": path});
                files::read(&skill.folder, &path, MAX_FILE).map(|bytes| with_content(file, bytes))
            }
        });
        match read.await {
            Ok(value) => value.map_err(|why| refused(name, path.as_deref(), &why)),
            Err(_) => Err(HubError::new(ErrorKind::Cancelled, "Reading the skill was cancelled.")),
        }
    }
}

fn refused(name: &str, path: Option<&str>, why: &Refused) -> HubError {
    let kind = match why {
        Refused::Shared => ErrorKind::NotAllowed,
        Refused::Outside if path.is_some() => ErrorKind::NotAllowed,
        Refused::TooLong { .. } => ErrorKind::Limit,
        _ => ErrorKind::ToolError,
    };
    let text = match (why, path.map(clip)) {
        (Refused::NoFile, Some(_)) => return no_file(name, path.unwrap_or_default()),
        (Refused::Outside, Some(path)) => message!(
            "The skill '{}' may not read '{}': give the path of a file inside its folder.",
            name,
            path
        ),
        (_, Some(path)) => message!("The file '{}' of the skill '{}' {}.", path, name, why.why()),
        (_, None) => message!("The SKILL.md of the skill '{}' {}.", name, why.why()),
    };
    HubError::new(kind, text)
}
