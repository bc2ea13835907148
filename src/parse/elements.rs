//! Arguments written as XML elements named after the parameters, which may be nested.

use foldhash::HashSet;
use serde_json::{Map, Value};

use super::lenient::given_twice;
use super::schemas::{SchemaView, ToolSchemas, typed};
use toolhub_text::message::Message;

/// The reader is recursive, so deeper elements are text.
const DEEPEST: usize = 64;

/// The name (from an element `tool_name` if `named` is empty) and the arguments.
pub(super) fn call(
    text: &str,
    mark: &str,
    named: &str,
    tools: &dyn ToolSchemas,
) -> Result<(String, Value), Message> {
    let mut name = named.to_owned();
    let mut rest = text;
    if named.is_empty()
        && let Some(element) = next(rest, mark)
        && element.name == "tool_name"
    {
        name = element.content.trim().to_owned();
        rest = element.after;
        if next(rest, mark).is_some_and(|element| element.name == "tool_name") {
            return Err(given_twice("tool_name"));
        }
    }
    if let Some(element) = next(rest, mark)
        && element.name == "parameters"
        && element.after.trim().is_empty()
    {
        rest = element.content;
    }
    let schema = tools.parameters(&name).map(SchemaView::new);
    if let Some(key) = repeated(rest, mark, schema) {
        return Err(given_twice(key));
    }
    match value(rest, mark, schema, 0) {
        Value::Object(map) => Ok((name, Value::Object(map))),
        _ if rest.trim().is_empty() => Ok((name, Value::Null)),
        _ => Err("the parameters are not elements".into()),
    }
}

/// The first parameter that is given twice, and is not a list with an element for each item.
fn repeated<'a>(text: &'a str, mark: &str, schema: Option<SchemaView<'_>>) -> Option<&'a str> {
    let mut seen: HashSet<&str> = HashSet::default();
    let mut rest = text;
    while let Some(element) = next(rest, mark) {
        let types = || schema.and_then(|schema| schema.property(element.name)).map(SchemaView::types);
        if !seen.insert(element.name) && !types().is_some_and(|types| types.contains(&"array")) {
            return Some(element.name);
        }
        rest = element.after;
    }
    None
}

struct Element<'a> {
    name: &'a str,
    content: &'a str,
    after: &'a str,
}

/// The element at the start of the text.
fn next<'a>(text: &'a str, mark: &str) -> Option<Element<'a>> {
    let inner = text.trim_start().strip_prefix(mark)?.strip_prefix('<')?;
    let (name, rest) = inner.split_once('>')?;
    if name.is_empty() || name.starts_with('/') || name.contains(['<', ' ', '\n', '"']) {
        return None;
    }
    let closing = format!("{mark}</{name}>");
    let opening = format!("{mark}<{name}>");
    // An element may contain others with its own name.
    let (mut depth, mut from) = (1, 0);
    loop {
        let end = from + rest[from..].find(&closing)?;
        depth += rest[from..end].matches(&opening).count();
        depth -= 1;
        if depth == 0 {
            return Some(Element { name, content: &rest[..end], after: &rest[end + closing.len()..] });
        }
        from = end + closing.len();
    }
}

fn value(text: &str, mark: &str, schema: Option<SchemaView<'_>>, depth: usize) -> Value {
    let mut elements = Vec::new();
    let mut rest = text;
    while let Some(element) = next(rest, mark).filter(|_| depth < DEEPEST) {
        rest = element.after;
        elements.push(element);
    }
    if elements.is_empty() || !rest.trim().is_empty() {
        return leaf(text, schema);
    }
    if elements.iter().all(|element| element.name == "item") && is_list(schema, elements.len()) {
        let items = schema.and_then(SchemaView::items);
        let read = elements.iter().map(|element| value(element.content, mark, items, depth + 1));
        return Value::Array(read.collect());
    }
    let mut map: Map<String, Value> = Map::new();
    let mut repeated: Vec<&str> = Vec::new();
    for element in elements {
        let schema = schema.and_then(|schema| schema.property(element.name));
        let read = value(element.content, mark, schema, depth + 1);
        // A name given again is one more item of a list.
        match map.get_mut(element.name) {
            None => {
                map.insert(element.name.to_owned(), read);
            }
            Some(Value::Array(items)) if repeated.contains(&element.name) => items.push(read),
            Some(first) => {
                *first = Value::Array(vec![first.take(), read]);
                repeated.push(element.name);
            }
        }
    }
    Value::Object(map)
}

/// Whether elements named `item` are a list, and not an object with that property.
fn is_list(schema: Option<SchemaView<'_>>, count: usize) -> bool {
    let Some(schema) = schema else { return true };
    let types = schema.types();
    types.contains(&"array") || !types.contains(&"object") || (count > 1 && !schema.names("item"))
}

/// A value without elements inside. An empty list or object has no text.
fn leaf(text: &str, schema: Option<SchemaView<'_>>) -> Value {
    if text.trim().is_empty() {
        let types = schema.map(SchemaView::types).unwrap_or_default();
        match types.iter().find(|kind| matches!(**kind, "array" | "object" | "string")) {
            Some(&"array") => return Value::Array(Vec::new()),
            Some(&"object") => return Value::Object(Map::new()),
            _ => {}
        }
    }
    typed(text, None, schema)
}
