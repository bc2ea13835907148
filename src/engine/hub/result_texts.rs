//! Whole texts of results that were cut for a model, by handle, and the tool by which the model reads the rest.

use parking_lot::Mutex;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use toolhub_context::truncate::{grouped, page};
use toolhub_registry::schema::ArgumentSchema;
use toolhub_store::Store;
use toolhub_store::ledger::new_id;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, clip};
use toolhub_types::model::{Arguments, CheckOptions, Effects, Evidence, Fitting, Lang, ToolOutput, ToolSpec};
use toolhub_types::principal::Principal;
use toolhub_types::tool::{BoxFuture, CallContext, Tool};

/// How many texts, and how many bytes of text, are kept in memory.
const MAX_TEXTS: usize = 256;
const MAX_BYTES: usize = 32_000_000;

/// Texts by handle. The least recently used is dropped when there are too many or they are too long; a store keeps them too.
#[derive(Default)]
pub struct ResultTexts {
    memory: Mutex<TextMemory>,
    store: OnceLock<Arc<Store>>,
}

#[derive(Default)]
struct TextMemory {
    /// With their handles, the least recently used first.
    texts: VecDeque<(String, Arc<str>)>,
    bytes: usize,
}

/// A part of a text. Numbers count characters.
pub struct TextPage {
    pub text: String,
    /// Where the next page begins.
    pub end: usize,
    pub total: usize,
}

impl ResultTexts {
    /// Keeps texts in this store too; the first store stays.
    pub fn keep_in(&self, store: Arc<Store>) {
        let _ = self.store.set(store);
    }

    /// Keeps a text and returns its handle, which only this reader can use: the given one, or a new one. A text that exceeds the limit on its own replaces
    /// all others.
    pub fn keep(&self, text: &str, reader: Option<&Principal>, handle: Option<String>) -> String {
        let handle = self.keep_here(text, reader, handle);
        let key = key(&handle, reader);
        if let Some(store) = self.store.get().filter(|store| store.keeps_results()) {
            store.keep(&key, text.to_owned());
        }
        handle
    }

    /// The same in memory alone.
    pub fn keep_here(&self, text: &str, reader: Option<&Principal>, handle: Option<String>) -> String {
        let handle = handle.unwrap_or_else(|| format!("r_{}", new_id()));
        self.memory.lock().insert(key(&handle, reader).into_owned(), text.into());
        handle
    }

    /// One page of a text, or an error that says that it is gone. Pages begin and end between grapheme clusters.
    /// The handle of another reader is like one that was never given.
    pub fn page(
        &self,
        handle: &str,
        (offset, limit): (usize, usize),
        reader: Option<&Principal>,
    ) -> Result<TextPage, HubError> {
        let key = key(handle, reader);
        let text = self.memory.lock().get(&key);
        let text = text.or_else(|| self.store.get()?.result(&key).map(Arc::from));
        let Some(text) = text else {
            let sentence = message!(
                "There is no stored result '{}'; newer results may have replaced it. Call the tool again.",
                clip(handle)
            );
            return Err(HubError::new(ErrorKind::NotFound, sentence));
        };
        let total = text.chars().count();
        let (bytes, end) = page(&text, offset, limit);
        Ok(TextPage { text: text[bytes].to_owned(), end, total })
    }

    /// Drops all texts from memory.
    pub fn clear(&self) {
        *self.memory.lock() = TextMemory::default();
    }
}

impl TextMemory {
    fn insert(&mut self, handle: String, text: Arc<str>) {
        // A tape gives the same text the same handle.
        self.take(&handle);
        self.bytes += text.len();
        self.texts.push_back((handle, text));
        while self.texts.len() > 1 && (self.texts.len() > MAX_TEXTS || self.bytes > MAX_BYTES) {
            self.bytes -= self.texts.pop_front().map_or(0, |(_, text)| text.len());
        }
    }

    /// Reading marks a text as recently used.
    fn get(&mut self, handle: &str) -> Option<Arc<str>> {
        let (handle, text) = self.take(handle)?;
        self.bytes += text.len();
        self.texts.push_back((handle, text.clone()));
        Some(text)
    }

    fn take(&mut self, handle: &str) -> Option<(String, Arc<str>)> {
        let at = self.texts.iter().position(|(known, _)| known == handle)?;
        let taken = self.texts.remove(at)?;
        self.bytes -= taken.1.len();
        Some(taken)
    }
}

/// Under what a text is kept. A line break cannot be in a handle, so no handle is the key of another reader.
fn key<'a>(handle: &'a str, reader: Option<&Principal>) -> Cow<'a, str> {
    let first_line = handle.lines().next().unwrap_or_default();
    match reader.filter(|reader| !reader.is_anonymous()) {
        None => Cow::Borrowed(first_line),
        Some(reader) => Cow::Owned(format!("{first_line}\n{}", reader.id)),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_count_characters_and_end_at_the_end() {
        let texts = ResultTexts::default();
        let handle = texts.keep("天气很好 today", None, None);
        let page =
            |offset, limit| texts.page(&handle, (offset, limit), None).map(|page| (page.text, page.end));
        assert_eq!(page(0, 4), Ok(("天气很好".to_owned(), 4)));
        assert_eq!(page(4, 100), Ok((" today".to_owned(), 10)));
        assert_eq!(page(50, 5), Ok((String::new(), 10)));
        assert!(handle.len() >= 2 + 16);
    }

    #[test]
    fn the_least_recently_used_text_is_dropped() {
        let texts = ResultTexts::default();
        let first = texts.keep("first", None, None);
        let second = texts.keep("second", None, None);
        for _ in 0..MAX_TEXTS - 1 {
            assert!(texts.page(&first, (0, 1), None).is_ok());
            texts.keep("x", None, None);
        }
        assert!(texts.page(&first, (0, 1), None).is_ok());
        let error = texts.page(&second, (0, 1), None).err();
        assert!(
            error.is_some_and(|error| error.kind == ErrorKind::NotFound && error.message.contains(&second))
        );
    }
}
