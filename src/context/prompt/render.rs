//! Renders a page, with a budget or without.

use super::budget::{BudgetedPage, Count, TooSmall};
use super::names::shown_name;
use super::page::{DetailLevels, PromptPage};
use super::skills::SkillSection;
use std::borrow::Cow;

/// Renders the prompt. With a budget, the first tools keep the most detail. Without tools it is the base alone.
pub fn render(page: &PromptPage<'_>, budget: Option<(usize, Count<'_>)>) -> Result<String, TooSmall> {
    if page.tools.is_empty() && page.skills.is_empty() && page.more == 0 {
        return Ok(page.base.to_owned());
    }
    let names: Vec<Cow<'_, str>> = page.tools.iter().map(|tool| shown_name(&tool.spec.name)).collect();
    let Some((budget, count)) = budget else {
        let skills = SkillSection::new(page.skills, page.style, page.lang);
        return Ok(page.assemble(&names, &DetailLevels::all(page.style, names.len()), &skills));
    };
    BudgetedPage { page, names: &names, budget, count }.render()
}
