//! Calls in Python notation, in a list or one per line.

use super::arguments::give_up;
use crate::extent::ValueExtent;
use crate::lenient::Notation;
use crate::parsed::Draft;
use crate::python::{self, BrokenCall, PythonCalls};
use crate::reader::{Found, Opening, ReadContext};

/// The error of a call that continues after the end of its text.
const CUT: &str = "the text ends inside the arguments";

/// Longer words are not names of functions.
const LONGEST_NAME: usize = 256;

/// A list of calls without a marker: all of it must have the form of calls.
pub async fn bare(cx: &ReadContext, opening: Opening, format: &'static str) -> Option<Found> {
    let at = opening.start;
    let inside = cx.skip_space(at + 1).await;
    if !names_call(cx, inside).await {
        return None;
    }
    let extent = cx.extent(at, Notation::Python, &[]).await;
    let (end, closed) = match extent {
        ValueExtent::Closed(end) => (end, true),
        _ => (cx.end_so_far(), false),
    };
    // `[name()](address)` is a link.
    if closed && cx.byte(end).await == Some(b'(') {
        return Some(Found::Text(end));
    }
    let PythonCalls { mut drafts, broken } = cx.with(at, end, |text| python::calls(text, &*cx.tools));
    match broken {
        None if !drafts.is_empty() && extent != (ValueExtent::Cut { in_string: true }) => {}
        // The calls before the one that was cut off are whole.
        Some(broken) if !closed && broken.is_cut && !drafts.is_empty() => {
            drafts.push(Draft::unreadable(&broken.name, CUT));
        }
        _ if closed => return Some(Found::Text(end)),
        // The inside may be rescanned, a limited number of times.
        _ if cx.take_rescan() => return None,
        _ => return Some(Found::Text(cx.end_so_far())),
    }
    Some(Found::Block(cx.emit(drafts, end, format)))
}

/// Calls after a marker, until one of `closes`. Returns their end.
pub async fn marked(
    cx: &ReadContext,
    opening: Opening,
    closes: &[&str],
    format: &'static str,
) -> Option<usize> {
    let mut at = cx.skip_space(opening.after).await;
    let mut found = false;
    let mut closed = false;
    let marker = cx.slice(opening.start, opening.after);
    let stops: Vec<&str> = closes.iter().copied().chain([marker.as_str()]).collect();
    loop {
        let listed = cx.byte(at).await == Some(b'[');
        let inside = if listed { cx.skip_space(at + 1).await } else { at };
        if !names_call(cx, inside).await {
            break;
        }
        let bracket = if listed { at } else { cx.skip(at, python::names).await };
        let (end, whole) = match cx.extent(bracket, Notation::Python, &stops).await {
            ValueExtent::Closed(end) | ValueExtent::Stopped(end) => (end, true),
            ValueExtent::Cut { in_string: false } => (cx.end_so_far(), listed),
            ValueExtent::Cut { in_string: true } => (give_up(cx, bracket, &stops).await, false),
        };
        let PythonCalls { mut drafts, broken } = cx.with(at, end, |text| python::calls(text, &*cx.tools));
        let mut end = end;
        if broken.is_some() || !whole {
            // The calls before the one that cannot be read are whole. What looks like a call after it may be part of a string.
            drafts.push(unreadable(broken));
            end = cx.find_or_end(end, &stops).await;
        }
        cx.emit(drafts, end, format);
        found = true;
        at = cx.skip(end, |byte| byte.is_ascii_whitespace() || matches!(byte, b',' | b';')).await;
        if let Some(index) = cx.literal(at, closes).await {
            at += closes[index].len();
            closed = true;
            break;
        }
        if !names_call(cx, at).await && cx.byte(at).await != Some(b'[') {
            at = end;
            break;
        }
    }
    if !found {
        return None;
    }
    cx.state().close(at, closed || closes.is_empty());
    Some(at)
}

/// The entry for a call that cannot be read.
fn unreadable(broken: Option<BrokenCall>) -> Draft {
    match broken {
        Some(BrokenCall { is_cut: false, name, why }) => Draft::unreadable(&name, why),
        broken => Draft::unreadable(&broken.map(|call| call.name).unwrap_or_default(), CUT),
    }
}

/// True if a name and an opening parenthesis are at `at`.
async fn names_call(cx: &ReadContext, at: usize) -> bool {
    let end = cx.skip_most(at, LONGEST_NAME, python::names).await;
    let begins = cx.byte(at).await.is_some_and(|byte| !byte.is_ascii_digit() && byte != b'-' && byte != b'.');
    end > at && begins && cx.byte(end).await == Some(b'(')
}
