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
}

/// Every tool gets its name before any gets a line, and every one a line before any gets its details.
pub fn choose(
    page: &Page<'_>,
    names: &[Cow<'_, str>],
    catalogue: &Catalogue,
    budget: usize,
    count: Count<'_>,
) -> Result<Detail, TooSmall> {
    let whole = Detail::all(page.style, page.tools.len());
    let needed = |detail: &Detail| count(&page.assemble(names, detail, catalogue));
    // A whole that is within the budget is the usual case, and needs no table.
    if needed(&whole) <= budget {
        return Ok(whole);
    }
    let costs = Costs::of(page, names, catalogue, count);
    let mut room = budget;
    // Tokens may join across the seams of what was counted apart; what was left out then makes up for it.
    loop {
        let Some(detail) = costs.within(room, whole.clone()) else {
            let least = needed(&Detail { detailed: 0, compact: 0, named: 0 });
            return Err(TooSmall { needed: least.max(budget + 1), budget });
        };
        let over = needed(&detail).saturating_sub(budget);
        if over == 0 {
            return Ok(detail);
        }
        room = room.saturating_sub(over);
    }
}

/// Sums over the first n tools.
struct Costs {
    frame: usize,
    detailed: Vec<usize>,
    compact: Vec<usize>,
    names: Vec<usize>,
}

impl Costs {
    fn of(page: &Page<'_>, names: &[Cow<'_, str>], catalogue: &Catalogue, count: Count<'_>) -> Self {
        let sums = |write: &dyn Fn(&mut String, usize)| {
            let mut text = String::new();
            let mut total = 0;
            let mut sums = vec![0];
            for at in 0..names.len() {
                text.clear();
                write(&mut text, at);
                total += count(&text);
                sums.push(total);
            }
            sums
        };
        let mut frame = String::new();
        page.open(&mut frame, true);
        page.close(&mut frame, names.len() + page.more, catalogue);
        frame.push_str("Also:\n\n\n");
        Costs {
            frame: count(&frame),
            detailed: sums(&|text, at| page.detailed(text, names, at)),
            compact: sums(&|text, at| page.compact(text, names, at)),
            names: sums(&|text, at| {
                text.push_str(&names[at]);
                text.push_str(", ");
            }),
        }
    }

    fn total(&self, detail: &Detail) -> usize {
        let Detail { detailed, compact, named } = *detail;
        self.frame
            + self.detailed[detailed]
            + (self.compact[compact] - self.compact[detailed])
            + (self.names[named] - self.names[compact])
    }

    /// The most that fits; nothing when the frame alone does not.
    fn within(&self, room: usize, most: Detail) -> Option<Detail> {
        let mut detail = Detail { detailed: 0, compact: 0, named: 0 };
        if self.total(&detail) > room {
            return None;
        }
        let largest = |limit: usize, with: &dyn Fn(usize) -> Detail| {
            // Each step costs more than the one before: what fits is a prefix.
            let (mut fits, mut fails) = (0, limit + 1);
            while fails - fits > 1 {
                let middle = fits + (fails - fits) / 2;
                if self.total(&with(middle)) <= room { fits = middle } else { fails = middle }
            }
            fits
        };
        detail.named = largest(most.named, &|named| Detail { named, ..detail.clone() });
        if detail.named == most.named {
            detail.compact = largest(most.compact, &|compact| Detail { compact, ..detail.clone() });
        }
        if detail.compact == most.named {
            detail.detailed = largest(most.detailed, &|detailed| Detail { detailed, ..detail.clone() });
        }
        Some(detail)
    }
}
