//! GLM 4.5 and 4.7: `<tool_call>name<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>`, with or without line ends. The 5.3
//! Flash model writes `<tool_call>name>{…}` too.

use std::sync::OnceLock;

use serde_json::Value;

use super::hermes;
use crate::context::ReadContext;
use crate::draft::Draft;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::python;
use crate::read::arg_pairs::{self, ArgTags};
use crate::read::arguments::{self, CallStops, NamedCall};
use crate::repair::{Repairs, SyntaxRepair};
use crate::schemas;

const MARKERS: &[Marker] = &[Marker::new("<tool_call>", read), hermes::MARKER];

pub(super) const GLM45: CallDialect = CallDialect { name: "glm45", markers: MARKERS };
pub(super) const GLM47: CallDialect = CallDialect { name: "glm47", markers: MARKERS };

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let from = cx.input.skip_space(opening.after).await;
        let to = cx.input.skip(from, |byte| python::names(byte) || matches!(byte, b'/' | b':')).await;
        let at = arg_pairs::skip_gap(cx, to).await;
        // Without arguments it may be a word between tags that are only mentioned.
        let is_prose = hermes::is_quoted(cx, opening)
            || cx.input.byte(opening.after).await == Some(b' ')
            || !cx.input.with(from, to, |name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'));
        static TAGS: OnceLock<ArgTags> = OnceLock::new();
        let tags = TAGS.get_or_init(|| ArgTags::new(""));
        match cx.input.literal(at, &[&tags.key, &tags.close]).await {
            Some(0) if to > from => {}
            Some(1) if to > from && !is_prose => {}
            _ if to > from && !is_prose && is_without_arguments(cx, at, tags).await => {
                return without_arguments(cx, from, to, tags).await;
            }
            _ if to > from && !is_prose && json_at(cx, to).await.is_some() => {
                return with_json(cx, from, to, tags).await;
            }
            _ => return without_key_tag(cx, from, tags).await,
        }
        let name = cx.input.slice(from, to);
        // The newer form has no line ends.
        let format = if at == to { "glm47" } else { "glm45" };
        let mut repairs = Repairs::default();
        let (arguments, end) = arg_pairs::read(cx, at, &name, None, tags, &mut repairs).await;
        cx.emit(vec![Draft::new(&name, arguments.map(Value::Object), repairs)], end, format);
        ReadOutcome::Block(end)
    })
}

/// True if nothing but a surplus end tag is before the end of the call.
async fn is_without_arguments(cx: &ReadContext, at: usize, tags: &ArgTags) -> bool {
    let ends = [tags.value_end.as_str(), &tags.key_end];
    let Some(index) = cx.input.literal(at, &ends).await else { return false };
    let next = arg_pairs::skip_gap(cx, at + ends[index].len()).await;
    cx.input.literal(next, &[&tags.close]).await.is_some()
}

async fn without_arguments(cx: &ReadContext, from: usize, to: usize, tags: &ArgTags) -> ReadOutcome {
    let mut repairs = Repairs::default();
    repairs.add(SyntaxRepair::SurplusTag);
    let draft = Draft::new(&cx.input.slice(from, to), Ok(Value::Null), repairs);
    let end = match cx.input.find(to, &[&tags.close]).await {
        Some((end, _)) => end + tags.close.len(),
        None => cx.input.end_so_far(),
    };
    cx.emit(vec![draft], end, "glm47");
    ReadOutcome::Block(end)
}

/// Where the object behind a name begins, if there is one: `name>{`, or on the next line.
async fn json_at(cx: &ReadContext, to: usize) -> Option<usize> {
    let after = match cx.input.byte(to).await? {
        b'>' | b'\n' => to + 1,
        _ => return None,
    };
    let at = cx.input.skip_space(after).await;
    (cx.input.byte(at).await == Some(b'{')).then_some(at)
}

async fn with_json(cx: &ReadContext, from: usize, to: usize, tags: &ArgTags) -> ReadOutcome {
    let Some(at) = json_at(cx, to).await else { return ReadOutcome::No };
    let name = cx.input.slice(from, to);
    let stops = CallStops { ends: &[&tags.close], next: &[&tags.open] };
    let end = arguments::read(cx, at, NamedCall::new(&name, "glm47"), stops).await;
    let close = cx.input.skip_space(end).await;
    if cx.input.literal(close, &[&tags.close]).await.is_some() {
        cx.input.extend(close + tags.close.len(), None);
        return ReadOutcome::Block(close + tags.close.len());
    }
    // The model does not always write the end tag.
    ReadOutcome::Block(end)
}

/// Models lose the tag before the first key, or write that of a call in its place. The names of known tools tell where the key
/// begins.
async fn without_key_tag(cx: &ReadContext, from: usize, tags: &ArgTags) -> ReadOutcome {
    if cx.tools.is_empty() {
        return ReadOutcome::No;
    }
    let ends = [tags.key_end.as_str(), &tags.key, &tags.value, &tags.close];
    let Some((end, 0)) = cx.input.find(from, &ends).await else { return ReadOutcome::No };
    let Some((name, key)) = cx.input.with(from, end, |head| split(head, tags, cx)) else {
        return ReadOutcome::No;
    };
    let mut repairs = Repairs::default();
    repairs.add(SyntaxRepair::MissingStartTag);
    let (arguments, to) = arg_pairs::read(cx, end, &name, Some(&key), tags, &mut repairs).await;
    cx.emit(vec![Draft::new(&name, arguments.map(Value::Object), repairs)], to, "glm47");
    ReadOutcome::Block(to)
}

/// A known tool and one of its parameters, out of their names without the tag between them.
fn split(head: &str, tags: &ArgTags, cx: &ReadContext) -> Option<(String, String)> {
    let mut found: Option<(String, String)> = None;
    cx.tools.each(&mut |tool, _| {
        let Some(rest) = head.strip_prefix(tool) else { return };
        let key = rest.trim_start();
        let key = key.strip_prefix(tags.open.as_str()).unwrap_or(key).trim();
        let is_longer = found.as_ref().is_none_or(|(name, _)| name.len() < tool.len());
        if is_longer && schemas::parameter(&*cx.tools, tool, key).is_some() {
            found = Some((tool.to_owned(), key.to_owned()));
        }
    });
    found
}
