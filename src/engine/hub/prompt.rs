//! The prompt that shows tools to a model.

use super::Hub;
use std::borrow::Cow;
use std::collections::HashSet;
use toolhub_context::prompt::{self, Count, PromptKey, PromptPage, PromptStyle, PromptTool, TooSmall};
use toolhub_registry::{NameEntry, Snapshot};
use toolhub_types::model::{Lang, ToolSpec};

/// What a prompt shows.
pub struct PromptRequest<'a> {
    /// The user's own prompt, which comes first.
    pub base: &'a str,
    /// These come first, where they are registered.
    pub core: &'a [String],
    /// Those behind them, most relevant first; `None` for all others, by name.
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
    ) -> Result<String, TooSmall> {
        let snapshot = self.registry.snapshot();
        if request.others.is_some() || budget.is_some() {
            return self.written(&snapshot, request, budget);
        }
        let PromptRequest { base, core, style, lang, .. } = *request;
        let key = PromptKey { version: snapshot.version(), core: Cow::Borrowed(core), style, lang };
        let whole = self.prompts.whole(key, || {
            self.written(
                &snapshot,
                &PromptRequest { base: "", core, others: None, more: 0, style, lang },
                None,
            )
        })?;
        Ok(match (base.trim_end(), &*whole) {
            (_, "") => base.to_owned(),
            ("", whole) => whole.to_owned(),
            (base, whole) => [base, "\n\n", whole].concat(),
        })
    }

    fn written(
        &self,
        snapshot: &Snapshot,
        request: &PromptRequest<'_>,
        budget: Option<(usize, Count<'_>)>,
    ) -> Result<String, TooSmall> {
        let sorted = snapshot.sorted_names();
        let core: HashSet<&str> = request.core.iter().map(String::as_str).collect();
        let all = sorted.iter().map(|name| &**name).filter(|name| !core.contains(name));
        let others: Box<dyn Iterator<Item = &str>> = match request.others {
            Some(names) => Box::new(names.iter().map(String::as_str)),
            None => Box::new(all),
        };
        let names = request.core.iter().map(String::as_str).chain(others);
        let listed = names.filter_map(|name| listed(snapshot.get(name)?));
        let (skills, tools): (Vec<PromptTool<'_>>, _) = listed.partition(|one| one.spec.location.is_some());
        let skills: Vec<&ToolSpec> = skills.iter().map(|one| one.spec).collect();
        let PromptRequest { base, more, style, lang, .. } = *request;
        let page =
            PromptPage { base, tools: &tools, skills: &skills, more, style, lang, cache: &self.prompts };
        let text = prompt::render(&page, budget);
        self.prompts.tidy(snapshot.len(), |name| snapshot.get(name).is_some());
        text
    }
}

fn listed(entry: &NameEntry) -> Option<PromptTool<'_>> {
    let spec = entry.spec()?;
    Some(PromptTool { spec, changed_at: entry.changed_at })
}
