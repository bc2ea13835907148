//! The common case: a call in strict JSON with the usual keys, read where it stands in the text.
//!
//! Anything else (other keys, a key given twice, names with escapes, arguments that are not an object) returns `None` and
//! takes the lenient path, which finds the end of the value first.

use serde_json::value::RawValue;
use std::ops::Range;

use super::call_arguments::CallArguments;
use super::draft::Draft;
use super::keys::has_swallowed_brace;
use super::plain_json;
use super::repair::Repairs;
use toolhub_text::repeats_key;

/// A call where it stands in a text.
pub(super) struct FastCall<'a> {
    text: &'a str,
    name: Range<usize>,
    /// An object, and whether it is one of the usual kind.
    arguments: Option<(Range<usize>, bool)>,
    id: Option<&'a str>,
    source: Option<&'a str>,
    /// The position after it.
    pub end: usize,
}

/// Where the parts of a call are.
pub(super) struct CallPlaces {
    pub name: Range<usize>,
    /// An object that [`CallArguments::from_plain`] takes.
    pub arguments: Range<usize>,
}

impl FastCall<'_> {
    /// The call as a draft; `None` if its arguments are no object after all.
    pub fn draft(&self, repairs: Repairs) -> Option<Draft> {
        let arguments = match &self.arguments {
            Some((json, true)) => CallArguments::from_plain(&self.text[json.clone()]),
            Some((json, false)) => CallArguments::from_checked(&self.text[json.clone()]).ok()?,
            None => CallArguments::default(),
        };
        Some(Draft {
            name: self.text[self.name.clone()].to_owned(),
            arguments,
            id: self.id.map(str::to_owned),
            source: self.source.map(str::to_owned),
            repairs,
            error: None,
            is_custom: false,
        })
    }

    /// The id that the model gave it.
    pub fn id(&self) -> Option<&str> {
        self.id
    }

    /// The places of its parts, if they tell all: it has no id and no source, and its arguments can stay the text that they are.
    pub fn places(&self) -> Option<CallPlaces> {
        let (json, is_plain) = self.arguments.as_ref()?;
        let is_usual = self.id.is_none()
            && self.source.is_none()
            && (*is_plain || CallArguments::stay_text(&self.text[json.clone()]));
        is_usual.then(|| CallPlaces { name: self.name.clone(), arguments: json.clone() })
    }
}

/// The call at the start of a text, or behind white space.
pub(super) fn read(text: &str) -> Option<FastCall<'_>> {
    usual(text).or_else(|| general(text))
}

/// A call to the letter as `json.dumps` writes it, which needs no look at its keys.
fn usual(text: &str) -> Option<FastCall<'_>> {
    const BEFORE_NAME: &str = "{\"name\": \"";
    const BEFORE_ARGUMENTS: &str = "\", \"arguments\": ";
    let mut reader = FastReader { text, at: 0 };
    reader.next()?;
    let start = reader.at + BEFORE_NAME.len();
    let rest = text.get(reader.at..)?.strip_prefix(BEFORE_NAME)?;
    let length = plain_json::plain_length(rest.as_bytes())?;
    let (name, rest) = rest.split_at_checked(length)?;
    let rest = rest.strip_prefix(BEFORE_ARGUMENTS)?;
    let is_name = !name.is_empty() && is_trimmed(name) && !name.ends_with('{');
    let arguments = start + length + BEFORE_ARGUMENTS.len();
    reader.at = arguments + plain_json::object_length(rest).filter(|_| is_name)?;
    let json = arguments..reader.at;
    reader.pass(b'}')?;
    let (name, arguments) = (start..start + length, Some((json, true)));
    Some(FastCall { text, name, arguments, id: None, source: None, end: reader.at })
}

/// A call with its keys in any order.
fn general(text: &str) -> Option<FastCall<'_>> {
    let mut reader = FastReader { text, at: 0 };
    let (mut name, mut arguments, mut id, mut source) = (None, None, None, None);
    reader.pass(b'{')?;
    loop {
        let key = reader.string()?;
        reader.pass(b':')?;
        let is_new = match &text[key] {
            "name" | "tool_name" => name.replace(reader.string()?).is_none(),
            "arguments" | "parameters" | "args" => arguments.replace(reader.value()?).is_none(),
            "id" => id.replace(reader.string()?).is_none(),
            "source" => source.replace(reader.string()?).is_none(),
            _ => false,
        };
        match reader.next()? {
            b',' if is_new => reader.at += 1,
            b'}' if is_new => break,
            _ => return None,
        }
    }
    let end = reader.at + 1;
    let name = name.filter(|name| !name.is_empty() && is_trimmed(&text[name.clone()]))?;
    let (id, source) = (id.map(|id| &text[id]), source.map(|source| &text[source]));
    let has_brace = |text: &str| text.ends_with('{');
    let is_torn = has_brace(&text[name.clone()])
        || id.is_some_and(has_brace)
        || source.is_some_and(has_brace)
        || arguments.as_ref().is_some_and(|(json, is_plain)| {
            let json = &text[json.clone()];
            !is_plain && (has_swallowed_brace(json.as_bytes()) || repeats_key(json))
        });
    (id != Some("") && !is_torn).then_some(FastCall { text, name, arguments, id, source, end })
}

struct FastReader<'a> {
    text: &'a str,
    at: usize,
}

impl FastReader<'_> {
    /// The next byte that is not white space.
    fn next(&mut self) -> Option<u8> {
        loop {
            match *self.text.as_bytes().get(self.at)? {
                b' ' | b'\n' | b'\t' | b'\r' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    /// Passes a byte that must come next.
    fn pass(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then(|| self.at += 1)
    }

    /// A string without escapes.
    fn string(&mut self) -> Option<Range<usize>> {
        self.pass(b'"')?;
        let start = self.at;
        let end = start + plain_json::plain_length(&self.text.as_bytes()[start..])?;
        self.at = end + 1;
        (self.text.as_bytes()[end] == b'"').then_some(start..end)
    }

    /// A value whose syntax is right, and whether it is an object of the usual kind.
    fn value(&mut self) -> Option<(Range<usize>, bool)> {
        self.next()?;
        let start = self.at;
        let rest = self.text.get(start..)?;
        let (length, is_plain) = match plain_json::object_length(rest) {
            Some(length) => (length, true),
            None => {
                let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
                (values.next()?.ok()?.get().len(), false)
            }
        };
        self.at += length;
        Some((start..self.at, is_plain))
    }
}

/// True if a name has no white space around it.
fn is_trimmed(name: &str) -> bool {
    let ends = (name.as_bytes().first(), name.as_bytes().last());
    // Most names are ASCII.
    matches!(ends, (Some(b'!'..=b'~'), Some(b'!'..=b'~'))) || name.trim() == name
}
