//! How much each tool may say so that the whole fits: the first tools in detail, the next on one line, the others by name.

use super::Style;
use super::page::{Count, Page, TooSmall};
use super::skills::Catalogue;
use std::borrow::Cow;

/// Where each kind of entry ends, in the order of the tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    pub detailed: usize,
    pub compact: usize,
    pub named: usize,
}

impl Detail {
    pub fn all(style: Style, tools: usize) -> Self {
        Detail {
            detailed: if style == Style::Detailed { tools } else { 0 },
            compact: if style == Style::Names { 0 } else { tools },
            named: tools,
        }
    }

    fn named(named: usize) -> Self {
        Detail { detailed: 0, compact: 0, named }
    }
}

/// A page for which there is only so much room. Whole prompts are counted, never parts of them: tokens join across seams.
pub struct Tight<'a> {
    pub page: &'a Page<'a>,
    pub names: &'a [Cow<'a, str>],
    pub budget: usize,
    pub count: Count<'a>,
}

impl Tight<'_> {
    /// The fullest prompt that fits. Every tool gets its name before any gets a line, and every one a line before any gets
    /// its details; skills say less, and at last lose their names, before a tool loses its own.
    pub fn render(&self) -> Result<String, TooSmall> {
        let Page { skills, style, lang, .. } = *self.page;
        let styles = [Style::Detailed, Style::Compact, Style::Names].into_iter();
        for style in styles.filter(|one| *one <= style && !skills.is_empty()) {
            let catalogue = Catalogue::new(skills, style, lang);
            if let Some(detail) = self.all_named(&catalogue) {
                return Ok(self.assemble(&detail, &catalogue));
            }
        }
        let brief = |told| Catalogue::brief(skills, told, lang);
        let tools = self.names.len();
        let told = largest(skills.len(), |told| self.fits(&Detail::named(tools), &brief(told)));
        let catalogue = brief(told.unwrap_or(0));
        let some_named =
            || largest(tools, |named| self.fits(&Detail::named(named), &catalogue)).map(Detail::named);
        match self.all_named(&catalogue).or_else(some_named) {
            Some(detail) => Ok(self.assemble(&detail, &catalogue)),
            None => Err(self.too_small()),
        }
    }

    /// A few short names take less room than the words that there are others.
    fn too_small(&self) -> TooSmall {
        let Page { skills, lang, .. } = *self.page;
        let tools = self.names.len();
        let least = [(0, 0), (tools, 0), (tools, skills.len())]
            .map(|(named, told)| self.needed(&Detail::named(named), &Catalogue::brief(skills, told, lang)));
        TooSmall { needed: least.into_iter().fold(usize::MAX, usize::min), budget: self.budget }
    }

    /// The most that tools can say when each has its name at least.
    fn all_named(&self, catalogue: &Catalogue) -> Option<Detail> {
        let all = self.names.len();
        let lines = |compact| Detail { compact, ..Detail::named(all) };
        let details = |detailed| Detail { detailed, ..lines(all) };
        let fits = |detail: &Detail| self.fits(detail, catalogue);
        let most = Detail::all(self.page.style, all);
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

    fn fits(&self, detail: &Detail, catalogue: &Catalogue) -> bool {
        self.needed(detail, catalogue) <= self.budget
    }

    fn needed(&self, detail: &Detail, catalogue: &Catalogue) -> usize {
        (self.count)(&self.assemble(detail, catalogue))
    }

    fn assemble(&self, detail: &Detail, catalogue: &Catalogue) -> String {
        self.page.assemble(self.names, detail, catalogue)
    }
}

/// The largest number that fits. All of them come first: then there is no word about others, which may be the longer one.
fn largest(all: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
    if fits(all) {
        return Some(all);
    }
    (all > 0 && fits(0)).then(|| last_fitting(all, fits))
}

/// The last number that fits, when zero does and `failing` does not. The steps from below double, so that little is counted
/// that is much longer than the budget; and they are the same for each budget, so that a larger one never gives less.
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
