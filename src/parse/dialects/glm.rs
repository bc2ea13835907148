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
        let (arguments, end, closed) = arguments(cx, at, &name).await;
        let mut repairs = Repairs::default();
        if !closed {
            repairs.add(SyntaxRepair::MissingEndTag);
        }
        cx.emit(vec![Draft::new(&name, arguments.map(Value::Object), repairs)], end, format);
        ReadOutcome::Block(end)
    })
}

/// The arguments, the end of the call, and whether its end tag is there.
async fn arguments(
    cx: &ReadContext,
    at: usize,
    tool: &str,
) -> (Result<Map<String, Value>, String>, usize, bool) {
    let mut map = Map::new();
    let mut at = at;
    loop {
        at = cx.input.skip_space(at).await;
        match cx.input.literal(at, &[CLOSE, KEY]).await {
            Some(0) => return (Ok(map), at + CLOSE.len(), true),
            Some(_) => match pair(cx, at, tool).await {
                Some((key, value, after)) => {
                    map.insert(key, value);
                    at = after;
                }
                None => return (Err("the text ends inside a value".into()), cx.input.end_so_far(), false),
            },
            None if cx.input.byte(at).await.is_none() => return (Ok(map), at, false),
            None if cx.input.literal(at, &["<tool_call>"]).await.is_some() => return (Ok(map), at, false),
            None => {
                let why = "there are words where a key should be".to_owned();
                return match cx.input.find(at, &[CLOSE]).await {
                    Some((end, _)) => (Err(why), end + CLOSE.len(), true),
                    None => (Err(why), cx.input.end_so_far(), false),
                };
            }
        }
    }
}

/// A key and its value. The value is literal.
async fn pair(cx: &ReadContext, at: usize, tool: &str) -> Option<(String, Value, usize)> {
    let (key_end, _) = cx.input.find(at, &[KEY_END]).await?;
    let key = cx.input.slice(at + KEY.len(), key_end).trim().to_owned();
    let at = cx.input.skip_space(key_end + KEY_END.len()).await;
    cx.input.literal(at, &[VALUE]).await?;
    let from = at + VALUE.len();
    let (to, after) = value_end(cx, from).await?;
    let schema = schemas::parameter(&*cx.tools, tool, &key);
    let value = cx.input.with(from, to, |text| {
        // The line end is in place of the end tag.
        let text = if to == after { text.strip_suffix('\n').unwrap_or(text) } else { text };
        typed::typed(text, schema)
    });
    Some((key, value, after))
}

/// The end of a value, and the position after its end tag. An end tag counts only if another tag of the call follows.
/// Without one, a key on a new line or the end of the call ends the value.
async fn value_end(cx: &ReadContext, from: usize) -> Option<(usize, usize)> {
    let ends = [VALUE_END, KEY, CLOSE];
    let mut at = from;
    loop {
        let (found, index) = cx.input.find(at, &ends).await?;
        at = found + ends[index].len();
        let next = cx.input.skip_space(at).await;
        let over =
            cx.input.byte(next).await.is_none() || cx.input.literal(next, &["<tool_call>"]).await.is_some();
        match index {
            0 if over || cx.input.literal(next, &[KEY, CLOSE]).await.is_some() => return Some((found, at)),
            1 if cx.input.with(found - 1, found, |before| before == "\n") => return Some((found, found)),
            2 if over => return Some((found, found)),
            _ => {}
        }
    }
}
