//! Text that is not JSON: where to cut, what to close, and the notice.

use super::boundary::{CutPlan, Gap, region_of};
use super::chars::count;
use super::job::{CutJob, Truncated};
use super::markdown::plan;
use super::notice::Noun;
use toolhub_types::model::Lang;

/// What follows the kept text. A small limit gets less.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tail {
    Notice,
    Ellipsis,
    Nothing,
}

/// Truncates a text that does not fit.
pub(super) fn cut(job: &CutJob<'_>) -> Truncated {
    [Tail::Notice, Tail::Ellipsis, Tail::Nothing]
        .into_iter()
        .find_map(|tail| with(job, tail))
        .unwrap_or_else(|| job.cut_to(String::new(), 0))
}

/// The text with this tail, if there is room for it.
fn with(job: &CutJob<'_>, tail: Tail) -> Option<Truncated> {
    let room = match tail {
        Tail::Notice => {
            // The longest possible notice. A notice may take at most half of the limit.
            let cost = job.counter.count(&job.notice(job.total)) + 1;
            job.limit.checked_sub(cost).filter(|room| *room >= cost)
        }
        Tail::Ellipsis => job.limit.checked_sub(job.counter.count("…")).filter(|room| *room >= 7),
        Tail::Nothing => Some(job.limit),
    };
    let mut room = room?;
    loop {
        let max = job.counter.prefix(job.window, room);
        let chars = if job.noun == Noun::Characters { room } else { count(&job.window[..max]) };
        let plan = plan(job.window, region_of(job.window, chars), max);
        let kept = match job.noun {
            // Subtract what the cut removed: the start need not be counted again.
            Noun::Characters => room - count(&job.window[plan.end..max]),
            Noun::Tokens => job.counter.count(&job.window[..plan.end]),
        };
        let text = assemble(job, &plan, kept, tail);
        let size = match job.noun {
            Noun::Characters => kept + count(&text[plan.end..]),
            Noun::Tokens => job.counter.count(&text),
        };
        if size <= job.limit {
            return Some(job.cut_to(text, kept));
        }
        // A closed code block, or tokens that do not add up, made it too long: shorten by the excess.
        room = room.checked_sub(size - job.limit)?;
    }
}

fn assemble(job: &CutJob<'_>, plan: &CutPlan, kept: usize, tail: Tail) -> String {
    let mut text = String::with_capacity(plan.end + 64);
    text.push_str(&job.window[..plan.end]);
    text.push_str(&plan.close);
    if tail == Tail::Nothing {
        return text;
    }
    if plan.end > 0 {
        text.push_str(match plan.gap {
            Gap::Space if job.lang == Lang::Zh => "",
            Gap::None => "",
            Gap::Space => " ",
            Gap::Line => "\n",
            Gap::Paragraph => "\n\n",
        });
    }
    match tail {
        Tail::Notice => text.push_str(&job.notice(job.total.saturating_sub(kept))),
        _ => text.push('…'),
    }
    text
}
