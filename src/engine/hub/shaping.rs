//! Results cut for a model. What was cut is kept, and the model gets a tool to read it.

use super::Hub;

use super::result_texts::{NAMES, ReadMore, TextPage};
use std::any::Any;
use std::sync::Arc;
use toolhub_context::shape::skill::SkillBlock;
use toolhub_context::truncate::{Options, Truncated, grouped, truncate};
use toolhub_registry::{Candidate, NameEntry, Snapshot};
use toolhub_text::message;
use toolhub_types::error::HubError;
use toolhub_types::kind::ToolKind;
use toolhub_types::model::Source;
use toolhub_types::principal::Principal;

/// A run never gives a model less of a result than this: with less, the note on how to read on would replace the text.
pub const MIN_RESULT_LIMIT: usize = 1_000;

/// The limit of a skill's answer in characters: a model that knows only half of its instructions does the wrong thing.
const SKILL_LIMIT: usize = 32_000;

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

    /// The limit for the answer of a skill.
    pub fn skill_limit() -> ResultLimit {
        ResultLimit { chars: SKILL_LIMIT, hits: None }
    }

    /// Cuts a result to its limit, for a reader. A text that was cut ends with the way to read the rest, if there is room for it.
    pub fn shape(&self, request: &ShapeRequest, reader: Option<&Principal>) -> ShapedText {
        let ShapeRequest { full, hits, skill, limit } = request;
        let text = hits.as_ref().map_or(full, |(lines, _)| lines);
        let shown = self.cut(text, limit.chars, limit.hits);
        if !shown.truncated && !hits.as_ref().is_some_and(|(_, has_more)| *has_more) {
            return ShapedText { text: shown.text, cut: None };
        }
        let handle = match self.replay_ledger() {
            Some(_) => self.texts.keep_here(full, reader, self.taped_handle(full, reader)),
            None => self.texts.keep(full, reader, self.taped_handle(full, reader)),
        };
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
        (self.offer_read_more(), self.texts.keep(text, Some(reader), None))
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

    /// One page of a text that was cut.
    pub fn read_more(
        &self,
        handle: &str,
        part: (usize, usize),
        reader: Option<&Principal>,
    ) -> Result<TextPage, HubError> {
        self.texts.page(handle, part, reader)
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
