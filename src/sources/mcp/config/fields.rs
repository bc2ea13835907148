//! Reading one JSON object: typed values go out, what is wrong becomes notices, and in the end the keys
//! that were not read are known.

use super::variables::Variables;
use serde_json::{Map, Value};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use toolhub_text::invisible::line;
use toolhub_text::nearest;
use toolhub_types::error::clip;

/// Longer waits are a mistake in the unit, and adding them to a clock could overflow.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

pub(super) struct Fields<'a, 'n> {
    object: &'a Map<String, Value>,
    /// Before a key in a notice: nothing, or as in `toolhub.`.
    prefix: String,
    asked: Vec<&'static str>,
    pub variables: &'a Variables<'a>,
    pub notes: &'n mut Notes,
}

impl<'a, 'n> Fields<'a, 'n> {
    pub fn new(object: &'a Map<String, Value>, variables: &'a Variables<'a>, notes: &'n mut Notes) -> Self {
        Self { object, prefix: String::new(), asked: Vec::new(), variables, notes }
    }

    /// The object under a key, to be read in the same way.
    pub fn inner(&mut self, key: &'static str) -> Option<Fields<'a, '_>> {
        let object = self.object(key)?;
        let prefix = format!("{}.", self.path(key));
        Some(Fields { object, prefix, asked: Vec::new(), variables: self.variables, notes: self.notes })
    }

    /// The value; `null` counts as not given.
    pub fn value(&mut self, key: &'static str) -> Option<&'a Value> {
        self.ignore(&[key]);
        self.object.get(key).filter(|value| !value.is_null())
    }

    /// The first of these keys that is given; all of them are known from now on.
    pub fn first(&mut self, keys: &[&'static str]) -> Option<&'static str> {
        self.ignore(keys);
        keys.iter().find(|key| self.has(key)).copied()
    }

    /// Whether there is something under the key; an empty text is nothing.
    pub fn has(&self, key: &str) -> bool {
        self.object.get(key).is_some_and(|value| !value.is_null() && value.as_str() != Some(""))
    }

    /// Makes keys known without looking at them.
    pub fn ignore(&mut self, keys: &[&'static str]) {
        self.asked.extend_from_slice(keys);
    }

    /// The keys that were asked for.
    pub fn known(self) -> Vec<&'static str> {
        self.asked
    }

    pub fn error(&mut self, key: &str, message: impl Into<String>) {
        let path = self.path(key);
        self.notes.error(&*path, message);
    }

    pub fn warn(&mut self, key: &str, message: impl Into<String>) {
        let path = self.path(key);
        self.notes.warn(&*path, message);
    }

    fn path(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    fn typed<T>(&mut self, key: &'static str, expected: &str, read: fn(&'a Value) -> Option<T>) -> Option<T> {
        let value = self.value(key)?;
        let typed = read(value);
        if typed.is_none() {
            self.error(key, format!("must be {expected}, not {}.", kind(value)));
        }
        typed
    }

    pub fn text(&mut self, key: &'static str) -> Option<&'a str> {
        self.typed(key, "a string", Value::as_str)
    }

    pub fn flag(&mut self, key: &'static str) -> Option<bool> {
        self.typed(key, "true or false", Value::as_bool)
    }

    pub fn object(&mut self, key: &'static str) -> Option<&'a Map<String, Value>> {
        self.typed(key, "an object", Value::as_object)
    }

    /// A text with its variables replaced.
    pub fn expanded(&mut self, key: &'static str) -> Option<String> {
        let text = self.text(key)?;
        self.expand(key, text)
    }

    /// Replaces the variables of a text that stands under this key.
    pub fn expand(&mut self, key: &str, text: &str) -> Option<String> {
        let expanded = self.variables.expand(text).and_then(|text| match text.contains('\0') {
            true => Err("must not contain a NUL character.".to_owned()),
            false => Ok(text),
        });
        expanded.map_err(|message| self.error(key, message)).ok()
    }

    /// A path with its variables replaced, made absolute; an empty one is none.
    pub fn path_of(&mut self, key: &'static str) -> Option<PathBuf> {
        let path = self.expanded(key).filter(|path| !path.is_empty())?;
        self.variables.absolute(&path).map_err(|message| self.error(key, message)).ok()
    }

    /// A list of strings.
    pub fn texts(&mut self, key: &'static str) -> Option<Vec<String>> {
        let items = self.typed(key, "a list of strings", Value::as_array)?;
        let texts = items.iter().enumerate().filter_map(|(index, item)| {
            if !item.is_string() {
                self.error(&format!("{key}[{index}]"), format!("must be a string, not {}.", kind(item)));
            }
            item.as_str().map(str::to_owned)
        });
        Some(texts.collect())
    }

    /// A list of texts with variables; numbers and booleans are taken as they are written.
    pub fn expanded_list(&mut self, key: &'static str) -> Option<Vec<String>> {
        let items = self.typed(key, "a list of strings", Value::as_array)?;
        let named = items.iter().enumerate().map(|(index, item)| (format!("{key}[{index}]"), item));
        Some(named.filter_map(|(key, item)| self.scalar(&key, item)).collect())
    }

    /// An object of texts with variables, in its order; numbers and booleans are taken as they are
    /// written, and `null` as not given.
    pub fn expanded_map(&mut self, key: &'static str) -> Option<Vec<(String, String)>> {
        let object = self.typed(key, "an object of strings", Value::as_object)?;
        let given = object.iter().filter(|(_, value)| !value.is_null());
        let entries = given.filter_map(|(name, value)| {
            let text = self.scalar(&format!("{key}.{name}"), value)?;
            Some((name.clone(), text))
        });
        Some(entries.collect())
    }

    fn scalar(&mut self, key: &str, value: &Value) -> Option<String> {
        match value {
            Value::String(text) => self.expand(key, text),
            Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
            _ => {
                self.error(key, format!("must be a string, not {}.", kind(value)));
                None
            }
        }
    }

    /// A whole number within bounds.
    pub fn whole(&mut self, key: &'static str, least: u64, most: u64) -> Option<u64> {
        let number = self.typed(key, "a whole number", Value::as_number)?;
        match number.as_u64() {
            Some(number) if (least..=most).contains(&number) => Some(number),
            _ => {
                let given = digits(number);
                self.error(key, format!("must be a whole number from {least} to {most}, not {given}."));
                None
            }
        }
    }

    /// A number of units, such as seconds, as a time above zero.
    pub fn duration(&mut self, key: &'static str, unit: &str, seconds_each: f64) -> Option<Duration> {
        let number = self.typed(key, &format!("a number of {unit}"), Value::as_number)?;
        let seconds = number.as_f64().unwrap_or_default() * seconds_each;
        match Duration::try_from_secs_f64(seconds) {
            Ok(duration) if duration > Duration::ZERO && duration <= LONGEST => Some(duration),
            _ => {
                let (given, bounds) = (digits(number), "above 0 and at most a year");
                self.error(key, format!("must be a number of {unit} {bounds}, not {given}."));
                None
            }
        }
    }

    pub fn seconds(&mut self, key: &'static str) -> Option<Duration> {
        self.duration(key, "seconds", 1.0)
    }

    /// Warns about keys that were not read.
    pub fn finish(self) {
        self.finish_beside("", &[]);
    }

    /// The same, when some of these keys may belong to the object next to them.
    pub fn finish_beside(mut self, other: &str, its_keys: &[&'static str]) {
        // A leading `_` or `/` is how people write comments without comments.
        let unknown = self
            .object
            .keys()
            .filter(|key| !self.asked.contains(&key.as_str()) && !key.starts_with(['_', '/', '$']));
        for key in unknown.collect::<Vec<_>>() {
            let message = if its_keys.contains(&key.as_str()) {
                format!("has no effect here; move it into `{other}`.")
            } else if let Some(near) = nearest(key, self.asked.iter().copied()) {
                format!("is not a known key; did you mean `{near}`?")
            } else {
                "is not a known key and has no effect.".to_owned()
            };
            self.warn(key, message);
        }
    }
}

/// What a value is, for people.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

// What is wrong with a configuration, as one sentence that says where.

/// A warning or an error. `Display` makes the sentence: *where*, *server*, *key*, *message*.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub file: Option<PathBuf>,
    pub server: Option<Arc<str>>,
    /// The path of the key inside the server, as in `env.PORT`, `args[2]`, `toolhub.timeout`.
    pub key: Option<String>,
    /// A sentence about the key (or the server, or the file), without its subject.
    pub message: String,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{}:", line(&file.to_string_lossy()))?,
            None => f.write_str("MCP configuration:")?,
        }
        if let Some(server) = &self.server {
            write!(f, " server '{}'{}", shown_name(server), if self.key.is_some() { ":" } else { "" })?;
        }
        if let Some(key) = &self.key {
            write!(f, " `{}`", shown_name(key))?;
        }
        write!(f, " {}", self.message)
    }
}

/// A number for a sentence, whatever its length.
fn digits(number: &serde_json::Number) -> String {
    let text = number.as_str();
    format!("{text:.40}{}", if text.len() > 40 { "…" } else { "" })
}

/// Ids and keys are foreign text: a terminal must not obey them, and they may be long.
fn shown_name(text: &str) -> String {
    clip(text)
        .chars()
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
        .collect()
}

/// Collects the notices of one file or of one server.
pub(super) struct Notes {
    file: Option<PathBuf>,
    server: Option<Arc<str>>,
    pub warnings: Vec<Notice>,
    pub errors: Vec<Notice>,
}

impl Notes {
    pub fn new(file: Option<&Path>, server: Option<Arc<str>>) -> Self {
        Self { file: file.map(Path::to_owned), server, warnings: Vec::new(), errors: Vec::new() }
    }

    pub fn warn<'k>(&mut self, key: impl Into<Option<&'k str>>, message: impl Into<String>) {
        let notice = self.notice(key.into(), message.into());
        self.warnings.push(notice);
    }

    pub fn error<'k>(&mut self, key: impl Into<Option<&'k str>>, message: impl Into<String>) {
        let notice = self.notice(key.into(), message.into());
        self.errors.push(notice);
    }

    fn notice(&self, key: Option<&str>, message: String) -> Notice {
        let (file, server, key) = (self.file.clone(), self.server.clone(), key.map(str::to_owned));
        // It may quote what the file says, such as a path.
        Notice { file, server, key, message: line(&message).into_owned() }
    }
}
