//! Reads JSON as models write it, and lists the repairs.
//!
//! Strict JSON is read by serde. Nothing is invented: a value that is cut off, or words in place of a value, are errors.
//! The caller decides how many closing brackets may be missing at the end.

mod repair;

pub use repair::{Repairs, SyntaxRepair};

use std::borrow::Cow;

use serde_json::{Map, Number, Value};

use super::keys::swallows_brace;
use toolhub_text::invisible::shortened;
use toolhub_text::{Message, repeats_key};

const CUT_STRING: &str = "the text ends inside a string";
/// The reader is recursive, so deeper values are refused.
const DEEPEST: usize = 128;

/// How a dialect writes the values of its calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Notation {
    /// JSON, with the mistakes models make in it.
    Json,
    /// JSON whose strings stand between two of these tokens, without escapes.
    Quoted(&'static str),
    /// Python: also parentheses and triple quotes.
    Python,
}

/// The number of nesting levels, from the outermost, whose closing bracket may be missing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MissingClosers(pub usize);

impl MissingClosers {
    pub const NONE: Self = Self(0);
    /// Everything inside the outermost bracket is complete.
    pub const OUTERMOST: Self = Self(1);
    pub const ALL: Self = Self(usize::MAX);
}

/// A value, and how it was read.
pub(super) struct LenientValue {
    pub value: Value,
    pub repairs: Repairs,
    /// Nothing but white space follows it.
    pub whole: bool,
    /// The position after it; of a list that was cut off, that of the element which cannot be read.
    pub end: usize,
    /// Set when the outermost list was cut off.
    pub cut: Option<CutList>,
    /// How deep the bracket is that was left open where another member should come: after it, or after a comma. Zero if there
    /// is none. An outermost list is not counted: its members are complete.
    pub dangling: usize,
}

/// A list whose last element cannot be read.
pub(super) struct CutList {
    pub why: Message,
    /// Where that element begins.
    pub at: usize,
    /// Without a comma, what cannot be read may be the rest of the element before it.
    pub follows_comma: bool,
}

/// Reads the value at the start of `text`; the caller checks what follows.
pub(super) fn read(text: &str, notation: Notation, missing: MissingClosers) -> Result<LenientValue, Message> {
    if notation == Notation::Json
        && let Ok(value) = serde_json::from_str(text)
        && !repeats_key(text)
    {
        let (repairs, end) = (Repairs::default(), text.len());
        return Ok(LenientValue { value, repairs, whole: true, end, cut: None, dangling: 0 });
    }
    LenientReader::new(text, notation, missing).finish()
}

/// The error of a parameter that has two values.
pub(super) fn given_twice(key: &str) -> Message {
    format!("\"{}\" is given twice", short(key)).into()
}

pub(super) struct LenientReader<'a> {
    pub text: &'a str,
    pub at: usize,
    pub notation: Notation,
    pub repairs: Repairs,
    missing: MissingClosers,
    depth: usize,
    cut: Option<CutList>,
    dangling: usize,
}

impl<'a> LenientReader<'a> {
    pub fn new(text: &'a str, notation: Notation, missing: MissingClosers) -> Self {
        Self { text, at: 0, notation, repairs: Repairs::default(), missing, depth: 0, cut: None, dangling: 0 }
    }

    /// Reads the value at the start.
    fn finish(mut self) -> Result<LenientValue, Message> {
        let value = self.value()?;
        let whole = self.rest().trim().is_empty();
        let end = self.cut.as_ref().map_or(self.at, |cut| cut.at);
        let Self { repairs, cut, dangling, .. } = self;
        Ok(LenientValue { value, repairs, whole, end, cut, dangling })
    }

    pub fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Skips white space and comments.
    pub fn skip_space(&mut self) {
        loop {
            let rest = self.rest().trim_start();
            self.at = self.text.len() - rest.len();
            if matches!(self.notation, Notation::Quoted(_)) {
                return;
            }
            let comment = if rest.starts_with("//") || rest.starts_with('#') {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else {
                return;
            };
            self.at += comment;
            self.repairs.add(SyntaxRepair::Comment);
        }
    }

    pub fn value(&mut self) -> Result<Value, Message> {
        self.skip_space();
        if let Notation::Quoted(token) = self.notation
            && let Some(after) = self.rest().strip_prefix(token)
        {
            let end = after.find(token).ok_or(CUT_STRING)?;
            self.at += end + 2 * token.len();
            return Ok(Value::String(after[..end].to_owned()));
        }
        match self.peek() {
            None => Err("the text ends where a value should be".into()),
            Some(b'{') => self.deeper(|reader| reader.members(b'}')),
            Some(b'(') if self.depth == 0 && matches!(self.notation, Notation::Quoted(_)) => {
                self.repairs.add(SyntaxRepair::Parentheses);
                self.deeper(|reader| reader.members(b')'))
            }
            Some(b'[') => self.deeper(|reader| reader.list(b']')),
            Some(b'(') if self.notation == Notation::Python => self.deeper(|reader| reader.list(b')')),
            Some(quote @ (b'"' | b'\'')) => self.string(quote),
            Some(b'-' | b'+' | b'.' | b'0'..=b'9') => self.number(),
            Some(_) => self.word(),
        }
    }

    /// A string as models write it: in either quotes, with raw line ends and the escapes of Python.
    fn string(&mut self, quote: u8) -> Result<Value, Message> {
        let is_python = self.notation == Notation::Python;
        let is_triple = is_python && self.rest().as_bytes().starts_with(&[quote; 3]);
        let closing = &[quote; 3][..if is_triple { 3 } else { 1 }];
        if quote == b'\'' && !is_python {
            self.repairs.add(SyntaxRepair::SingleQuotes);
        }
        self.at += closing.len();
        let mut out = String::new();
        loop {
            let rest = self.rest();
            let plain = rest.bytes().position(|byte| byte == quote || byte == b'\\' || byte < b' ');
            let plain = plain.ok_or(CUT_STRING)?;
            out.push_str(&rest[..plain]);
            if rest.as_bytes()[plain..].starts_with(closing) {
                self.at += plain + closing.len();
                return Ok(Value::String(out));
            }
            self.at += plain + 1;
            match rest.as_bytes()[plain] {
                b'\\' => self.escape(&mut out)?,
                byte => {
                    if byte != quote && !is_python {
                        self.repairs.add(SyntaxRepair::RawCharacters);
                    }
                    out.push(char::from(byte));
                }
            }
        }
    }

    /// What follows a backslash.
    fn escape(&mut self, out: &mut String) -> Result<(), Message> {
        let escaped = self.rest().chars().next().ok_or(CUT_STRING)?;
        self.at += escaped.len_utf8();
        let meant = match escaped {
            '"' | '\'' | '\\' | '/' => Some(escaped),
            'n' => Some('\n'),
            't' => Some('\t'),
            'r' => Some('\r'),
            'b' => Some('\u{8}'),
            'f' => Some('\u{c}'),
            '\n' if self.notation == Notation::Python => return Ok(()),
            'u' => self.code(4),
            'x' => self.code(2),
            _ => None,
        };
        if meant.is_none() {
            self.repairs.add(SyntaxRepair::BadEscape);
            out.push('\\');
        }
        out.push(meant.unwrap_or(escaped));
        Ok(())
    }

    /// A character given by so many digits of its code; two `\u` may form a surrogate pair.
    fn code(&mut self, width: usize) -> Option<char> {
        let hex = |text: &str| text.get(..width).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let first = hex(self.rest())?;
        self.at += width;
        if (0xD800..0xDC00).contains(&first)
            && let Some(second) = self.rest().strip_prefix("\\u").and_then(hex)
            && (0xDC00..0xE000).contains(&second)
        {
            self.at += 2 + width;
            return char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00));
        }
        Some(char::from_u32(first).unwrap_or('\u{FFFD}'))
    }

    pub fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Message>) -> Result<T, Message> {
        if self.depth == DEEPEST {
            return Err(format!("values are nested deeper than {DEEPEST} levels").into());
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    /// The members of an object. In parentheses, `=` may stand for the colon.
    fn members(&mut self, closing: u8) -> Result<Value, Message> {
        let mut map = Map::new();
        self.parts(closing, |reader, _| {
            let (key, torn) = reader.key()?;
            let value = if torn {
                reader.deeper_torn()?
            } else {
                reader.skip_space();
                if !matches!((reader.peek(), closing), (Some(b':'), _) | (Some(b'='), b')')) {
                    return Err(format!("there is no colon after the key \"{}\"", short(&key)).into());
                }
                reader.at += 1;
                reader.value()?
            };
            match map.contains_key(&key) {
                true => Err(given_twice(&key)),
                false => {
                    map.insert(key, value);
                    Ok(true)
                }
            }
        })?;
        Ok(Value::Object(map))
    }

    /// Reads the parts of an object or a list, up to its closing bracket, which may be missing. `part` reads one, is told whether it
    /// follows a comma, and says whether more may come.
    pub fn parts(
        &mut self,
        closing: u8,
        mut part: impl FnMut(&mut Self, bool) -> Result<bool, Message>,
    ) -> Result<(), Message> {
        // A tuple of Python, or the arguments of a call in place of an object.
        let is_tuple = closing == b')' && self.notation == Notation::Python;
        let is_list = closing == b']' || is_tuple;
        let (mut comma, mut is_empty) = (true, true);
        loop {
            self.skip_space();
            match self.peek() {
                None => {
                    if comma && (self.depth > 1 || !is_list) {
                        self.dangling = self.depth;
                    }
                    return self.missing();
                }
                Some(byte) if byte == closing => {
                    self.at += 1;
                    if comma && !is_empty && (self.notation == Notation::Json || !is_list) {
                        self.repairs.add(SyntaxRepair::TrailingComma);
                    }
                    return Ok(());
                }
                Some(b'}' | b']' | b')') if self.depth > 1 => return self.missing(),
                Some(b'}' | b']') if self.is_surplus() => continue,
                Some(b',') if !comma => {
                    comma = true;
                    self.at += 1;
                    continue;
                }
                _ if !comma => self.repairs.add(SyntaxRepair::MissingComma),
                _ => {}
            }
            if !part(self, comma)? {
                return Ok(());
            }
            (comma, is_empty) = (false, false);
        }
    }

    /// The object after `"arguments {`, which swallowed the opening quote of its first key.
    fn deeper_torn(&mut self) -> Result<Value, Message> {
        self.repairs.add(SyntaxRepair::TornKey);
        self.at -= 2;
        self.deeper(|reader| reader.members(b'}'))
    }

    /// A key, and whether it swallowed an opening brace.
    fn key(&mut self) -> Result<(String, bool), Message> {
        let between_tokens =
            matches!(self.notation, Notation::Quoted(token) if self.rest().starts_with(token));
        if between_tokens || matches!(self.peek(), Some(b'"' | b'\'')) {
            let Value::String(key) = self.value()? else { return Err("a key is not a string".into()) };
            if swallows_brace(key.as_bytes()) {
                let end = key.trim_end_matches(['{', ' ', ':', '\n', '\t']).len();
                return Ok((key[..end].trim().to_owned(), true));
            }
            return Ok((key, false));
        }
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$')));
        let key = &rest[..end.unwrap_or(rest.len())];
        if key.is_empty() {
            return Err(format!("there is no key at \"{}\"", short(rest)).into());
        }
        self.at += key.len();
        if self.notation == Notation::Json {
            self.repairs.add(SyntaxRepair::BareKey);
        }
        Ok((key.to_owned(), false))
    }

    fn list(&mut self, closing: u8) -> Result<Value, Message> {
        let mut items = Vec::new();
        self.parts(closing, |reader, follows_comma| {
            let at = reader.at;
            match reader.value() {
                Ok(item) => items.push(item),
                Err(why)
                    if reader.depth == 1 && reader.missing > MissingClosers::NONE && !items.is_empty() =>
                {
                    reader.cut = Some(CutList { why, at, follows_comma });
                    reader.at = reader.text.len();
                    return Ok(false);
                }
                Err(why) => return Err(why),
            }
            Ok(true)
        })?;
        Ok(Value::Array(items))
    }

    /// Skips a surplus closing bracket: only the outermost value is open.
    fn is_surplus(&mut self) -> bool {
        let surplus = self.depth == 1 && self.notation == Notation::Json;
        if surplus {
            self.at += 1;
            self.repairs.add(SyntaxRepair::SurplusBrackets);
        }
        surplus
    }

    /// An error, unless the closing bracket is allowed to be missing.
    fn missing(&mut self) -> Result<(), Message> {
        if self.depth > self.missing.0 && self.peek().is_none() {
            return Err("the text ends before the value does".into());
        }
        self.repairs.add(SyntaxRepair::MissingBrackets);
        Ok(())
    }

    fn number(&mut self) -> Result<Value, Message> {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.' | '_')));
        let digits = &rest[..end.unwrap_or(rest.len())];
        self.at += digits.len();
        // Where quotes are tokens that a model may forget, `007` is the code that it wants to give.
        if matches!(self.notation, Notation::Quoted(_)) && has_leading_zero(digits) {
            self.repairs.add(SyntaxRepair::BareString);
            return Ok(digits.into());
        }
        if let Ok(number) = digits.parse::<Number>() {
            return Ok(Value::Number(number));
        }
        self.repairs.add(SyntaxRepair::OddNumber);
        let plain = digits.trim_start_matches('+').replace('_', "");
        let whole = plain.parse::<i64>().ok().map(Number::from).or_else(|| plain.parse().ok());
        let number = whole.or_else(|| plain.parse::<f64>().ok().and_then(Number::from_f64));
        number.map(Value::Number).ok_or_else(|| format!("\"{}\" is not a number", short(digits)).into())
    }

    fn word(&mut self) -> Result<Value, Message> {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        let word = &rest[..end.unwrap_or(rest.len())];
        let value = match word {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            "True" | "False" | "None" | "NaN" | "undefined" => {
                if self.notation != Notation::Python {
                    self.repairs.add(SyntaxRepair::PythonLiteral);
                }
                match word {
                    "True" => Value::Bool(true),
                    "False" => Value::Bool(false),
                    _ => Value::Null,
                }
            }
            _ if matches!(self.notation, Notation::Quoted(_)) => return self.bare_string(),
            _ => return Err(no_value(rest)),
        };
        self.at += word.len();
        Ok(value)
    }

    /// A string whose quoting tokens are missing: the words up to the end of the value.
    fn bare_string(&mut self) -> Result<Value, Message> {
        let rest = self.rest();
        let mut open = 0_usize;
        let in_parentheses = self.repairs.has(SyntaxRepair::Parentheses);
        let ends = |letter: char| {
            let closes = in_parentheses && open == 0 && letter == ')';
            match letter {
                '(' => open += 1,
                ')' => open = open.saturating_sub(1),
                _ => {}
            }
            closes || matches!(letter, ',' | '}' | ']' | '{' | '[')
        };
        let Some(end) = rest.find(ends).filter(|end| *end > 0) else {
            return Err(no_value(rest));
        };
        self.repairs.add(SyntaxRepair::BareString);
        self.at += end;
        Ok(rest[..end].trim().into())
    }
}

fn no_value(at: &str) -> Message {
    format!("there is no value at \"{}\"", short(at)).into()
}

/// True for `007` and `-01.5`, which are not numbers in JSON.
pub(super) fn has_leading_zero(digits: &str) -> bool {
    matches!(digits.trim_start_matches(['-', '+']).as_bytes(), [b'0', b'0'..=b'9', ..])
}

/// The start of a text, for an error message.
fn short(text: &str) -> Cow<'_, str> {
    shortened(text, 30)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn mended(text: &str) -> (Value, Vec<&'static str>) {
        let reading = read(text, Notation::Json, MissingClosers::ALL).unwrap();
        (reading.value, reading.repairs.names())
    }

    #[test]
    fn mends_what_models_get_wrong_and_says_so() {
        let cases = [
            ("{'a': 'b'}", json!({"a": "b"}), "single quotes"),
            (r#"{"a": [1, 2,],}"#, json!({"a": [1, 2]}), "a trailing comma"),
            (r#"{"a": 1 "b": 2}"#, json!({"a": 1, "b": 2}), "a missing comma"),
            (r#"{"a": True, "b": None}"#, json!({"a": true, "b": null}), "Python literals"),
            (r#"{"a": {"b": [1"#, json!({"a": {"b": [1]}}), "missing closing brackets"),
            ("{\"a\": \"x\ny\"}", json!({"a": "x\ny"}), "raw control characters in a string"),
            (r#"{"a": "\d"}"#, json!({"a": "\\d"}), "an invalid escape"),
            ("{\"a\": 1 // one\n}", json!({"a": 1}), "a comment"),
            ("{a: 1}", json!({"a": 1}), "a key without quotes"),
            (
                r#"{"arguments {"a": 1}}"#,
                json!({"arguments": {"a": 1}}),
                "a key without its closing quote and colon",
            ),
            (r#"{"a": 1_000}"#, json!({"a": 1000}), "a number that is not JSON"),
        ];
        for (text, value, repair) in cases {
            assert_eq!(mended(text), (value, vec![repair]), "{text}");
        }
    }

    #[test]
    fn invents_nothing() {
        for text in
            ["{oops!!}", "{bad", r#"{"a": tr"#, r#"{"a": "half"#, r#"{"a":"#, r#"{"a""#, "{\"a\": words}"]
        {
            assert!(read(text, Notation::Json, MissingClosers::ALL).is_err(), "{text}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let deep = "[".repeat(1_000_000);
        assert!(read(&deep, Notation::Json, MissingClosers::ALL).is_err());
    }
}
