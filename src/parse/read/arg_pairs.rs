//! Arguments as pairs of tags: `<arg_key>k</arg_key><arg_value>v</arg_value>` (GLM, Hunyuan, IQuest, K2 Horizon).

use serde_json::{Map, Value};

use super::{common, python};
use crate::input::{Found, Opening, ReadContext};
use crate::lenient::{Repairs, SyntaxRepair, given_twice};
use crate::parsed::Draft;
use crate::schemas::typed;
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
}

impl PairStyle {
    pub const fn of(call: &'static str, prefix: &'static str) -> Self {
        Self { call, prefix, wrap: "", separator: "" }
    }

    /// Solar Open 2: `<|tool_arg:start|>key<|tool_arg:value|>value<|tool_arg:end|>`. All marks are single tokens, so no value contains
    /// one, and there are no elements.
    pub const TOKENS: Self = Self::of("", "");

    fn tags(&self, suffix: &str) -> ArgTags {
        match self.call {
            "" => ArgTags::tokens(),
            call => ArgTags::of(call, self.prefix, suffix),
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
pub async fn block(cx: &ReadContext, opening: Opening, style: &PairStyle) -> Option<Found> {
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
    Some(Found::Block(emit(cx, at, &cx.slice(from, to), None, &tags).await))
}

/// The suffix of a tag with its colon, and the position after the tag. Its mark ends with `>` or with the colon.
async fn suffix(cx: &ReadContext, mark: &str, after: usize) -> Option<(String, usize)> {
    if mark.ends_with('>') {
        return Some((String::new(), after));
    }
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let end = cx.skip_most(after, LONGEST_SUFFIX, is_part).await;
    (end > after && cx.byte(end).await == Some(b'>')).then(|| (cx.slice(after - 1, end), end + 1))
}

/// An end tag with a suffix that is left over.
pub async fn leftover(cx: &ReadContext, opening: Opening) -> Option<Found> {
    let mark = cx.slice(opening.start, opening.after);
    let (_, after) = suffix(cx, &mark, opening.after).await?;
    common::leftover(cx, Opening { after, ..opening })
}

/// Reads the arguments at `at`, emits the call, and returns its end. If the `first` key was read already, without its opening
/// tag, its end tag comes next.
pub async fn emit(cx: &ReadContext, at: usize, name: &str, first: Option<&str>, tags: &ArgTags) -> usize {
    let (map, mut repairs) = (Map::new(), Repairs::default());
    if first.is_some() {
        repairs.add(SyntaxRepair::MissingStartTag);
    }
    let mut call = PairReader { cx, tags, tool: name, at, part: at, map, repairs };
    let read = call.read(first).await;
    let end = match &read {
        Ok(()) => call.at,
        Err(_) => cx.find_past(call.part, &[&tags.close, &tags.open]).await.1,
    };
    let arguments = read.map(|()| Value::Object(call.map));
    cx.emit(vec![Draft::new(name, arguments, call.repairs)], end)
}

/// Skips white space between tags, also line ends that the model has escaped.
pub async fn skip_gap(cx: &ReadContext, at: usize) -> usize {
    let mut at = cx.skip_space(at).await;
    while cx.has(at, &["\\n"]).await {
        at = cx.skip_space(at + 2).await;
    }
    at
}

/// Why a call cannot be read that was cut off.
const CUT: &str = "the text ends inside a value";

/// A call whose arguments are read.
struct PairReader<'a> {
    cx: &'a ReadContext,
    tags: &'a ArgTags,
    tool: &'a str,
    at: usize,
    /// Where the part begins that is read now: the end of a call that cannot be read is searched from there.
    part: usize,
    map: Map<String, Value>,
    repairs: Repairs,
}

/// A key and its value, if it has one.
type ArgPair = Result<Option<(String, Value)>, Message>;

impl PairReader<'_> {
    /// Reads all pairs, up to the end of the call.
    async fn read(&mut self, mut first: Option<&str>) -> Result<(), Message> {
        let (cx, tags) = (self.cx, self.tags);
        loop {
            self.at = skip_gap(cx, self.at).await;
            self.part = self.at;
            let pair = match first.take() {
                Some(key) => self.value(key.to_owned()).await?,
                None if cx.has(self.at, &[&tags.close]).await => {
                    self.at += tags.close.len();
                    return Ok(());
                }
                None if cx.has(self.at, &[&tags.key]).await => self.pair().await?,
                None => match self.key_without_tag(self.at).await {
                    // What a tool that is known does not have is not a key.
                    Some((key, end)) if cx.tools.may_follow(self.tool, &key, &self.map) => {
                        self.repairs.add(SyntaxRepair::MissingStartTag);
                        self.at = end;
                        self.value(key).await?
                    }
                    _ if cx.byte(self.at).await.is_none() && !cx.tools.is_whole(self.tool, &self.map) => {
                        return Err("the text ends before the call does".into());
                    }
                    _ if self.is_over(self.at).await => {
                        self.repairs.add(SyntaxRepair::MissingEndTag);
                        return Ok(());
                    }
                    _ => return Err("there are words where a key should be".into()),
                },
            };
            match pair {
                None => self.repairs.add(SyntaxRepair::KeyWithoutValue),
                Some((key, _)) if self.map.contains_key(&key) => {
                    self.part = self.at;
                    return Err(given_twice(&key));
                }
                Some((key, value)) => _ = self.map.insert(key, value),
            }
        }
    }

    /// True at the end of the text and before the next call.
    async fn is_over(&self, at: usize) -> bool {
        self.cx.byte(at).await.is_none() || self.cx.has(at, &[&self.tags.open]).await
    }

    /// True before the next key, and at the end of the call.
    async fn ends_pair(&self, at: usize) -> bool {
        self.is_over(at).await || self.cx.has(at, &[&self.tags.key, &self.tags.close]).await
    }

    /// Reads a key and its value. The value is literal.
    async fn pair(&mut self) -> ArgPair {
        let (cx, tags) = (self.cx, self.tags);
        let from = self.at + tags.key.len();
        let ends: [&str; 6] =
            [&tags.key_end, &tags.value, &tags.key, &tags.close, &tags.open, &tags.value_end];
        let Some((end, index)) = cx.find(from, &ends).await else { return Err(CUT.into()) };
        let key = cx.slice(from, end).trim().to_owned();
        self.at = end;
        match index {
            0 => {}
            1 => self.repairs.add(SyntaxRepair::MissingEndTag),
            // The next call begins inside of the key: this one was cut off.
            4 => return Err(CUT.into()),
            5 => {
                self.repairs.add(SyntaxRepair::MissingStartTag);
                self.at += tags.value_end.len();
                return self.joined(&key).await;
            }
            _ => return Ok(None),
        }
        self.value(key).await
    }

    /// A key and its value with `=` between them in place of tags.
    async fn joined(&self, text: &str) -> ArgPair {
        let is_end = self.ends_pair(skip_gap(self.cx, self.at).await).await;
        let pair = text.split_once('=').map(|(key, value)| (key.trim(), value));
        let is_name = |key: &str| !key.is_empty() && key.bytes().all(python::names);
        let Some((key, value)) = pair.filter(|(key, _)| is_end && is_name(key)) else {
            return Err("a key has the end tag of a value".into());
        };
        let value = typed(value, None, self.cx.tools.parameter(self.tool, key));
        Ok(Some((key.to_owned(), value)))
    }

    /// The key at `at` whose opening tag is missing, and the position of its end tag: a value follows.
    async fn key_without_tag(&self, at: usize) -> Option<(String, usize)> {
        let (cx, tags) = (self.cx, self.tags);
        let end = cx.skip(at, python::names).await;
        cx.literal(end, &[&tags.key_end]).await.filter(|_| end > at)?;
        let next = skip_gap(cx, end + tags.key_end.len()).await;
        cx.literal(next, &[&tags.value, &tags.kind]).await?;
        Some((cx.slice(at, end), end))
    }

    /// Reads the value of a key whose end tags come next.
    async fn value(&mut self, key: String) -> ArgPair {
        let (cx, tags) = (self.cx, self.tags);
        let mut ends = 0;
        while !tags.is_tokens() && cx.has(self.at, &[&tags.key_end]).await {
            self.at = skip_gap(cx, self.at + tags.key_end.len()).await;
            ends += 1;
        }
        if ends > 1 {
            self.repairs.add(SyntaxRepair::SurplusTag);
        }
        let is_text = self.kind().await.map(|kind| matches!(kind.as_str(), "string" | "any"));
        if !cx.has(self.at, &[&tags.value]).await {
            return if self.is_over(self.at).await { Err(CUT.into()) } else { Ok(None) };
        }
        let from = self.at + tags.value.len();
        let Some((to, after)) = self.value_end(from).await else { return Err(CUT.into()) };
        self.at = after;
        if to == after {
            self.repairs.add(SyntaxRepair::MissingEndTag);
        }
        let schema = cx.tools.parameter(self.tool, &key);
        let value = cx.with(from, to, |text| {
            // The line end is in place of the end tag.
            let text = if to == after { text.strip_suffix('\n').unwrap_or(text) } else { text };
            typed(text, is_text, schema)
        });
        Ok(Some((key, value)))
    }

    /// Reads the type of a value that the call itself gives, if it does.
    async fn kind(&mut self) -> Option<String> {
        let (cx, tags) = (self.cx, self.tags);
        let from = cx.after(self.at, &[&tags.kind]).await?;
        let (end, 0) = cx.find(from, &[&tags.kind_end, &tags.value, &tags.close]).await? else {
            return None;
        };
        self.at = skip_gap(cx, end + tags.kind_end.len()).await;
        Some(cx.slice(from, end).trim().to_ascii_lowercase())
    }

    /// The end of a value, and the position after its end tag. An end tag counts only if another tag of the call follows and it
    /// is not that of a pair that began after this value: so a value may quote tags, even whole pairs. Without an end tag, the
    /// next pair or the end of the call ends the value; `None` if there is neither before the next call.
    async fn value_end(&self, from: usize) -> Option<(usize, usize)> {
        let (cx, tags) = (self.cx, self.tags);
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
                0 if self.ends_pair(next).await || self.key_without_tag(next).await.is_some() => {
                    return Some((found, at));
                }
                1 if cx.with(from, found, |text| text.trim_end().ends_with(&*tags.key_end)) => inner += 1,
                2 | 3 if next_call => {}
                2 if key.is_none() && self.begins_pair(from, found).await => key = Some(found),
                3 if self.is_over(next).await => {
                    close.get_or_insert(found);
                    break;
                }
                3 => close = close.or(Some(found)),
                4 if close.is_some() || calls == CALLS_SEARCHED => break,
                4 => (next_call, calls) = (true, calls + 1),
                _ => {}
            }
        }
        let end = key.or(close)?;
        Some((end, end))
    }

    /// True if a key on a new line, or one with a value, is at `at`.
    async fn begins_pair(&self, from: usize, at: usize) -> bool {
        let (cx, tags) = (self.cx, self.tags);
        if at > from && cx.with(at - 1, at, |before| before == "\n") {
            return true;
        }
        let ends: [&str; 5] = [&tags.key_end, &tags.value, &tags.key, &tags.close, &tags.open];
        let Some((end, 0)) = cx.find(at + tags.key.len(), &ends).await else { return false };
        let next = skip_gap(cx, end + tags.key_end.len()).await;
        cx.has(next, &[&tags.value]).await
    }
}

/// The search for the end of a value goes past this many calls, so that it does not begin again at each of a flood.
const CALLS_SEARCHED: usize = 64;
