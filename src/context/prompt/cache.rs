//! A cache of prompt entries: a chat loop asks for the same prompt at every turn.

use super::page::{PromptStyle, PromptTool};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use toolhub_types::model::Lang;

/// Longer prompts are not cached: they are rarely sent to a model.
const MAX_BYTES: usize = 4 << 20;
/// The initial capacity of an entry: enough for most.
const ENTRY: usize = 1 << 10;
/// The number of entries of removed tools that are tolerated.
const MAX_REMOVED: usize = 1_000;

/// A tool's entry depends only on its definition, so it is rendered once per style and language.
#[derive(Default)]
pub struct PromptCache {
    entries: Mutex<HashMap<Arc<str>, CachedEntry, foldhash::fast::RandomState>>,
    /// The last prompt with all tools.
    last: Mutex<Option<(PromptKey, Arc<str>)>>,
}

/// Everything that a prompt with all tools depends on.
#[derive(PartialEq)]
pub struct PromptKey {
    /// The version of the registry.
    pub version: u64,
    pub core: Vec<String>,
    pub style: PromptStyle,
    pub lang: Lang,
}

#[derive(Default)]
struct CachedEntry {
    changed_at: u64,
    texts: [Option<Arc<str>>; 4],
}

impl PromptCache {
    /// The entry of a tool, rendered by `write` if it is not cached.
    pub fn entry(
        &self,
        tool: PromptTool<'_>,
        style: PromptStyle,
        lang: Lang,
        write: impl FnOnce(&mut String),
    ) -> Arc<str> {
        let place = 2 * usize::from(style == PromptStyle::Detailed) + usize::from(lang == Lang::Zh);
        if let Some(kept) = self.entries.lock().get(&tool.spec.name)
            && kept.changed_at == tool.changed_at
            && let Some(text) = &kept.texts[place]
        {
            return text.clone();
        }
        let mut text = String::with_capacity(ENTRY);
        write(&mut text);
        let text: Arc<str> = text.into();
        let mut entries = self.entries.lock();
        let kept = entries.entry(tool.spec.name.clone()).or_default();
        if kept.changed_at != tool.changed_at {
            *kept = CachedEntry { changed_at: tool.changed_at, ..CachedEntry::default() };
        }
        kept.texts[place] = Some(text.clone());
        text
    }

    /// The prompt with all tools, rendered by `write` if it is not the last one.
    pub fn whole<E>(&self, key: PromptKey, write: impl FnOnce() -> Result<String, E>) -> Result<Arc<str>, E> {
        if let Some((last, text)) = &*self.last.lock()
            && *last == key
        {
            return Ok(text.clone());
        }
        let text: Arc<str> = write()?.into();
        if text.len() <= MAX_BYTES {
            *self.last.lock() = Some((key, text.clone()));
        }
        Ok(text)
    }

    /// Drops the entries of removed tools if there are many.
    pub fn tidy(&self, there: usize, is_there: impl Fn(&str) -> bool) {
        let mut entries = self.entries.lock();
        if entries.len() > there + MAX_REMOVED {
            entries.retain(|name, _| is_there(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolhub_types::model::ToolSpec;

    #[test]
    fn an_entry_is_rendered_once_for_each_definition() {
        let (cache, spec) = (PromptCache::default(), ToolSpec::named("tool"));
        let entry = |changed_at, style, text: &str| {
            let tool = PromptTool { spec: &spec, changed_at };
            cache.entry(tool, style, Lang::En, |out| out.push_str(text)).to_string()
        };
        assert_eq!(entry(1, PromptStyle::Detailed, "old"), "old");
        assert_eq!(entry(1, PromptStyle::Detailed, "never"), "old");
        assert_eq!(entry(1, PromptStyle::Compact, "short"), "short");
        assert_eq!(entry(2, PromptStyle::Detailed, "new"), "new");
        assert_eq!(entry(2, PromptStyle::Compact, "short and new"), "short and new");
    }

    #[test]
    fn removed_tools_are_dropped() {
        let cache = PromptCache::default();
        for number in 0..MAX_REMOVED + 10 {
            let spec = ToolSpec::named(number.to_string());
            cache.entry(PromptTool { spec: &spec, changed_at: 0 }, PromptStyle::Compact, Lang::En, |_| ());
        }
        cache.tidy(5, |name| name.len() == 1);
        assert_eq!(cache.entries.lock().len(), 10);
    }
}
