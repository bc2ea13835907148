//! The front matter of a `SKILL.md`: YAML between two lines of `---`, read as plain data.
//!
//! Text that grows when it is read (aliases), that is nested without measure, or that asks for types of its own is refused.

use saphyr_parser::{Event, Parser, ScalarStyle, StrInput, Tag};
use serde_json::{Map, Number, Value};
use std::borrow::Cow;

const MAX_BYTES: usize = 256 * 1024;
const MAX_DEPTH: usize = 32;

/// What stands in front, and the text behind it.
pub fn read(text: &str) -> Result<(Map<String, Value>, &str), String> {
    let (yaml, body) = split(text).ok_or("it does not begin with front matter between two lines of '---'")?;
    if yaml.len() > MAX_BYTES {
        return Err(format!("its front matter is longer than {MAX_BYTES} bytes"));
    }
    match parse(yaml)? {
        Value::Object(fields) => Ok((fields, body)),
        _ => Err("its front matter is no mapping".into()),
    }
}

fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_fence = |line: &str| line.trim_end() == "---";
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| is_fence(line))?;
    let mut end = first.len();
    for line in lines {
        if is_fence(line) {
            return Some((&text[first.len()..end], &text[end + line.len()..]));
        }
        end += line.len();
    }
    None
}

/// Whether two readings of one front matter agree. Versions of YAML differ in what they take for a number or a truth value.
pub fn agree(listed: &Value, found: &Value) -> bool {
    match (listed, found) {
        (Value::Object(listed), Value::Object(found)) => {
            listed.len() == found.len()
                && listed.iter().all(|(key, one)| found.get(key).is_some_and(|other| agree(one, other)))
        }
        (Value::Array(listed), Value::Array(found)) => {
            listed.len() == found.len() && listed.iter().zip(found).all(|(one, other)| agree(one, other))
        }
        (Value::Number(listed), Value::Number(found)) => listed.as_f64() == found.as_f64(),
        (Value::String(listed), Value::String(found)) => listed.trim_end() == found.trim_end(),
        (Value::Bool(true), Value::String(word)) => {
            matches!(word.to_ascii_lowercase().as_str(), "yes" | "on" | "y")
        }
        (Value::Bool(false), Value::String(word)) => {
            matches!(word.to_ascii_lowercase().as_str(), "no" | "off" | "n")
        }
        _ => listed == found,
    }
}

struct Reader<'a>(Parser<'a, StrInput<'a>>);

fn parse(yaml: &str) -> Result<Value, String> {
    let mut reader = Reader(Parser::new_from_str(yaml));
    loop {
        match reader.next()? {
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
            Event::StreamEnd | Event::DocumentEnd => return Ok(Value::Null),
            event => {
                let value = reader.value(event, 0)?;
                // A second document would be content that nobody sees.
                return match reader.next()? {
                    Event::DocumentEnd | Event::StreamEnd => Ok(value),
                    _ => Err("its front matter goes on after its end".into()),
                };
            }
        }
    }
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Event<'a>, String> {
        match self.0.next_event() {
            Some(Ok((event, _))) => Ok(event),
            Some(Err(error)) => Err(format!("its front matter is no YAML: {error}")),
            None => Ok(Event::StreamEnd),
        }
    }

    fn value(&mut self, event: Event<'a>, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err(format!("its front matter is nested deeper than {MAX_DEPTH}"));
        }
        match event {
            Event::Scalar(text, style, _, tag) => scalar(&text, style, tag.as_ref()),
            Event::SequenceStart(_, tag) => {
                plain_type(tag.as_ref())?;
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        Event::SequenceEnd => return Ok(Value::Array(items)),
                        event => items.push(self.value(event, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(_, tag) => {
                plain_type(tag.as_ref())?;
                let mut fields = Map::new();
                loop {
                    let key = match self.next()? {
                        Event::MappingEnd => return Ok(Value::Object(fields)),
                        Event::Scalar(key, ..) => key.into_owned(),
                        _ => return Err("a key of its front matter is no text".into()),
                    };
                    let event = self.next()?;
                    let value = self.value(event, depth + 1)?;
                    if let Some(twice) = fields.insert(key.clone(), value).map(|_| key) {
                        return Err(format!("its front matter has the key '{twice}' twice"));
                    }
                }
            }
            Event::Alias(_) => Err("its front matter uses a YAML alias".into()),
            _ => Err("its front matter ends too early".into()),
        }
    }
}

/// Types beyond those of JSON are not ours to make.
fn plain_type(tag: Option<&Cow<'_, Tag>>) -> Result<(), String> {
    match tag {
        Some(tag) if !tag.is_yaml_core_schema() => Err(format!("its front matter has the tag '{tag}'")),
        _ => Ok(()),
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Cow<'_, Tag>>) -> Result<Value, String> {
    plain_type(tag)?;
    let is_text = style != ScalarStyle::Plain || tag.is_some_and(|tag| tag.suffix == "str");
    Ok(if is_text { Value::String(text.to_owned()) } else { resolved(text) })
}

/// A plain word by the core schema of YAML 1.2.
fn resolved(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let based = |prefix: &str, base| {
        text.strip_prefix(prefix).and_then(|digits| i64::from_str_radix(digits, base).ok())
    };
    if let Some(whole) = text.parse().ok().or_else(|| based("0x", 16)).or_else(|| based("0o", 8)) {
        return Value::Number(Number::from(whole));
    }
    let looks_so = text.contains(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| matches!(c, '0'..='9' | '.' | 'e' | 'E' | '+' | '-'));
    let number = text.parse::<f64>().ok().filter(|_| looks_so).and_then(Number::from_f64);
    number.map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn fields(yaml: &str) -> Result<Value, String> {
        read(&format!("---\n{yaml}\n---\nbody")).map(|(fields, _)| Value::Object(fields))
    }

    #[test]
    fn fields_and_body_are_told_apart() {
        let text = "\u{feff}---\r\nname: a\r\n---\r\n# Title\r\n---\r\n";
        let (fields, body) = read(text).unwrap();
        assert_eq!((Value::Object(fields), body), (json!({"name": "a"}), "# Title\r\n---\r\n"));
        assert_eq!(read("---\nname: a\n---").unwrap().1, "");
        for without in ["", "name: a", "---\nname: a", " ---\nname: a\n---\n"] {
            assert!(read(without).unwrap_err().contains("does not begin with"), "{without}");
        }
    }

    #[test]
    fn what_authors_write_is_read_as_data() {
        let yaml = "name: pdf\ndescription: >\n  Two\n  lines\nversion: 1.10\ncount: 3\nflag: true\nnothing:\n\
                    quoted: \"7\"\ntext: !!str 7\nlist: [a, b]\nmetadata:\n  author: Zoë\n  when: 2026-01-02\n";
        let expected = json!({"name": "pdf", "description": "Two lines\n", "version": 1.1, "count": 3, "flag": true,
            "nothing": null, "quoted": "7", "text": "7", "list": ["a", "b"],
            "metadata": {"author": "Zoë", "when": "2026-01-02"}});
        assert_eq!(fields(yaml).unwrap(), expected);
    }

    #[test]
    fn what_is_no_plain_data_is_refused() {
        let deep = format!("a: {}{}", "[".repeat(100), "]".repeat(100));
        for (yaml, why) in [
            ("a: &x [1]\nb: *x", "alias"),
            ("a: 1\na: 2", "twice"),
            ("a: !python/object x", "tag"),
            ("[1]: 2", "no text"),
            ("just text", "no mapping"),
            ("", "no mapping"),
            ("a: [", "no YAML"),
            (deep.as_str(), "deeper"),
        ] {
            let error = fields(yaml).unwrap_err();
            assert!(error.contains(why), "{yaml}: {error}");
        }
        assert!(fields(&"a: b\n".repeat(100_000)).unwrap_err().contains("longer"));
    }

    #[test]
    fn readings_of_one_text_agree_and_others_do_not() {
        assert!(agree(&json!({"a": 1, "b": [true, "x"]}), &json!({"b": ["yes", "x\n"], "a": 1.0})));
        for (listed, found) in [
            (json!({"a": 1}), json!({})),
            (json!({}), json!({"a": 1})),
            (json!({"a": "x"}), json!({"a": "y"})),
            (json!({"a": true}), json!({"a": "no"})),
            (json!([1]), json!([1, 2])),
        ] {
            assert!(!agree(&listed, &found), "{listed} {found}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "(---\n)?[ -~\n\t&*!é]{0,200}(\n---\n)?") {
            let _ = read(&text);
        }

        #[test]
        fn json_is_read_back(name in "[a-z]{1,8}", text in "[ -~é]{0,20}", number in any::<i32>()) {
            let value = json!({name: {"text": text, "number": number, "list": [text, null]}});
            prop_assert_eq!(fields(&value.to_string()).unwrap(), value);
        }
    }
}
