//! Entries that were written before: a chat loop asks for the same prompt at every turn.

use super::{Lang, Style};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// Longer prompts are written each time: nobody sends them to a model often.
const LONGEST: usize = 4 << 20;
/// Room for most entries, in bytes.
const ENTRY: usize = 1 << 10;
/// So many entries of tools that are gone are no reason to tidy up.
const GONE: usize = 1_000;

/// A tool's entry depends on its definition alone, so it is written once for each style and language.
#[derive(Default)]
pub struct Shelf {
    entries: Mutex<HashMap<Arc<str>, Kept, foldhash::fast::RandomState>>,
    last: Mutex<Option<Whole>>,
}

/// The last prompt with all tools.
struct Whole {
    version: u64,
    core: Vec<String>,
    style: Style,
    lang: Lang,
    text: Arc<str>,
}

/// All that decides how a prompt with all tools reads.
#[derive(Clone, Copy)]
pub struct About<'a> {
    /// Of the registry.
    pub version: u64,
    pub core: &'a [String],
    pub style: Style,
    pub lang: Lang,
}

#[derive(Default)]
struct Kept {
    changed_at: u64,
    texts: [Option<Arc<str>>; 4],
}

/// A tool as it is at the moment.
#[derive(Clone, Copy)]
pub struct Version<'a> {
    pub name: &'a Arc<str>,
    /// Another number is another definition.
    pub changed_at: u64,
}

impl Shelf {
    /// The entry of a tool, written by `write` if it is new.
    pub fn entry(
        &self,
        tool: Version<'_>,
        style: Style,
        lang: Lang,
        write: impl FnOnce(&mut String),
    ) -> Arc<str> {
        let place = 2 * usize::from(style == Style::Detailed) + usize::from(lang == Lang::Zh);
        if let Some(kept) = self.entries.lock().get(tool.name)
            && kept.changed_at == tool.changed_at
            && let Some(text) = &kept.texts[place]
        {
            return text.clone();
        }
        let mut text = String::with_capacity(ENTRY);
        write(&mut text);
        let text: Arc<str> = text.into();
        let mut entries = self.entries.lock();
        let kept = entries.entry(tool.name.clone()).or_default();
        if kept.changed_at != tool.changed_at {
            *kept = Kept { changed_at: tool.changed_at, ..Kept::default() };
        }
        kept.texts[place] = Some(text.clone());
        text
    }

    /// The prompt with all tools, written by `write` if it is not the one of the last time.
    pub fn whole<E>(
        &self,
        about: About<'_>,
        write: impl FnOnce() -> Result<String, E>,
    ) -> Result<Arc<str>, E> {
        if let Some(last) = &*self.last.lock()
            && (last.version, last.style, last.lang) == (about.version, about.style, about.lang)
            && last.core == about.core
        {
            return Ok(last.text.clone());
        }
        let text: Arc<str> = write()?.into();
        if text.len() <= LONGEST {
            let About { version, core, style, lang } = about;
            *self.last.lock() = Some(Whole { version, core: core.to_vec(), style, lang, text: text.clone() });
        }
        Ok(text)
    }

    /// Forgets those that are gone, when they are many.
    pub fn tidy(&self, there: usize, is_there: impl Fn(&str) -> bool) {
        let mut entries = self.entries.lock();
        if entries.len() > there + GONE {
            entries.retain(|name, _| is_there(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_written_once_for_each_definition() {
        let (shelf, name) = (Shelf::default(), Arc::from("tool"));
        let entry = |changed_at, style, text: &str| {
            let tool = Version { name: &name, changed_at };
            shelf.entry(tool, style, Lang::En, |out| out.push_str(text)).to_string()
        };
        assert_eq!(entry(1, Style::Detailed, "old"), "old");
        assert_eq!(entry(1, Style::Detailed, "never"), "old");
        assert_eq!(entry(1, Style::Compact, "short"), "short");
        assert_eq!(entry(2, Style::Detailed, "new"), "new");
        assert_eq!(entry(2, Style::Compact, "short and new"), "short and new");
    }

    #[test]
    fn what_is_gone_is_forgotten() {
        let shelf = Shelf::default();
        for number in 0..GONE + 10 {
            let name = Arc::from(number.to_string());
            shelf.entry(Version { name: &name, changed_at: 0 }, Style::Compact, Lang::En, |_| ());
        }
        shelf.tidy(5, |name| name.len() == 1);
        assert_eq!(shelf.entries.lock().len(), 10);
    }
}
