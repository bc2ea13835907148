//! Calls as XML-like elements with parameters inside, in the spellings of several families.
//!
//! The content of a parameter is literal. Its end tag counts only if another tag of the call follows, so a value may quote
//! end tags. A parameter without an end tag ends at the next parameter (on a new line, or if the tool has such a one), or at the
//! end of the call. A call without its
//! end tag is over before the next call and before what ends the block; at the end of the text, only if it has all arguments of
//! its tool: it may have been cut off between two of them.

use serde_json::{Map, Value};

use super::arguments::{self, CallStops, NamedCall};
use super::common;
use crate::elements;
use crate::input::{Found, Opening, ReadContext};
use crate::lenient::{Repairs, SyntaxRepair};
use crate::parsed::Draft;
use crate::schemas::{SchemaView, typed};
use toolhub_text::repeats_key;

/// How a dialect spells its tags.
#[derive(Clone, Copy)]
pub struct TagStyle {
    /// Wraps the calls; skipped.
    pub wraps: &'static [&'static str],
    /// Ends the block.
    pub closes: &'static [&'static str],
    /// `<invoke`: what follows up to `tag_end` has the name.
    pub call: &'static str,
    pub call_end: &'static str,
    pub param: &'static str,
    pub param_end: &'static str,
    pub tag_end: &'static str,
    /// One line end on each side of a value is not part of the value.
    pub lines: bool,
    /// The openings of calls in a sister style: a call that cannot be read ends there too.
    pub sisters: &'static [&'static str],
    /// Values are XML text: entities, or CDATA.
    pub xml: bool,
    /// Attributes have entities.
    pub entities: bool,
    /// Parameters are elements named after themselves, with this prefix.
    pub elements: Option<&'static str>,
}

pub const PLAIN: TagStyle = TagStyle {
    wraps: &[],
    closes: &[],
    call: "<invoke",
    call_end: "</invoke>",
    param: "<parameter",
    param_end: "</parameter>",
    tag_end: ">",
    lines: false,
    sisters: &[],
    xml: false,
    entities: false,
    elements: None,
};

/// Parameters that models put around all others.
const WRAPPERS: &[&str] = &["arguments", "parameters", "input"];

/// Why a call at the end of the text cannot be read.
const CUT: &str = "the text ends before the call does";

/// Starts the older form.
const TOOL_NAME: &str = "<tool_name>";

/// The number of wraps allowed before the first call.
const MAX_WRAPS: usize = 4;

pub async fn read(cx: &ReadContext, opening: Opening, style: &TagStyle) -> Option<Found> {
    let mut at = opening.start;
    let (mut found, mut wrapped) = (false, 0);
    loop {
        let tag = cx.skip_space(at).await;
        if let Some(index) = cx.literal(tag, style.closes).await.filter(|_| found) {
            at = tag + style.closes[index].len();
            cx.state().extend(at, None);
            return Some(Found::Block(at));
        }
        if let Some(index) = cx.literal(tag, style.wraps).await {
            // More wraps without a call are text, and must not be skipped again from each of them.
            if !found && wrapped == MAX_WRAPS {
                break;
            }
            at = tag + style.wraps[index].len();
            wrapped += 1;
        } else if cx.has(tag, &[style.call]).await {
            let start = if found { tag } else { opening.start };
            let opening = Opening { start, after: tag + style.call.len() };
            let Some(end) = call(cx, opening, style).await else { break };
            found = true;
            at = end;
        } else {
            break;
        }
    }
    if !found {
        return None;
    }
    if wrapped > 0 && cx.byte(cx.skip_space(at).await).await.is_none() {
        cx.state().close(at, false);
    }
    Some(Found::Block(at))
}

/// Reads a call from after `<invoke` and returns the position after it; `None` if this is not a tag, or one that is only
/// mentioned.
async fn call(cx: &ReadContext, opening: Opening, style: &TagStyle) -> Option<usize> {
    let (header, mut at) = header(cx, opening.after, style).await?;
    let opening = Opening { after: at, ..opening };
    // `<function=...>` stands for any name.
    if header.name.as_ref().is_some_and(|name| !name.contains(char::is_alphanumeric)) {
        return None;
    }
    if header.is_torn && !is_mentioned(cx, opening, at, style).await {
        let end = skip_call(cx, at, style).await;
        let name = header.name.unwrap_or_default();
        return Some(cx.emit(vec![Draft::unreadable(&name, TORN)], end));
    }
    let Some(name) = header.name else {
        // The older form has its name inside. A tag without a name is only mentioned.
        at = cx.skip_space(at).await;
        cx.literal(at, &[TOOL_NAME]).await.filter(|_| !header.closed)?;
        return Some(by_elements(cx, at, "", "", style).await);
    };
    if header.closed {
        let draft = Draft::new(&name, Ok(Value::Null), Repairs::default());
        return Some(cx.emit(vec![draft], at));
    }
    at = cx.skip_space(at).await;
    if cx.byte(at).await == Some(b'{') {
        return Some(json(cx, at, &name, style).await);
    }
    match style.elements {
        Some(mark) => Some(by_elements(cx, at, mark, &name, style).await),
        None if is_mentioned(cx, opening, at, style).await => None,
        None => Some(by_parameters(cx, at, &name, style).await),
    }
}

/// Reads a call whose tag is lost: its name stands in the tag of a parameter, right before the first real one. Only the name of a
/// known tool shows that.
pub async fn by_parameter_tag(cx: &ReadContext, opening: Opening, style: &TagStyle) -> Option<Found> {
    let wrapped = cx.after(opening.start, style.wraps).await;
    let at = cx.skip_space(wrapped.unwrap_or(opening.start)).await;
    cx.literal(at, &[style.param]).await.filter(|_| !cx.tools.is_empty())?;
    let (header, after) = header(cx, at + style.param.len(), style).await?;
    let name = header.name.filter(|name| !header.is_torn && cx.is_known(name))?;
    let first = cx.skip_space(after).await;
    cx.literal(first, &[style.param]).await?;
    let end = by_parameters(cx, first, &name, style).await;
    let close = cx.after_space(end, style.closes).await.unwrap_or(end);
    cx.state().extend(close, Some(SyntaxRepair::MissingStartTag));
    Some(Found::Block(close))
}

/// True if a tag is only mentioned: it is in quotes, or in a sentence whose paragraph does not end the call. `at` is the position
/// after the white space after it.
async fn is_mentioned(cx: &ReadContext, opening: Opening, at: usize, style: &TagStyle) -> bool {
    if common::is_mentioned(cx, opening).await {
        return true;
    }
    if !common::is_in_sentence(cx, opening).await {
        return false;
    }
    let begins = [style.param, style.call_end, style.call];
    if cx.has(at, &begins).await || ends_without_tag(cx, at, style).await {
        return false;
    }
    let ends: Vec<&str> =
        [style.call_end, style.param_end, style.call, "\n\n"].iter().chain(style.sisters).copied().collect();
    !matches!(cx.find(at, &ends).await, Some((_, 0 | 1)))
}

async fn json(cx: &ReadContext, at: usize, name: &str, style: &TagStyle) -> usize {
    let mut ends = vec![style.call_end];
    ends.extend(style.closes);
    let stops = CallStops { ends: &ends, next: &[] };
    let end = arguments::read(cx, at, NamedCall::new(name), stops).await;
    cx.close_or_repair(end, &[style.call_end]).await
}

async fn by_elements(cx: &ReadContext, at: usize, mark: &str, name: &str, style: &TagStyle) -> usize {
    let (end, after) = cx.find_past(at, &[style.call_end, style.call]).await;
    let draft = match cx.with(at, end, |text| elements::call(text, mark, name, &*cx.tools)) {
        Ok(_) if after == end => Draft::failed(name, "The text ends before the call does."),
        Ok((name, arguments)) => Draft::new(&name, Ok(arguments), Repairs::default()),
        Err(why) => Draft::unreadable(name, why),
    };
    cx.emit(vec![draft], after)
}

async fn by_parameters(cx: &ReadContext, at: usize, name: &str, style: &TagStyle) -> usize {
    let (map, repairs) = (Map::new(), Repairs::default());
    let mut call = ParameterReader { cx, style, tool: name, at, map, repairs, has_stray_end: false };
    let error = call.read().await.err();
    let ParameterReader { at: end, mut map, mut repairs, has_stray_end, .. } = call;
    // The parameter that the end tag belongs to lost its own tag.
    let is_damaged = has_stray_end && cx.tools.lacks_some(name, &map);
    let error = error.or(is_damaged.then_some("a value has an end tag inside, and a parameter is missing"));
    if let Some(inside) = unwrapped(&map, name, cx) {
        map = inside;
        repairs.add(SyntaxRepair::WrappedArguments);
    }
    let draft = match error {
        None => Draft::new(name, Ok(Value::Object(map)), repairs),
        Some(why) => Draft::unreadable(name, why),
    };
    cx.emit(vec![draft], end)
}

/// The arguments inside a single parameter that the tool does not have, if they are parameters of the tool.
fn unwrapped(map: &Map<String, Value>, tool: &str, cx: &ReadContext) -> Option<Map<String, Value>> {
    let (key, value) =
        map.iter().next().filter(|(key, _)| map.len() == 1 && WRAPPERS.contains(&key.as_str()))?;
    let schema = SchemaView::new(cx.tools.parameters(tool)?);
    let inside = match value {
        Value::Object(inside) => inside.clone(),
        Value::String(text) if !repeats_key(text) => serde_json::from_str(text).ok()?,
        _ => return None,
    };
    (!schema.names(key) && inside.keys().all(|name| schema.names(name))).then_some(inside)
}

/// True if the call ends without its end tag: the text ends, or something follows that cannot be inside a call.
async fn ends_without_tag(cx: &ReadContext, at: usize, style: &TagStyle) -> bool {
    cx.byte(at).await.is_none()
        || cx.has(at, style.closes).await
        || cx.has(at, &[style.call]).await
        || cx.has(at, style.wraps).await
}

/// The end of a call that cannot be read: its end tag, or the next call.
async fn skip_call(cx: &ReadContext, at: usize, style: &TagStyle) -> usize {
    let ends: Vec<&str> = [style.call_end, style.call].iter().chain(style.sisters).copied().collect();
    cx.find_past(at, &ends).await.1
}

/// A call whose parameters are read.
struct ParameterReader<'a> {
    cx: &'a ReadContext,
    style: &'a TagStyle,
    tool: &'a str,
    at: usize,
    map: Map<String, Value>,
    repairs: Repairs,
    /// A value has an end tag that belongs to no other tag, and that it does not seem to quote.
    has_stray_end: bool,
}

impl ParameterReader<'_> {
    /// Reads up to the end of the call, or tells why it cannot be read.
    async fn read(&mut self) -> Result<(), &'static str> {
        let (cx, style) = (self.cx, self.style);
        loop {
            self.at = cx.skip_space(self.at).await;
            if let Some(end) = cx.after(self.at, &[style.call_end]).await {
                self.at = end;
                return Ok(());
            }
            if cx.has(self.at, &[style.param]).await {
                self.parameter().await?;
                continue;
            }
            return match cx.byte(self.at).await {
                None if self.map.is_empty() => Err("the text ends before its parameters"),
                None if !cx.tools.is_whole(self.tool, &self.map) => Err(CUT),
                _ if ends_without_tag(cx, self.at, style).await => {
                    self.repairs.add(SyntaxRepair::MissingEndTag);
                    Ok(())
                }
                _ => self.give_up("there are words where a parameter should be").await,
            };
        }
    }

    /// Skips the rest of a call that cannot be read.
    async fn give_up(&mut self, why: &'static str) -> Result<(), &'static str> {
        self.at = skip_call(self.cx, self.at, self.style).await;
        Err(why)
    }

    async fn parameter(&mut self) -> Result<(), &'static str> {
        let (cx, style) = (self.cx, self.style);
        let (name, is_text, closed, from) = match header(cx, self.at + style.param.len(), style).await {
            Some((TagHeader { is_torn: true, .. }, _)) => return self.give_up(TORN).await,
            Some((TagHeader { name: Some(name), is_text, closed, .. }, from)) => {
                (name, is_text, closed, from)
            }
            _ => return self.give_up("a parameter has no name").await,
        };
        let end = if closed { Ok((from, from)) } else { self.value_end(from, &name).await };
        let (to, after) = match end {
            Ok(end) => end,
            Err(end) => {
                self.at = end;
                return Err("the text ends inside a value");
            }
        };
        self.at = after;
        if self.map.contains_key(&name) {
            return self.give_up("a parameter is given twice").await;
        }
        let repaired = to == after && !closed;
        if repaired {
            self.repairs.add(SyntaxRepair::MissingEndTag);
        }
        let schema = cx.tools.parameter(self.tool, &name);
        let value = cx.with(from, to, |text| {
            let text = if repaired { without_own_tag(text, &name) } else { text };
            let text = match () {
                () if style.lines => strip_lines(text),
                // The line end is in place of the end tag.
                () if repaired => text.strip_suffix('\n').unwrap_or(text),
                () => text,
            };
            let plain = style.xml.then(|| xml_text(text));
            let text = plain.as_deref().unwrap_or(text);
            typed(text, is_text, schema)
        });
        self.map.insert(name, value);
        Ok(())
    }

    /// The end of a value, and the position after its end tag; the same if the tag is missing. Once another call begins inside, it
    /// ends only at an end tag that is none of that call's: then the value quotes a call. Without such a tag the value was cut off,
    /// and the other call is real: an error, with its position. A parameter inside has its own end tag if the value quotes it; if
    /// not, and it can be the next one, the end tag of the value is missing.
    async fn value_end(&mut self, from: usize, name: &str) -> Result<(usize, usize), usize> {
        let (cx, style) = (self.cx, self.style);
        let ends = [style.param_end, style.param, style.call_end, style.call];
        let mut at = from;
        let (mut next_call, mut inner, mut calls) = (None, 0_usize, 0_usize);
        // The parameters inside that have no end tag yet: where each begins, if it can be the next one.
        let mut inside: Vec<Option<usize>> = Vec::new();
        let next = |inside: &[Option<usize>]| inside.iter().flatten().next().copied();
        let mut has_stray_end = false;
        while let Some((found, index)) = cx.find(at, &ends).await {
            let after = found + ends[index].len();
            at = after;
            match index {
                0 if inner > 0 => inner -= 1,
                0 if follows(cx, after, style).await => {
                    self.has_stray_end |= has_stray_end && next(&inside).is_none();
                    return Ok(next(&inside).map_or((found, after), |next| (next, next)));
                }
                0 if inside.pop().is_none() => has_stray_end |= !is_quoted(cx, found, after).await,
                1 if next_call.is_some() => inner += 1,
                1 if found > from && cx.with(found - 1, found, |before| before == "\n") => {
                    let to = next(&inside).unwrap_or(found);
                    return Ok((to, to));
                }
                1 if inside.len() < MOST_INSIDE => {
                    let may_follow = self.begins_next(found, after, name).await;
                    inside.push(may_follow.then_some(found));
                }
                2 if next_call.is_none() && ends_without_tag(cx, cx.skip_space(after).await, style).await => {
                    let to = next(&inside).unwrap_or(found);
                    return Ok((to, to));
                }
                3 if matches!(cx.byte(after).await, Some(b'=' | b' ')) => {
                    next_call = next_call.or(Some(found));
                    calls += 1;
                }
                _ => {}
            }
        }
        Err(next_call.filter(|_| calls <= QUOTED_CALLS).unwrap_or_else(|| cx.end_so_far()))
    }

    /// True if the tag of a parameter inside the value of another one can begin the next one.
    async fn begins_next(&self, at: usize, after: usize, other: &str) -> bool {
        let (cx, tool) = (self.cx, self.tool);
        let Some((TagHeader { name: Some(name), .. }, end)) = header(cx, after, self.style).await else {
            return false;
        };
        let is_next = name != other && cx.tools.may_follow(tool, &name, &self.map);
        is_next && (cx.is_known(tool) || !is_quoted(cx, at, end).await)
    }
}

/// A value may quote this many calls. After more of them without an end nothing is a call: the search for the end must not
/// begin again at each of them.
const QUOTED_CALLS: usize = 64;

/// The parameters inside of a value that are remembered.
const MOST_INSIDE: usize = 64;

/// The value without an end tag that has the name of the parameter, in place of the usual one.
fn without_own_tag<'a>(text: &'a str, name: &str) -> &'a str {
    let own = text.trim_end().strip_suffix('>').and_then(|text| text.strip_suffix(name)?.strip_suffix("</"));
    own.filter(|value| !value.contains(&format!("<{name}"))).unwrap_or(text)
}

/// The text of an XML element.
fn xml_text(text: &str) -> String {
    let text = text.trim();
    if let Some(data) = text.strip_prefix("<![CDATA[").and_then(|data| data.strip_suffix("]]>")) {
        return data.to_owned();
    }
    unescaped(text)
}

/// The text with its entities replaced.
fn unescaped(text: &str) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    entities.iter().fold(text.to_owned(), |text, (entity, character)| text.replace(entity, character))
}

fn strip_lines(text: &str) -> &str {
    let text = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')).unwrap_or(text);
    text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n')).unwrap_or(text)
}

/// True if a tag stands as words about it do: between quotes, in code, or with spaces around it.
async fn is_quoted(cx: &ReadContext, at: usize, after: usize) -> bool {
    let before = cx.byte_before(at);
    matches!(before, Some(b' ' | b'\t' | b'"' | b'\'' | b'`' | b'('))
        || matches!(cx.byte(after).await, Some(b' ' | b'"' | b'\'' | b'`' | b'.' | b',' | b')' | b'\\'))
}

/// True if what follows an end tag shows that it ends a parameter.
async fn follows(cx: &ReadContext, at: usize, style: &TagStyle) -> bool {
    let at = cx.skip_space(at).await;
    cx.has(at, &[style.param, style.call_end]).await || ends_without_tag(cx, at, style).await
}

/// The attributes of a tag.
#[derive(Default)]
struct TagHeader {
    name: Option<String>,
    /// `string="true"`, `type="json"`: whether the value is a string or JSON, if the tag says so.
    is_text: Option<bool>,
    /// `<invoke name="now"/>`
    closed: bool,
    /// An attribute is given twice, or two that are the same thing differ.
    is_torn: bool,
}

/// Attributes with a name.
const NAMES: &[&str] = &["name", "tool", "key"];
const TORN: &str = "an attribute is given twice";

/// Reads a tag from after its name, and returns the position after the tag.
async fn header(cx: &ReadContext, at: usize, style: &TagStyle) -> Option<(TagHeader, usize)> {
    if !matches!(cx.byte(at).await, Some(b'=' | b' ' | b'>' | b'/')) {
        return None;
    }
    let Some((end, 0)) = cx.find(at, &[style.tag_end, "\n", "<"]).await else { return None };
    let mut header = cx.with(at, end, attributes);
    if style.entities {
        header.name = header.name.map(|name| unescaped(&name));
    }
    Some((header, end + style.tag_end.len()))
}

fn attributes(text: &str) -> TagHeader {
    let mut header = TagHeader::default();
    let mut rest = text.trim();
    if let Some(open) = rest.strip_suffix('/') {
        header.closed = true;
        rest = open.trim_end();
    }
    if let Some(name) = rest.strip_prefix('=') {
        let name = name.trim().trim_matches(['"', '\'']);
        header.name = (!name.is_empty()).then(|| name.to_owned());
        return header;
    }
    let mut seen = Vec::new();
    while let Some((key, after)) = rest.split_once('=') {
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (value, next) = match quote {
            Some(quote) => after[1..].split_once(quote).unwrap_or((&after[1..], "")),
            None => after.split_once(' ').unwrap_or((after, "")),
        };
        let key = key.trim();
        let is_text = match key {
            "string" => Some(value == "true"),
            "type" => Some(value == "string"),
            _ => None,
        };
        let name = (NAMES.contains(&key) && !value.is_empty()).then_some(value);
        header.is_torn |= seen.contains(&key)
            || name.is_some_and(|name| header.name.as_ref().is_some_and(|known| known != name))
            || is_text.is_some_and(|is_text| header.is_text.is_some_and(|known| known != is_text));
        seen.push(key);
        header.name = name.map(str::to_owned).or(header.name);
        header.is_text = is_text.or(header.is_text);
        rest = next.trim_start();
    }
    header
}
