//! Python values as JSON, by hand: an error must say where in the arguments it is. `json_to_python.rs` has the other way.

use crate::prelude::*;
use crate::runtime::interpreter::{Entries, released};
use crate::values::errors::exception_text;
use crate::values::json_to_python::MAX_DIGITS;
pub use crate::values::json_to_python::{JsonValue, LEVEL, LargeJson, TypedDict, to_python};
use crate::values::{unicode, value};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use num_bigint::BigInt;
use pyo3::exceptions::PyOverflowError;
use pyo3::types::{PyBytes, PyFrozenSet, PyRange, PySet};
use serde_json::{Map, Number};
use std::hash::{BuildHasher, Hasher, RandomState};
use toolhub::canonical::canonical;
use toolhub::error::Result;
pub use toolhub::identity::NotJson;
use toolhub::message::Message;
use toolhub::model::Arguments;
use toolhub::schema::Opaque;
use toolhub::system;

/// Deeper arguments are refused: they are cyclic, or an attack.
pub const MAX_DEPTH: usize = 100;
/// No integer of `MAX_DIGITS` has more bits.
const MAX_BITS: usize = MAX_DIGITS * 3322 / 1000;

/// More values than this are refused: shared parts are written out each time they occur and may multiply without end.
const MAX_VALUES: usize = 2_000_000;
/// Arguments have fewer: no model writes more, and each is looked at several times.
pub const MAX_ARGUMENTS: usize = 200_000;

/// The arguments of a call as JSON.
pub fn from_arguments(object: &Bound<'_, PyAny>) -> Result<Value, NotJson> {
    converted(object, MAX_ARGUMENTS, Unfit::Refused).map_err(Trouble::into_reason)
}

/// A Python object as JSON; the error is a sentence that names the place.
pub fn from_python(object: &Bound<'_, PyAny>) -> Result<Value, String> {
    converted(object, MAX_VALUES, Unfit::Refused).map_err(|trouble| trouble.sentence().into_owned())
}

/// The same for a value that users gave under this name.
pub fn as_json(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Value> {
    from_python(object).map_err(|reason| PyValueError::new_err(format!("{what} must be JSON: {reason}")))
}

/// The same for one that must be a mapping.
pub fn as_object(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Map<String, Value>> {
    match as_json(what, object)? {
        Value::Object(map) => Ok(map),
        _ => Err(PyTypeError::new_err(format!("{what} must be a mapping"))),
    }
}

/// A Python object as JSON, with a text for each part that has no JSON form: how it reads. An object that reads as its
/// address in memory reads differently in each process, and is `null`.
pub fn with_texts(object: &Bound<'_, PyAny>) -> Value {
    converted(object, MAX_VALUES, Unfit::AsText).unwrap_or(Value::Null)
}

/// How a part without a JSON form is written. Bytes are text, or Base64.
fn text_form(object: &Bound<'_, PyAny>) -> Value {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        let bytes = bytes.as_bytes();
        let encoded = || format!("base64:{}", BASE64_STANDARD.encode(bytes));
        let text = || std::str::from_utf8(bytes).map_or_else(|_| encoded(), str::to_owned);
        return Value::String(released(object.py(), bytes.len(), text));
    }
    let text = match object.cast::<PyString>() {
        // With a lone surrogate, which is not Unicode.
        Ok(text) => text.repr().and_then(|text| text.extract::<String>()),
        Err(_) => value::readable(object),
    };
    text.ok().filter(|text| !text.contains(" at 0x")).map_or(Value::Null, Value::String)
}

/// Arguments as JSON, with `null` for each object that is not JSON by itself: its place is in the list. The error is for
/// arguments that are too large or too deep.
pub fn image(object: &Bound<'_, PyAny>) -> Result<(Value, Vec<Opaque>), NotJson> {
    let mut opaque = Vec::new();
    let value = converted(object, MAX_ARGUMENTS, Unfit::SetAside(&mut opaque));
    Ok((value.map_err(Trouble::into_reason)?, opaque))
}

/// What stands in a JSON value for parts that have no JSON form: between two marks, why it has none.
pub struct Marks {
    /// It is random, so no text of a message has it.
    mark: String,
    /// A part is nested too deeply, or leads back to itself: nothing is known of what is inside.
    pub too_deep: bool,
}

impl Marks {
    fn new() -> Self {
        let random = RandomState::new().build_hasher().finish();
        Marks { mark: format!("\u{fffe}{random:016x}"), too_deep: false }
    }

    fn mark(&self, reason: &str) -> Value {
        Value::String(format!("{0}{reason}{0}", self.mark))
    }

    /// Why the first part that is marked in a text has no JSON form.
    pub fn reason<'a>(&self, text: &'a str) -> Option<&'a str> {
        text.split(&*self.mark).nth(1)
    }

    /// A text without what is marked in it.
    pub fn removed_from(&self, text: &str) -> String {
        text.split(&*self.mark).step_by(2).collect()
    }

    /// Why a part of a value has no JSON form.
    pub fn reason_in<'a>(&self, value: &'a Value) -> Option<&'a str> {
        match value {
            Value::String(text) => self.reason(text),
            Value::Array(items) => items.iter().find_map(|item| self.reason_in(item)),
            Value::Object(map) => map.values().find_map(|item| self.reason_in(item)),
            _ => None,
        }
    }
}

/// A Python object as JSON, with a mark in place of each part that has no JSON form, is nested too deeply or is cyclic. The
/// error is for a value that is too large.
pub fn marked(object: &Bound<'_, PyAny>) -> Result<(Value, Marks), String> {
    let mut marks = Marks::new();
    let value = converted(object, MAX_VALUES, Unfit::Marked(&mut marks));
    Ok((value.map_err(|trouble| trouble.sentence().into_owned())?, marks))
}

/// The place of the first float that JSON cannot write: what a model wrote as `1e999` is infinite once it is read.
pub fn not_finite(object: &Bound<'_, PyAny>) -> Option<String> {
    let place = place_of_infinite(object, 0, &mut 0)?;
    Some(place.strip_prefix('.').unwrap_or(&place).to_owned())
}

fn place_of_infinite(object: &Bound<'_, PyAny>, depth: usize, seen: &mut usize) -> Option<String> {
    *seen += 1;
    // What is larger or deeper is refused later.
    if *seen > MAX_ARGUMENTS || depth > MAX_DEPTH || system::remaining() < LEVEL {
        return None;
    }
    if let Ok(float) = object.cast::<PyFloat>() {
        return (!float.value().is_finite()).then(String::new);
    }
    let mut inside = |member: &Bound<'_, PyAny>| place_of_infinite(member, depth + 1, seen);
    if let Ok(dict) = object.cast::<PyDict>() {
        return Entries::of(dict).map_while(Result::ok).find_map(|(key, value)| {
            let place = inside(&value)?;
            let key = key.str().map(|key| key.to_string_lossy().into_owned());
            Some(format!(".{}{place}", key.unwrap_or_default()))
        });
    }
    let list = object.cast::<PyList>().ok()?;
    list.iter().enumerate().find_map(|(at, item)| Some(format!("[{at}]{}", inside(&item)?)))
}

/// A mapping of arguments for a tool that lives in Rust.
pub fn arguments(tool: &str, object: &Bound<'_, PyAny>) -> Result<Arguments> {
    match from_arguments(object).map_err(|reason| reason.refusal(tool))? {
        Value::Object(map) => Ok(Arguments::new(map)),
        _ => Err(NotJson { sentence: message!("expected named arguments"), too_many: false }.refusal(tool)),
    }
}

/// Why a Python object has no JSON form, or no copy.
pub struct Trouble {
    /// Innermost first.
    path: Vec<String>,
    reason: Message,
    /// Too large or too deep, rather than not JSON.
    is_limit: bool,
    /// Too many values.
    too_many: bool,
}

impl From<PyErr> for Trouble {
    /// A container raised an exception while it was read.
    fn from(error: PyErr) -> Self {
        Trouble::new(Python::attach(|py| exception_text(py, &error)))
    }
}

impl Trouble {
    pub fn new(reason: impl Into<Message>) -> Self {
        Trouble { path: Vec::new(), reason: reason.into(), is_limit: false, too_many: false }
    }

    pub fn too_many(most: usize) -> Self {
        let reason = message!("more than {} values", most);
        Trouble { is_limit: true, too_many: true, ..Trouble::new(reason) }
    }

    pub fn into_reason(self) -> NotJson {
        let too_many = self.too_many;
        NotJson { sentence: self.sentence(), too_many }
    }

    fn inside(mut self, step: String) -> Self {
        self.path.push(step);
        self
    }

    fn sentence(mut self) -> Message {
        self.path.reverse();
        // The head of the path says enough; a deep one would be longer than the sentence.
        self.path.truncate(12);
        let path = self.path.concat();
        match path.strip_prefix('.').unwrap_or(&path) {
            "" => self.reason,
            path => message!("{}: {}", path, self.reason),
        }
    }
}

/// What becomes of a part that has no JSON form.
enum Unfit<'a> {
    Refused,
    AsText,
    Marked(&'a mut Marks),
    /// Likewise of well-known types, which take their JSON form otherwise.
    SetAside(&'a mut Vec<Opaque>),
}

struct Conversion<'a> {
    values: usize,
    /// How many there may be.
    most: usize,
    unfit: Unfit<'a>,
}

fn converted(object: &Bound<'_, PyAny>, most: usize, unfit: Unfit<'_>) -> Result<Value, Trouble> {
    Conversion { values: 0, most, unfit }.convert(object, 0)
}

impl Conversion<'_> {
    /// How many objects were set aside.
    fn aside(&self) -> usize {
        if let Unfit::SetAside(opaque) = &self.unfit { opaque.len() } else { 0 }
    }

    /// The objects that were set aside after so many are inside of this member.
    fn place_in(&mut self, member: impl Fn() -> String, before: usize) {
        let Unfit::SetAside(opaque) = &mut self.unfit else { return };
        if before < opaque.len() {
            let step = member();
            opaque[before..].iter_mut().for_each(|one| one.place.insert_str(0, &format!("/{step}")));
        }
    }

    fn convert(&mut self, object: &Bound<'_, PyAny>, depth: usize) -> Result<Value, Trouble> {
        self.values += 1;
        if self.values > self.most {
            return Err(Trouble::too_many(self.most));
        }
        if depth > MAX_DEPTH || (depth > 8 && system::remaining() < LEVEL) {
            let reason = message!("nested more than {} levels deep, or cyclic", MAX_DEPTH);
            let Unfit::Marked(marks) = &mut self.unfit else {
                return Err(Trouble { is_limit: true, ..Trouble::new(reason) });
            };
            marks.too_deep = true;
            return Ok(marks.mark(&reason));
        }
        let before = self.aside();
        let trouble = match self.convert_json(object, depth) {
            Err(trouble) if !trouble.is_limit => trouble,
            converted => return converted,
        };
        match &mut self.unfit {
            Unfit::Refused => Err(trouble),
            Unfit::AsText => Ok(text_form(object)),
            Unfit::Marked(marks) => Ok(marks.mark(&trouble.sentence())),
            Unfit::SetAside(opaque) => {
                // It stands for what is inside of it, too.
                opaque.truncate(before);
                opaque.push(Opaque { place: String::new(), shown: shown(object) });
                Ok(Value::Null)
            }
        }
    }

    fn convert_json(&mut self, object: &Bound<'_, PyAny>, depth: usize) -> Result<Value, Trouble> {
        if let Ok(text) = object.cast::<PyString>() {
            return unicode::owned(text)
                .map(Value::String)
                .ok_or_else(|| Trouble::new(message!("text with lone surrogates is not valid Unicode")));
        }
        if object.is_none() {
            return Ok(Value::Null);
        }
        if let Ok(flag) = object.cast::<PyBool>() {
            return Ok(Value::Bool(flag.is_true()));
        }
        if object.cast::<PyInt>().is_ok() {
            return integer(object);
        }
        if let Ok(float) = object.cast::<PyFloat>() {
            return Number::from_f64(float.value())
                .map(Value::Number)
                .ok_or_else(|| Trouble::new(message!("{} is not a JSON number", float.value())));
        }
        if let Ok(dict) = object.cast::<PyDict>() {
            return self.mapping(dict, depth);
        }
        if let Ok(list) = object.cast::<PyList>() {
            return self.items(list.iter(), depth);
        }
        if let Ok(tuple) = object.cast::<PyTuple>() {
            return self.items(tuple.iter(), depth);
        }
        if let Unfit::SetAside(_) = self.unfit {
            // What builds a list from it would write it out.
            let is_long = object.is_instance_of::<PyRange>()
                && object.len().map_or(true, |len| len > self.most - self.values);
            return Err(if is_long {
                Trouble::too_many(self.most)
            } else {
                Trouble::new(message!("not JSON"))
            });
        }
        self.plain_form(object, depth)
    }

    /// Dates, enums, models, sets …: Python knows their plain form, and counts the values while they are written out, since a
    /// range or a sequence of another library may have any number. On its own, so that a level of a container takes little
    /// of the stack.
    fn plain_form(&mut self, object: &Bound<'_, PyAny>, depth: usize) -> Result<Value, Trouble> {
        static PLAIN: Imported = Imported::new("toolhub._to_plain", "to_plain");
        let py = object.py();
        let plain = PLAIN.get(py).and_then(|to_plain| to_plain.call1((object, self.most - self.values)));
        let plain = plain.map_err(|error| match error.is_instance_of::<PyOverflowError>(py) {
            true => Trouble::too_many(self.most),
            false => error.into(),
        })?;
        let converted = self.convert(&plain, depth + 1)?;
        let is_set = object.is_instance_of::<PySet>() || object.is_instance_of::<PyFrozenSet>();
        Ok(if is_set { in_order(converted) } else { converted })
    }

    fn mapping(&mut self, dict: &Bound<'_, PyDict>, depth: usize) -> Result<Value, Trouble> {
        let mut map = Map::with_capacity(dict.len());
        for entry in Entries::of(dict) {
            let (key, value) = entry?;
            let Some(name) = key.cast::<PyString>().ok().and_then(unicode::owned) else {
                return Err(Trouble::new(message!("names must be text")));
            };
            let before = self.aside();
            let value = self.convert(&value, depth + 1);
            let value = value.map_err(|trouble| trouble.inside(format!(".{name}")))?;
            self.place_in(|| pointer_step(&name), before);
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }

    fn items<'py>(
        &mut self,
        items: impl Iterator<Item = Bound<'py, PyAny>>,
        depth: usize,
    ) -> Result<Value, Trouble> {
        let mut array = Vec::new();
        for (at, item) in items.enumerate() {
            let before = self.aside();
            let item = self.convert(&item, depth + 1);
            array.push(item.map_err(|trouble| trouble.inside(format!("[{at}]")))?);
            self.place_in(|| at.to_string(), before);
        }
        Ok(Value::Array(array))
    }
}

/// A name as a part of a JSON pointer.
pub fn pointer_step(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The members of a set, which come in another order in each process.
fn in_order(mut members: Value) -> Value {
    if let Value::Array(items) = &mut members {
        items.sort_by_cached_key(|item| {
            let text = canonical(item);
            // Numbers by their size, as far as digits alone tell it.
            (if item.is_number() { text.len() } else { 0 }, text)
        });
    }
    members
}

fn integer(object: &Bound<'_, PyAny>) -> Result<Value, Trouble> {
    if let Ok(number) = object.extract::<i64>() {
        return Ok(Value::Number(number.into()));
    }
    let bits = object.call_method0("bit_length").and_then(|bits| bits.extract::<usize>());
    let large = match bits {
        Ok(..=MAX_BITS) => object.extract::<BigInt>().ok(),
        _ => None,
    };
    let number = large.and_then(|large| large.to_string().parse::<Number>().ok());
    number
        .map(Value::Number)
        .ok_or_else(|| Trouble::new(message!("the integer has more than {} digits", MAX_DIGITS)))
}

/// How an object without a JSON form is named in an error.
fn shown(object: &Bound<'_, PyAny>) -> Message {
    if object.is_instance_of::<PyInt>() {
        return message!("a very large integer");
    }
    if let Ok(float) = object.cast::<PyFloat>() {
        return message!("{} (number)", float.value());
    }
    if object.is_instance_of::<PyString>() {
        return message!("text that is not valid Unicode");
    }
    message!("a Python object of type {}", class_of(object))
}
