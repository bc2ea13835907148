//! What the builder of Python values has against arguments that fit the schema: text that is not a date, a validator of the
//! user's own, an object of another class. The sentences are those of [`super::violations`].

use super::references;
use super::values_in_words::{self, cut};
use super::violations::{Explainer, NAMES, joined};
use jsonschema::paths::Location;
use serde_json::Value;
use toolhub_text::{Message, message};

/// One refusal of the builder.
pub struct Objection {
    /// The builder's path: in addition to keys and indices, it may name branches of unions.
    pub path: Vec<PathStep>,
    pub reason: Reason,
}

pub enum PathStep {
    Key(String),
    Index(usize),
}

pub enum Reason {
    /// The value has the wrong type. The text is for a schema that names none.
    WrongType(Message),
    /// The text is not in the format that the schema names. The text is for a schema that names none.
    WrongFormat(Message),
    /// What the builder expected.
    Expected(Message),
    /// The whole sentence, from a validator of the user's own.
    Sentence(String),
    Missing,
    Unknown,
}

/// The branch label under which builders report a key that is wrong.
const KEY: &str = "[key]";

/// An objection, and where it lies in the arguments.
struct Located<'a> {
    place: Location,
    /// The part of the schema that describes this place.
    schema: Option<&'a Value>,
    value: &'a Value,
    is_key: bool,
    reason: &'a Reason,
}

/// All objections, in one line.
pub fn explain(explainer: &Explainer<'_>, objections: &[Objection]) -> Message {
    let located: Vec<Located<'_>> = objections.iter().map(|objection| locate(explainer, objection)).collect();
    // A union is refused once for each branch. A branch that was refused for something inside has the right type.
    let is_outer = |one: &Located<'_>| {
        located.iter().any(|other| {
            let rest = other.place.as_str().strip_prefix(one.place.as_str());
            rest.is_some_and(|rest| rest.starts_with('/'))
        })
    };
    let mut groups: Vec<Vec<&Located<'_>>> = Vec::new();
    for one in located.iter().filter(|one| !is_outer(one)) {
        let is_alike = |group: &&mut Vec<&Located<'_>>| {
            group[0].place == one.place && group[0].is_key == one.is_key && one.reason.is_expectation()
        };
        match groups.iter_mut().find(is_alike) {
            Some(group) if group[0].reason.is_expectation() => group.push(one),
            _ => groups.push(vec![one]),
        }
    }
    joined(groups.iter(), |group| vec![line(explainer, group)])
}

impl Reason {
    fn is_expectation(&self) -> bool {
        matches!(self, Reason::WrongType(_) | Reason::WrongFormat(_) | Reason::Expected(_))
    }
}

fn locate<'a>(explainer: &Explainer<'a>, objection: &'a Objection) -> Located<'a> {
    let mut found = Located {
        place: Location::new(),
        schema: Some(explainer.root),
        value: explainer.value,
        is_key: false,
        reason: &objection.reason,
    };
    let last = objection.path.len().saturating_sub(1);
    for (at, step) in objection.path.iter().enumerate() {
        let is_missing = at == last && matches!(objection.reason, Reason::Missing);
        let (inner, place) = match (step, found.value) {
            // What is missing has a place and no value.
            (PathStep::Key(name), Value::Object(map)) if is_missing || map.contains_key(name) => {
                (map.get(name), found.place.join(name.as_str()))
            }
            (PathStep::Index(index), Value::Array(items)) if *index < items.len() => {
                (items.get(*index), found.place.join(*index))
            }
            (PathStep::Key(name), _) => {
                // All others are labels of branches of a union.
                found.is_key |= at == last && name == KEY;
                continue;
            }
            _ => continue,
        };
        found.schema = found.schema.and_then(|schema| part(explainer.root, schema, step));
        (found.value, found.place) = (inner.unwrap_or(found.value), place);
    }
    found
}

/// The subschema for a member of a value; the first one, where a union has several.
fn part<'a>(root: &'a Value, schema: &'a Value, step: &PathStep) -> Option<&'a Value> {
    const SCHEMAS: usize = 100;
    let mut todo = vec![schema];
    for _ in 0..SCHEMAS {
        let Some(map) = todo.pop()?.as_object() else { continue };
        let own = match step {
            PathStep::Key(name) => map
                .get("properties")
                .and_then(|properties| properties.get(name))
                .or_else(|| map.get("additionalProperties").filter(|schema| schema.is_object())),
            PathStep::Index(index) => {
                map.get("prefixItems").and_then(|items| items.get(index)).or_else(|| map.get("items"))
            }
        };
        if own.is_some() {
            return own;
        }
        todo.extend(references::beside(root, map).into_iter().rev());
    }
    None
}

fn line(explainer: &Explainer<'_>, group: &[&Located<'_>]) -> Message {
    let first = group[0];
    let write_only = first.schema.is_some_and(|schema| schema.get("writeOnly") == Some(&Value::Bool(true)));
    let expected = values_in_words::alternatives(group.iter().map(|one| expected(explainer, one)), NAMES);
    let given = match first.place.iter().last() {
        Some(key) if first.is_key => values_in_words::given(&Value::String(key.to_string()), write_only),
        _ => explainer.shown_at(&first.place, first.value, write_only),
    };
    let part = Message::from(explainer.part);
    let sentence = match first.reason {
        Reason::Missing => message!("required {} is missing, expected {}", part, expected),
        Reason::Unknown => message!("unknown {}", part),
        Reason::Sentence(text) => {
            message!("{}, got {}", cut(&values_in_words::on_one_line(text), NAMES), given)
        }
        _ if first.is_key => message!("expected {} as a key, got {}", expected, given),
        _ => message!("expected {}, got {}", expected, given),
    };
    values_in_words::at(values_in_words::path(&first.place), sentence)
}

fn expected(explainer: &Explainer<'_>, one: &Located<'_>) -> Message {
    // The schema describes the value under a key, not the key.
    let schema = one.schema.filter(|_| !one.is_key);
    let in_words = |schema| values_in_words::expected(explainer.root, schema);
    let (words, otherwise) = match one.reason {
        Reason::WrongType(text) => (schema.and_then(in_words), text.clone()),
        Reason::WrongFormat(text) => {
            let format = |schema| values_in_words::expected_format(explainer.root, schema);
            (schema.and_then(format), text.clone())
        }
        Reason::Missing => (schema.and_then(in_words), message!("a value")),
        Reason::Expected(text) => (None, text.clone()),
        Reason::Sentence(_) | Reason::Unknown => (None, "".into()),
    };
    words.unwrap_or_else(|| otherwise.map(&values_in_words::on_one_line))
}
