//! The front matter of a `SKILL.md`: YAML between two lines of `---`, read as plain data.
//!
//! Text that grows when it is read (aliases), deep nesting, and custom types are refused.

use saphyr_parser::{Event, Parser, ScalarStyle, StrInput, Tag};
use serde_json::{Map, Number, Value};
use std::borrow::Cow;
use std::io::{self, Read};
use toolhub_text::message::Message;

const MAX_BYTES: usize = 256 * 1024;
const MAX_DEPTH: usize = 32;
const NO_YAML: &str = "its front matter is not YAML";
const MISSING: &str = "it does not begin with front matter between two lines of '---'";

/// The front matter, and the text after it. A common mistake is accepted: text with a colon that should be quoted is read as if
/// it were. True if that was necessary.
pub fn read(text: &str) -> Result<(Map<String, Value>, &str, bool), Message> {
    let (yaml, body) = split(text)?;
    let (value, is_repaired) = match parse(yaml) {
        Err(why) if why.starts_with(NO_YAML) => (parse(&quoted(yaml)).map_err(|_| why)?, true),
        value => (value?, false),
    };
    Ok((mapping(value)?, body, is_repaired))
}

/// The front matter and the text after it, without that help.
pub fn read_strictly(text: &str) -> Result<(Map<String, Value>, &str), Message> {
    let (yaml, body) = split(text)?;
    Ok((mapping(parse(yaml)?)?, body))
}

/// A YAML mapping that is a document of its own. Errors begin with "it".
pub fn read_mapping(yaml: &str) -> Result<Map<String, Value>, String> {
    let read = if yaml.len() > MAX_BYTES { Err(too_long()) } else { parse(yaml).and_then(mapping) };
    read.map_err(|why| why.replace("its front matter", "it"))
}

/// The start of a file, as long as front matter may be, and as much again.
pub fn read_front(file: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut front = Vec::new();
    file.take(2 * MAX_BYTES as u64).read_to_end(&mut front)?;
    Ok(front)
}

/// The text of what [`read_front`] has read. After the front matter it may be cut inside a character.
pub fn text_of(front: &[u8]) -> Result<&str, Message> {
    let end = match extent(front) {
        Ok((_, _, end)) => end,
        Err(_) => front.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len()),
    };
    std::str::from_utf8(&front[..end]).map_err(|_| "it is not UTF-8 text".into())
}

fn mapping(value: Value) -> Result<Map<String, Value>, Message> {
    match value {
        Value::Object(fields) => Ok(fields),
        _ => Err("its front matter is not a mapping".into()),
    }
}

/// The start and the end of the front matter, and the start of the rest; the error says whether it has begun.
fn extent(text: &[u8]) -> Result<(usize, usize, usize), bool> {
    let (mut at, mut begun) = (if text.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 }, None);
    for line in text[at..].split_inclusive(|byte| *byte == b'\n') {
        let next = at + line.len();
        let is_fence = line.trim_ascii_end() == b"---" && !line.starts_with(b" ");
        match begun {
            None if is_fence => begun = Some(next),
            Some(begun) if is_fence => return Ok((begun, at, next)),
            None => return Err(false),
            Some(_) => {}
        }
        at = next;
    }
    Err(begun.is_some())
}

fn split(text: &str) -> Result<(&str, &str), Message> {
    match extent(text.as_bytes()) {
        Ok((begin, end, rest)) if end - begin <= MAX_BYTES => Ok((&text[begin..end], &text[rest..])),
        Err(has_begun) if !has_begun || text.len() <= MAX_BYTES => Err(MISSING.into()),
        _ => Err(too_long()),
    }
}

fn too_long() -> Message {
    format!("its front matter is longer than {MAX_BYTES} bytes").into()
}

/// Puts the plain values of the top-level fields in quotes.
fn quoted(yaml: &str) -> String {
    let is_plain = |value: &str| !value.starts_with(['"', '\'', '[', '{', '|', '>', '&', '*', '!', '#']);
    let with_quotes = |line: &str| match line.split_once(": ").map(|(key, value)| (key, value.trim())) {
        // A JSON string is a YAML string.
        Some((key, value)) if is_key(key) && !value.is_empty() && is_plain(value) => {
            format!("{key}: {}\n", Value::from(value))
        }
        _ => format!("{line}\n"),
    };
    yaml.lines().map(with_quotes).collect()
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// True if two readings of one front matter agree. Versions of YAML differ in numbers and booleans.
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
        (Value::Bool(flag), Value::String(word)) => {
            let words = if *flag { ["yes", "on", "y"] } else { ["no", "off", "n"] };
            words.iter().any(|own| word.eq_ignore_ascii_case(own))
        }
        _ => listed == found,
    }
}

struct YamlReader<'a>(Parser<'a, StrInput<'a>>);

fn parse(yaml: &str) -> Result<Value, Message> {
    let mut reader = YamlReader(Parser::new_from_str(yaml));
    loop {
        match reader.next()? {
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
            Event::StreamEnd | Event::DocumentEnd => return Ok(Value::Null),
            event => {
                let value = reader.value(event, 0)?;
                // A second document would be hidden content.
                return match reader.next()? {
                    Event::DocumentEnd | Event::StreamEnd => Ok(value),
                    _ => Err("its front matter goes on after its end".into()),
                };
            }
        }
    }
}

impl<'a> YamlReader<'a> {
    fn next(&mut self) -> Result<Event<'a>, Message> {
        match self.0.next_event() {
            Some(Ok((event, _))) => Ok(event),
            Some(Err(error)) => Err(format!("{NO_YAML}: {error}").into()),
            None => Ok(Event::StreamEnd),
        }
    }

    fn value(&mut self, event: Event<'a>, depth: usize) -> Result<Value, Message> {
        if depth > MAX_DEPTH {
            return Err(format!("its front matter is nested deeper than {MAX_DEPTH}").into());
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
                        _ => return Err("a key of its front matter is not text".into()),
                    };
                    let event = self.next()?;
                    let value = self.value(event, depth + 1)?;
                    if let Some(twice) = fields.insert(key.clone(), value).map(|_| key) {
                        return Err(format!("its front matter has the key '{twice}' twice").into());
                    }
                }
            }
            Event::Alias(_) => Err("its front matter uses a YAML alias".into()),
            _ => Err("its front matter ends too early".into()),
        }
    }
}

/// Types that JSON does not have are refused.
fn plain_type(tag: Option<&Cow<'_, Tag>>) -> Result<(), Message> {
    const KNOWN: [&str; 7] = ["str", "int", "float", "bool", "null", "map", "seq"];
    match tag {
        Some(tag) if !tag.is_yaml_core_schema() || !KNOWN.contains(&tag.suffix.as_str()) => {
            Err(format!("its front matter has the tag '{tag}'").into())
        }
        _ => Ok(()),
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Cow<'_, Tag>>) -> Result<Value, Message> {
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

    fn fields(yaml: &str) -> Result<Value, Message> {
        read(&format!("---\n{yaml}\n---\nbody")).map(|(fields, ..)| Value::Object(fields))
    }

    #[test]
    fn fields_and_body_are_separated() {
        let text = "\u{feff}---\r\nname: a\r\n---\r\n# Title\r\n---\r\n";
        let (fields, body, _) = read(text).unwrap();
        assert_eq!((Value::Object(fields), body), (json!({"name": "a"}), "# Title\r\n---\r\n"));
        assert_eq!(read("---\nname: a\n---").unwrap().1, "");
        for without in ["", "name: a", "---\nname: a", " ---\nname: a\n---\n"] {
            assert!(read(without).unwrap_err().contains("does not begin with"), "{without}");
        }
    }

    #[test]
    fn a_document_of_its_own_is_read_without_fences() {
        let read = read_mapping("name: a\nprompt: |\n  One\n  ---\n  two\n").unwrap();
        assert_eq!(Value::Object(read), json!({"name": "a", "prompt": "One\n---\ntwo\n"}));
        assert_eq!(read_mapping("- a").unwrap_err(), "it is not a mapping");
        assert!(read_mapping("a: [").unwrap_err().starts_with("it is not YAML: "));
        assert_eq!(read_mapping(&"#".repeat(MAX_BYTES + 1)).unwrap_err(), "it is longer than 262144 bytes");
    }

    #[test]
    fn only_the_front_of_a_file_is_read() {
        let front = |text: &str| read_front(&mut text.as_bytes()).unwrap();
        let body = "x".repeat(1 << 20);
        assert_eq!(front(&body).len(), 2 * MAX_BYTES, "it has none");
        let read = front(&format!("---\nname: a\n---\n{body}"));
        assert_eq!(Value::Object(super::read(text_of(&read).unwrap()).unwrap().0), json!({"name": "a"}));
        let open = front(&format!("---\n{body}"));
        assert!(super::read(text_of(&open).unwrap()).unwrap_err().contains("longer"), "it does not end");
    }

    #[test]
    fn values_that_should_have_been_quoted_are_read() {
        let text = "---\nname: pdf\ndescription: Use it when: the user says \"PDF\": yes\nlist: [a]\nmetadata:\n  a: b\n---\nx";
        let (fields, body, repaired) = read(text).unwrap();
        assert_eq!(
            (fields["description"].as_str(), body),
            (Some("Use it when: the user says \"PDF\": yes"), "x")
        );
        assert_eq!(
            (&fields["list"], &fields["metadata"], repaired),
            (&json!(["a"]), &json!({"a": "b"}), true)
        );
        assert!(!read("---\nname: a\n---\n").unwrap().2);
        assert!(read("---\na: &x [1]\nb: *x\n---\n").unwrap_err().contains("alias"));
        assert!(read("---\na: [\n---\n").unwrap_err().contains("not YAML"));
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
    fn data_that_is_not_plain_is_refused() {
        let deep = format!("a: {}{}", "[".repeat(100), "]".repeat(100));
        for (yaml, why) in [
            ("a: &x [1]\nb: *x", "alias"),
            ("a: 1\na: 2", "twice"),
            ("a: !python/object x", "tag"),
            ("a: !!python/object:os.system x", "tag"),
            ("[1]: 2", "not text"),
            ("just text", "not a mapping"),
            ("", "not a mapping"),
            ("a: [", "not YAML"),
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
