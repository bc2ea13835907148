//! Fits a prompt into a token budget: the first tools in detail, the next on one line, the others by name.

use super::page::{DetailLevels, PromptPage, PromptStyle};
use super::skills::{brief, section};
use std::borrow::Cow;

/// Counts tokens.
pub type Count<'a> = &'a dyn Fn(&str) -> usize;

/// A page with a token budget. Whole prompts are counted, never parts: tokens join across the seams.
pub struct BudgetedPage<'a> {
    pub page: &'a PromptPage<'a>,
    pub names: &'a [Cow<'a, str>],
    pub budget: usize,
    pub count: Count<'a>,
}

impl BudgetedPage<'_> {
    /// The most detailed prompt that fits. All tools get a name before any gets a line, and all get a line before any gets
    /// details. Skills are shortened, and finally left out, before a tool loses its name.
    pub fn render(&self) -> Result<String, String> {
        let PromptPage { skills, style, lang, .. } = *self.page;
        let styles = [PromptStyle::Detailed, PromptStyle::Compact, PromptStyle::Names].into_iter();
        for style in styles.filter(|one| *one <= style && !skills.is_empty()) {
            let catalogue = section(skills, style, lang);
            if let Some(detail) = self.all_named(&catalogue) {
                return Ok(self.assemble(&detail, &catalogue));
            }
        }
        let brief = |listed| brief(skills, listed, lang);
        let tools = self.names.len();
        let listed = largest(skills.len(), |listed| self.fits(&DetailLevels::named(tools), &brief(listed)));
        let catalogue = brief(listed.unwrap_or(0));
        let some_named = || {
            largest(tools, |named| self.fits(&DetailLevels::named(named), &catalogue))
                .map(DetailLevels::named)
        };
        match self.all_named(&catalogue).or_else(some_named) {
            Some(detail) => Ok(self.assemble(&detail, &catalogue)),
            None => Err(self.too_small()),
        }
    }

    /// A few short names may take fewer tokens than the note that there are more tools.
    fn too_small(&self) -> String {
        let PromptPage { skills, lang, .. } = *self.page;
        let tools = self.names.len();
        let least = [(0, 0), (tools, 0), (tools, skills.len())]
            .map(|(named, listed)| self.needed(&DetailLevels::named(named), &brief(skills, listed, lang)));
        let (needed, budget) = (least.into_iter().fold(usize::MAX, usize::min), self.budget);
        format!(
            "budget_tokens must be at least {needed}, because the base prompt and the way to call tools take that much, got {budget}"
        )
    }

    /// The most detail with which every tool has at least its name.
    fn all_named(&self, catalogue: &str) -> Option<DetailLevels> {
        let all = self.names.len();
        let lines = |compact| DetailLevels { compact, ..DetailLevels::named(all) };
        let details = |detailed| DetailLevels { detailed, ..lines(all) };
        let fits = |detail: &DetailLevels| self.fits(detail, catalogue);
        let most = DetailLevels::all(self.page.style, all);
        if fits(&most) {
            return Some(most);
        }
        if most.detailed > 0 && fits(&lines(all)) {
            return Some(details(last_fitting(all, |detailed| fits(&details(detailed)))));
        }
        if most.compact > 0 && fits(&lines(0)) {
            return Some(lines(last_fitting(all, |compact| fits(&lines(compact)))));
        }
        None
    }

    fn fits(&self, detail: &DetailLevels, catalogue: &str) -> bool {
        self.needed(detail, catalogue) <= self.budget
    }

    fn needed(&self, detail: &DetailLevels, catalogue: &str) -> usize {
        (self.count)(&self.assemble(detail, catalogue))
    }

    fn assemble(&self, detail: &DetailLevels, catalogue: &str) -> String {
        self.page.assemble(self.names, detail, catalogue)
    }
}

/// The largest number that fits. All are tried first: without a note about the others, that may be shorter than fewer.
fn largest(all: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
    if fits(all) {
        return Some(all);
    }
    (all > 0 && fits(0)).then(|| last_fitting(all, fits))
}

/// The last number that fits, given that zero does and `failing` does not. Steps double from below, so that few prompts much
/// longer than the budget are counted. They are the same for every budget, so a larger budget never gives less.
fn last_fitting(mut failing: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut fitting, mut step) = (0, 1);
    while failing - fitting > 1 {
        let next = fitting + step.min((failing - fitting) / 2);
        if fits(next) {
            fitting = next;
            step *= 2;
        } else {
            failing = next;
        }
    }
    fitting
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_largest_is_found_in_few_steps(all in 0usize..5_000, limit in 0usize..6_000) {
            let tried = std::cell::Cell::new(0);
            let found = largest(all, |number| {
                tried.set(tried.get() + 1);
                number <= limit
            });
            prop_assert_eq!(found, Some(all.min(limit)));
            prop_assert!(tried.get() <= 30, "{}", tried.get());
        }
    }

    #[test]
    fn all_may_fit_where_fewer_do_not() {
        assert_eq!(largest(3, |number| number == 3), Some(3));
        assert_eq!(largest(3, |_| false), None);
        assert_eq!(largest(0, |_| false), None);
    }
}
