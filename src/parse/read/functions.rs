//! Calls in the notation of Python, in a list or one a line.

use crate::parse::dialects::{Opening, Read};
use crate::parse::draft::Draft;
use crate::parse::extent::{Extent, Notation};
use crate::parse::machine::Cx;
use crate::parse::python;

/// Longer words are not names of functions.
const LONGEST_NAME: usize = 256;

/// A list of calls at `at`, which stands at its bracket. Nothing marks it: it must look like one in all.
pub async fn bare(cx: &Cx, opening: Opening, format: &'static str) -> Read {
    let at = opening.start;
    let inside = cx.tape.skip_space(at + 1).await;
    if !names_call(cx, inside).await {
        return Read::No;
    }
    let (end, closed) = match cx.extent(at, Notation::Python, &[]).await {
        Extent::Closed(end) => (end, true),
        Extent::Cut { in_string: false } => (cx.tape.end_so_far(), false),
        _ => return unfinished(cx),
    };
    // `[name()](address)` is a link.
    if closed && cx.tape.byte(end).await == Some(b'(') {
        return Read::Text(end);
    }
    match cx.tape.with(at, end, |text| python::calls(text, &cx.tools)) {
        Ok(drafts) if !drafts.is_empty() => {
            cx.emit(drafts, end, format);
            Read::Block(end)
        }
        _ if closed => Read::Text(end),
        _ => unfinished(cx),
    }
}

/// A list that never ends: what is inside may be looked at again, but not for ever.
fn unfinished(cx: &Cx) -> Read {
    match cx.second_look() {
        true => Read::No,
        false => Read::Text(cx.tape.end_so_far()),
    }
}

/// Calls behind a marker, until one of `closes`.
pub async fn marked(cx: &Cx, opening: Opening, closes: &[&str], format: &'static str) -> Read {
    let mut at = cx.tape.skip_space(opening.after).await;
    let mut found = false;
    let mut closed = false;
    loop {
        let listed = cx.tape.byte(at).await == Some(b'[');
        let inside = if listed { cx.tape.skip_space(at + 1).await } else { at };
        if !names_call(cx, inside).await {
            break;
        }
        let bracket = if listed { at } else { cx.tape.skip(at, python::names).await };
        let (end, whole) = match cx.extent(bracket, Notation::Python, closes).await {
            Extent::Closed(end) | Extent::Stopped(end) => (end, true),
            Extent::Cut { in_string } => (cx.tape.end_so_far(), listed && !in_string),
        };
        let read = match whole {
            true => cx.tape.with(at, end, |text| python::calls(text, &cx.tools)),
            false => Err("the text ends inside the arguments".to_owned()),
        };
        let failed = |why: String| vec![Draft::failed("", format!("The call cannot be read: {why}."))];
        cx.emit(read.unwrap_or_else(failed), end, format);
        found = true;
        at = cx.tape.skip(end, |byte| byte.is_ascii_whitespace() || matches!(byte, b',' | b';')).await;
        if let Some(index) = cx.tape.literal(at, closes).await {
            at += closes[index].len();
            closed = true;
            break;
        }
        if !names_call(cx, at).await && cx.tape.byte(at).await != Some(b'[') {
            at = end;
            break;
        }
    }
    if !found {
        return Read::No;
    }
    cx.close(at, closed || closes.is_empty());
    Read::Block(at)
}

/// Whether a name and an opening parenthesis stand there.
async fn names_call(cx: &Cx, at: usize) -> bool {
    let mut next = at;
    let name_end = cx
        .tape
        .wait(|view| {
            let rest = view.from(next);
            match rest.iter().position(|byte| !python::names(*byte)) {
                _ if next - at > LONGEST_NAME => Some(None),
                Some(end) => Some(Some(next + end)),
                None => {
                    next += rest.len();
                    view.ended.then_some(None)
                }
            }
        })
        .await;
    let Some(end) = name_end.filter(|end| *end > at) else { return false };
    let begins =
        cx.tape.byte(at).await.is_some_and(|byte| !byte.is_ascii_digit() && byte != b'-' && byte != b'.');
    begins && cx.tape.byte(end).await == Some(b'(')
}
