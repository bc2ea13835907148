//! Solar Open 2: `<|tool_call:start|>name`, and on lines of their own `<|tool_arg:start|>key<|tool_arg:value|>value<|tool_arg:end|>`, then
//! `<|tool_call:end|>`. All marks are single tokens, so no value contains one: each of them ends a value whose own end is missing.

use serde_json::{Map, Value};

use crate::context::ReadContext;
use crate::draft::{CUT, Draft};
use crate::lenient::given_twice;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::read::common;
use crate::repair::{Repairs, SyntaxRepair};
use crate::{python, schemas, typed};

pub(super) const SOLAR_OPEN2: CallDialect = CallDialect {
    name: FORMAT,
    markers: &[
        Marker::new(CALL, read),
        Marker::new(CALL_END, common::leftover),
        Marker::new("<|im:end|>", common::leftover),
    ],
};

const FORMAT: &str = "solar_open2";
const CALL: &str = "<|tool_call:start|>";
const CALL_END: &str = "<|tool_call:end|>";
const KEY: &str = "<|tool_arg:start|>";
const VALUE: &str = "<|tool_arg:value|>";
const VALUE_END: &str = "<|tool_arg:end|>";
/// Ends a value.
const ENDS: &[&str] = &[VALUE_END, KEY, CALL_END, CALL];
/// Ends a key.
const KEY_ENDS: &[&str] = &[VALUE, KEY, CALL_END, CALL];

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let from = cx.input.skip_space(opening.after).await;
        let to = cx.input.skip(from, |byte| python::names(byte) || matches!(byte, b'/' | b':')).await;
        let at = cx.input.skip_space(to).await;
        if to == from || cx.input.literal(at, &[KEY, CALL_END]).await.is_none() {
            return ReadOutcome::No;
        }
        let name = cx.input.slice(from, to);
        let (draft, end) = call(cx, at, &name).await;
        cx.emit(vec![draft], end, FORMAT);
        ReadOutcome::Block(end)
    })
}

/// The call whose arguments begin at `at`, and its end.
async fn call(cx: &ReadContext, mut at: usize, name: &str) -> (Draft, usize) {
    let mut arguments = Map::new();
    let mut repairs = Repairs::default();
    loop {
        at = cx.input.skip_space(at).await;
        let is_over = match cx.input.literal(at, &[CALL_END, KEY, CALL]).await {
            Some(0) => {
                at += CALL_END.len();
                true
            }
            Some(1) => {
                let Some((next, key)) = argument(cx, at + KEY.len(), name, &mut repairs).await else {
                    return (Draft::failed(name, CUT), cx.input.end_so_far());
                };
                at = next;
                if let Some((key, value)) = key
                    && arguments.insert(key.clone(), value).is_some()
                {
                    let why = format!("The arguments cannot be read: {}.", given_twice(&key));
                    return (Draft::failed(name, why), call_end(cx, at).await);
                }
                false
            }
            None if cx.input.byte(at).await.is_none() && !schemas::is_whole(&*cx.tools, name, &arguments) => {
                return (Draft::failed(name, CUT), at);
            }
            // The next call begins, or the text ends.
            found if found.is_some() || cx.input.byte(at).await.is_none() => {
                repairs.add(SyntaxRepair::MissingEndTag);
                true
            }
            _ => {
                let why = "The call cannot be read: there are words where an argument should be.";
                return (Draft::failed(name, why), call_end(cx, at).await);
            }
        };
        if is_over {
            return (Draft::new(name, Ok(Value::Object(arguments)), repairs), at);
        }
    }
}

/// The end of a call that cannot be read.
async fn call_end(cx: &ReadContext, at: usize) -> usize {
    match cx.input.find(at, &[CALL_END, CALL]).await {
        Some((end, 0)) => end + CALL_END.len(),
        Some((end, _)) => end,
        None => cx.input.end_so_far(),
    }
}

/// Reads an argument from after its opening mark, and returns the position after it and its value, if it has one; `None` if the
/// text ends inside of it.
async fn argument(
    cx: &ReadContext,
    from: usize,
    tool: &str,
    repairs: &mut Repairs,
) -> Option<(usize, Option<(String, Value)>)> {
    let (key_end, index) = cx.input.find(from, KEY_ENDS).await?;
    if index > 0 {
        repairs.add(SyntaxRepair::KeyWithoutValue);
        return Some((key_end, None));
    }
    let key = cx.input.slice(from, key_end).trim().to_owned();
    let start = key_end + VALUE.len();
    let (end, index) = cx.input.find(start, ENDS).await?;
    let after = match index {
        0 => end + VALUE_END.len(),
        _ => {
            repairs.add(SyntaxRepair::MissingEndTag);
            end
        }
    };
    let schema = schemas::parameter(&*cx.tools, tool, &key);
    let value = cx.input.with(start, end, |text| {
        // The line end is in place of the end mark.
        let text = if index > 0 { text.strip_suffix('\n').unwrap_or(text) } else { text };
        typed::typed(text, schema)
    });
    Some((after, Some((key, value))))
}
