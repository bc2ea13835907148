//! The calls in a JSON value, in the shapes that models and APIs give them.

use serde_json::{Map, Value};

use super::author;
use super::call_parts::{self, CallParts};
use super::keys::{ARGUMENT_KEYS, INNER_KEYS, LIST_KEYS};
use super::lenient::{self, CutList, MissingClosers, Notation, Repairs, SyntaxRepair};
use super::parsed::Draft;
use super::schemas::ToolSchemas;
use toolhub_text::Message;

/// What a JSON value stands for in its dialect.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CallShape {
    /// It stands where a call must be: anything else is an error.
    Marked,
    /// As `Marked`, from an API or a program: no end tag shows that arguments which came as text are complete.
    Issued,
    /// As `Marked`; an object with a single key is the tool of that name with its arguments.
    Keyed,
    /// It may be data that is not a call.
    Bare,
}

/// The calls of a text; an error if it cannot be read, `None` for a bare value that is not a call.
pub(super) fn read(
    text: &str,
    notation: Notation,
    missing: MissingClosers,
    shape: CallShape,
    mut repairs: Repairs,
    tools: &dyn ToolSchemas,
) -> Result<Option<Vec<Draft>>, Message> {
    let is_bare = shape == CallShape::Bare;
    let mut reading = lenient::read(text, notation, missing)?;
    let is_early = || ends_early(&reading.value, shape) || (is_bare && swallows_next(&reading.value));
    if missing == MissingClosers::OUTERMOST && is_early() {
        return Err("the text ends before its arguments".into());
    }
    repairs.join(reading.repairs);
    let broken = take_cut(&mut reading.value, reading.dangling, shape);
    let Some(mut found) = calls(reading.value, repairs, shape, tools) else { return Ok(None) };
    if let Some(broken) = broken.filter(|_| !is_bare) {
        let named = calls(broken, repairs, shape, tools).and_then(|mut drafts| drafts.pop());
        found.push(Draft::cut(&named.map(|draft| draft.name).unwrap_or_default()));
        return Ok(Some(found));
    }
    // They have the text of the whole value: one report is enough.
    found.dedup_by(|next, before| next.is_nameless() && before.is_nameless() && next.error == before.error);
    reading.cut.into_iter().for_each(|cut| report_cut(&mut found, cut));
    Ok(Some(found))
}

/// True if a value without its last bracket was cut before its arguments.
fn ends_early(value: &Value, shape: CallShape) -> bool {
    let Value::Object(map) = value else { return false };
    let has =
        |keys: &[&str], fits: fn(&Value) -> bool| keys.iter().any(|key| map.get(*key).is_some_and(fits));
    let complete = has(ARGUMENT_KEYS, |_| true)
        || has(LIST_KEYS, Value::is_array)
        || has(INNER_KEYS, Value::is_object)
        || (shape == CallShape::Keyed && map.len() == 1);
    !complete
}

/// Takes the call out of a value that continues after the end of its text: a bracket at the depth `dangling` was left open
/// where another member should come. The value is then the list of the calls before it, or an empty list.
fn take_cut(value: &mut Value, dangling: usize, shape: CallShape) -> Option<Value> {
    let (last, depth) = match &*value {
        Value::Array(items) => (items.last()?, 2),
        last => (last, 1),
    };
    let is_cut = dangling > depth || (dangling == depth && ends_early(last, shape));
    match value {
        Value::Array(items) if is_cut => items.pop(),
        value => is_cut.then(|| std::mem::replace(value, Value::Array(Vec::new()))),
    }
}

/// Reports the element with which a list of calls was cut off.
fn report_cut(found: &mut Vec<Draft>, cut: CutList) {
    // What has no name just before the break is a part of the call that broke.
    while found.pop_if(|draft| draft.is_nameless()).is_some() {}
    // So is a call that has not got arguments yet: it must not run without them.
    let is_part = |draft: &mut Draft| draft.error.is_some() || draft.arguments.is_empty();
    let broken = found.pop_if(|draft| !cut.follows_comma && is_part(draft));
    found.push(Draft::unreadable(&broken.map(|draft| draft.name).unwrap_or_default(), cut.why));
}

/// True if a bare call was cut before its arguments, so that the call after it stands in their place.
fn swallows_next(value: &Value) -> bool {
    let is_call = |value: &Value| value.as_object().is_some_and(author::is_call);
    ARGUMENT_KEYS.iter().any(|key| value.get(*key).is_some_and(is_call))
}

/// The calls that a value holds, or `None` for a bare value that is not a call.
pub(super) fn calls(
    value: Value,
    repairs: Repairs,
    shape: CallShape,
    tools: &dyn ToolSchemas,
) -> Option<Vec<Draft>> {
    match value {
        Value::Array(items) if shape == CallShape::Bare && items.is_empty() => None,
        Value::Array(items) => {
            let mut found = Vec::with_capacity(items.len());
            for item in items {
                if shape == CallShape::Bare && !item.is_object() {
                    return None;
                }
                found.extend(calls(item, repairs, shape, tools)?);
            }
            Some(found)
        }
        Value::Object(map) => object(map, repairs, shape, tools),
        _ if shape == CallShape::Bare => None,
        _ => Some(vec![Draft::failed("", "A call must be a JSON object with a name and arguments.")]),
    }
}

fn object(
    map: Map<String, Value>,
    mut repairs: Repairs,
    shape: CallShape,
    tools: &dyn ToolSchemas,
) -> Option<Vec<Draft>> {
    let is_bare = shape == CallShape::Bare;
    // The API has already executed it.
    if is_bare && map.get("type").is_some_and(|kind| kind == "server_tool_use") {
        return None;
    }
    if shape == CallShape::Keyed && map.len() == 1 && !call_parts::says_call(&map) {
        let (name, arguments) = map.into_iter().next()?;
        return Some(vec![Draft::new(&name, Ok(arguments), repairs)]);
    }
    let mut parts = CallParts::of(map);
    let name = parts.name().to_owned();
    if is_bare && (parts.is_record || parts.is_description()) {
        return None;
    }
    if let Some(why) = parts.fault {
        return (!is_bare).then(|| vec![Draft::unreadable(&name, why)]);
    }
    if let Some(list) = parts.take_list() {
        repairs.add(SyntaxRepair::NestedShape);
        return calls(list, repairs, shape, tools);
    }
    if parts.is_nested {
        repairs.add(SyntaxRepair::NestedShape);
    }
    let is_alone = parts.beside.is_empty();
    let mut arguments = parts.arguments.take().map(|said| said.value);
    if arguments.is_none() && !is_bare && !is_alone {
        arguments = Some(Value::Object(std::mem::take(&mut parts.beside)));
        repairs.add(SyntaxRepair::BesideTheName);
    }
    // Without arguments, and with something else beside the name, it is data about a tool, such as the result of a call.
    let is_plain = || tools.parameters(&name).is_some() && is_alone;
    let is_call = !name.is_empty() && (arguments.is_some() || is_plain());
    if is_bare && !is_call {
        return None;
    }
    let arguments = arguments.unwrap_or_default();
    let text = arguments.as_str().filter(|_| shape == CallShape::Issued).map(str::to_owned);
    let mut draft = Draft::new(&name, Ok(arguments), repairs).unless_cut(text.as_deref());
    if is_bare && draft.error.is_some() {
        return None;
    }
    (draft.id, draft.source) = (parts.id(), parts.source());
    Some(vec![draft])
}
