//! JSON between tags: an object, a list, or several of them, in a fence or not.

use serde::Deserialize;
use serde_json::value::RawValue;
use toolhub_text::repeats_key;

use super::arguments::{give_up, skip_fence};
use crate::extent::ValueExtent;
use crate::input::{Found, Opening, ReadContext};
use crate::json_calls::{self, CallShape};
use crate::keys::FIRST_KEYS;
use crate::lenient::{self, MissingClosers, Notation, Repairs, SyntaxRepair};
use crate::parsed::{CallArguments, Draft};
use crate::schemas::ToolSchemas;

/// The tags that a dialect puts around JSON.
#[derive(Clone, Copy)]
pub struct JsonBlock {
    /// Begin a block. Models repeat them by mistake.
    pub marks: &'static [&'static str],
    /// May stand between the mark and the JSON.
    pub then: &'static [&'static str],
    /// Empty if only the end of the JSON ends the block.
    pub closes: &'static [&'static str],
    /// Also ends a call with open brackets.
    pub ends: &'static [&'static str],
    /// Begins what follows, as the marks do.
    pub next: &'static [&'static str],
    pub shape: CallShape,
    pub notation: Notation,
}

/// The error of a call whose brackets close too early.
const NO_END: &str = "Malformed call: text continues after the closing bracket.";

impl JsonBlock {
    /// What stops a call with open brackets: also the end of the fence that it is in.
    fn stops(&self, fence: Option<&'static str>) -> Vec<&'static str> {
        [self.closes, self.ends, self.marks, self.next].concat().into_iter().chain(fence).collect()
    }
}

/// A call in strict JSON with the usual keys, as serde tells its parts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UsualCall<'a> {
    #[serde(alias = "tool_name")]
    name: &'a str,
    #[serde(borrow, alias = "parameters", alias = "args")]
    arguments: &'a RawValue,
    id: Option<&'a str>,
    source: Option<&'a str>,
}

/// Reads a call in the usual form if all of it is there, with its end tag, and returns the position after it.
pub fn usual(cx: &ReadContext, opening: Opening, body: &JsonBlock) -> Option<usize> {
    if body.shape != CallShape::Marked || body.notation != Notation::Json {
        return None;
    }
    let (draft, end) = cx.with(opening.after, cx.end_so_far(), |text| {
        let json = text.trim_ascii_start();
        // serde takes a list for such a call, too.
        let keyed = || first_value::<UsualCall<'_>>(json).filter(|_| json.starts_with('{'));
        let (call, after) = to_the_letter(json).or_else(keyed)?;
        let next = after.trim_ascii_start();
        let rest = body.closes.iter().find_map(|tag| next.strip_prefix(tag))?;
        let end = text.len() - rest.len();
        let (name, arguments) = (call.name.trim(), call.arguments.get());
        let mut texts = [name].into_iter().chain(call.id).chain(call.source);
        let is_plain = is_plain(arguments) && texts.all(|text| !text.ends_with('{'));
        let is_sound = || !may_swallow_brace(&json[..json.len() - after.len()]) && !repeats_key(arguments);
        let is_usual = !name.is_empty() && call.id != Some("") && (is_plain || is_sound());
        let (name, arguments) =
            is_usual.then(|| (name.to_owned(), CallArguments::from_checked(arguments)))?;
        let (id, source) = (call.id.unwrap_or_default().to_owned(), call.source.map(str::to_owned));
        Some((Draft { name, arguments: arguments?, id, source, ..Draft::default() }, end))
    })?;
    let end = opening.after + end;
    cx.state().emit([draft], end);
    Some(end)
}

/// The value that a text begins with, and what follows it.
fn first_value<'a, T: Deserialize<'a>>(json: &'a str) -> Option<(T, &'a str)> {
    let mut values = serde_json::Deserializer::from_str(json).into_iter();
    let value = values.next()?.ok()?;
    Some((value, &json[values.byte_offset()..]))
}

/// A call to the letter as `json.dumps` writes it, for which serde need not look at the keys, and what follows it.
fn to_the_letter(json: &str) -> Option<(UsualCall<'_>, &str)> {
    let (name, rest) = json.strip_prefix("{\"name\": \"")?.split_once('"')?;
    let (arguments, rest) = first_value(rest.strip_prefix(", \"arguments\": ")?)?;
    let after = rest.trim_ascii_start().strip_prefix('}')?;
    let is_strict = name.bytes().all(|byte| byte != b'\\' && !byte.is_ascii_control());
    is_strict.then_some((UsualCall { name, arguments, id: None, source: None }, after))
}

/// True for arguments in strict JSON in which no string ends with a brace, no key is serde's own and no object has one twice, because no two keys in all
/// of them are the same. With few keys and no escapes, it costs less to see this than to read the values.
fn is_plain(arguments: &str) -> bool {
    const MOST: usize = 8;
    let (mut names, mut count) = ([&[][..]; MOST], 0);
    let mut parts = arguments.as_bytes().split(|byte| *byte == b'"').skip(1);
    while let (Some(string), Some(after)) = (parts.next(), parts.next()) {
        let is_odd = string.contains(&b'\\') || string.starts_with(b"$") || string.ends_with(b"{");
        if count == MOST || is_odd || names[..count].contains(&string) {
            return false;
        }
        if after.trim_ascii_start().starts_with(b":") {
            names[count] = string;
            count += 1;
        }
    }
    true
}

/// True if strict JSON may have a string that the lenient reader takes for `"arguments {`.
fn may_swallow_brace(json: &str) -> bool {
    memchr::memmem::find_iter(json.as_bytes(), b"{\"").any(|at| {
        let before = json[..at].trim_ascii_end();
        before
            .strip_suffix(':')
            .unwrap_or(before)
            .trim_ascii_end()
            .ends_with(|c: char| c.is_ascii_alphabetic())
    })
}

pub async fn read(cx: &ReadContext, opening: Opening, body: &JsonBlock) -> Option<Found> {
    let mut at = cx.skip_space(opening.after).await;
    // Models repeat the tag once by mistake. More are text, and must not be skipped again from each of them.
    let (first_at, marks) = (at, [body.marks, body.then].concat());
    for _ in 0..2 {
        let Some(after) = cx.after(at, &marks).await else { break };
        at = cx.skip_space(after).await;
    }
    let is_repeated = at > first_at;
    let (at, fence) = skip_fence(cx, at).await;
    let first = cx.byte(at).await;
    // A list cannot begin with a tag, a mark or a name: that is another form, whose opening is broken or repeated.
    let is_other = |byte: u8| match is_repeated {
        true => byte == b'<' || byte.is_ascii_alphabetic(),
        false => byte == b'<' || byte.is_ascii_uppercase(),
    };
    let is_markup = first == Some(b'[') && cx.byte(at + 1).await.is_some_and(is_other);
    if !matches!(first, Some(b'{' | b'[')) || is_markup {
        return None;
    }
    let mut repairs = Repairs::default();
    if fence.is_some() {
        repairs.add(SyntaxRepair::Fence);
    }
    let mut reader = JsonReader { cx, body, stops: body.stops(fence), repairs, is_broken: false };
    let mut end = reader.value(at).await;
    let mut surplus = false;
    loop {
        let at = cx.skip_space(end).await;
        if let Some(index) = cx.literal(at, body.closes).await {
            end = at + body.closes[index].len();
            cx.state().extend(end, surplus.then_some(SyntaxRepair::SurplusBrackets));
            return Some(Found::Block(end));
        }
        match cx.byte(at).await {
            // It is not certain where the broken value ends, and what looks like a call may be part of it.
            Some(b'"' | b'\'' | b':') if reader.is_broken => {
                end = cx.find_or_end(at, &reader.stops).await;
            }
            Some(b'{' | b'[') if !cx.has(at, &reader.stops).await => end = reader.value(at).await,
            Some(b',' | b';') => {
                let next = cx.skip_space(at + 1).await;
                if !matches!(cx.byte(next).await, Some(b'{' | b'[')) {
                    break;
                }
                end = at + 1;
            }
            Some(b'}' | b']') => {
                surplus = true;
                end = at + 1;
            }
            Some(_) if cx.has(at, fence.as_slice()).await => end = at + fence.map_or(0, str::len),
            _ => break,
        }
    }
    cx.state().close(end, body.closes.is_empty());
    Some(Found::Block(end))
}

/// The values of a block.
struct JsonReader<'a> {
    cx: &'a ReadContext,
    body: &'a JsonBlock,
    stops: Vec<&'static str>,
    /// What was needed to find the values.
    repairs: Repairs,
    /// A part of a value cannot be read. After such a part stands the rest of it: what cannot be read there either is reported
    /// already.
    is_broken: bool,
}

impl JsonReader<'_> {
    /// Reads one value and emits its calls. Returns the position after it.
    async fn value(&mut self, at: usize) -> usize {
        let (cx, body) = (self.cx, self.body);
        let (mut end, missing) = match cx.extent(at, body.notation, &self.stops).await {
            ValueExtent::Closed(end) => (end, MissingClosers::NONE),
            // Only the outermost bracket may be missing: everything inside is complete.
            ValueExtent::Stopped(end) if cx.has(end, &[body.marks, body.next].concat()).await => {
                (end, MissingClosers::OUTERMOST)
            }
            ValueExtent::Stopped(end) => (end, MissingClosers::ALL),
            ValueExtent::Cut { in_string: false } => (cx.end_so_far(), MissingClosers::OUTERMOST),
            ValueExtent::Cut { in_string: true } => {
                (give_up(cx, at, &self.stops).await, MissingClosers::OUTERMOST)
            }
        };
        let mut drafts = cx.with(at, end, |text| self.drafts(text, missing));
        if drafts.iter().any(|draft| draft.error.is_some()) {
            let (read, length) = self.with_next(&cx.slice(at, end), drafts);
            (drafts, end) = (read, at + length);
        }
        let was_broken = self.is_broken;
        self.is_broken |= drafts.iter().any(Draft::is_nameless);
        if was_broken {
            drafts.retain(|draft| draft.error.is_none());
        }
        cx.emit(drafts, end)
    }

    /// The calls of a value that has a damaged one, and its length. A damaged object may have taken in the calls after it.
    fn with_next(&self, text: &str, found: Vec<Draft>) -> (Vec<Draft>, usize) {
        let (cx, shape) = (self.cx, self.body.shape);
        let is_list = text.starts_with('[');
        if !(is_list || found.len() == 1) || !cx.take_rescan() {
            return (found, text.len());
        }
        if is_list {
            return (self.one_by_one(text, found), text.len());
        }
        match damaged_end(text, shape, &*cx.tools) {
            Some(end) if !text[end..].trim_start().is_empty() => (self.damaged(&text[..end]), end),
            _ => (found, text.len()),
        }
    }

    /// The call before the next one: its own bracket may be missing, but nothing else may follow it.
    fn damaged(&self, text: &str) -> Vec<Draft> {
        match lenient::read(text, self.body.notation, MissingClosers::OUTERMOST) {
            Ok(reading) if !reading.whole => vec![Draft::failed("", NO_END)],
            _ => self.drafts(text, MissingClosers::OUTERMOST),
        }
    }

    /// The calls of a list one by one, if there are more than were `found` in all of it.
    fn one_by_one(&self, list: &str, found: Vec<Draft>) -> Vec<Draft> {
        let JsonBlock { notation, shape, .. } = *self.body;
        let count = |drafts: &[Draft]| drafts.iter().filter(|draft| draft.error.is_none()).count();
        let (mut read, mut damaged) = (Vec::<Draft>::new(), 0);
        let mut rest = list.strip_prefix('[').unwrap_or(list);
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';'));
            if rest.is_empty() || rest.starts_with(']') {
                break;
            }
            // What is not an object is the rest of the call before it, which must not run without its arguments.
            if !rest.starts_with('{') {
                read.pop_if(|draft| draft.error.is_some() || draft.arguments.is_empty());
            }
            let sound = sound_end(rest, notation);
            damaged += usize::from(sound.is_none());
            let damaged_end = || damaged_end(rest, shape, &*self.cx.tools);
            let end = sound.or_else(|| damaged_end().filter(|_| damaged <= MOST_DAMAGED));
            let (call, after) = rest.split_at(end.unwrap_or(rest.len()));
            match (sound, end) {
                (Some(_), _) => read.extend(self.drafts(call, MissingClosers::NONE)),
                (None, Some(_)) => read.extend(self.damaged(call)),
                // Its end is not certain: all that follows may be a part of it.
                (None, None) => read.push(match lenient::read(call, notation, MissingClosers::NONE) {
                    Ok(_) => Draft::failed("", NO_END),
                    Err(why) => Draft::unreadable("", why),
                }),
            }
            rest = after;
        }
        if count(&read) > count(&found) { read } else { found }
    }

    fn drafts(&self, text: &str, missing: MissingClosers) -> Vec<Draft> {
        let JsonBlock { notation, shape, .. } = *self.body;
        match json_calls::read(text, notation, missing, shape, self.repairs, &*self.cx.tools) {
            Ok(found) => found.unwrap_or_default(),
            Err(why) => vec![Draft::unreadable("", why)],
        }
    }
}

// Where the text continues after a call that cannot be read, so that the sound calls after it are found.
//
// A call must not be made of a part of another one. So the end of a damaged call is taken only where it is certain: its brackets
// close and each of its strings stands where a value can; or, in JSON, another object begins where it cannot be a part of
// it. Otherwise nothing after it counts.

/// After this many damaged calls, the rest is given up: the search for an end may look at all of the text.
const MOST_DAMAGED: usize = 24;

/// The end of the sound value that a part of a list begins with.
fn sound_end(text: &str, notation: Notation) -> Option<usize> {
    let read = lenient::read(text, notation, MissingClosers::NONE).ok()?;
    (read.cut.is_none() && ends_element(&text[read.end..])).then_some(read.end)
}

fn ends_element(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.is_empty() || rest.starts_with([',', ';', ']'])
}

/// The end of the damaged call in JSON that a text begins with, if another value or the end of the list follows.
fn damaged_end(text: &str, shape: CallShape, tools: &dyn ToolSchemas) -> Option<usize> {
    let next = end_before_next(text, shape, tools);
    let own = own_end(&text[..next.unwrap_or(text.len())]).filter(|end| ends_element(&text[*end..]));
    own.or(next)
}

/// The end of the value at the start of a text whose strings are sound: where its brackets close, or before an object where a key
/// should be.
fn own_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut open = Vec::new();
    let (mut at, mut before, mut comma) = (0, b',', 0);
    while let Some(byte) = bytes.get(at).copied() {
        match byte {
            b'"' | b'\'' => {
                at = string_end(bytes, at).filter(|end| fits(before, bytes, at, *end))?;
                before = byte;
                continue;
            }
            b'{' if open == [b'}'] && matches!(before, b',' | b';') => return Some(comma),
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'}' | b']' => {
                open.pop().filter(|closing| *closing == byte)?;
                if open.is_empty() {
                    return Some(at + 1);
                }
            }
            b',' | b';' => comma = at,
            _ => {}
        }
        if open.is_empty() {
            return None;
        }
        if !byte.is_ascii_whitespace() {
            before = byte;
        }
        at += 1;
    }
    None
}

/// The end of the string whose quote is at `at`.
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let quote = bytes[at];
    let mut next = at + 1;
    loop {
        next += memchr::memchr2(quote, b'\\', bytes.get(next..)?)?;
        if bytes[next] == quote {
            return Some(next + 1);
        }
        next += 2;
    }
}

/// True if a string stands where a value or a key can. After a lost quote the text between strings looks like strings: they
/// begin with a comma or a bracket, and other text follows.
fn fits(before: u8, bytes: &[u8], at: usize, end: usize) -> bool {
    let starts =
        |bytes: &[u8], with: &[u8]| bytes.trim_ascii_start().first().is_some_and(|byte| with.contains(byte));
    let begins = b"{[(,:=".contains(&before) || !starts(&bytes[at + 1..], b",:;=)]}");
    begins && (bytes[end..].trim_ascii_start().is_empty() || starts(&bytes[end..], b",:;)]}"))
}

/// The end of the value at the start of a text whose quotes cannot be trusted: as many brackets close as open, and a call
/// follows. Inside of a string, its quotes would have backslashes.
fn end_before_next(text: &str, shape: CallShape, tools: &dyn ToolSchemas) -> Option<usize> {
    let mut open = 0_isize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' | b'[' => open += 1,
            b'}' | b']' => open -= 1,
            _ => continue,
        }
        if open > 0 || matches!(byte, b'{' | b'[') {
            continue;
        }
        let rest = text[at + 1..].trim_start();
        if rest.starts_with(['}', ']']) {
            continue;
        }
        let next = rest.strip_prefix([',', ';'])?.trim_start();
        return begins_call(next, shape, tools).then_some(at + 1);
    }
    None
}

/// True if a text begins with an object whose first key is that of a call.
fn begins_call(text: &str, shape: CallShape, tools: &dyn ToolSchemas) -> bool {
    let key = text.strip_prefix('{').map(str::trim_start).and_then(|text| text.strip_prefix('"'));
    let Some((key, _)) = key.and_then(|text| text.split_once('"')) else { return false };
    match shape {
        CallShape::Keyed => !tools.are_given() || tools.parameters(key).is_some(),
        _ => FIRST_KEYS.contains(&key),
    }
}
