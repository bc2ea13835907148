//! Capability tags out of a tool's name and description, in English and Chinese.
//!
//! A tool that declares no capabilities gets them from one table (`table/*.txt`): tags, each with
//! its words and phrases. A user extends that table with
//! [`CapabilityRules::add`].
//!
//! The flow: `text` cuts both texts into tokens (with `toolhub_text` and `section`), `matcher` finds the
//! phrases and weighs them, and the tags come out in the order of the table.

mod matcher;
mod sections;
mod synonyms;
mod table;
mod text;

#[cfg(test)]
mod tests;

use std::sync::{Arc, LazyLock, OnceLock};

pub use synonyms::answering;

use matcher::Matcher;
use table::{BUILTIN, Grade, Table, TagRules};

/// The table of capabilities: cheap to clone, and a clone that is changed leaves the others as they
/// are.
#[derive(Clone)]
pub struct CapabilityRules {
    table: Arc<Table>,
    /// Made at the first extraction, so that a series of changes costs one compilation.
    matcher: Arc<OnceLock<Matcher>>,
}

impl Default for CapabilityRules {
    /// The builtin table.
    fn default() -> Self {
        static BUILTIN_RULES: LazyLock<CapabilityRules> =
            LazyLock::new(|| CapabilityRules::of(Table::parse(BUILTIN)));
        BUILTIN_RULES.clone()
    }
}

impl CapabilityRules {
    fn of(table: Table) -> Self {
        CapabilityRules { table: Arc::new(table), matcher: Arc::default() }
    }

    /// The tags of a tool, in the order of the table, without the finer ones.
    ///
    /// The name says more than the description, and the first clause of the description more than the rest; of a long
    /// description only the beginning is read.
    pub fn extract(&self, name: &str, description: &str) -> Vec<String> {
        self.given(name, description, |rules| !rules.fine)
    }

    /// The tags that a tool is registered with: the same, and the finer ones that orchestrators ask for (`pdf`, `history`).
    pub fn of_tool(&self, name: &str, description: &str) -> Vec<String> {
        self.given(name, description, |_| true)
    }

    /// The tags that a name tells, otherwise those that the user declared. A description may speak of anything.
    pub fn kinds(&self, name: &str, declared: &[String]) -> Vec<String> {
        let named = self.extract(name, "");
        if named.is_empty() { declared.to_vec() } else { named }
    }

    fn given(&self, name: &str, description: &str, wanted: impl Fn(&TagRules) -> bool) -> Vec<String> {
        let matcher = self.matcher.get_or_init(|| Matcher::new(&self.table));
        let given = matcher.tags(name, description);
        let tags = self.table.tags.iter().zip(given);
        tags.filter(|(rules, given)| *given && wanted(rules)).map(|(rules, _)| rules.tag.clone()).collect()
    }

    /// Adds words or phrases, of either language, to a new or an existing tag.
    ///
    /// An added word counts everywhere, also inside a longer phrase of the builtin
    /// table. Tags are made lower-case. An empty tag, and a word without a letter or digit, add
    /// nothing.
    pub fn add(&mut self, tag: &str, words: &[&str]) {
        let tag = tag.trim().to_lowercase();
        if tag.is_empty() {
            return;
        }
        self.change(|table| {
            let position = table.tags.iter().position(|t| t.tag == tag).unwrap_or_else(|| {
                table.tags.push(TagRules { tag: tag.clone(), ..TagRules::default() });
                table.tags.len() - 1
            });
            // A tag that a user extends is one of the user's own.
            table.tags[position].fine = false;
            let known = &mut table.tags[position].words;
            for word in words.iter().map(|w| w.trim()).filter(|w| w.contains(char::is_alphanumeric)) {
                known.retain(|(w, _)| w != word);
                known.push((word.to_owned(), Grade::Sure));
            }
        });
    }

    /// Removes a tag with all its words; false when there is none of that name.
    pub fn remove(&mut self, tag: &str) -> bool {
        let tag = tag.trim().to_lowercase();
        if !self.table.tags.iter().any(|t| t.tag == tag) {
            return false;
        }
        self.change(|table| table.tags.retain(|t| t.tag != tag));
        true
    }

    /// The tags and their words.
    pub fn tags(&self) -> Vec<(String, Vec<String>)> {
        let words = |rules: &TagRules| rules.words.iter().map(|(word, _)| word.clone()).collect();
        self.table.tags.iter().map(|rules| (rules.tag.clone(), words(rules))).collect()
    }

    fn change(&mut self, edit: impl FnOnce(&mut Table)) {
        let mut table = Table::clone(&self.table);
        edit(&mut table);
        *self = CapabilityRules::of(table);
    }
}
