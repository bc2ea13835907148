//! Calls written as Python, `[get_weather(city="Paris"), now()]`: in a list, or one per line.

use serde_json::{Map, Value};

use super::arguments::give_up;
use crate::buffer::BufferState;
use crate::extent::{ExtentScan, ValueExtent};
use crate::input::{Found, Opening, ReadContext};
use crate::lenient::{LenientReader, MissingClosers, Notation, SyntaxRepair, given_twice};
use crate::parsed::Draft;
use crate::schemas::ToolSchemas;
use toolhub_text::message::Message;

/// The error of a call that continues after the end of its text.
const CUT: &str = "the text ends inside the arguments";

/// Longer words are not names of functions.
const LONGEST_NAME: usize = 256;

/// A list of calls without a marker: all of it must have the form of calls.
pub async fn bare(cx: &ReadContext, opening: Opening) -> Option<Found> {
    let at = opening.start;
    let inside = cx.skip_space(at + 1).await;
    if !names_call(cx, inside).await {
        return None;
    }
    let extent = cx.extent(at, Notation::Python, &[]).await;
    let (end, closed) = match extent {
        ValueExtent::Closed(end) => (end, true),
        _ => (cx.end_so_far(), false),
    };
    // `[name()](address)` is a link.
    if closed && cx.byte(end).await == Some(b'(') {
        return Some(Found::Text(end));
    }
    let (mut drafts, broken) = cx.with(at, end, |text| calls(text, &*cx.tools));
    match broken {
        None if !drafts.is_empty() && extent != (ValueExtent::Cut { in_string: true }) => {}
        // The calls before the one that was cut off are whole.
        Some(broken) if !closed && broken.is_cut && !drafts.is_empty() => {
            drafts.push(Draft::unreadable(&broken.name, CUT));
        }
        _ if closed => return Some(Found::Text(end)),
        // The inside may be rescanned, a limited number of times.
        _ if cx.take_rescan() => return None,
        _ => return Some(Found::Text(cx.end_so_far())),
    }
    Some(Found::Block(cx.emit(drafts, end)))
}

/// Calls after a marker, until one of `closes`.
pub async fn marked(cx: &ReadContext, opening: Opening, closes: &[&str]) -> Option<Found> {
    let mut at = cx.skip_space(opening.after).await;
    let mut found = false;
    let mut closed = false;
    let marker = cx.slice(opening.start, opening.after);
    let stops: Vec<&str> = closes.iter().copied().chain([marker.as_str()]).collect();
    loop {
        let listed = cx.byte(at).await == Some(b'[');
        let inside = if listed { cx.skip_space(at + 1).await } else { at };
        if !names_call(cx, inside).await {
            break;
        }
        let bracket = if listed { at } else { cx.skip(at, names).await };
        let (end, whole) = match cx.extent(bracket, Notation::Python, &stops).await {
            ValueExtent::Closed(end) | ValueExtent::Stopped(end) => (end, true),
            ValueExtent::Cut { in_string: false } => (cx.end_so_far(), listed),
            ValueExtent::Cut { in_string: true } => (give_up(cx, bracket, &stops).await, false),
        };
        let (mut drafts, broken) = cx.with(at, end, |text| calls(text, &*cx.tools));
        let mut end = end;
        if broken.is_some() || !whole {
            // The calls before the one that cannot be read are whole. What looks like a call after it may be part of a string.
            drafts.push(unreadable(broken));
            end = cx.find_or_end(end, &stops).await;
        }
        cx.emit(drafts, end);
        found = true;
        at = cx.skip(end, |byte| byte.is_ascii_whitespace() || matches!(byte, b',' | b';')).await;
        if let Some(index) = cx.literal(at, closes).await {
            at += closes[index].len();
            closed = true;
            break;
        }
        if !names_call(cx, at).await && cx.byte(at).await != Some(b'[') {
            at = end;
            break;
        }
    }
    if !found {
        return None;
    }
    cx.state().close(at, closed || closes.is_empty());
    Some(Found::Block(at))
}

/// The entry for a call that cannot be read.
fn unreadable(broken: Option<BrokenCall>) -> Draft {
    match broken {
        Some(BrokenCall { is_cut: false, name, why }) => Draft::unreadable(&name, why),
        broken => Draft::unreadable(&broken.map(|call| call.name).unwrap_or_default(), CUT),
    }
}

/// True if a name and an opening parenthesis are at `at`.
async fn names_call(cx: &ReadContext, at: usize) -> bool {
    let end = cx.skip_most(at, LONGEST_NAME, names).await;
    let begins = cx.byte(at).await.is_some_and(|byte| !byte.is_ascii_digit() && byte != b'-' && byte != b'.');
    end > at && begins && cx.byte(end).await == Some(b'(')
}

/// True if a byte may be part of the (dotted) name of a function.
pub fn names(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-') || byte >= 0x80
}

/// The same for a name with a path, such as that of a server, before it.
pub fn in_path(byte: u8) -> bool {
    names(byte) || matches!(byte, b'/' | b':')
}

/// The first call that cannot be read.
struct BrokenCall {
    /// Empty if there is none.
    name: String,
    why: Message,
    /// The text ends inside of it; all of it so far has the form of a call.
    is_cut: bool,
}

/// The calls of a list, or one call without brackets, up to one that cannot be read. The closing bracket may be missing.
fn calls(text: &str, tools: &dyn ToolSchemas) -> (Vec<Draft>, Option<BrokenCall>) {
    let mut reader = LenientReader::new(text, Notation::Python, MissingClosers::NONE);
    let (mut drafts, mut first_broken) = (Vec::<Draft>::new(), None);
    reader.skip_space();
    let listed = reader.peek() == Some(b'[');
    reader.at += usize::from(listed);
    loop {
        reader.skip_space();
        match reader.peek() {
            Some(b']') if listed => break,
            Some(b',') if !drafts.is_empty() => {
                reader.at += 1;
                continue;
            }
            None if listed => {
                reader.repairs.add(SyntaxRepair::MissingBrackets);
                break;
            }
            None => break,
            Some(_) => {}
        }
        let (rest, repairs) = (reader.rest(), reader.repairs);
        match call(&mut reader, tools) {
            Ok(draft) => drafts.push(draft),
            Err(why) => {
                // What it needed says nothing of the calls before it.
                reader.repairs = repairs;
                first_broken = Some(broken(rest, why));
                break;
            }
        }
    }
    let repairs = reader.repairs;
    drafts.iter_mut().for_each(|draft| draft.repairs.join(repairs));
    (drafts, first_broken)
}

/// What is known about the call that a text begins with and that cannot be read.
fn broken(text: &str, why: Message) -> BrokenCall {
    let name = &text[..text.bytes().position(|byte| !names(byte)).unwrap_or(text.len())];
    let is_cut = match text.as_bytes().get(name.len()) {
        None => !name.is_empty(),
        Some(b'(') if !name.is_empty() => {
            let view = BufferState { arrived: text.to_owned(), ended: true, ..BufferState::default() };
            let extent = ExtentScan::new(name.len(), Notation::Python, &[]).look(&view);
            matches!(extent, Some(ValueExtent::Cut { .. }))
        }
        _ => return BrokenCall { name: String::new(), why, is_cut: false },
    };
    BrokenCall { name: name.to_owned(), why, is_cut }
}

fn call(reader: &mut LenientReader<'_>, tools: &dyn ToolSchemas) -> Result<Draft, Message> {
    let name = word(reader);
    if name.is_empty() || reader.peek() != Some(b'(') {
        return Err("a call must be a name with its arguments in parentheses".into());
    }
    reader.at += 1;
    let (mut arguments, mut positional) = (Map::new(), Vec::new());
    loop {
        reader.skip_space();
        let before = reader.at;
        match reader.peek() {
            None => return Err(CUT.into()),
            Some(byte @ (b')' | b',')) => {
                reader.at += 1;
                if byte == b')' {
                    break;
                }
                continue;
            }
            Some(_) => {}
        }
        let key = word(reader);
        reader.skip_space();
        if key.is_empty() || reader.peek() != Some(b'=') {
            reader.at = before;
            positional.push(reader.value()?);
            continue;
        }
        reader.at += 1;
        if arguments.insert(key.to_owned(), reader.value()?).is_some() {
            return Err(given_twice(key));
        }
    }
    place(positional, &mut arguments, tools.parameters(name))?;
    Ok(Draft::new(name, Ok(Value::Object(arguments)), Default::default()))
}

fn word<'a>(reader: &mut LenientReader<'a>) -> &'a str {
    let rest = reader.rest();
    let end = rest.bytes().position(|byte| !names(byte)).unwrap_or(rest.len());
    reader.at += end;
    &rest[..end]
}

/// Gives positional arguments the names of the schema, in order.
fn place(
    given: Vec<Value>,
    arguments: &mut Map<String, Value>,
    schema: Option<&Value>,
) -> Result<(), Message> {
    if given.is_empty() {
        return Ok(());
    }
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let mut names = properties.into_iter().flat_map(|properties| properties.keys());
    for value in given {
        let name = names.next().ok_or("an argument has no name, and there is no schema to give it one")?;
        if arguments.insert(name.clone(), value).is_some() {
            return Err(given_twice(name));
        }
    }
    Ok(())
}
