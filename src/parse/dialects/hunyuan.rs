//! Hunyuan V3 and V4: `<tool_calls><tool_call>name<tool_sep><arg_key>k</arg_key><arg_value>v</arg_value></tool_call></tool_calls>`.
//!
//! V4 has no separator, and each tag may have a suffix that is the same for all: `<tool_call:opensource>`.

use serde_json::Value;

use super::hermes;
use crate::context::ReadContext;
use crate::draft::Draft;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::python;
use crate::read::arg_pairs::{self, ArgTags};
use crate::read::common;
use crate::repair::Repairs;

pub(super) const HUNYUAN: CallDialect = CallDialect {
    name: "hunyuan",
    markers: &[
        Marker::new("<tool_calls>", wrap),
        Marker::new("<tool_calls:", wrap),
        Marker::new("<tool_call>", call),
        Marker::new("<tool_call:", call),
        Marker::new("</tool_calls>", common::leftover),
        Marker::new("</tool_calls:", end),
        hermes::MARKER,
    ],
};

const SEPARATOR: &str = "tool_sep";
/// Longer suffixes are text.
const LONGEST_SUFFIX: usize = 64;

/// The suffix of a tag with its colon, and the position after the tag. The marker ends with `>` or with the colon.
async fn suffix(cx: &ReadContext, opening: Opening) -> Option<(String, usize)> {
    if cx.input.with(opening.start, opening.after, |marker| marker.ends_with('>')) {
        return Some((String::new(), opening.after));
    }
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let end = cx.input.skip(opening.after, is_part).await;
    let fits = end > opening.after && end - opening.after <= LONGEST_SUFFIX;
    (fits && cx.input.byte(end).await == Some(b'>'))
        .then(|| (cx.input.slice(opening.after - 1, end), end + 1))
}

/// Skips the tag around the calls.
fn wrap(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let Some((suffix, after)) = suffix(cx, opening).await else { return ReadOutcome::No };
        let open = ArgTags::new(&suffix).open;
        let start = cx.input.skip_space(after).await;
        if cx.input.literal(start, &[&open]).await.is_none() {
            return ReadOutcome::No;
        }
        // Other families have the same tags around JSON.
        match read_call(cx, start + open.len(), &suffix).await {
            Some(end) => ReadOutcome::Block(end),
            None => ReadOutcome::No,
        }
    })
}

fn call(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let Some((suffix, after)) = suffix(cx, opening).await else { return ReadOutcome::No };
        // The plain tag without a separator is that of GLM.
        match read_call(cx, after, &suffix).await {
            Some(end) => ReadOutcome::Block(end),
            None => ReadOutcome::No,
        }
    })
}

fn end(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        match suffix(cx, opening).await {
            Some((_, after)) if cx.input.count_calls() > 0 => ReadOutcome::Block(after),
            _ => ReadOutcome::No,
        }
    })
}

/// Reads a call from after its opening tag, and returns the position after it.
async fn read_call(cx: &ReadContext, after: usize, suffix: &str) -> Option<usize> {
    let tags = ArgTags::new(suffix);
    let separator = format!("<{SEPARATOR}{suffix}>");
    let from = cx.input.skip_space(after).await;
    let to = cx.input.skip(from, |byte| python::names(byte) || matches!(byte, b'/' | b':')).await;
    let mut at = cx.input.skip_space(to).await;
    let is_separated = cx.input.literal(at, &[&separator]).await.is_some();
    if is_separated {
        at = cx.input.skip_space(at + separator.len()).await;
    }
    let begins = cx.input.literal(at, &[&tags.key, &tags.close]).await.is_some();
    if to == from || !begins || (suffix.is_empty() && !is_separated) {
        return None;
    }
    let name = cx.input.slice(from, to);
    let mut repairs = Repairs::default();
    let (arguments, end) = arg_pairs::read(cx, at, &name, None, &tags, &mut repairs).await;
    cx.emit(vec![Draft::new(&name, arguments.map(Value::Object), repairs)], end, "hunyuan");
    Some(end)
}
