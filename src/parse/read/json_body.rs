//! JSON between tags: an object, a list, or several of them; in a fence or not.

use std::future::ready;

use super::arguments::{give_up, skip_fence, with_fence};
use crate::parse::dialects::{Opening, Read, Reading};
use crate::parse::draft::{self, Draft, Shape};
use crate::parse::extent::{Extent, Notation};
use crate::parse::lenient::{self, MayMiss, Repair, Repairs};
use crate::parse::machine::Cx;

/// How a dialect puts JSON between tags.
pub struct Body {
    pub format: &'static str,
    /// May come again, or with the marker, before the JSON.
    pub opens: &'static [&'static str],
    /// Empty when nothing ends it but the JSON itself.
    pub closes: &'static [&'static str],
    /// What ends a call whose brackets are open.
    pub stops: &'static [&'static str],
    pub shape: Shape,
}

/// As [`read`]. Most calls are all there and said in the usual way, and are taken in one look.
pub fn reading<'a>(cx: &'a Cx, opening: Opening, body: &'static Body) -> Reading<'a> {
    match cx.tape.take(opening.after, body.format, |text| usual(text, body)) {
        Some(end) => Box::pin(ready(Read::Block(end))),
        None => Box::pin(read(cx, opening, body)),
    }
}

/// The call that a text begins with, and the length of all up to behind its end tag.
fn usual(text: &str, body: &Body) -> Option<(Draft, usize)> {
    let value = text.trim_ascii_start();
    let is_plain = value.starts_with('{') && !body.opens.iter().any(|opens| value.starts_with(opens));
    if body.shape != Shape::Marked || !is_plain {
        return None;
    }
    let (draft, length) = draft::usual(value)?;
    let behind = value[length..].trim_ascii_start();
    // A tag that has come in part may become another one than the first that fits now.
    let tag = body.closes.iter().find(|tag| behind.starts_with(**tag) || tag.starts_with(behind))?;
    let rest = behind.strip_prefix(tag)?;
    Some((draft, text.len() - rest.len()))
}

pub async fn read(cx: &Cx, opening: Opening, body: &Body) -> Read {
    let mut at = cx.tape.skip_space(opening.after).await;
    // Twice is a slip; more of them are text, and not to be stepped over again from each of them.
    for _ in 0..2 {
        let Some(index) = cx.tape.literal(at, body.opens).await else { break };
        at = cx.tape.skip_space(at + body.opens[index].len()).await;
    }
    let (at, fenced) = skip_fence(cx, at).await;
    if !matches!(cx.tape.byte(at).await, Some(b'{' | b'[')) {
        return Read::No;
    }
    let mut repairs = Repairs::default();
    if fenced {
        repairs.add(Repair::Fence);
    }
    let stops = with_fence(body.stops, fenced);
    let mut end = value(cx, at, body, &stops, repairs).await;
    let mut surplus = false;
    loop {
        let at = cx.tape.skip_space(end).await;
        if let Some(index) = cx.tape.literal(at, body.closes).await {
            end = at + body.closes[index].len();
            cx.tape.extend(end, surplus.then_some(Repair::SurplusBrackets));
            return Read::Block(end);
        }
        match cx.tape.byte(at).await {
            Some(b'{' | b'[') if cx.tape.literal(at, body.stops).await.is_none() => {
                end = value(cx, at, body, &stops, repairs).await;
            }
            Some(b',' | b';') => {
                let next = cx.tape.skip_space(at + 1).await;
                if !matches!(cx.tape.byte(next).await, Some(b'{' | b'[')) {
                    break;
                }
                end = at + 1;
            }
            Some(b'}' | b']') => {
                surplus = true;
                end = at + 1;
            }
            Some(b'`') if fenced && cx.tape.literal(at, &["```"]).await.is_some() => end = at + 3,
            _ => break,
        }
    }
    cx.close(end, body.closes.is_empty());
    Read::Block(end)
}

/// Reads one value, emits what it says, and gives the position behind it.
async fn value(cx: &Cx, at: usize, body: &Body, stops: &[&str], repairs: Repairs) -> usize {
    if body.shape == Shape::Marked
        && let Some((draft, length)) = cx.tape.with(at, cx.tape.end_so_far(), draft::usual)
    {
        cx.emit(vec![Draft { repairs, ..draft }], at + length, body.format);
        return at + length;
    }
    let (end, may_miss) = match cx.extent(at, Notation::Json, stops).await {
        Extent::Closed(end) => (end, MayMiss::NONE),
        Extent::Stopped(end) => (end, MayMiss::ALL),
        // Only the outermost bracket may be missing then: what is inside is whole.
        Extent::Cut { in_string: false } => (cx.tape.end_so_far(), MayMiss::OUTERMOST),
        Extent::Cut { in_string: true } => (give_up(cx, at, stops).await, MayMiss::OUTERMOST),
    };
    let drafts = cx.tape.with(at, end, |text| drafts(text, may_miss, body, repairs, cx));
    cx.emit(drafts, end, body.format);
    end
}

fn drafts(text: &str, may_miss: MayMiss, body: &Body, mut repairs: Repairs, cx: &Cx) -> Vec<Draft> {
    // The same way as for a text that came in one piece, so that its arguments are told alike.
    if body.shape == Shape::Marked
        && let Some((draft, length)) = draft::usual(text)
        && length == text.len()
    {
        return vec![Draft { repairs, ..draft }];
    }
    let reading = match lenient::read(text, Notation::Json, may_miss) {
        Ok(reading) => reading,
        Err(why) => return vec![Draft::failed("", format!("The call cannot be read: {why}."))],
    };
    if may_miss == MayMiss::OUTERMOST && draft::ends_early(&reading.value, body.shape) {
        return vec![Draft::failed("", "The call cannot be read: the text ends before its arguments.")];
    }
    repairs.join(reading.repairs);
    let mut found = draft::calls(reading.value, repairs, body.shape, &cx.tools).unwrap_or_default();
    if let Some(why) = reading.cut {
        found.push(Draft::failed("", format!("The call cannot be read: {why}.")));
    }
    found
}
