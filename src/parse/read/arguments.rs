//! The JSON object after a name, for dialects that write the name outside of it.

use serde_json::Value;

use crate::parse::context::ReadContext;
use crate::parse::draft::Draft;
use crate::parse::extent::ValueExtent;
use crate::parse::lenient::{self, MissingClosers};
use crate::parse::notation::Notation;
use crate::parse::repair::{Repairs, SyntaxRepair};

/// Reads the arguments at `at` (white space and a fence may come first), emits the call, and returns the position after
/// them. `stops` end a call of this dialect.
pub async fn read(cx: &ReadContext, at: usize, call: NamedCall<'_>, stops: &[&str]) -> usize {
    let mut repairs = Repairs::default();
    let (at, fenced) = skip_fence(cx, cx.input.skip_space(at).await).await;
    if fenced && !call.fences {
        repairs.add(SyntaxRepair::Fence);
    }
    let (arguments, end) = if cx.input.byte(at).await == Some(b'{') {
        object(cx, at, call.notation, &with_fence(stops, fenced), &mut repairs).await
    } else {
        let end = cx.input.find(at, stops).await.map_or_else(|| cx.input.end_so_far(), |(end, _)| end);
        let blank = cx.input.with(at, end, |text| text.trim().is_empty());
        let stopped = !stops.is_empty() && cx.input.literal(end, stops).await.is_some();
        let quoted = cx.input.with(at, end, |text| serde_json::from_str::<String>(text).ok());
        match quoted {
            Some(text) => (Ok(Value::String(text)), end),
            None if blank && stopped => (Ok(Value::Null), end),
            None => (Err("there is no JSON object".to_owned()), end),
        }
    };
    let mut draft = Draft::new(call.name, arguments, repairs);
    draft.id = call.id;
    cx.emit(vec![draft], end, call.format);
    if fenced {
        let close = cx.input.skip_space(end).await;
        if cx.input.literal(close, &["```"]).await.is_some() {
            cx.input.extend(close + 3, None);
            return close + 3;
        }
    }
    end
}

/// What is known about a call before its arguments.
pub struct NamedCall<'a> {
    pub name: &'a str,
    pub id: Option<String>,
    pub format: &'static str,
    pub notation: Notation,
    /// The dialect itself writes a fence around the arguments.
    pub fences: bool,
}

impl<'a> NamedCall<'a> {
    pub fn new(name: &'a str, format: &'static str) -> Self {
        Self { name, id: None, format, notation: Notation::Json, fences: false }
    }
}

/// The object whose bracket is at `at`, and its end.
async fn object(
    cx: &ReadContext,
    at: usize,
    notation: Notation,
    stops: &[&str],
    repairs: &mut Repairs,
) -> (Result<Value, String>, usize) {
    let (end, missing) = match cx.extent(at, notation, stops).await {
        ValueExtent::Closed(end) => (end, MissingClosers::NONE),
        ValueExtent::Stopped(end) => (end, MissingClosers::ALL),
        ValueExtent::Cut { .. } => {
            let end = give_up(cx, at, stops).await;
            return (Err("the text ends before they do".to_owned()), end);
        }
    };
    let read = cx.input.with(at, end, |text| lenient::read(text, notation, missing));
    let value = read.map(|reading| {
        repairs.join(reading.repairs);
        reading.value
    });
    (value, end)
}

/// The end of an unterminated value: the first of its stops, so that the next call is not lost.
pub async fn give_up(cx: &ReadContext, at: usize, stops: &[&str]) -> usize {
    match cx.take_rescan() {
        true => cx.input.find(at, stops).await.map_or_else(|| cx.input.end_so_far(), |(end, _)| end),
        false => cx.input.end_so_far(),
    }
}

/// Adds the end of a fence to the stops.
pub fn with_fence<'a>(stops: &[&'a str], fenced: bool) -> Vec<&'a str> {
    stops.iter().copied().chain(fenced.then_some("```")).collect()
}

/// Skips the opening of a code fence, if there is one.
pub async fn skip_fence(cx: &ReadContext, at: usize) -> (usize, bool) {
    if cx.input.literal(at, &["```"]).await.is_none() {
        return (at, false);
    }
    let word = cx.input.skip(at + 3, |byte| byte.is_ascii_alphanumeric() || byte == b'_').await;
    (cx.input.skip_space(word).await, true)
}
