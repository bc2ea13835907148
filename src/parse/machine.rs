//! The main loop: text up to an opening, then the readers that know it, then text again.

use super::context::ReadContext;
use super::marker::{Opening, ReadOutcome};
use super::openings::{MarkerEntry, Openings};

/// Reads the text to its end.
pub(super) async fn run(cx: ReadContext, openings: &'static Openings) {
    let mut from = 0;
    while let Some((at, entry)) = next_opening(&cx, openings, from).await {
        let opening = Opening { start: at, after: at + entry.text.len() };
        from = at + 1;
        for marker in
            entry.markers.iter().filter(|marker| !(marker.weak && openings.guessing() && cx.is_strong()))
        {
            let calls = cx.input.count_calls();
            match (marker.read)(&cx, opening).await {
                ReadOutcome::No => continue,
                ReadOutcome::Text(to) => from = to,
                ReadOutcome::Block(to) => {
                    cx.input.drop_to(to);
                    from = to;
                    if !marker.weak && cx.input.count_calls() > calls {
                        cx.set_strong();
                    }
                }
            }
            break;
        }
        if cx.is_stopped() {
            cx.input.text_until(from, &[]).await;
            break;
        }
    }
}

/// The next opening from `from` on, and its entry. All text before it is released.
async fn next_opening(
    cx: &ReadContext,
    openings: &'static Openings,
    from: usize,
) -> Option<(usize, &'static MarkerEntry)> {
    let strong = openings.guessing() && cx.is_strong();
    let mut next = from;
    cx.input
        .wait_releasing(|view, before| {
            loop {
                let rest = view.from(next);
                let Some(skipped) = openings.may_begin(rest) else {
                    next = view.end();
                    return (next, view.ended.then_some(None));
                };
                next += skipped;
                let rest = &rest[skipped..];
                let begins_line = before.begins_line(&view, next);
                for entry in openings.at(rest) {
                    if (entry.weak && strong) || (entry.at_line && !begins_line) {
                        continue;
                    }
                    if rest.starts_with(entry.text.as_bytes()) {
                        return (next, Some(Some((next, entry))));
                    }
                    if !view.ended && entry.text.as_bytes().starts_with(rest) {
                        return (next, None);
                    }
                }
                next += 1;
            }
        })
        .await
}
