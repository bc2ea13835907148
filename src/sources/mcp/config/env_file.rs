//! An `envFile`: lines of `NAME=value`, as dotenv has them.

use std::path::Path;

/// The variables in their order; the error is a sentence about the key that named the file.
/// `shown` is how that sentence names the file.
pub(super) fn read(path: &Path, shown: &str) -> Result<Vec<(String, String)>, String> {
    let bytes = std::fs::read(path)
        .map_err(|error| format!("names the file {shown}, which cannot be read: {error}."))?;
    let text = String::from_utf8_lossy(&bytes);
    parse(text.trim_start_matches('\u{feff}'))
        .map_err(|line| format!("names the file {shown}, whose line {line} is not `NAME=value`."))
}

/// The error is the number of a line. The line itself may be a secret, so it is not shown.
fn parse(text: &str) -> Result<Vec<(String, String)>, usize> {
    let mut variables = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').ok_or(index + 1)?;
        let name = name.trim();
        if name.is_empty() || name.contains(char::is_whitespace) || line.contains('\0') {
            return Err(index + 1);
        }
        variables.push((name.to_owned(), unquoted(value.trim())));
    }
    Ok(variables)
}

/// Quotes go; inside double quotes `\n`, `\"` and `\\` are escapes. Outside quotes ` #` starts a comment.
fn unquoted(value: &str) -> String {
    if let Some(inside) = between(value, '\'') {
        return inside.to_owned();
    }
    if let Some(inside) = between(value, '"') {
        let mut text = String::with_capacity(inside.len());
        let mut chars = inside.chars();
        while let Some(c) = chars.next() {
            match (c, chars.clone().next()) {
                ('\\', Some('n')) => text.push('\n'),
                ('\\', Some(escaped @ ('"' | '\\'))) => text.push(escaped),
                _ => {
                    text.push(c);
                    continue;
                }
            }
            chars.next();
        }
        return text;
    }
    value.split_once(" #").map_or(value, |(value, _)| value.trim_end()).to_owned()
}

/// What the value has between its quotes, if nothing but a comment follows them.
fn between(value: &str, quote: char) -> Option<&str> {
    let inside = value.strip_prefix(quote)?;
    let mut escaped = false;
    let end = inside.find(|c: char| {
        let closes = c == quote && !escaped;
        escaped = c == '\\' && quote == '"' && !escaped;
        closes
    })?;
    let rest = inside[end + 1..].trim_start();
    (rest.is_empty() || rest.starts_with('#')).then(|| &inside[..end])
}

#[cfg(test)]
mod tests {
    use super::parse;
    use proptest::prelude::*;

    #[test]
    fn lines_become_variables() {
        let text = "# keys\nA=1\nexport B = two words # why\nC='it # is'\r\nD=\"line\\n\\\"q\\\" \\x\" # d\nE=\nF=a=b#c\nG=\"half\nH='a'b\n\n";
        let expected = [
            ("A", "1"),
            ("B", "two words"),
            ("C", "it # is"),
            ("D", "line\n\"q\" \\x"),
            ("E", ""),
            ("F", "a=b#c"),
            ("G", "\"half"),
            ("H", "'a'b"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(parse(text).unwrap(), expected);
    }

    #[test]
    fn other_lines_are_refused_by_number() {
        assert_eq!(parse("A=1\nhush"), Err(2));
        assert_eq!(parse("=1"), Err(1));
        assert_eq!(parse("\n\nA B=1"), Err(3));
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in r#"[A-C='"\\# \n\r$é]{0,60}"#) {
            let _ = parse(&text);
        }
    }
}
