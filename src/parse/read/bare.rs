//! JSON that nothing marks: it is a call only if it looks like one, and data otherwise.

use crate::parse::dialects::{Opening, Read};
use crate::parse::draft::{self, FIRST_KEYS, Shape};
use crate::parse::extent::{Extent, Notation};
use crate::parse::lenient::{self, MayMiss};
use crate::parse::machine::Cx;

/// At a bracket.
pub async fn read(cx: &Cx, opening: Opening, format: &'static str) -> Read {
    match value(cx, opening.start, &[], format).await {
        Value::Calls(end) => Read::Block(end),
        Value::Data(end) => Read::Text(end),
        Value::No => Read::No,
    }
}

pub enum Value {
    /// Not JSON that could be a call.
    No,
    /// JSON that says no call; it is text up to there.
    Data(usize),
    /// Emitted; behind the value.
    Calls(usize),
}

/// Reads the value at the bracket. Its first key decides early, so that other data is not held back.
pub async fn value(cx: &Cx, at: usize, stops: &[&str], format: &'static str) -> Value {
    if !may_be_call(cx, at).await {
        return Value::No;
    }
    let (end, may_miss) = match cx.extent(at, Notation::Json, stops).await {
        Extent::Closed(end) => (end, MayMiss::NONE),
        Extent::Stopped(end) => (end, MayMiss::ALL),
        // Only the outermost bracket may be missing then: what is inside is whole.
        Extent::Cut { .. } => (cx.tape.end_so_far(), MayMiss::OUTERMOST),
    };
    let drafts = cx.tape.with(at, end, |text| {
        let reading = lenient::read(text, Notation::Json, may_miss).ok()?;
        if may_miss == MayMiss::OUTERMOST && draft::ends_early(&reading.value, Shape::Bare) {
            return None;
        }
        draft::calls(reading.value, reading.repairs, Shape::Bare, &cx.tools)
    });
    match drafts {
        Some(drafts) => {
            cx.emit(drafts, end, format);
            Value::Calls(end)
        }
        // What is inside may be looked at again, but not for ever.
        None if may_miss > MayMiss::NONE && cx.second_look() => Value::No,
        None => Value::Data(end),
    }
}

async fn may_be_call(cx: &Cx, at: usize) -> bool {
    let mut at = at;
    if cx.tape.byte(at).await == Some(b'[') {
        at = cx.tape.skip_space(at + 1).await;
    }
    if cx.tape.byte(at).await != Some(b'{') {
        return false;
    }
    let at = cx.tape.skip_space(at + 1).await;
    let Some(quote @ (b'"' | b'\'')) = cx.tape.byte(at).await else { return false };
    match cx.tape.literal(at + 1, FIRST_KEYS).await {
        Some(key) => cx.tape.byte(at + 1 + FIRST_KEYS[key].len()).await == Some(quote),
        None => false,
    }
}
