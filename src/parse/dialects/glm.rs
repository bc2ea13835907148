//! GLM 4.5 and 4.7: `<tool_call>name<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>`, with or without line ends. The 5.3
//! Flash model writes `<tool_call>name>{…}` too.

use crate::python;
use crate::read::arg_pairs::{self, ArgTags};
use crate::read::arguments::{self, CallStops, NamedCall};
use crate::read::common;
use crate::reader::{Opening, ReadContext, ReadOutcome};
use crate::schemas;

pub(super) async fn read(cx: &ReadContext, opening: Opening) -> ReadOutcome {
    let from = cx.skip_space(opening.after).await;
    let to = cx.skip(from, python::in_path).await;
    let at = arg_pairs::skip_gap(cx, to).await;
    // Without arguments it may be a word between tags that are only mentioned.
    let is_call = to > from
        && !common::follows_quote(cx, opening)
        && cx.byte(opening.after).await != Some(b' ')
        && cx.with(from, to, |name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'));
    let tags = &ArgTags::of("tool_call", "", "");
    let name = cx.slice(from, to);
    match cx.literal(at, &[&tags.key, &tags.close]).await {
        Some(0) if to > from => {}
        Some(1) if is_call => {}
        _ => {
            return match json_at(cx, to).await.filter(|_| is_call) {
                Some(at) => with_json(cx, at, &name, tags).await,
                None => without_key_tag(cx, from, tags).await,
            };
        }
    }
    // The newer form has no line ends.
    let format = if at == to { "glm47" } else { "glm45" };
    ReadOutcome::Block(arg_pairs::emit(cx, at, &name, None, tags, format).await)
}

/// Where the object after a name begins, if there is one: `name>{`, or on the next line.
async fn json_at(cx: &ReadContext, to: usize) -> Option<usize> {
    let after = matches!(cx.byte(to).await?, b'>' | b'\n').then_some(to + 1)?;
    let at = cx.skip_space(after).await;
    (cx.byte(at).await == Some(b'{')).then_some(at)
}

async fn with_json(cx: &ReadContext, at: usize, name: &str, tags: &ArgTags) -> ReadOutcome {
    let stops = CallStops { ends: &[&tags.close], next: &[&tags.open] };
    let end = arguments::read(cx, at, NamedCall::new(name, "glm47"), stops).await;
    // The model does not always write the end tag.
    ReadOutcome::Block(cx.close_with(end, &[&tags.close]).await.unwrap_or(end))
}

/// Models lose the tag before the first key, or write that of a call in its place. The names of known tools tell where the key
/// begins.
async fn without_key_tag(cx: &ReadContext, from: usize, tags: &ArgTags) -> ReadOutcome {
    if cx.tools.is_empty() {
        return ReadOutcome::No;
    }
    let ends = [tags.key_end.as_str(), &tags.key, &tags.value, &tags.close];
    let Some((end, 0)) = cx.find(from, &ends).await else { return ReadOutcome::No };
    let Some((name, key)) = cx.with(from, end, |head| split(head, tags, cx)) else {
        return ReadOutcome::No;
    };
    ReadOutcome::Block(arg_pairs::emit(cx, end, &name, Some(&key), tags, "glm47").await)
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
