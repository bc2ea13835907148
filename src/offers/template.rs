//! URI templates of the hub's own resources, a part of RFC 6570.
//!
//! | expression | matches |
//! |---|---|
//! | `{name}` | one part of a path: any text without `/`, `?` and `#` |
//! | `{+name}`, `{name*}` | any text; at most one of them in a template |
//! | `{?a,b}` | at the end: parameters of the query, all of them optional |
//!
//! A match takes time in proportion to the length of the URI: there is one way to read it, and none is tried twice. Values are
//! decoded. A value that leads out of a folder (`..`, an absolute path) or has a zero byte does not match, however it is encoded.

use serde_json::{Map, Value};
use std::borrow::Cow;

/// What a resource is addressed by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UriTemplate {
    parts: Vec<TemplatePart>,
    query: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    Literal(String),
    Variable { name: String, is_long: bool },
}

impl UriTemplate {
    /// `Ok(None)` for a URI without expressions; a sentence for a template that is not supported.
    pub fn parse(text: &str) -> Result<Option<UriTemplate>, String> {
        if !text.contains(['{', '}']) {
            return Ok(None);
        }
        let mut template = UriTemplate { parts: Vec::new(), query: Vec::new() };
        let mut rest = text;
        while let Some((literal, after)) = rest.split_once('{') {
            template.add_literal(literal)?;
            let (expression, after) = after.split_once('}').ok_or("a brace is not closed")?;
            template.add_expression(expression)?;
            rest = after;
        }
        template.add_literal(rest)?;
        let mut names: Vec<&str> = template.variables().collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("the variable '{}' occurs twice", twice[0]));
        }
        if template.parts.iter().filter(|part| part.is_long()).count() > 1 {
            return Err("only one variable may match several parts of a path".to_owned());
        }
        Ok(Some(template))
    }

    fn add_literal(&mut self, literal: &str) -> Result<(), String> {
        if literal.contains('}') {
            return Err("a brace is not opened".to_owned());
        }
        if literal.is_empty() {
            return Ok(());
        }
        if !self.query.is_empty() {
            return Err("the query must be at the end".to_owned());
        }
        self.parts.push(TemplatePart::Literal(literal.to_owned()));
        Ok(())
    }

    fn add_expression(&mut self, expression: &str) -> Result<(), String> {
        if !self.query.is_empty() {
            return Err("the query must be at the end".to_owned());
        }
        let is_name = |name: &str| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            name.bytes().all(fits) && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
        };
        if let Some(names) = expression.strip_prefix('?') {
            self.query = names.split(',').map(str::to_owned).collect();
            return match self.query.iter().all(|name| is_name(name)) {
                true => Ok(()),
                false => Err(format!("the expression '{expression}' is not supported")),
            };
        }
        let (name, is_long) = match (expression.strip_prefix('+'), expression.strip_suffix('*')) {
            (Some(name), None) | (None, Some(name)) => (name, true),
            _ => (expression, false),
        };
        if !is_name(name) {
            return Err(format!("the expression '{expression}' is not supported"));
        }
        if matches!(self.parts.last(), Some(TemplatePart::Variable { .. })) {
            return Err("two variables need a text between them".to_owned());
        }
        self.parts.push(TemplatePart::Variable { name: name.to_owned(), is_long });
        Ok(())
    }

    /// The names of all variables.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let of_path = self.parts.iter().filter_map(|part| match part {
            TemplatePart::Variable { name, .. } => Some(name.as_str()),
            TemplatePart::Literal(_) => None,
        });
        of_path.chain(self.query.iter().map(String::as_str))
    }

    /// The variables that every URI of the template has.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        self.variables().take(self.parts.iter().filter(|part| part.is_variable()).count())
    }

    /// How many characters stand for themselves: the more, the more specific.
    pub fn literals(&self) -> usize {
        let literal = |part: &TemplatePart| match part {
            TemplatePart::Literal(text) => text.chars().count(),
            TemplatePart::Variable { .. } => 0,
        };
        self.parts.iter().map(literal).sum()
    }

    /// The values of the variables in a URI of this template.
    pub fn values(&self, uri: &str) -> Option<Map<String, Value>> {
        let (path, query) = match self.query.is_empty() {
            true => (uri, None),
            false => uri.split_once('?').map_or((uri, None), |(path, query)| (path, Some(query))),
        };
        let found = self.of_path(path)?.into_iter().map(|(name, value)| (name, Cow::Borrowed(value)));
        let given = query.into_iter().flat_map(|query| query.split('&'));
        let of_query = given.filter_map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = self.query.iter().find(|own| *own == name)?;
            Some((name.as_str(), Cow::Owned(value.replace('+', " "))))
        });
        let mut values = Map::new();
        for (name, value) in found.chain(of_query) {
            let decoded = decoded(&value).filter(|value| !leads_out(value))?;
            values.insert(name.to_owned(), Value::from(decoded));
        }
        Some(values)
    }

    /// Reads from both ends to the variable that takes the rest: the long one, or else the last one.
    fn of_path<'a>(&'a self, path: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
        let last = self.parts.iter().rposition(TemplatePart::is_variable);
        let Some(middle) = self.parts.iter().position(TemplatePart::is_long).or(last) else {
            let whole: String = self.parts.iter().filter_map(TemplatePart::literal).collect();
            return (whole == path).then(Vec::new);
        };
        let (before, after) = (&self.parts[..middle], &self.parts[middle + 1..]);
        let mut found = Vec::new();
        let mut rest = from_the_front(before, path, &mut found)?;
        rest = from_the_back(after, rest, &mut found)?;
        let TemplatePart::Variable { name, is_long } = &self.parts[middle] else { return None };
        if rest.is_empty() || (!is_long && has_separator(rest)) {
            return None;
        }
        found.push((name, rest));
        Some(found)
    }
}

impl TemplatePart {
    fn is_variable(&self) -> bool {
        matches!(self, TemplatePart::Variable { .. })
    }

    fn is_long(&self) -> bool {
        matches!(self, TemplatePart::Variable { is_long: true, .. })
    }

    fn literal(&self) -> Option<&str> {
        match self {
            TemplatePart::Literal(text) => Some(text),
            TemplatePart::Variable { .. } => None,
        }
    }
}

/// Reads these parts at the start of the text; returns the rest. A variable ends at the first place where the text behind it
/// begins: no later place could make more of the rest fit.
fn from_the_front<'a>(
    parts: &'a [TemplatePart],
    mut text: &'a str,
    found: &mut Vec<(&'a str, &'a str)>,
) -> Option<&'a str> {
    let mut open: Option<&str> = None;
    for part in parts {
        match (part, open.take()) {
            (TemplatePart::Variable { name, .. }, _) => open = Some(name),
            (TemplatePart::Literal(literal), None) => text = text.strip_prefix(literal.as_str())?,
            (TemplatePart::Literal(literal), Some(name)) => {
                // A value is not empty, so the search begins behind its first character.
                let first = text.chars().next()?.len_utf8();
                let end = first + text[first..].find(literal.as_str())?;
                found.push((name, value_of(&text[..end])?));
                text = &text[end + literal.len()..];
            }
        }
    }
    Some(text)
}

/// The same from the end of the text.
fn from_the_back<'a>(
    parts: &'a [TemplatePart],
    mut text: &'a str,
    found: &mut Vec<(&'a str, &'a str)>,
) -> Option<&'a str> {
    let mut open: Option<&str> = None;
    for part in parts.iter().rev() {
        match (part, open.take()) {
            (TemplatePart::Variable { name, .. }, _) => open = Some(name),
            (TemplatePart::Literal(literal), None) => text = text.strip_suffix(literal.as_str())?,
            (TemplatePart::Literal(literal), Some(name)) => {
                let last = text.len() - text.chars().next_back()?.len_utf8();
                let start = text[..last].rfind(literal.as_str())?;
                found.push((name, value_of(&text[start + literal.len()..])?));
                text = &text[..start];
            }
        }
    }
    Some(text)
}

fn value_of(text: &str) -> Option<&str> {
    (!has_separator(text)).then_some(text)
}

fn has_separator(text: &str) -> bool {
    text.contains(['/', '?', '#'])
}

/// Without percent signs; `None` if the result is not text.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let code = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let code = code.filter(|code| code.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// Whether a value that is used as a path would leave its folder.
fn leads_out(value: &str) -> bool {
    let is_separator = |letter: char| matches!(letter, '/' | '\\');
    let has_drive = {
        let mut letters = value.chars();
        letters.next().is_some_and(|first| first.is_ascii_alphabetic())
            && letters.next() == Some(':')
            && letters.next().is_some_and(is_separator)
    };
    value.contains('\0')
        || value.starts_with(is_separator)
        || has_drive
        || value.split(is_separator).any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn values(template: &str, uri: &str) -> Value {
        let template = UriTemplate::parse(template).unwrap().unwrap();
        template.values(uri).map_or(Value::Null, Value::Object)
    }

    #[test]
    fn addresses_are_read_by_their_template() {
        for (template, uri, read) in [
            ("note://{id}", "note://7", json!({"id": "7"})),
            ("note://{id}", "note://", json!(null)),
            ("note://{id}", "note://a/b", json!(null)),
            ("note://{id}", "note://7?x=1", json!(null)),
            ("note://{id}", "other://7", json!(null)),
            ("note://{id}/data", "note://7/data", json!({"id": "7"})),
            ("db://{table}/rows/{id}.json", "db://users/rows/7.json", json!({"table": "users", "id": "7"})),
            (
                "db://{table}/rows/{id}.json",
                "db://users/rows/7.json.json",
                json!({"table": "users", "id": "7.json"}),
            ),
            ("db://{table}/rows/{id}.json", "db://users/rows/7", json!(null)),
            ("x://{a}-{b}", "x://1-2-3", json!({"a": "1", "b": "2-3"})),
            ("file:///{+path}", "file:///a/b.txt", json!({"path": "a/b.txt"})),
            ("file:///{path*}", "file:///a/b.txt", json!({"path": "a/b.txt"})),
            ("x://{+path}.{kind}", "x://a.b/c.d", json!({"path": "a.b/c", "kind": "d"})),
            ("x://{host}/{+path}/raw", "x://h/a/raw/b/raw", json!({"host": "h", "path": "a/raw/b"})),
            ("s://find{?q,limit}", "s://find?q=two+words&x=1", json!({"q": "two words"})),
            ("s://find{?q,limit}", "s://find", json!({})),
            ("s://{where}{?q}", "s://here?q=%C3%A4&q=b", json!({"where": "here", "q": "b"})),
            ("note://{name}", "note://caf%C3%A9%20au%20lait", json!({"name": "café au lait"})),
            ("note://{name}", "note://100%", json!({"name": "100%"})),
            ("note://{name}", "note://%+1", json!({"name": "%+1"})),
        ] {
            let mut found = values(template, uri);
            if let (Value::Object(found), Value::Object(read)) = (&mut found, &read) {
                assert_eq!(found.len(), read.len(), "{template} {uri}");
            }
            assert_eq!(found, read, "{template} {uri}");
        }
    }

    #[test]
    fn values_do_not_lead_out_of_a_folder() {
        for uri in [
            "file:///../etc/passwd",
            "file:///a/%2e%2e/b",
            "file:///a%2F..%2Fb",
            "file:///a%5C..%5Cb",
            "file:////etc/passwd",
            "file:///%2Fetc",
            "file:///C:/windows",
            "file:///a%00",
            "file:///%ff",
        ] {
            assert_eq!(values("file:///{+path}", uri), Value::Null, "{uri}");
        }
        assert_eq!(values("file:///{+path}", "file:///a..b/...c"), json!({"path": "a..b/...c"}));
    }

    #[test]
    fn templates_that_could_be_read_in_several_ways_are_refused() {
        assert_eq!(UriTemplate::parse("note://x"), Ok(None));
        for (template, reason) in [
            ("x://{", "a brace is not closed"),
            ("x://a}", "a brace is not opened"),
            ("x://{a}}", "a brace is not opened"),
            ("x://{}", "the expression '' is not supported"),
            ("x://{a b}", "the expression 'a b' is not supported"),
            ("x://{1a}", "the expression '1a' is not supported"),
            ("x://{/a}", "the expression '/a' is not supported"),
            ("x://{a:3}", "the expression 'a:3' is not supported"),
            ("x://{+a*}", "the expression '+a*' is not supported"),
            ("x://{?a,}", "the expression '?a,' is not supported"),
            ("x://{a}{b}", "two variables need a text between them"),
            ("x://{a}/{a}", "the variable 'a' occurs twice"),
            ("x://{a}{?a}", "the variable 'a' occurs twice"),
            ("x://{+a}/{+b}", "only one variable may match several parts of a path"),
            ("x://{?a}/b", "the query must be at the end"),
            ("x://{?a}{b}", "the query must be at the end"),
        ] {
            assert_eq!(UriTemplate::parse(template), Err(reason.to_owned()), "{template}");
        }
    }

    proptest! {
        #[test]
        fn what_is_put_into_a_template_comes_out(
            given in prop::collection::vec("[^/?#.\\\\:%\0]{1,8}", 1..5),
            long in prop::option::of("[^?#.\\\\:%\0/][^?#.\\\\:%\0]{0,12}"),
        ) {
            let long = long.filter(|text| !text.ends_with('/'));
            let mut template: String = (0..given.len()).map(|n| format!("/{{v{n}}}")).collect();
            let mut uri: String = given.iter().map(|value| format!("/{value}")).collect();
            if let Some(long) = &long {
                template += "/{+long}.end";
                uri += &format!("/{long}.end");
            }
            let read = UriTemplate::parse(&template).unwrap().unwrap().values(&uri).unwrap();
            for (number, value) in given.iter().enumerate() {
                prop_assert_eq!(read.get(&format!("v{number}")), Some(&json!(value)));
            }
            prop_assert_eq!(read.get("long").cloned(), long.map(Value::from));
        }

        #[test]
        fn any_text_is_survived(template in "[a-z{}+/?*,]{0,30}", uri in "\\PC{0,40}") {
            if let Ok(Some(template)) = UriTemplate::parse(&template) {
                let _ = template.values(&uri);
            }
        }
    }
}
