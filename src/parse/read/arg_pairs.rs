//! Arguments as pairs of tags: `<arg_key>k</arg_key><arg_value>v</arg_value>` (GLM, Hunyuan, IQuest, K2 Horizon).

use serde_json::{Map, Value};

use super::common;
use crate::lenient::given_twice;
use crate::parsed_call::Draft;
use crate::reader::{Opening, ReadContext, ReadOutcome};
use crate::repair::{Repairs, SyntaxRepair};
use crate::{python, schemas, typed};
use toolhub_text::message::Message;

/// How a dialect spells the tags of its pairs.
#[derive(Clone, Copy)]
pub struct PairStyle {
    /// The name of the element around a call, and the prefix of all names.
    pub call: &'static str,
    pub prefix: &'static str,
    /// The name of the element around all calls.
    pub wrap: &'static str,
    /// Stands between the name and the arguments, unless all tags have a suffix.
    pub separator: &'static str,
    /// All marks are single tokens, so no value contains one.
    pub is_tokens: bool,
}

impl PairStyle {
    pub const fn of(call: &'static str, prefix: &'static str) -> Self {
        Self { call, prefix, wrap: "", separator: "", is_tokens: false }
    }

    /// Solar Open 2: `<|tool_arg:start|>key<|tool_arg:value|>value<|tool_arg:end|>`.
    pub const TOKENS: Self = Self { is_tokens: true, ..Self::of("", "") };

    fn tags(&self, suffix: &str) -> ArgTags {
        match self.is_tokens {
            true => ArgTags::tokens(),
            false => ArgTags::of(self.call, self.prefix, suffix),
        }
    }
}

/// The tags of a call. Some checkpoints add a suffix to each name: `<arg_key:opensource>`.
pub struct ArgTags {
    pub open: String,
    pub close: String,
    pub key: String,
    /// The same as `value` if that ends the key.
    pub key_end: String,
    pub value: String,
    pub value_end: String,
    /// Around the type of a value, between its key and the value.
    kind: String,
    kind_end: String,
}

impl ArgTags {
    /// The tags of calls in an element of this name; all names have a prefix and a suffix.
    pub fn of(call: &str, prefix: &str, suffix: &str) -> Self {
        let open = |name: &str| format!("<{prefix}{name}{suffix}>");
        let close = |name: &str| format!("</{prefix}{name}{suffix}>");
        Self {
            open: open(call),
            close: close(call),
            key: open("arg_key"),
            key_end: close("arg_key"),
            value: open("arg_value"),
            value_end: close("arg_value"),
            kind: open("arg_type"),
            kind_end: close("arg_type"),
        }
    }

    fn tokens() -> Self {
        let token = |name: &str| format!("<|tool_{name}|>");
        Self {
            open: token("call:start"),
            close: token("call:end"),
            key: token("arg:start"),
            key_end: token("arg:value"),
            value: token("arg:value"),
            value_end: token("arg:end"),
            kind: token("arg:type"),
            kind_end: token("arg:type"),
        }
    }

    /// The mark between a key and its value is one.
    fn is_tokens(&self) -> bool {
        self.key_end == self.value
    }
}

/// Longer suffixes are text.
const LONGEST_SUFFIX: usize = 64;

/// Reads the first call after a mark of this style.
pub async fn block(
    cx: &ReadContext,
    opening: Opening,
    style: &PairStyle,
    format: &'static str,
) -> ReadOutcome {
    first(cx, opening, style, format).await.into()
}

/// Its end; `None` if what follows is no call.
async fn first(cx: &ReadContext, opening: Opening, style: &PairStyle, format: &'static str) -> Option<usize> {
    let mark = cx.slice(opening.start, opening.after);
    let (suffix, mut after) = suffix(cx, &mark, opening.after).await?;
    let tags = style.tags(&suffix);
    if !style.wrap.is_empty() && mark[1 + style.prefix.len()..].starts_with(style.wrap) {
        after = cx.after_space(after, &[&tags.open]).await?;
    }
    let from = cx.skip_space(after).await;
    let to = cx.skip(from, python::in_path).await;
    let mut at = skip_gap(cx, to).await;
    if !style.separator.is_empty() {
        let separator = [style.separator, &suffix, ">"].concat();
        at = match cx.after(at, &[&separator]).await {
            Some(separated) => skip_gap(cx, separated).await,
            // The plain tag without a separator is that of GLM.
            None => Some(at).filter(|_| !suffix.is_empty())?,
        };
    }
    cx.literal(at, &[&tags.key, &tags.close]).await.filter(|_| to > from)?;
    Some(emit(cx, at, &cx.slice(from, to), None, &tags, format).await)
}

/// The suffix of a tag with its colon, and the position after the tag. Its mark ends with `>` or with the colon.
async fn suffix(cx: &ReadContext, mark: &str, after: usize) -> Option<(String, usize)> {
    if mark.ends_with('>') {
        return Some((String::new(), after));
    }
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let end = cx.skip(after, is_part).await;
    let fits = end > after && end - after <= LONGEST_SUFFIX;
    (fits && cx.byte(end).await == Some(b'>')).then(|| (cx.slice(after - 1, end), end + 1))
}

/// An end tag with a suffix that is left over.
pub async fn leftover(cx: &ReadContext, opening: Opening) -> ReadOutcome {
    let mark = cx.slice(opening.start, opening.after);
    match suffix(cx, &mark, opening.after).await {
        Some((_, after)) => common::leftover(cx, Opening { after, ..opening }),
        None => ReadOutcome::No,
    }
}

/// Reads the arguments at `at`, emits the call, and returns its end. If the `first` key was read already, without its opening
/// tag, its end tag comes next.
pub async fn emit(
    cx: &ReadContext,
    at: usize,
    name: &str,
    first: Option<&str>,
    tags: &ArgTags,
    format: &'static str,
) -> usize {
    let mut repairs = Repairs::default();
    if first.is_some() {
        repairs.add(SyntaxRepair::MissingStartTag);
    }
    let (arguments, end) = read(cx, at, name, first, tags, &mut repairs).await;
    cx.emit(vec![Draft::new(name, arguments.map(Value::Object), repairs)], end, format);
    end
}

/// The arguments, and the end of the call. If the `first` key was read already, its end tag comes next.
async fn read(
    cx: &ReadContext,
    at: usize,
    tool: &str,
    mut first: Option<&str>,
    tags: &ArgTags,
    repairs: &mut Repairs,
) -> (Result<Map<String, Value>, Message>, usize) {
    let mut map = Map::new();
    let mut at = at;
    loop {
        at = skip_gap(cx, at).await;
        let found = match first.take() {
            Some(key) => Some(value(cx, at, key.to_owned(), tool, tags, repairs).await),
            None if cx.literal(at, &[&tags.close]).await.is_some() => {
                return (Ok(map), at + tags.close.len());
            }
            None if cx.literal(at, &[&tags.key]).await.is_some() => {
                Some(pair(cx, at, tool, tags, repairs).await)
            }
            None => match key_without_tag(cx, at, tags).await {
                // What a tool that is known does not have is no key.
                Some((key, end)) if schemas::may_follow(&*cx.tools, tool, &key, &map) => {
                    repairs.add(SyntaxRepair::MissingStartTag);
                    Some(value(cx, end, key, tool, tags, repairs).await)
                }
                _ => None,
            },
        };
        let why = match found {
            Some(pair) => match pair {
                ArgPair::Whole { key, after, .. } if map.contains_key(&key) => {
                    at = after;
                    given_twice(&key)
                }
                ArgPair::Whole { key, value, after } => {
                    map.insert(key, value);
                    at = after;
                    continue;
                }
                ArgPair::NoValue { after } => {
                    repairs.add(SyntaxRepair::KeyWithoutValue);
                    at = after;
                    continue;
                }
                ArgPair::Cut => "the text ends inside a value".into(),
                ArgPair::Torn => "a key has the end tag of a value".into(),
            },
            None if cx.byte(at).await.is_none() && !schemas::is_whole(&*cx.tools, tool, &map) => {
                "the text ends before the call does".into()
            }
            None if is_over(cx, at, tags).await => {
                repairs.add(SyntaxRepair::MissingEndTag);
                return (Ok(map), at);
            }
            None => "there are words where a key should be".into(),
        };
        let end = match cx.find(at, &[&tags.close, &tags.open]).await {
            Some((end, 0)) => end + tags.close.len(),
            Some((end, _)) => end,
            None => cx.end_so_far(),
        };
        return (Err(why), end);
    }
}

/// Skips white space between tags, also line ends that the model has escaped.
pub async fn skip_gap(cx: &ReadContext, at: usize) -> usize {
    let mut at = cx.skip_space(at).await;
    while cx.literal(at, &["\\n"]).await.is_some() {
        at = cx.skip_space(at + 2).await;
    }
    at
}

/// True at the end of the text and before the next call.
async fn is_over(cx: &ReadContext, at: usize, tags: &ArgTags) -> bool {
    cx.byte(at).await.is_none() || cx.literal(at, &[&tags.open]).await.is_some()
}

enum ArgPair {
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
    /// The tags between the key and the value are missing.
    Torn,
}

/// A key and its value. The value is literal.
async fn pair(cx: &ReadContext, at: usize, tool: &str, tags: &ArgTags, repairs: &mut Repairs) -> ArgPair {
    let from = at + tags.key.len();
    let Some((key_end, index)) = cx
        .find(from, &[&tags.key_end, &tags.value, &tags.key, &tags.close, &tags.open, &tags.value_end])
        .await
    else {
        return ArgPair::Cut;
    };
    let key = cx.slice(from, key_end).trim().to_owned();
    match index {
        0 => {}
        1 => repairs.add(SyntaxRepair::MissingEndTag),
        // The next call begins inside of the key: this one was cut off.
        4 => return ArgPair::Cut,
        5 => {
            repairs.add(SyntaxRepair::MissingStartTag);
            return joined(cx, &key, key_end + tags.value_end.len(), tool, tags).await;
        }
        _ => return ArgPair::NoValue { after: key_end },
    }
    value(cx, key_end, key, tool, tags, repairs).await
}

/// A key and its value with `=` between them in place of tags.
async fn joined(cx: &ReadContext, text: &str, after: usize, tool: &str, tags: &ArgTags) -> ArgPair {
    let next = skip_gap(cx, after).await;
    let is_end = is_over(cx, next, tags).await || cx.literal(next, &[&tags.key, &tags.close]).await.is_some();
    let pair = text.split_once('=').map(|(key, value)| (key.trim(), value));
    let Some((key, value)) =
        pair.filter(|(key, _)| is_end && !key.is_empty() && key.bytes().all(python::names))
    else {
        return ArgPair::Torn;
    };
    let value = typed::typed(value, schemas::parameter(&*cx.tools, tool, key));
    ArgPair::Whole { key: key.to_owned(), value, after }
}

/// The key at `at` whose opening tag is missing, and the position of its end tag: a value follows.
async fn key_without_tag(cx: &ReadContext, at: usize, tags: &ArgTags) -> Option<(String, usize)> {
    let end = cx.skip(at, python::names).await;
    cx.literal(end, &[&tags.key_end]).await.filter(|_| end > at)?;
    let next = skip_gap(cx, end + tags.key_end.len()).await;
    cx.literal(next, &[&tags.value, &tags.kind]).await?;
    Some((cx.slice(at, end), end))
}

/// The value of a key whose end tags are at `at`.
async fn value(
    cx: &ReadContext,
    mut at: usize,
    key: String,
    tool: &str,
    tags: &ArgTags,
    repairs: &mut Repairs,
) -> ArgPair {
    let mut ends = 0;
    while !tags.is_tokens() && cx.literal(at, &[&tags.key_end]).await.is_some() {
        at = skip_gap(cx, at + tags.key_end.len()).await;
        ends += 1;
    }
    if ends > 1 {
        repairs.add(SyntaxRepair::SurplusTag);
    }
    let kind = kind(cx, &mut at, tags).await;
    if cx.literal(at, &[&tags.value]).await.is_none() {
        return match cx.byte(at).await {
            Some(_) if cx.literal(at, &[&tags.open]).await.is_none() => ArgPair::NoValue { after: at },
            _ => ArgPair::Cut,
        };
    }
    let from = at + tags.value.len();
    let Some((to, after)) = value_end(cx, from, tags).await else { return ArgPair::Cut };
    if to == after {
        repairs.add(SyntaxRepair::MissingEndTag);
    }
    let schema = schemas::parameter(&*cx.tools, tool, &key);
    let value = cx.with(from, to, |text| {
        // The line end is in place of the end tag.
        let text = if to == after { text.strip_suffix('\n').unwrap_or(text) } else { text };
        match kind {
            Some(kind) => typed::declared(text, matches!(kind.as_str(), "string" | "any"), schema),
            None => typed::typed(text, schema),
        }
    });
    ArgPair::Whole { key, value, after }
}

/// The type of a value that the call itself gives, if it does. Moves `at` behind it.
async fn kind(cx: &ReadContext, at: &mut usize, tags: &ArgTags) -> Option<String> {
    cx.literal(*at, &[&tags.kind]).await?;
    let from = *at + tags.kind.len();
    let (end, 0) = cx.find(from, &[&tags.kind_end, &tags.value, &tags.close]).await? else {
        return None;
    };
    *at = skip_gap(cx, end + tags.kind_end.len()).await;
    Some(cx.slice(from, end).trim().to_ascii_lowercase())
}

/// The search for the end of a value goes past this many calls, so that it does not begin again at each of a flood.
const CALLS_SEARCHED: usize = 64;

/// The end of a value, and the position after its end tag. An end tag counts only if another tag of the call follows and it
/// is not that of a pair that began after this value: so a value may quote tags, even whole pairs. Without an end tag, the
/// next pair or the end of the call ends the value; `None` if there is neither before the next call.
async fn value_end(cx: &ReadContext, from: usize, tags: &ArgTags) -> Option<(usize, usize)> {
    let literals: [&str; 5] = [&tags.value_end, &tags.value, &tags.key, &tags.close, &tags.open];
    if tags.is_tokens() {
        let (end, index) = cx.find(from, &[literals[0], literals[2], literals[3], literals[4]]).await?;
        return Some((end, end + if index == 0 { literals[0].len() } else { 0 }));
    }
    let (mut at, mut inner) = (from, 0_usize);
    let (mut key, mut close, mut next_call, mut calls) = (None, None, false, 0_usize);
    while let Some((found, index)) = cx.find(at, &literals).await {
        at = found + literals[index].len();
        let next = skip_gap(cx, at).await;
        match index {
            0 if inner > 0 => inner -= 1,
            0 if is_over(cx, next, tags).await
                || cx.literal(next, &[&tags.key, &tags.close]).await.is_some() =>
            {
                return Some((found, at));
            }
            0 if key_without_tag(cx, next, tags).await.is_some() => return Some((found, at)),
            1 if cx.with(from, found, |text| text.trim_end().ends_with(&*tags.key_end)) => inner += 1,
            2 | 3 if next_call => {}
            2 if key.is_none() && begins_pair(cx, from, found, tags).await => key = Some(found),
            3 if is_over(cx, next, tags).await => {
                close.get_or_insert(found);
                break;
            }
            3 => close = close.or(Some(found)),
            4 if close.is_some() => break,
            4 if calls == CALLS_SEARCHED => break,
            4 => (next_call, calls) = (true, calls + 1),
            _ => {}
        }
    }
    let end = key.or(close)?;
    Some((end, end))
}

/// True if a key on a new line, or one with a value, is at `at`.
async fn begins_pair(cx: &ReadContext, from: usize, at: usize, tags: &ArgTags) -> bool {
    if at > from && cx.with(at - 1, at, |before| before == "\n") {
        return true;
    }
    let Some((end, 0)) =
        cx.find(at + tags.key.len(), &[&tags.key_end, &tags.value, &tags.key, &tags.close, &tags.open]).await
    else {
        return false;
    };
    let next = skip_gap(cx, end + tags.key_end.len()).await;
    cx.literal(next, &[&tags.value]).await.is_some()
}
