//! Violations as sentences that a model can act on: where, what was expected, what was given, which name was meant.

use super::check::{Opaque, depends_on};
use super::references;
use super::values_in_words::{self, at, cut, items_in_words, keys_in_words, quoted};
use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Violation};
use jsonschema::paths::{Location, LocationSegment};
use serde_json::{Map, Value, json};
use toolhub_text::message;
use toolhub_text::message::{Join, Message};
use toolhub_text::nearest;
use toolhub_text::secret::is_secret_name;

/// Maximum number of violations that one message lists.
pub const LISTED: usize = 5;
/// Maximum number that are counted.
const COUNTED: usize = 1000;
/// Maximum number of characters for all known names together.
pub const NAMES: usize = 200;

pub struct Explainer<'a> {
    pub root: &'a Value,
    /// The value before coercion: messages show this one.
    pub given: &'a Value,
    pub value: &'a Value,
    pub opaque: &'a [Opaque],
    /// What a member of an object is called.
    pub part: &'static str,
}

impl Explainer<'_> {
    /// All violations, in one line.
    pub fn explain(&self, errors: Vec<ValidationError<'_>>) -> Message {
        let judged = errors.into_iter().filter(|error| !depends_on(error, self.opaque));
        joined(judged.take(COUNTED), |error| self.lines(&error))
    }

    fn lines(&self, error: &ValidationError<'_>) -> Vec<Message> {
        match error.kind() {
            Violation::AnyOf { context } | Violation::OneOfNotValid { context } => self.union(error, context),
            Violation::Required { property } => vec![self.missing(error, property)],
            Violation::AdditionalProperties { unexpected }
            | Violation::UnevaluatedProperties { unexpected } => {
                // More are not listed, and the search for near names is expensive.
                unexpected.iter().take(LISTED + 1).map(|name| self.unknown(error, name)).collect()
            }
            // For an object that may have no key at all, the validator reports its place and the first value in it.
            Violation::FalseSchema if error.schema_path().as_str().ends_with("Properties") => {
                let object = self.value.pointer(error.instance_path().as_str()).and_then(Value::as_object);
                let names = object.into_iter().flat_map(|map| map.keys());
                names.take(LISTED + 1).map(|name| self.unknown(error, name)).collect()
            }
            Violation::PropertyNames { error: inner } => {
                let given = values_in_words::given(inner.instance(), false);
                vec![place(error, message!("expected {} as a key, got {}", self.expected(inner), given))]
            }
            Violation::OneOfMultipleValid { .. } => vec![place(
                error,
                message!(
                    "expected a value that fits only one of the choices ({}), got {}, which fits several",
                    self.choices(error),
                    self.shown(error)
                ),
            )],
            _ => {
                vec![place(error, message!("expected {}, got {}", self.expected(error), self.shown(error)))]
            }
        }
    }

    /// A branch of the right type is explained alone, as if there were no other. Otherwise all types are listed.
    fn union(&self, error: &ValidationError<'_>, context: &[Vec<ValidationError<'static>>]) -> Vec<Message> {
        let here = error.instance_path().as_str().len();
        let goes_inside = |one: &ValidationError<'static>| {
            one.instance_path().as_str().len() > here
                || matches!(
                    one.kind(),
                    Violation::Required { .. }
                        | Violation::AdditionalProperties { .. }
                        | Violation::UnevaluatedProperties { .. }
                )
        };
        let is_of_type = |branch: &&Vec<ValidationError<'static>>| {
            branch.iter().any(goes_inside)
                && !branch.iter().any(|one| matches!(one.kind(), Violation::Type { .. }) && !goes_inside(one))
        };
        if let Some(nearest) = context.iter().filter(is_of_type).min_by_key(|branch| distance(branch)) {
            return nearest.iter().flat_map(|one| self.lines(one)).collect();
        }
        let words = context.iter().flatten().map(|one| self.expected(one));
        let expected = values_in_words::alternatives(words, NAMES);
        vec![place(error, message!("expected {}, got {}", expected, self.shown(error)))]
    }

    fn missing(&self, error: &ValidationError<'_>, property: &Value) -> Message {
        let name = property.as_str().unwrap_or_default();
        let holder = self.holder(error);
        let schema = holder.and_then(|holder| holder.get("properties")?.get(name));
        let expected = schema.and_then(|schema| values_in_words::expected(self.root, schema));
        let path = values_in_words::path_of(error.instance_path(), name);
        let (part, expected) = (self.part(), expected.unwrap_or_else(|| message!("a value")));
        let meant = holder.and_then(|holder| self.misspelt(holder, error.instance(), name));
        let sentence = match meant {
            None => message!("required {} is missing, expected {}", part, expected),
            Some(near) => {
                message!("required {} is missing, expected {} (was {} meant for it?)", part, expected, near)
            }
        };
        at(path, sentence)
    }

    /// The unknown name that was given instead. Where unknown names are forbidden, each has a sentence of its own.
    fn misspelt(&self, holder: &Map<String, Value>, given: &Value, name: &str) -> Option<String> {
        let known = known_names(self.root, holder);
        let forbidden = [holder.get("additionalProperties"), holder.get("unevaluatedProperties")];
        if forbidden.contains(&Some(&Value::Bool(false))) {
            return None;
        }
        let unknown = given.as_object()?.keys().map(String::as_str).filter(|key| !known.contains(key));
        nearest(name, unknown).map(|near| cut(&quoted(near), 60))
    }

    fn unknown(&self, error: &ValidationError<'_>, name: &str) -> Message {
        let known = self.holder(error).map(|holder| known_names(self.root, holder)).unwrap_or_default();
        let path = values_in_words::path_of(error.instance_path(), name);
        let all = match known.is_empty() {
            true => message!("expected no {}s", self.part()),
            false => message!("expected only {}", cut(&known.join(", "), NAMES)),
        };
        let sentence = match near(name, &known) {
            None => message!("unknown {} ({})", self.part(), all),
            Some(near) => message!("unknown {} (did you mean {}? {})", self.part(), near, all),
        };
        at(path, sentence)
    }

    fn part(&self) -> Message {
        self.part.into()
    }

    /// What one keyword expects.
    fn expected(&self, error: &ValidationError<'_>) -> Message {
        match error.kind() {
            Violation::Type { .. } if error.instance_path().is_empty() => self.whole(error),
            Violation::Type { kind: TypeKind::Single(one) } => {
                values_in_words::types([one.as_str()].into_iter())
            }
            Violation::Type { kind: TypeKind::Multiple(set) } => self
                .holder(error)
                .and_then(|holder| values_in_words::expected(self.root, &json!({"type": holder.get("type")})))
                .unwrap_or_else(|| values_in_words::types(set.iter().map(|one| one.as_str()))),
            Violation::Enum { options } => {
                values_in_words::options_in_words(options.as_array().map_or(&[], Vec::as_slice))
            }
            Violation::Constant { expected_value } => values_in_words::literal(expected_value).into(),
            Violation::Minimum { limit } => message!("a value of at least {}", limit),
            Violation::Maximum { limit } => message!("a value of at most {}", limit),
            Violation::ExclusiveMinimum { limit } => message!("a value greater than {}", limit),
            Violation::ExclusiveMaximum { limit } => message!("a value less than {}", limit),
            Violation::MultipleOf { multiple_of } => message!("a multiple of {}", multiple_of),
            Violation::MinLength { limit } => message!("a string of at least {}", characters(*limit)),
            Violation::MaxLength { limit } => message!("a string of at most {}", characters(*limit)),
            Violation::Pattern { pattern } => {
                message!("a string that matches {}", cut(&quoted(pattern), NAMES))
            }
            Violation::MinItems { limit } => message!("at least {}", items_in_words(*limit)),
            Violation::MaxItems { limit } => message!("at most {}", items_in_words(*limit)),
            Violation::AdditionalItems { limit } => message!("at most {}", items_in_words(*limit as u64)),
            Violation::UnevaluatedItems { unexpected } => {
                let more = error.instance().as_array().map_or(0, Vec::len).saturating_sub(unexpected.len());
                message!("at most {}", items_in_words(more as u64))
            }
            Violation::MinProperties { limit } => {
                message!("an object with at least {}", keys_in_words(*limit))
            }
            Violation::MaxProperties { limit } => {
                message!("an object with at most {}", keys_in_words(*limit))
            }
            Violation::UniqueItems => message!("items that all differ"),
            Violation::Contains => message!("an array that holds {}", self.contained(error)),
            Violation::Not { schema } => match values_in_words::expected(self.root, schema) {
                None => message!("another value"),
                Some(words) => message!("anything but {}", words),
            },
            Violation::FalseSchema => message!("nothing"),
            Violation::Format { format } => values_in_words::by_format(format)
                .unwrap_or_else(|| message!("a string in the format {}", quoted(format))),
            Violation::ContentEncoding { content_encoding } => {
                message!("a string in the encoding {}", quoted(content_encoding))
            }
            Violation::ContentMediaType { content_media_type } => {
                message!("a string that holds {}", quoted(content_media_type))
            }
            Violation::FromUtf8 { .. } => message!("a string that holds text in UTF-8"),
            Violation::Required { property } => {
                message!("an object with {}", values_in_words::literal(property))
            }
            Violation::AdditionalProperties { .. } | Violation::UnevaluatedProperties { .. } => {
                message!("an object without unknown keys")
            }
            Violation::PropertyNames { .. } => message!("an object with other keys"),
            Violation::AnyOf { .. }
            | Violation::OneOfNotValid { .. }
            | Violation::OneOfMultipleValid { .. } => {
                message!("one of these: {}", self.choices(error))
            }
            Violation::BacktrackLimitExceeded { .. } | Violation::RegexEngineFailure { .. } => {
                message!("a string that can be compared with the pattern")
            }
            Violation::Custom { message, .. } => cut(message, NAMES).into(),
            Violation::Referencing(_) => message!("a value that the schema describes"),
        }
    }

    fn whole(&self, error: &ValidationError<'_>) -> Message {
        let names = self.holder(error).map(|holder| known_names(self.root, holder)).unwrap_or_default();
        let wanted = match error.kind() {
            Violation::Type { kind: TypeKind::Single(one) } => one.as_str(),
            _ => "object",
        };
        match (wanted, names.is_empty()) {
            ("object", false) => {
                message!("an object with the {}s {}", self.part(), cut(&names.join(", "), NAMES))
            }
            (wanted, _) => values_in_words::types([wanted].into_iter()),
        }
    }

    fn contained(&self, error: &ValidationError<'_>) -> Message {
        let schema = self.holder(error).and_then(|holder| holder.get("contains"));
        let words = schema.and_then(|schema| values_in_words::expected(self.root, schema));
        words.unwrap_or_else(|| message!("other items"))
    }

    fn choices(&self, error: &ValidationError<'_>) -> Message {
        let union = self.root.pointer(error.schema_path().as_str()).and_then(Value::as_array);
        let in_words = |schema| values_in_words::expected(self.root, schema);
        let words: Vec<Message> = union.into_iter().flatten().take(LISTED).filter_map(in_words).collect();
        match words.is_empty() {
            true => message!("the schema has several"),
            false => values_in_words::alternatives(words, NAMES),
        }
    }

    /// What was given at the place of a violation.
    fn shown(&self, error: &ValidationError<'_>) -> Message {
        let write_only =
            self.holder(error).is_some_and(|holder| holder.get("writeOnly") == Some(&Value::Bool(true)));
        self.shown_at(error.instance_path(), error.instance(), write_only)
    }

    /// What was given at a place, hidden if its name or the schema says that it is a secret. `current` is shown where text
    /// was parsed, so that the place did not exist before.
    pub fn shown_at(&self, place: &Location, current: &Value, write_only: bool) -> Message {
        if let Some(opaque) = self.opaque.iter().find(|opaque| opaque.place == place.as_str()) {
            return opaque.shown.clone();
        }
        let is_secret = place.iter().any(|segment| match segment {
            LocationSegment::Property(name) => is_secret_name(&name),
            LocationSegment::Index(_) => false,
        });
        let value = self.given.pointer(place.as_str()).unwrap_or(current);
        values_in_words::given(value, is_secret || write_only)
    }

    /// The schema that has the violated keyword.
    fn holder(&self, error: &ValidationError<'_>) -> Option<&Map<String, Value>> {
        let (holder, _) = error.schema_path().as_str().rsplit_once('/')?;
        self.root.pointer(holder)?.as_object()
    }
}

/// An unknown argument that is not forbidden.
pub fn passed_on(name: &str, known: &[&str]) -> Message {
    let path = values_in_words::path_of(&Location::new(), name);
    let all = cut(&known.join(", "), NAMES);
    let sentence = match near(name, known) {
        None => message!("unknown argument, passed on unchanged (known: {})", all),
        Some(near) => {
            message!("unknown argument, passed on unchanged (did you mean {}? known: {})", near, all)
        }
    };
    at(path, sentence)
}

/// Up to [`LISTED`] lines, each once, and a count of the other violations.
pub fn joined<V>(violations: impl Iterator<Item = V>, describe: impl Fn(V) -> Vec<Message>) -> Message {
    let (mut lines, mut more): (Vec<Message>, usize) = (Vec::new(), 0);
    for violation in violations {
        if lines.len() > LISTED {
            more += 1;
            continue;
        }
        for line in describe(violation) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    more += lines.len().saturating_sub(LISTED);
    lines.truncate(LISTED);
    if more > 0 {
        lines.push(message!("and {} more", more));
    }
    Message::list(lines, Join::Semicolons)
}

fn near(name: &str, known: &[&str]) -> Option<String> {
    nearest(name, known.iter().copied()).map(|name| cut(&quoted(name), 60))
}

fn place(error: &ValidationError<'_>, sentence: Message) -> Message {
    at(values_in_words::path(error.instance_path()), sentence)
}

fn characters(limit: u64) -> Message {
    if limit == 1 { message!("{} character", 1) } else { message!("{} characters", limit) }
}

/// How far a value is from a branch: whether a constant differs, then the number of violations, then of missing keys.
fn distance(branch: &[ValidationError<'static>]) -> (bool, usize, usize) {
    let is_other = branch.iter().any(|one| matches!(one.kind(), Violation::Constant { .. }));
    let missing = branch.iter().filter(|one| matches!(one.kind(), Violation::Required { .. })).count();
    (is_other, branch.len(), missing)
}

/// The names that an object of this schema may have, as far as they can be listed.
fn known_names<'a>(root: &'a Value, holder: &'a Map<String, Value>) -> Vec<&'a str> {
    const SCHEMAS: usize = 100;
    let (mut names, mut seen, mut todo): (Vec<&str>, usize, Vec<&Map<String, Value>>) =
        (Vec::new(), 0, vec![holder]);
    while let Some(schema) = todo.pop() {
        seen += 1;
        let own = schema.get("properties").and_then(Value::as_object);
        names.extend(own.into_iter().flat_map(|own| own.keys().map(String::as_str)));
        if seen < SCHEMAS {
            todo.extend(
                references::beside(root, schema).into_iter().filter_map(Value::as_object).take(SCHEMAS),
            );
        }
    }
    let mut unique = std::collections::HashSet::new();
    names.retain(|name| unique.insert(*name));
    names
}
