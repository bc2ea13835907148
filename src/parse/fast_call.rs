//! The common case: a call in strict JSON with the usual keys, read where it stands in the text.
//!
//! Anything else (other keys, a key given twice, names with escapes, arguments that are not an object) returns `None` and
//! takes the lenient path, which finds the end of the value first.

use serde_json::value::RawValue;

use super::call_arguments::CallArguments;
use super::draft::Draft;
use super::keys::has_swallowed_brace;
use super::plain_json;
use super::repair::Repairs;

/// A call where it stands in a text.
pub(super) struct FastCall<'a> {
    name: &'a str,
    /// An object, and whether it is one of the usual kind.
    arguments: Option<(&'a str, bool)>,
    id: Option<&'a str>,
    source: Option<&'a str>,
    /// Of its text.
    pub length: usize,
}

impl FastCall<'_> {
    /// The call as a draft; `None` if its arguments are no object after all.
    pub fn draft(&self, repairs: Repairs) -> Option<Draft> {
        let arguments = match self.arguments {
            Some((json, true)) => CallArguments::from_plain(json),
            Some((json, false)) => CallArguments::from_checked(json).ok()?,
            None => CallArguments::default(),
        };
        Some(Draft {
            name: self.name.to_owned(),
            arguments,
            id: self.id.map(str::to_owned),
            source: self.source.map(str::to_owned),
            repairs,
            error: None,
            is_custom: false,
        })
    }
}

/// The call at the start of a text.
pub(super) fn read(text: &str) -> Option<FastCall<'_>> {
    let mut reader = FastReader { text, at: 0 };
    let (mut name, mut arguments, mut id, mut source) = (None, None, None, None);
    reader.pass(b'{')?;
    loop {
        let key = reader.string()?;
        reader.pass(b':')?;
        let is_new = match key {
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
    let length = reader.at + 1;
    let name = name.filter(|name| !name.is_empty() && is_trimmed(name))?;
    let has_brace = |text: &str| text.ends_with('{');
    let is_torn = has_brace(name)
        || id.is_some_and(has_brace)
        || source.is_some_and(has_brace)
        || arguments.is_some_and(|(json, is_plain)| !is_plain && has_swallowed_brace(json.as_bytes()));
    (id != Some("") && !is_torn).then_some(FastCall { name, arguments, id, source, length })
}

struct FastReader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> FastReader<'a> {
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
    fn string(&mut self) -> Option<&'a str> {
        self.pass(b'"')?;
        let start = self.at;
        let end = start + plain_json::plain_length(&self.text.as_bytes()[start..])?;
        self.at = end + 1;
        (self.text.as_bytes()[end] == b'"').then(|| &self.text[start..end])
    }

    /// A value whose syntax is right, and whether it is an object of the usual kind.
    fn value(&mut self) -> Option<(&'a str, bool)> {
        self.next()?;
        let rest = self.text.get(self.at..)?;
        let (value, is_plain) = match plain_json::object_length(rest) {
            Some(length) => (&rest[..length], true),
            None => {
                let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
                (values.next()?.ok()?.get(), false)
            }
        };
        self.at += value.len();
        Some((value, is_plain))
    }
}

/// True if a name has no white space around it.
fn is_trimmed(name: &str) -> bool {
    let ends = (name.as_bytes().first(), name.as_bytes().last());
    // Most names are ASCII.
    matches!(ends, (Some(b'!'..=b'~'), Some(b'!'..=b'~'))) || name.trim() == name
}
