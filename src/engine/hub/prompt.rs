//! Which tools a prompt or a list for an API shows, and the prompt that shows them to a model.

use super::Hub;
use std::collections::HashSet;
use std::sync::Arc;
use toolhub_context::prompt::{self, Count, PromptKey, PromptPage, PromptStyle, PromptTool};
use toolhub_registry::Snapshot;
use toolhub_types::model::{Lang, ToolSpec};

/// What a prompt shows.
pub struct PromptRequest<'a> {
    /// The user's own prompt, which comes first.
    pub base: &'a str,
    /// These come first, where they are registered.
    pub core: &'a [String],
    /// Those after them, most relevant first; `None` for all others, by name.
    pub others: Option<&'a [String]>,
    /// How many tools are neither and can be called.
    pub more: usize,
    pub style: PromptStyle,
    pub lang: Lang,
}

impl Hub {
    /// The prompt with these tools; names that are gone by now are left out.
    pub fn prompt(
        &self,
        request: &PromptRequest<'_>,
        budget: Option<(usize, Count<'_>)>,
    ) -> Result<String, String> {
        let snapshot = self.registry.snapshot();
        if request.others.is_some() || budget.is_some() {
            return self.written(&snapshot, request, budget);
        }
        let (style, lang) = (request.style, request.lang);
        let key = PromptKey { version: snapshot.version(), core: request.core.to_vec(), style, lang };
        let write = || self.written(&snapshot, &PromptRequest { base: "", more: 0, ..*request }, None);
        let whole = self.prompts.whole(key, write)?;
        Ok(match (request.base.trim_end(), &*whole) {
            (_, "") => request.base.to_owned(),
            ("", whole) => whole.to_owned(),
            (base, whole) => [base, "\n\n", whole].concat(),
        })
    }

    fn written(
        &self,
        snapshot: &Snapshot,
        request: &PromptRequest<'_>,
        budget: Option<(usize, Count<'_>)>,
    ) -> Result<String, String> {
        let sorted = snapshot.sorted_names();
        let core: HashSet<&str> = request.core.iter().map(String::as_str).collect();
        let all = sorted.iter().map(|name| &**name).filter(|name| !core.contains(name));
        let others: Box<dyn Iterator<Item = &str>> = match request.others {
            Some(names) => Box::new(names.iter().map(String::as_str)),
            None => Box::new(all),
        };
        let names = request.core.iter().map(String::as_str).chain(others);
        let listed = names.filter_map(|name| {
            let entry = snapshot.get(name)?;
            Some(PromptTool { spec: entry.spec()?, shown: &entry.shown })
        });
        let (skills, tools): (Vec<PromptTool<'_>>, _) = listed.partition(|one| one.spec.location.is_some());
        let skills: Vec<&ToolSpec> = skills.iter().map(|one| one.spec).collect();
        let PromptRequest { base, more, style, lang, .. } = *request;
        let page = PromptPage { base, tools: &tools, skills: &skills, more, style, lang };
        prompt::render(&page, budget)
    }
}

/// Tools to show: some that come first, and others. The names are those of one moment.
pub struct ShownTools {
    /// All names that models may call, sorted.
    names: Arc<Vec<Arc<str>>>,
    /// The number of names to choose from.
    among: usize,
    first: Vec<usize>,
    others: Vec<usize>,
}

impl Hub {
    /// These names first, then all others by name; with `among` only the names in it.
    pub fn shown_tools(&self, first: &[String], among: Option<&HashSet<String>>) -> ShownTools {
        let names = self.registry.snapshot().sorted_names();
        let is_meant = |at: &usize| among.is_none_or(|among| among.contains(&*names[*at]));
        let mut seen = HashSet::new();
        let first = first.iter().filter_map(|name| position(&names, name)).filter(is_meant);
        let first: Vec<usize> = first.filter(|at| seen.insert(*at)).collect();
        let others: Vec<usize> = (0..names.len()).filter(|at| is_meant(at) && !seen.contains(at)).collect();
        ShownTools { among: first.len() + others.len(), names, first, others }
    }
}

impl ShownTools {
    /// The number of tools after the first ones.
    pub fn others(&self) -> usize {
        self.others.len()
    }

    /// The place of a tool after the first ones. The others must be in the order of their names.
    pub fn place(&self, name: &str) -> Option<usize> {
        let at = position(&self.names, name)?;
        self.others.binary_search(&at).is_ok().then_some(at)
    }

    /// These places, and after them others by name until there are `most`.
    pub fn filled_up(&self, mut places: Vec<usize>, most: usize) -> Vec<usize> {
        let listed: HashSet<usize> = places.iter().copied().collect();
        let room = most.saturating_sub(places.len());
        places.extend(self.others.iter().filter(|at| !listed.contains(at)).take(room));
        places
    }

    /// The same first ones, and after them these, in this order. `places` are those that [`ShownTools::place`] returned.
    pub fn followed_by(&self, places: Vec<usize>) -> ShownTools {
        ShownTools { names: self.names.clone(), among: self.among, first: self.first.clone(), others: places }
    }

    /// The names of the first ones, the names of up to `limit` others, and how many are not shown.
    pub fn for_prompt(&self, limit: Option<usize>) -> (Vec<String>, Vec<String>, usize) {
        let shown = self.others.len().min(limit.unwrap_or(usize::MAX));
        let named = |places: &[usize]| places.iter().map(|at| self.names[*at].to_string()).collect();
        (named(&self.first), named(&self.others[..shown]), self.among - self.first.len() - shown)
    }

    /// Up to `limit` names, the first ones included.
    pub fn names(&self, limit: Option<usize>) -> Vec<&str> {
        let places = self.first.iter().chain(&self.others).take(limit.unwrap_or(usize::MAX));
        places.map(|at| &*self.names[*at]).collect()
    }
}

fn position(names: &[Arc<str>], name: &str) -> Option<usize> {
    names.binary_search_by(|known| (**known).cmp(name)).ok()
}
