//! The calls in a JSON value, in the shapes that models and APIs give them.

use serde_json::{Map, Value};

use super::author::{self, PartAuthor};
use super::keys::{ARGUMENT_KEYS, INNER_KEYS, KeyUse, LIST_KEYS, is_record};
use super::lenient::{self, CutList, MissingClosers, Notation, Repairs, SyntaxRepair, given_twice};
use super::parsed::Draft;
use super::schemas::ToolSchemas;
use toolhub_text::canonical::canonical;
use toolhub_text::{Message, message};

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
    if shape == CallShape::Keyed && map.len() == 1 && !says_call(&map) {
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

/// What a call says: its name, its arguments, its id and its source, wherever they stand.
///
/// It may say one thing under several keys (`name` and `tool`), and inside of itself (`function.name`). All of them are read, so all of
/// them must agree: which one the model meant, nobody knows.
#[derive(Default)]
pub(super) struct CallParts {
    name: Option<SaidPart>,
    pub arguments: Option<SaidPart>,
    id: Option<SaidPart>,
    source: Option<SaidPart>,
    list: Option<SaidPart>,
    /// What stands beside the name under keys that are not those of calls.
    pub beside: Map<String, Value>,
    /// It is wrapped in an object of an API.
    pub is_nested: bool,
    /// It says how it went: it was made before.
    pub is_record: bool,
    /// It has a type: notes of an API may stand beside its name.
    is_typed: bool,
    /// Why it cannot be read.
    pub fault: Option<Message>,
}

/// A value, and where it stands: `function.name`.
pub(super) struct SaidPart {
    place: String,
    /// Lower for a more usual place.
    rank: usize,
    pub value: Value,
}

/// Each level ranks after all keys of the one above it.
const LEVEL: usize = 100;

impl CallParts {
    pub fn of(map: Map<String, Value>) -> Self {
        let mut parts = Self::default();
        parts.take(map, "", 0);
        let one = parts.name.as_ref().or(parts.arguments.as_ref());
        let why = match (&parts.list, one) {
            (Some(list), Some(one)) if !list.value.is_null() => Some(differ(&one.place, &list.place)),
            _ => parts.given_beside(),
        };
        parts.fault = parts.fault.or(why);
        parts
    }

    fn take(&mut self, map: Map<String, Value>, within: &str, level: usize) {
        let is_named = map.iter().any(|(key, value)| is_name(key, value));
        let has_type = map.contains_key("type");
        let has_call_id = has_type && map.contains_key("call_id");
        self.is_record |= is_named && is_record(map.keys().map(String::as_str));
        self.is_typed |= is_named && has_type;
        let wraps =
            map.iter().any(|(key, value)| matches!(use_of(key, value).0, KeyUse::Inner | KeyUse::List));
        if wraps && author::author_of(&map) == PartAuthor::Others {
            self.fault = Some("it stands in a message that is not the model's".into());
        }
        for (key, value) in map {
            let (kind, rank) = use_of(&key, &value);
            let place = [within, &key].concat();
            let (slot, agree): (_, fn(&Value, &Value) -> bool) = match kind {
                KeyUse::Inner => {
                    self.is_nested = true;
                    if let Value::Object(inner) = value {
                        self.take(inner, &(place + "."), level + LEVEL);
                    }
                    continue;
                }
                KeyUse::Id if has_call_id && key == "id" => continue,
                KeyUse::Id if id_text(&value).is_none() => continue,
                KeyUse::Source if !value.is_string() => continue,
                KeyUse::About => continue,
                KeyUse::Other => {
                    if is_named {
                        self.beside.insert(key, value);
                    }
                    continue;
                }
                KeyUse::Name => (&mut self.name, same_text),
                KeyUse::Arguments => (&mut self.arguments, same_arguments),
                KeyUse::Id => (&mut self.id, |one, other| id_text(one) == id_text(other)),
                KeyUse::Source => (&mut self.source, |_, _| true),
                KeyUse::List => (&mut self.list, same_value),
            };
            // Null says nothing, nor does an empty list of calls: another key counts.
            let is_silent = kind == KeyUse::List && value.as_array().is_some_and(Vec::is_empty);
            let value = if is_silent { Value::Null } else { value };
            // The source that stands nearest to the name counts: the outer one may be that of a message.
            let rank = if kind == KeyUse::Source { usize::MAX - level } else { level + rank };
            let why = SaidPart { place, rank, value }.say_in(slot, agree);
            self.fault = self.fault.take().or(why);
        }
    }

    /// Why it says a parameter twice: in its arguments, and beside its name.
    fn given_beside(&self) -> Option<Message> {
        let arguments = self.arguments.as_ref()?.value.as_object().filter(|_| !self.is_typed)?;
        let differs = |(key, value): &(&String, &Value)| {
            !value.is_null() && arguments.get(*key).is_some_and(|given| !same_value(given, value))
        };
        self.beside.iter().find(differs).map(|(key, _)| given_twice(key))
    }

    pub fn name(&self) -> &str {
        self.name.as_ref().and_then(|name| name.value.as_str()).unwrap_or_default().trim()
    }

    /// Empty if it has none.
    pub fn id(&self) -> String {
        self.id.as_ref().and_then(|id| id_text(&id.value)).unwrap_or_default()
    }

    pub fn source(&self) -> Option<String> {
        self.source.as_ref()?.value.as_str().map(str::to_owned)
    }

    /// The calls of a list that is all it has.
    pub fn take_list(&mut self) -> Option<Value> {
        let is_all = self.name.is_none() && self.arguments.is_none();
        let list = self.list.take().filter(|_| is_all)?.value;
        Some(if list.is_null() { Value::Array(Vec::new()) } else { list })
    }

    /// True for the description of a tool, which has the same keys.
    pub fn is_description(&self) -> bool {
        let is_schema =
            |said: &SaidPart| said.place.ends_with("parameters") && said.value.get("properties").is_some();
        self.arguments.as_ref().is_some_and(is_schema)
    }
}

impl SaidPart {
    /// Takes its place, or tells why it contradicts what stands there.
    fn say_in(self, slot: &mut Option<Self>, agree: fn(&Value, &Value) -> bool) -> Option<Message> {
        let Some(known) = slot.as_mut().filter(|known| !known.value.is_null()) else {
            *slot = Some(self);
            return None;
        };
        if self.value.is_null() {
            return None;
        }
        let is_same = agree(&known.value, &self.value);
        let (first, other) =
            if known.rank < self.rank { (&known.place, &self.place) } else { (&self.place, &known.place) };
        let why = (!is_same).then(|| differ(first, other));
        if self.rank < known.rank {
            *known = self;
        }
        why
    }
}

/// Why a call cannot be read that says one thing in two ways.
pub fn contradiction(first: &str, other: &str) -> Message {
    message!("The call cannot be read: {}.", differ(first, other))
}

fn differ(first: &str, other: &str) -> Message {
    format!("\"{first}\" and \"{other}\" differ; give only one of them").into()
}

/// True if an object says something of a call.
pub(super) fn says_call(map: &Map<String, Value>) -> bool {
    map.iter().any(|(key, value)| match use_of(key, value).0 {
        KeyUse::Name => value.is_string(),
        kind => matches!(kind, KeyUse::Arguments | KeyUse::Inner | KeyUse::List),
    })
}

fn is_name(key: &str, value: &Value) -> bool {
    value.is_string() && use_of(key, value).0 == KeyUse::Name
}

fn use_of(key: &str, value: &Value) -> (KeyUse, usize) {
    KeyUse::of(key, || value.as_object().is_some_and(says_call), value.is_array())
}

fn same_text(one: &Value, other: &Value) -> bool {
    let text = |value: &Value| value.as_str().map(|text| text.trim().to_owned());
    text(one).is_some() && text(one) == text(other)
}

fn same_value(one: &Value, other: &Value) -> bool {
    canonical(one) == canonical(other)
}

/// True if the arguments are the same once they are read: one of them may be a text.
fn same_arguments(one: &Value, other: &Value) -> bool {
    let read = |value: &Value| Draft::new("name", Ok(value.clone()), Repairs::default());
    let (one, other) = (read(one), read(other));
    other.error.is_none() && one.is_same(&other)
}

fn id_text(value: &Value) -> Option<String> {
    match value {
        Value::String(id) if !id.is_empty() => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}
