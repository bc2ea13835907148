//! JSON without a marker: a call only if it has the shape of one, otherwise data.

use crate::parse::context::ReadContext;
use crate::parse::extent::ValueExtent;
use crate::parse::json_calls::{self, CallShape};
use crate::parse::keys::FIRST_KEYS;
use crate::parse::lenient::{self, MissingClosers};
use crate::parse::marker::{Opening, ReadOutcome};
use crate::parse::notation::Notation;

/// Reads the value at the bracket of the opening.
pub async fn read(cx: &ReadContext, opening: Opening, format: &'static str) -> ReadOutcome {
    match value(cx, opening.start, &[], format).await {
        BareJson::Calls(end) => ReadOutcome::Block(end),
        BareJson::Data(end) => ReadOutcome::Text(end),
        BareJson::No => ReadOutcome::No,
    }
}

pub enum BareJson {
    /// Cannot be a call.
    No,
    /// JSON that is not a call: text up to this position.
    Data(usize),
    /// Calls were emitted, up to this position.
    Calls(usize),
}

/// Reads the value at the bracket. Its first key decides early, so other data is not held back.
pub async fn value(cx: &ReadContext, at: usize, stops: &[&str], format: &'static str) -> BareJson {
    if !may_be_call(cx, at).await {
        return BareJson::No;
    }
    let (end, missing) = match cx.extent(at, Notation::Json, stops).await {
        ValueExtent::Closed(end) => (end, MissingClosers::NONE),
        ValueExtent::Stopped(end) => (end, MissingClosers::ALL),
        // Only the outermost bracket may be missing: everything inside is complete.
        ValueExtent::Cut { .. } => (cx.input.end_so_far(), MissingClosers::OUTERMOST),
    };
    let drafts = cx.input.with(at, end, |text| {
        let reading = lenient::read(text, Notation::Json, missing).ok()?;
        if missing == MissingClosers::OUTERMOST && json_calls::ends_early(&reading.value, CallShape::Bare) {
            return None;
        }
        json_calls::calls(reading.value, reading.repairs, CallShape::Bare, &*cx.tools)
    });
    match drafts {
        Some(drafts) => {
            cx.emit(drafts, end, format);
            BareJson::Calls(end)
        }
        // The inside may be rescanned, a limited number of times.
        None if missing > MissingClosers::NONE && cx.take_rescan() => BareJson::No,
        None => BareJson::Data(end),
    }
}

async fn may_be_call(cx: &ReadContext, at: usize) -> bool {
    let mut at = at;
    if cx.input.byte(at).await == Some(b'[') {
        at = cx.input.skip_space(at + 1).await;
    }
    if cx.input.byte(at).await != Some(b'{') {
        return false;
    }
    let at = cx.input.skip_space(at + 1).await;
    let Some(quote @ (b'"' | b'\'')) = cx.input.byte(at).await else { return false };
    match cx.input.literal(at + 1, FIRST_KEYS).await {
        Some(key) => cx.input.byte(at + 1 + FIRST_KEYS[key].len()).await == Some(quote),
        None => false,
    }
}
