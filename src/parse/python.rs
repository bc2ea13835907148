//! Calls written as Python: `[get_weather(city="Paris"), now()]`.

use serde_json::{Map, Value};

use super::draft::Draft;
use super::lenient::{LenientReader, MissingClosers};
use super::notation::Notation;
use super::repair::SyntaxRepair;
use super::schemas::{SchemaView, ToolSchemas};

/// True if a byte may be part of the (dotted) name of a function.
pub(super) fn names(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-') || byte >= 0x80
}

/// The calls of a list, or one call without brackets. The closing bracket may be missing.
pub(super) fn calls(text: &str, tools: &dyn ToolSchemas) -> Result<Vec<Draft>, String> {
    read(LenientReader::new(text, Notation::Python, MissingClosers::NONE), tools)
}

/// As [`calls`], if strings have their own quotes inside.
pub(super) fn calls_with_inner_quotes(text: &str, tools: &dyn ToolSchemas) -> Result<Vec<Draft>, String> {
    let mut reader = LenientReader::new(text, Notation::Python, MissingClosers::NONE);
    reader.has_inner_quotes = true;
    let drafts = read(reader, tools)?;
    // A name that the tool does not have is part of a string.
    let is_known = |draft: &Draft| match tools.parameters(&draft.name).map(SchemaView::new) {
        Some(schema) => draft.arguments.keys().all(|name| schema.property(name).is_some()),
        None => true,
    };
    match drafts.iter().all(is_known) {
        true => Ok(drafts),
        false => Err("the quotes inside of a string cannot be told from those around it".into()),
    }
}

fn read(mut reader: LenientReader<'_>, tools: &dyn ToolSchemas) -> Result<Vec<Draft>, String> {
    reader.skip_space();
    let listed = reader.peek() == Some(b'[');
    reader.at += usize::from(listed);
    let mut found = Vec::new();
    loop {
        reader.skip_space();
        match reader.peek() {
            Some(b']') if listed => break,
            Some(b',') if !found.is_empty() => {
                reader.at += 1;
                continue;
            }
            None if listed => {
                reader.repairs.add(SyntaxRepair::MissingBrackets);
                break;
            }
            None => break,
            Some(_) => found.push(call(&mut reader, tools)?),
        }
    }
    let repairs = reader.repairs;
    found.iter_mut().for_each(|draft: &mut Draft| draft.repairs.join(repairs));
    Ok(found)
}

fn call(reader: &mut LenientReader<'_>, tools: &dyn ToolSchemas) -> Result<Draft, String> {
    let name = word(reader);
    if name.is_empty() || reader.peek() != Some(b'(') {
        return Err("a call must be a name with its arguments in parentheses".into());
    }
    reader.at += 1;
    let mut arguments = Map::new();
    let mut positional = Vec::new();
    loop {
        reader.skip_space();
        match reader.peek() {
            None => return Err("the text ends inside the arguments".into()),
            Some(b')') => {
                reader.at += 1;
                break;
            }
            Some(b',') => {
                reader.at += 1;
                continue;
            }
            Some(_) => {}
        }
        let before = reader.at;
        let key = word(reader);
        reader.skip_space();
        if !key.is_empty() && reader.peek() == Some(b'=') {
            reader.at += 1;
            let value = reader.value()?;
            arguments.insert(key.to_owned(), value);
        } else {
            reader.at = before;
            positional.push(reader.value()?);
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
) -> Result<(), String> {
    if given.is_empty() {
        return Ok(());
    }
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let mut names = properties.into_iter().flat_map(|properties| properties.keys());
    for value in given {
        let name = names.next().ok_or("an argument has no name, and there is no schema to give it one")?;
        arguments.entry(name).or_insert(value);
    }
    Ok(())
}
