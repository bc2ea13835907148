//! Calls written as Python: `[get_weather(city="Paris"), now()]`.

use serde_json::{Map, Value};

use super::buffer::BufferState;
use super::extent::{ExtentScan, ValueExtent};
use super::lenient::{LenientReader, MissingClosers, Notation, SyntaxRepair, given_twice};
use super::parsed::Draft;
use super::schemas::ToolSchemas;
use toolhub_text::message::Message;

/// True if a byte may be part of the (dotted) name of a function.
pub(super) fn names(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-') || byte >= 0x80
}

/// The same for a name with a path, such as that of a server, before it.
pub(super) fn in_path(byte: u8) -> bool {
    names(byte) || matches!(byte, b'/' | b':')
}

/// The calls of a text, up to one that cannot be read.
#[derive(Default)]
pub(super) struct PythonCalls {
    pub drafts: Vec<Draft>,
    pub broken: Option<BrokenCall>,
}

/// The first call that cannot be read.
pub(super) struct BrokenCall {
    /// Empty if there is none.
    pub name: String,
    pub why: Message,
    /// The text ends inside of it; all of it so far has the form of a call.
    pub is_cut: bool,
}

/// The calls of a list, or one call without brackets. The closing bracket may be missing.
pub(super) fn calls(text: &str, tools: &dyn ToolSchemas) -> PythonCalls {
    let mut reader = LenientReader::new(text, Notation::Python, MissingClosers::NONE);
    let mut found = PythonCalls::default();
    reader.skip_space();
    let listed = reader.peek() == Some(b'[');
    reader.at += usize::from(listed);
    loop {
        reader.skip_space();
        match reader.peek() {
            Some(b']') if listed => break,
            Some(b',') if !found.drafts.is_empty() => {
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
            Ok(draft) => found.drafts.push(draft),
            Err(why) => {
                // What it needed says nothing of the calls before it.
                reader.repairs = repairs;
                found.broken = Some(broken(rest, why));
                break;
            }
        }
    }
    let repairs = reader.repairs;
    found.drafts.iter_mut().for_each(|draft| draft.repairs.join(repairs));
    found
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
    let (mut arguments, mut positional) = (Map::new(), Vec::new());
    reader.deeper(|reader| {
        reader.parts(b')', |reader, _| {
            let before = reader.at;
            let key = word(reader);
            reader.skip_space();
            if key.is_empty() || reader.peek() != Some(b'=') {
                reader.at = before;
                positional.push(reader.value()?);
                return Ok(true);
            }
            reader.at += 1;
            match arguments.insert(key.to_owned(), reader.value()?) {
                Some(_) => Err(given_twice(key)),
                None => Ok(true),
            }
        })
    })?;
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
