//! URI templates of the hub's own resources, a part of RFC 6570.
//!
//! | expression | matches |
//! |---|---|
//! | `{name}` | one part of a path: any text without `/`, `?` and `#` |
//! | `{+name}`, `{name*}` | any text; at most one of them in a template |
//! | `{?a,b}` | at the end: parameters of the query, all of them optional |
//!
//! A template becomes a regular expression of a crate that never backtracks, so a match takes time in proportion to the length
//! of the URI. Values are decoded. A value that leads out of a folder (`..`, an absolute path) or has a zero byte does not match,
//! however it is encoded.

use percent_encoding::percent_decode_str;
use regex::Regex;
use serde_json::{Map, Value};
use toolhub_text::{Message, message};

/// What a resource is addressed by.
#[derive(Clone, Debug)]
pub struct UriTemplate {
    path: Regex,
    /// The variables of the path, and those of the query.
    names: Vec<String>,
    query: Vec<String>,
    /// How many characters stand for themselves: the more, the more specific.
    pub literals: usize,
}

impl UriTemplate {
    /// `Ok(None)` for a URI without expressions; a sentence for a template that is not supported.
    pub fn parse(text: &str) -> Result<Option<UriTemplate>, Message> {
        if !text.contains(['{', '}']) {
            return Ok(None);
        }
        let mut pattern = String::from(r"(?s)\A");
        let (mut names, mut query, mut literals) = (Vec::new(), Vec::new(), 0);
        let (mut rest, mut long, mut after_variable) = (text, 0, false);
        loop {
            let (literal, after) =
                rest.split_once('{').map_or((rest, None), |(text, after)| (text, Some(after)));
            if literal.contains('}') {
                return Err(message!("a brace is not opened"));
            }
            if !query.is_empty() && (!literal.is_empty() || after.is_some()) {
                return Err(message!("the query must be at the end"));
            }
            pattern += &regex::escape(literal);
            literals += literal.chars().count();
            after_variable &= literal.is_empty();
            let Some(after) = after else { break };
            let (expression, after) = after.split_once('}').ok_or("a brace is not closed")?;
            let (name, group) = match (expression.strip_prefix('+'), expression.strip_suffix('*')) {
                (Some(name), None) | (None, Some(name)) => (name, "(.+)"),
                _ => (expression, "([^/?#]+?)"),
            };
            if let Some(names) = expression.strip_prefix('?').filter(|names| names.split(',').all(is_name)) {
                query.extend(names.split(',').map(str::to_owned));
            } else if !is_name(name) {
                return Err(message!("the expression '{}' is not supported", expression));
            } else if std::mem::replace(&mut after_variable, true) {
                return Err(message!("two variables need text between them"));
            } else {
                long += usize::from(group == "(.+)");
                pattern += group;
                names.push(name.to_owned());
            }
            rest = after;
        }
        let mut all: Vec<&String> = names.iter().chain(&query).collect();
        all.sort_unstable();
        if let Some(twice) = all.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(message!("the variable '{}' occurs twice", twice[0]));
        }
        if long > 1 {
            return Err(message!("only one variable may match several parts of a path"));
        }
        let path = Regex::new(&(pattern + r"\z")).map_err(|_| "it is too long")?;
        Ok(Some(UriTemplate { path, names, query, literals }))
    }

    /// The names of all variables.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.names.iter().chain(&self.query).map(String::as_str)
    }

    /// The variables that every URI of the template has.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The values of the variables in a URI of this template.
    pub fn values(&self, uri: &str) -> Option<Map<String, Value>> {
        let (path, query) = uri.split_once('?').filter(|_| !self.query.is_empty()).unwrap_or((uri, ""));
        let groups = self.path.captures(path)?;
        let found = self.names.iter().enumerate().map(|(at, name)| (name, groups[at + 1].to_owned()));
        let given = query.split('&').filter_map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((self.query.iter().find(|own| *own == name)?, value.replace('+', " ")))
        });
        let mut values = Map::new();
        for (name, value) in found.chain(given) {
            let decoded = percent_decode_str(&value).decode_utf8().ok().filter(|value| !leads_out(value))?;
            values.insert(name.clone(), Value::from(decoded));
        }
        Some(values)
    }
}

fn is_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

/// Whether a value that is used as a path would leave its folder.
fn leads_out(value: &str) -> bool {
    let is_separator = |letter: char| matches!(letter, '/' | '\\');
    let has_drive =
        matches!(value.as_bytes(), [drive, b':', b'/' | b'\\', ..] if drive.is_ascii_alphabetic());
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
        let refusal = |template: &str| UriTemplate::parse(template).map(|found| found.is_some());
        assert_eq!(refusal("note://x"), Ok(false));
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
            ("x://{a}{b}", "two variables need text between them"),
            ("x://{a}/{a}", "the variable 'a' occurs twice"),
            ("x://{a}{?a}", "the variable 'a' occurs twice"),
            ("x://{+a}/{+b}", "only one variable may match several parts of a path"),
            ("x://{?a}/b", "the query must be at the end"),
            ("x://{?a}{b}", "the query must be at the end"),
        ] {
            assert_eq!(refusal(template), Err(Message::from(reason)), "{template}");
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
