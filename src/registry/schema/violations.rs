//! Violations as sentences that a model can act on: where, what was expected, what was given, which name was meant.

use super::opaque::{self, Opaque};
use super::references;
use super::values_in_words::{self, counted, cut, quoted};
use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Violation};
use jsonschema::paths::{Location, LocationSegment};
use serde_json::{Map, Value, json};
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
    pub fn explain(&self, errors: Vec<ValidationError<'_>>) -> String {
        let judged = errors.into_iter().filter(|error| !opaque::depends_on(error, self.opaque));
        joined(judged.take(COUNTED), |error| self.lines(&error))
    }

    fn lines(&self, error: &ValidationError<'_>) -> Vec<String> {
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
                vec![format!(
                    "{}expected {} as a key, got {}",
                    place(error),
                    self.expected(inner),
                    values_in_words::given(inner.instance(), false)
                )]
            }
            Violation::OneOfMultipleValid { .. } => vec![format!(
                "{}expected a value that fits only one of the choices ({}), got {}, which fits several",
                place(error),
                self.choices(error),
                self.shown(error)
            )],
            _ => {
                vec![format!("{}expected {}, got {}", place(error), self.expected(error), self.shown(error))]
            }
        }
    }

    /// A branch of the right type is explained alone, as if there were no other. Otherwise all types are listed.
    fn union(&self, error: &ValidationError<'_>, context: &[Vec<ValidationError<'static>>]) -> Vec<String> {
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
        let mut words: Vec<String> = Vec::new();
        for one in context.iter().flatten() {
            let expected = self.expected(one);
            if !words.contains(&expected) {
                words.push(expected);
            }
        }
        vec![format!(
            "{}expected {}, got {}",
            place(error),
            cut(&words.join(" or "), NAMES),
            self.shown(error)
        )]
    }

    fn missing(&self, error: &ValidationError<'_>, property: &Value) -> String {
        let name = property.as_str().unwrap_or_default();
        let holder = self.holder(error);
        let schema = holder.and_then(|holder| holder.get("properties")?.get(name));
        let expected = schema
            .map(|schema| values_in_words::expected(self.root, schema))
            .filter(|words| !words.is_empty());
        let path = values_in_words::path_of(error.instance_path(), name);
        let expected = expected.as_deref().unwrap_or("a value");
        let hint =
            holder.and_then(|holder| self.misspelt(holder, error.instance(), name)).unwrap_or_default();
        format!("{path}: required {} is missing, expected {expected}{hint}", self.part)
    }

    /// The unknown name that was given instead. Where unknown names are forbidden, each has a sentence of its own.
    fn misspelt(&self, holder: &Map<String, Value>, given: &Value, name: &str) -> Option<String> {
        let known = known_names(self.root, holder);
        let forbidden = [holder.get("additionalProperties"), holder.get("unevaluatedProperties")];
        if forbidden.contains(&Some(&Value::Bool(false))) {
            return None;
        }
        let unknown = given.as_object()?.keys().map(String::as_str).filter(|key| !known.contains(key));
        nearest(name, unknown).map(|near| format!(" (was {} meant for it?)", cut(&quoted(near), 60)))
    }

    fn unknown(&self, error: &ValidationError<'_>, name: &str) -> String {
        let known = self.holder(error).map(|holder| known_names(self.root, holder)).unwrap_or_default();
        let path = values_in_words::path_of(error.instance_path(), name);
        let all = match known.is_empty() {
            true => format!("no {}s", self.part),
            false => format!("only {}", cut(&known.join(", "), NAMES)),
        };
        format!("{path}: unknown {} ({}expected {all})", self.part, did_you_mean(name, &known))
    }

    /// What one keyword expects.
    fn expected(&self, error: &ValidationError<'_>) -> String {
        match error.kind() {
            Violation::Type { .. } if error.instance_path().is_empty() => self.whole(error),
            Violation::Type { kind: TypeKind::Single(one) } => {
                values_in_words::types([one.as_str()].into_iter())
            }
            Violation::Type { kind: TypeKind::Multiple(set) } => self
                .holder(error)
                .map(|holder| values_in_words::expected(self.root, &json!({"type": holder.get("type")})))
                .filter(|words| !words.is_empty())
                .unwrap_or_else(|| values_in_words::types(set.iter().map(|one| one.as_str()))),
            Violation::Enum { options } => {
                values_in_words::options_in_words(options.as_array().map_or(&[], Vec::as_slice))
            }
            Violation::Constant { expected_value } => values_in_words::literal(expected_value),
            Violation::Minimum { limit } => format!("a value of at least {limit}"),
            Violation::Maximum { limit } => format!("a value of at most {limit}"),
            Violation::ExclusiveMinimum { limit } => format!("a value greater than {limit}"),
            Violation::ExclusiveMaximum { limit } => format!("a value less than {limit}"),
            Violation::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
            Violation::MinLength { limit } => format!("a string of at least {}", count(*limit, "character")),
            Violation::MaxLength { limit } => format!("a string of at most {}", count(*limit, "character")),
            Violation::Pattern { pattern } => {
                format!("a string that matches {}", cut(&quoted(pattern), NAMES))
            }
            Violation::MinItems { limit } => format!("at least {}", count(*limit, "item")),
            Violation::MaxItems { limit } => format!("at most {}", count(*limit, "item")),
            Violation::AdditionalItems { limit } => format!("at most {}", counted(*limit, "item")),
            Violation::UnevaluatedItems { unexpected } => {
                let more = error.instance().as_array().map_or(0, Vec::len).saturating_sub(unexpected.len());
                format!("at most {}", counted(more, "item"))
            }
            Violation::MinProperties { limit } => format!("an object with at least {}", count(*limit, "key")),
            Violation::MaxProperties { limit } => format!("an object with at most {}", count(*limit, "key")),
            Violation::UniqueItems => "items that all differ".into(),
            Violation::Contains => self.about("contains", error, "an array that holds", "other items"),
            Violation::Not { schema } => match values_in_words::expected(self.root, schema).as_str() {
                "" => "another value".into(),
                words => format!("anything but {words}"),
            },
            Violation::FalseSchema => "nothing".into(),
            Violation::Format { format } => values_in_words::by_format(format)
                .map_or_else(|| format!("a string in the format {}", quoted(format)), Into::into),
            Violation::ContentEncoding { content_encoding } => {
                format!("a string in the encoding {}", quoted(content_encoding))
            }
            Violation::ContentMediaType { content_media_type } => {
                format!("a string that holds {}", quoted(content_media_type))
            }
            Violation::FromUtf8 { .. } => "a string that holds text in UTF-8".into(),
            Violation::Required { property } => {
                format!("an object with {}", values_in_words::literal(property))
            }
            Violation::AdditionalProperties { .. } | Violation::UnevaluatedProperties { .. } => {
                "an object without unknown keys".into()
            }
            Violation::PropertyNames { .. } => "an object with other keys".into(),
            Violation::AnyOf { .. }
            | Violation::OneOfNotValid { .. }
            | Violation::OneOfMultipleValid { .. } => {
                format!("one of these: {}", self.choices(error))
            }
            Violation::BacktrackLimitExceeded { .. } | Violation::RegexEngineFailure { .. } => {
                "a string that can be compared with the pattern".into()
            }
            Violation::Custom { message, .. } => cut(message, NAMES),
            Violation::Referencing(_) => "a value that the schema describes".into(),
        }
    }

    fn whole(&self, error: &ValidationError<'_>) -> String {
        let names = self.holder(error).map(|holder| known_names(self.root, holder)).unwrap_or_default();
        let wanted = match error.kind() {
            Violation::Type { kind: TypeKind::Single(one) } => one.as_str(),
            _ => "object",
        };
        match (wanted, names.is_empty()) {
            ("object", false) => {
                format!("an object with the {}s {}", self.part, cut(&names.join(", "), NAMES))
            }
            (wanted, _) => values_in_words::types([wanted].into_iter()),
        }
    }

    fn about(&self, keyword: &str, error: &ValidationError<'_>, start: &str, otherwise: &str) -> String {
        let schema = self.holder(error).and_then(|holder| holder.get(keyword));
        let words = schema.map(|schema| values_in_words::expected(self.root, schema)).unwrap_or_default();
        format!("{start} {}", if words.is_empty() { otherwise } else { &words })
    }

    fn choices(&self, error: &ValidationError<'_>) -> String {
        let union = self.root.pointer(error.schema_path().as_str()).and_then(Value::as_array);
        let words = union.into_iter().flatten().map(|schema| values_in_words::expected(self.root, schema));
        let words: Vec<String> = words.take(LISTED).filter(|words| !words.is_empty()).collect();
        if words.is_empty() { "the schema has several".into() } else { cut(&words.join(" or "), NAMES) }
    }

    /// What was given at the place of a violation.
    fn shown(&self, error: &ValidationError<'_>) -> String {
        let write_only =
            self.holder(error).is_some_and(|holder| holder.get("writeOnly") == Some(&Value::Bool(true)));
        self.shown_at(error.instance_path(), error.instance(), write_only)
    }

    /// What was given at a place, hidden if its name or the schema says that it is a secret. `current` is shown where text
    /// was parsed, so that the place did not exist before.
    pub fn shown_at(&self, place: &Location, current: &Value, write_only: bool) -> String {
        if let Some(opaque) = self.opaque.iter().find(|opaque| opaque.place == place.as_str()) {
            return opaque.shown.clone().into_owned();
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
pub fn passed_on(name: &str, known: &[&str]) -> String {
    let path = values_in_words::path_of(&Location::new(), name);
    let all = cut(&known.join(", "), NAMES);
    format!("{path}: unknown argument, passed on unchanged ({}known: {all})", did_you_mean(name, known))
}

/// Up to [`LISTED`] lines, each once, and a count of the other violations.
pub fn joined<V>(violations: impl Iterator<Item = V>, describe: impl Fn(V) -> Vec<String>) -> String {
    let (mut lines, mut more): (Vec<String>, usize) = (Vec::new(), 0);
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
        lines.push(format!("and {more} more"));
    }
    lines.join("; ")
}

fn did_you_mean(name: &str, known: &[&str]) -> String {
    let near = nearest(name, known.iter().copied());
    near.map(|name| format!("did you mean {}? ", cut(&quoted(name), 60))).unwrap_or_default()
}

fn place(error: &ValidationError<'_>) -> String {
    match values_in_words::path(error.instance_path()) {
        path if path.is_empty() => path,
        path => path + ": ",
    }
}

fn count(limit: u64, of: &str) -> String {
    counted(usize::try_from(limit).unwrap_or(usize::MAX), of)
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
