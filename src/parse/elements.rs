//! Arguments written as XML elements named after the parameters, which may be nested.

use serde_json::{Map, Value};

use super::schemas::{ToolSchemas, property};
use super::typed::typed;

/// The reader is recursive, so deeper elements are text.
const DEEPEST: usize = 64;

/// The name (from an element `tool_name` if `named` is empty) and the arguments.
pub(super) fn call(
    text: &str,
    mark: &str,
    named: &str,
    tools: &dyn ToolSchemas,
) -> Result<(String, Value), String> {
    let mut name = named.to_owned();
    let mut rest = text;
    if named.is_empty()
        && let Some(element) = next(rest, mark)
        && element.name == "tool_name"
    {
        name = element.content.trim().to_owned();
        rest = element.after;
    }
    if let Some(element) = next(rest, mark)
        && element.name == "parameters"
        && element.after.trim().is_empty()
    {
        rest = element.content;
    }
    let schema = tools.parameters(&name);
    match value(rest, mark, schema, 0) {
        Value::Object(map) => Ok((name, Value::Object(map))),
        _ if rest.trim().is_empty() => Ok((name, Value::Null)),
        _ => Err("the parameters are not elements".into()),
    }
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

fn value(text: &str, mark: &str, schema: Option<&Value>, depth: usize) -> Value {
    let mut elements = Vec::new();
    let mut rest = text;
    while let Some(element) = next(rest, mark).filter(|_| depth < DEEPEST) {
        rest = element.after;
        elements.push(element);
    }
    if elements.is_empty() || !rest.trim().is_empty() {
        return typed(text, schema);
    }
    let is_list = schema.and_then(|schema| schema.get("type")).is_some_and(|kind| kind == "array");
    if elements.iter().all(|element| element.name == "item") && (is_list || schema.is_none()) {
        let items = schema.and_then(|schema| schema.get("items"));
        let read = elements.iter().map(|element| value(element.content, mark, items, depth + 1));
        return Value::Array(read.collect());
    }
    let mut map = Map::new();
    for element in elements {
        let schema = schema.and_then(|schema| property(schema, element.name));
        map.insert(element.name.to_owned(), value(element.content, mark, schema, depth + 1));
    }
    Value::Object(map)
}
