//! The tool by which a model reads the rest of a result that was cut.

use super::result_texts::ResultTexts;
use serde_json::{Value, json};
use std::sync::Arc;
use toolhub_context::truncate::grouped;
use toolhub_registry::schema::ArgumentSchema;
use toolhub_text::message;
use toolhub_types::error::HubError;
use toolhub_types::model::{Arguments, CheckOptions, Effects, Evidence, Fitting, Lang, ToolOutput, ToolSpec};
use toolhub_types::principal::Principal;
use toolhub_types::tool::{BoxFuture, CallContext, Tool};

/// The name of the tool, and the one it has when a tool of the user has the first.
pub const NAMES: [&str; 2] = ["read_more", "read_more_of_result"];

/// More characters than this are never one page.
const MAX_PAGE: usize = 100_000;

pub struct ReadMore {
    spec: ToolSpec,
    schema: ArgumentSchema,
    texts: Arc<ResultTexts>,
    /// The length of a page unless the model says otherwise.
    page: usize,
    lang: Lang,
}

impl ReadMore {
    pub fn new(name: &str, texts: Arc<ResultTexts>, page: usize, lang: Lang) -> Self {
        let words = |en: &str, zh: &str| lang.pick(en, zh).to_owned();
        let parameters = Arc::new(json!({
            "type": "object",
            "properties": {
                "handle": {
                    "type": "string",
                    "description": words("The handle at the end of the cut result.", "被截断的结果末尾给出的句柄。"),
                },
                "offset": {
                    "type": "integer", "minimum": 0, "default": 0,
                    "description": words("How many characters to skip.", "跳过的字符数。"),
                },
                "limit": {
                    "type": "integer", "minimum": 1, "default": page,
                    "description": words("How many characters to read.", "读取的字符数。"),
                },
            },
            "required": ["handle"],
            "additionalProperties": false,
        }));
        let description = words(
            "Reads more of a result that was cut: one page from `offset` on.",
            "继续读取被截断的结果：从 `offset` 开始的一页。",
        );
        let spec = ToolSpec {
            description: description.into(),
            parameters: parameters.clone(),
            effects: Effects::harmless(Evidence::Registration),
            idempotent: true,
            ..ToolSpec::named(name)
        };
        ReadMore { spec, schema: ArgumentSchema::new(parameters), texts, page, lang }
    }

    fn read(&self, args: &Arguments, reader: Option<&Principal>) -> Result<ToolOutput, HubError> {
        let number = |name: &str| args.get(name).and_then(Value::as_f64).map(|number| number as usize);
        let handle = args.get("handle").and_then(Value::as_str).unwrap_or_default();
        let limit = number("limit").unwrap_or(self.page).min(MAX_PAGE);
        let page = self.texts.page(handle, (number("offset").unwrap_or_default(), limit), reader)?;
        let (name, end, left) = (&self.spec.name, page.end, page.total - page.end);
        if page.text.is_empty() && limit > 0 {
            let note = message!(
                "[end: the text has {} characters, and there is nothing after them]",
                grouped(page.total)
            );
            return Ok(ToolOutput::new(note.text(self.lang)));
        }
        if left == 0 {
            return Ok(ToolOutput::new(page.text));
        }
        let note = message!("[more: {}('{}', {}), {} characters left]", name, handle, end, grouped(left));
        Ok(ToolOutput::new(format!("{}\n{}", page.text, note.text(self.lang))))
    }
}

impl Tool for ReadMore {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, args: &Arguments, options: &CheckOptions<'_>) -> Result<Fitting<Arguments>, HubError> {
        self.schema.check(&self.spec.name, args, options)
    }

    fn call<'a>(
        &'a self,
        args: &'a Arguments,
        ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, HubError>> {
        Box::pin(std::future::ready(self.read(args, ctx.extras.principal.as_deref())))
    }
}
