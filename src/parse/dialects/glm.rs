//! GLM 4.5 and 4.7: `<tool_call>name<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>`, with or without line ends.

use serde_json::{Map, Value};

use super::hermes;
use crate::parse::context::ReadContext;
use crate::parse::draft::Draft;
use crate::parse::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::parse::repair::{Repairs, SyntaxRepair};
use crate::parse::{python, schemas, typed};

const MARKERS: &[Marker] = &[Marker::new("<tool_call>", read), Marker::new("<tool_call>", hermes::read)];

pub(super) const GLM45: CallDialect = CallDialect { name: "glm45", markers: MARKERS };
pub(super) const GLM47: CallDialect = CallDialect { name: "glm47", markers: MARKERS };

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";
const KEY: &str = "<arg_key>";
const KEY_END: &str = "</arg_key>";
const VALUE: &str = "<arg_value>";
const VALUE_END: &str = "</arg_value>";

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let from = cx.input.skip_space(opening.after).await;
        let to = cx.input.skip(from, |byte| python::names(byte) || matches!(byte, b'/' | b':')).await;
        let at = cx.input.skip_space(to).await;
        // Without arguments it may be a word between tags that are only mentioned.
        let is_prose = hermes::is_quoted(cx, opening)
            || cx.input.byte(opening.after).await == Some(b' ')
            || !cx.input.with(from, to, |name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'));
        match cx.input.literal(at, &[KEY, CLOSE]).await {
            Some(0) if to > from => {}
            Some(1) if to > from && !is_prose => {}
            _ => return ReadOutcome::No,
        }
        let name = cx.input.slice(from, to);
        // The newer form has no line ends.
        let format = if at == to { "glm47" } else { "glm45" };
        let mut repairs = Repairs::default();
        let (arguments, end) = arguments(cx, at, &name, &mut repairs).await;
        cx.emit(vec![Draft::new(&name, arguments.map(Value::Object), repairs)], end, format);
        ReadOutcome::Block(end)
    })
}

/// The arguments, and the end of the call.
async fn arguments(
    cx: &ReadContext,
    at: usize,
    tool: &str,
    repairs: &mut Repairs,
) -> (Result<Map<String, Value>, String>, usize) {
    let mut map = Map::new();
    let mut at = at;
    loop {
        at = cx.input.skip_space(at).await;
        let why = match cx.input.literal(at, &[CLOSE, KEY]).await {
            Some(0) => return (Ok(map), at + CLOSE.len()),
            Some(_) => match pair(cx, at, tool, repairs).await {
                Pair::Whole { key, value, after } => {
                    map.insert(key, value);
                    at = after;
                    continue;
                }
                Pair::NoValue { after } => {
                    repairs.add(SyntaxRepair::KeyWithoutValue);
                    at = after;
                    continue;
                }
                Pair::Cut => "the text ends inside a value",
            },
            None if is_over(cx, at).await => {
                repairs.add(SyntaxRepair::MissingEndTag);
                return (Ok(map), at);
            }
            None => "there are words where a key should be",
        };
        let end = match cx.input.find(at, &[CLOSE, OPEN]).await {
            Some((end, 0)) => end + CLOSE.len(),
            Some((end, _)) => end,
            None => cx.input.end_so_far(),
        };
        return (Err(why.to_owned()), end);
    }
}

/// True at the end of the text and before the next call.
async fn is_over(cx: &ReadContext, at: usize) -> bool {
    cx.input.byte(at).await.is_none() || cx.input.literal(at, &[OPEN]).await.is_some()
}

enum Pair {
    Whole {
        key: String,
        value: Value,
        after: usize,
    },
    /// The call goes on at `after`.
    NoValue {
        after: usize,
    },
    Cut,
}

/// A key and its value. The value is literal.
async fn pair(cx: &ReadContext, at: usize, tool: &str, repairs: &mut Repairs) -> Pair {
    let from = at + KEY.len();
    let Some((key_end, index)) = cx.input.find(from, &[KEY_END, VALUE, KEY, CLOSE, OPEN]).await else {
        return Pair::Cut;
    };
    let key = cx.input.slice(from, key_end).trim().to_owned();
    let at = match index {
        0 => cx.input.skip_space(key_end + KEY_END.len()).await,
        1 => {
            repairs.add(SyntaxRepair::MissingEndTag);
            key_end
        }
        _ => return Pair::NoValue { after: key_end },
    };
    if cx.input.literal(at, &[VALUE]).await.is_none() {
        return match cx.input.byte(at).await {
            Some(_) => Pair::NoValue { after: at },
            None => Pair::Cut,
        };
    }
    let from = at + VALUE.len();
    let Some((to, after)) = value_end(cx, from).await else { return Pair::Cut };
    if to == after {
        repairs.add(SyntaxRepair::MissingEndTag);
    }
    let schema = schemas::parameter(&*cx.tools, tool, &key);
    let value = cx.input.with(from, to, |text| {
        // The line end is in place of the end tag.
        let text = if to == after { text.strip_suffix('\n').unwrap_or(text) } else { text };
        typed::typed(text, schema)
    });
    Pair::Whole { key, value, after }
}

/// The end of a value, and the position after its end tag. An end tag counts only if another tag of the call follows and it
/// is not that of a pair that began after this value: so a value may quote tags, even whole pairs. Without an end tag, the
/// next pair or the end of the call ends the value; `None` if there is neither before the next call.
async fn value_end(cx: &ReadContext, from: usize) -> Option<(usize, usize)> {
    let tags = [VALUE_END, VALUE, KEY, CLOSE, OPEN];
    let (mut at, mut inner) = (from, 0_usize);
    let (mut key, mut close, mut next_call) = (None, None, false);
    while let Some((found, index)) = cx.input.find(at, &tags).await {
        at = found + tags[index].len();
        let next = cx.input.skip_space(at).await;
        match index {
            0 if inner > 0 => inner -= 1,
            0 if is_over(cx, next).await || cx.input.literal(next, &[KEY, CLOSE]).await.is_some() => {
                return Some((found, at));
            }
            1 if cx.input.with(from, found, |text| text.trim_end().ends_with(KEY_END)) => inner += 1,
            2 | 3 if next_call => {}
            2 if key.is_none() && begins_pair(cx, from, found).await => key = Some(found),
            3 if is_over(cx, next).await => {
                close.get_or_insert(found);
                break;
            }
            3 => close = close.or(Some(found)),
            4 if close.is_some() => break,
            4 => next_call = true,
            _ => {}
        }
    }
    let end = key.or(close)?;
    Some((end, end))
}

/// True if a key on a new line, or one with a value, is at `at`.
async fn begins_pair(cx: &ReadContext, from: usize, at: usize) -> bool {
    if at > from && cx.input.with(at - 1, at, |before| before == "\n") {
        return true;
    }
    let Some((end, 0)) = cx.input.find(at + KEY.len(), &[KEY_END, VALUE, KEY, CLOSE, OPEN]).await else {
        return false;
    };
    let next = cx.input.skip_space(end + KEY_END.len()).await;
    cx.input.literal(next, &[VALUE]).await.is_some()
}
