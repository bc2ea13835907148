//! Results cut for a model. What was cut is kept by its handle, and the model gets a tool to read the rest.

use super::Hub;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::any::Any;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use toolhub_context::model_output::skill::SkillBlock;
use toolhub_context::truncate::{Options, Truncated, grouped, page, truncate};
use toolhub_registry::schema::ArgumentSchema;
use toolhub_registry::{Candidate, NameEntry, Snapshot};
use toolhub_store::Store;
use toolhub_store::ledger::new_id;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Result, clip};
use toolhub_types::kind::ToolKind;
use toolhub_types::model::{
    Arguments, CheckOptions, Effects, Evidence, Fitting, Lang, Source, ToolOutput, ToolSpec,
};
use toolhub_types::principal::Principal;
use toolhub_types::tool::{BoxFuture, CallContext, Tool};

/// A run never gives a model less of a result than this: with less, the note on how to read on would replace the text.
pub const MIN_RESULT_LIMIT: usize = 1_000;

/// The limit of a skill's answer in characters: a model that knows only half of its instructions does the wrong thing.
pub const SKILL_LIMIT: usize = 32_000;

/// Which limit applies to a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultBudget {
    /// The limit of the kind of tool.
    Kind,
    /// The limit of a run.
    Run,
}

/// A limit in characters, and of hits in a list of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultLimit {
    pub chars: usize,
    pub hits: Option<usize>,
}

/// A result that is to be shown to a model.
pub struct ShapeRequest {
    /// Its whole text.
    pub full: String,
    /// The first hits as lines, and whether there are more of them.
    pub hits: Option<(String, bool)>,
    pub skill: Option<SkillBlock>,
    pub limit: ResultLimit,
}

/// A result as a model gets it.
pub struct ShapedText {
    pub text: String,
    pub cut: Option<CutText>,
}

/// What was cut. Numbers count characters.
pub struct CutText {
    pub handle: String,
    pub shown: usize,
    pub total: usize,
}

impl Hub {
    /// The limit for results of a tool; `given` is the one that the caller asked for.
    pub fn result_limit(&self, tool: &str, budget: ResultBudget, given: Option<usize>) -> ResultLimit {
        let snapshot = self.registry.load();
        let entry = snapshot.find(tool);
        if entry.as_deref().is_some_and(is_read_more) {
            // A page was cut to what the model asked for.
            return ResultLimit { chars: usize::MAX, hits: None };
        }
        match budget {
            ResultBudget::Run => {
                ResultLimit { chars: given.unwrap_or(self.options.result_limit), hits: None }
            }
            ResultBudget::Kind => {
                let tags =
                    entry.as_ref().and_then(|entry| entry.primary()).map(|one| &one.spec().capabilities);
                let tags: Vec<String> = tags.into_iter().flatten().map(|tag| tag.to_string()).collect();
                let (limits, kind) = (&self.options.result_limits, ToolKind::of(&tags, tool));
                ResultLimit { chars: given.unwrap_or_else(|| limits.of(kind)), hits: limits.hits_of(kind) }
            }
        }
    }

    /// Cuts a result to its limit, for a reader. A text that was cut ends with the way to read the rest, if there is room for it.
    pub fn shape(&self, request: &ShapeRequest, reader: Option<&Principal>) -> ShapedText {
        let ShapeRequest { full, hits, skill, limit } = request;
        let text = hits.as_ref().map_or(full, |(lines, _)| lines);
        let shown = self.cut(text, limit.chars, limit.hits);
        if !shown.truncated && !hits.as_ref().is_some_and(|(_, has_more)| *has_more) {
            return ShapedText { text: shown.text, cut: None };
        }
        let handle = self.cassette_handle(full, reader);
        let handle = self.texts.keep(full, reader, handle, !self.is_replaying());
        let total = full.chars().count();
        // The longest possible hint.
        let room = limit.chars.saturating_sub(self.hint(&handle, total, total).chars().count());
        let mut made = shown.text;
        // Otherwise the hint would crowd out the text; `_meta` has the handle.
        if room >= limit.chars / 2 {
            let short = skill.as_ref().and_then(|skill| {
                let left = skill.room(room)?;
                Some(skill.with(&self.cut(&skill.instructions, left, None).text))
            });
            made = short.unwrap_or_else(|| self.cut(text, room, limit.hits).text);
            let next = same_start(&made, full);
            made += &self.hint(&handle, next, total);
        }
        let shown = made.chars().count();
        ShapedText { text: made, cut: Some(CutText { handle, shown, total }) }
    }

    /// Keeps a text for a reader: the name of the tool that reads it, and its handle.
    pub fn keep_text(&self, text: &str, reader: &Principal) -> (&'static str, String) {
        (self.offer_read_more(), self.texts.keep(text, Some(reader), None, true))
    }

    /// How to read on, from the first character that was not shown.
    fn hint(&self, handle: &str, next: usize, total: usize) -> String {
        let (name, total) = (self.offer_read_more(), grouped(total));
        let hint = message!("[more: {}('{}', {}), {} characters in all]", name, handle, next, total);
        format!("\n{}", hint.text(self.options.lang))
    }

    fn cut(&self, text: &str, limit: usize, hits: Option<usize>) -> Truncated {
        truncate(text, limit, &Options { hits, lang: self.options.lang, ..Options::default() })
    }

    /// The name of the tool that reads cut results, once it is offered.
    pub fn read_more_tool(&self) -> Option<&'static str> {
        let snapshot = self.registry.load();
        NAMES.into_iter().find(|name| Self::is_read_more(&snapshot, name))
    }

    /// Whether a name is that tool. It needs no permission: it shows what its reader was given.
    pub fn is_read_more(snapshot: &Snapshot, name: &str) -> bool {
        snapshot.get(name).is_some_and(|entry| is_read_more(entry))
    }

    /// Whether this is the provider of that tool.
    pub fn reads_more(candidate: &Candidate) -> bool {
        (&*candidate.tool as &dyn Any).is::<ReadMore>()
    }

    /// Registers the tool if it is not there, and returns its name.
    fn offer_read_more(&self) -> &'static str {
        let _one_at_a_time = self.offering.lock();
        if let Some(name) = self.read_more_tool() {
            return name;
        }
        let snapshot = self.registry.load();
        let free = NAMES.into_iter().find(|name| snapshot.get(name).is_none());
        let name = free.unwrap_or(NAMES[0]);
        if free.is_some() && !self.is_closed() {
            let page = self.options.result_limit;
            let tool = Arc::new(ReadMore::new(name, self.texts.clone(), page, self.options.lang));
            self.registry.insert(Candidate::new(self.registry.next_id(), Source::Tools, None, tool));
        }
        name
    }
}

fn is_read_more(entry: &NameEntry) -> bool {
    entry.candidates.iter().all(|one| Hub::reads_more(one))
}

/// How many characters of `full` are shown from its start. JSON is cut without the spaces between its parts, so those may
/// be missing. Lines of hits have hardly any characters in common with the full text.
fn same_start(shown: &str, full: &str) -> usize {
    let mut shown = shown.chars().peekable();
    let mut end = 0;
    for (at, c) in full.chars().enumerate() {
        if shown.next_if_eq(&c).is_some() {
            end = at + 1;
        } else if !c.is_whitespace() || shown.peek().is_none() {
            break;
        }
    }
    end
}

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

    /// Keeps a text and returns its handle, which only this reader can use: the given one, or a new one. A text that exceeds the
    /// limit on its own replaces all others. What a replay gives is kept in memory alone.
    pub fn keep(
        &self,
        text: &str,
        reader: Option<&Principal>,
        handle: Option<String>,
        lasts: bool,
    ) -> String {
        let handle = handle.unwrap_or_else(|| format!("r_{}", new_id()));
        let key = key(&handle, reader);
        self.memory.lock().insert(key.to_string(), text.into());
        if let Some(store) = self.store.get().filter(|store| lasts && store.keeps_results()) {
            store.keep(&key, text.to_owned());
        }
        handle
    }

    /// One page of a text, or an error that says that it is gone. Pages begin and end between grapheme clusters.
    /// The handle of another reader is like one that was never given.
    pub fn page(
        &self,
        handle: &str,
        (offset, limit): (usize, usize),
        reader: Option<&Principal>,
    ) -> Result<TextPage> {
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
        // A cassette gives the same text the same handle.
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

    fn read(&self, args: &Arguments, reader: Option<&Principal>) -> Result<ToolOutput> {
        let number = |name: &str| args.get(name).and_then(Value::as_f64).map(|number| number as usize);
        let handle = args.get("handle").and_then(Value::as_str).unwrap_or_default();
        let limit = number("limit").unwrap_or(self.page).min(MAX_PAGE);
        let page = self.texts.page(handle, (number("offset").unwrap_or_default(), limit), reader)?;
        let (name, end, left) = (&self.spec.name, page.end, page.total - page.end);
        if page.text.is_empty() && limit > 0 {
            let note = message!("[end: the text has only {} characters]", grouped(page.total));
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

    fn check(&self, args: &Arguments, options: &CheckOptions<'_>) -> Result<Fitting<Arguments>> {
        self.schema.check(&self.spec.name, args, options)
    }

    fn call<'a>(&'a self, args: &'a Arguments, ctx: &'a CallContext) -> BoxFuture<'a, Result<ToolOutput>> {
        Box::pin(std::future::ready(self.read(args, ctx.extras.principal.as_deref())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_goes_on_behind_what_was_shown() {
        for (shown, full, next) in [
            ("one two …", "one two three", 8),
            ("one two\n…", "one two three", 7),
            (r#"{"a":[1,2,"…"]}"#, r#"{"a": [1, 2, 3, 4]}"#, 12),
            (r#"{"a":"xx…"}"#, r#"{"a": "xxxx"}"#, 9),
            ("1. hit", "hits: one", 0),
            ("", "text", 0),
            ("text", "text", 4),
        ] {
            assert_eq!(same_start(shown, full), next, "{shown}");
        }
    }
}

#[cfg(test)]
mod texts_tests {
    use super::*;

    #[test]
    fn pages_count_characters_and_end_at_the_end() {
        let texts = ResultTexts::default();
        let handle = texts.keep("天气很好 today", None, None, true);
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
        let first = texts.keep("first", None, None, true);
        let second = texts.keep("second", None, None, true);
        for _ in 0..MAX_TEXTS - 1 {
            assert!(texts.page(&first, (0, 1), None).is_ok());
            texts.keep("x", None, None, true);
        }
        assert!(texts.page(&first, (0, 1), None).is_ok());
        let error = texts.page(&second, (0, 1), None).err();
        assert!(
            error.is_some_and(|error| error.kind == ErrorKind::NotFound && error.message.contains(&second))
        );
    }
}
