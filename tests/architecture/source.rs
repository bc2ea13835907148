//! Just enough reading of Rust: code without comments and strings, items under an attribute, and the
//! paths that a file names. A full parser would be a dependency; these rules need only this much.

use std::ops::Range;

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

fn blank(bytes: &mut [u8], range: Range<usize>) {
    for byte in &mut bytes[range] {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}

/// `text` with comments, strings and characters replaced by spaces: same length, same lines.
pub fn code_only(text: &str) -> String {
    let source = text.as_bytes();
    let mut code = source.to_vec();
    let mut at = 0;
    while at < source.len() {
        let end = match source[at] {
            b'/' if source[at..].starts_with(b"//") => {
                at + source[at..].iter().position(|b| *b == b'\n').unwrap_or(source.len() - at)
            }
            b'/' if source[at..].starts_with(b"/*") => end_of_block_comment(source, at),
            b'"' => end_of_string(source, at),
            b'r' | b'b' | b'c' if at == 0 || !is_word(source[at - 1]) => end_of_prefixed_string(source, at),
            b'\'' => end_of_char(text, at),
            _ => at,
        };
        blank(&mut code, at..end);
        at = end.max(at + 1);
    }
    String::from_utf8_lossy(&code).into_owned()
}

fn end_of_block_comment(source: &[u8], start: usize) -> usize {
    let (mut depth, mut at) = (0, start);
    while at < source.len() {
        if source[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if source[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    at
}

/// `at` is on the opening quote.
fn end_of_string(source: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < source.len() && source[at] != b'"' {
        at += if source[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(source.len())
}

/// `r"…"`, `r#"…"#`, `b"…"`, `br"…"`, `c"…"`; `start` when it is just a word.
fn end_of_prefixed_string(source: &[u8], start: usize) -> usize {
    let prefix = source[start..].iter().take_while(|b| matches!(b, b'r' | b'b' | b'c')).count();
    let hashes = source[start + prefix..].iter().take_while(|b| **b == b'#').count();
    let quote = start + prefix + hashes;
    if source.get(quote) != Some(&b'"') {
        return start;
    }
    if source[start + prefix - 1] != b'r' {
        return if hashes == 0 { end_of_string(source, quote) } else { start };
    }
    let closing = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
    let body = &source[quote + 1..];
    let length =
        body.windows(closing.len()).position(|w| w == closing).map_or(body.len(), |p| p + closing.len());
    quote + 1 + length
}

/// A character literal; `start` when it is a lifetime.
fn end_of_char(text: &str, start: usize) -> usize {
    let mut chars = text[start + 1..].char_indices();
    match chars.next() {
        Some((_, '\\')) => {
            let escaped = start + 3; // the character after the backslash is never the closing quote
            text.get(escaped..).and_then(|rest| rest.find('\'')).map_or(start, |p| escaped + p + 1)
        }
        Some(_) => match chars.next() {
            Some((offset, '\'')) => start + 1 + offset + 1,
            _ => start,
        },
        None => start,
    }
}

pub fn line_of(code: &str, at: usize) -> usize {
    code.as_bytes()[..at].iter().filter(|b| **b == b'\n').count() + 1
}

/// Positions where `word` stands as a whole word.
pub fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = code.as_bytes();
    code.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let end = at + word.len();
        (*at == 0 || !is_word(bytes[at - 1])) && (end == bytes.len() || !is_word(bytes[end]))
    })
}

/// What the attributes `#[…]` that `wanted` picks cover: the attribute and the item or statement after it.
/// `wanted` sees the text between the brackets without white space.
pub fn covered(code: &str, wanted: fn(&str) -> bool) -> Vec<Range<usize>> {
    let bytes = code.as_bytes();
    code.match_indices("#[")
        .filter_map(|(start, _)| {
            let end = matching(bytes, start + 1);
            let inside: String = code[start + 2..end].split_whitespace().collect();
            wanted(&inside).then(|| start..end_of_item(code, end + 1))
        })
        .collect()
}

/// `code` with everything blanked that only exists for tests.
pub fn without_tests(code: &str) -> String {
    let for_tests = |attribute: &str| {
        attribute == "cfg(test)"
            || attribute.strip_prefix("cfg(all(").is_some_and(|list| {
                list.trim_end_matches(')').split(',').any(|condition| condition == "test")
            })
    };
    let mut bytes = code.as_bytes().to_vec();
    for range in covered(code, for_tests) {
        blank(&mut bytes, range);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The position of the bracket that closes the one at `open`, or the last position.
fn matching(bytes: &[u8], open: usize) -> usize {
    let mut depth = 0usize;
    for (at, byte) in bytes.iter().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth -= 1;
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    bytes.len() - 1
}

/// The end of the item or statement that starts at `at`, after further attributes.
fn end_of_item(code: &str, mut at: usize) -> usize {
    let bytes = code.as_bytes();
    loop {
        at += code[at..].len() - code[at..].trim_start().len();
        if !code[at..].starts_with("#[") {
            break;
        }
        at = matching(bytes, at + 1) + 1;
    }
    // An item with a body ends with it; `let`, `use`, expressions may hold braces and end with `;`.
    const WITH_BODY: [&str; 10] =
        ["pub", "fn", "async", "unsafe", "impl", "mod", "struct", "enum", "trait", "macro_rules"];
    let first: String = code[at..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let body_ends = WITH_BODY.contains(&first.as_str()) || code[at..].starts_with("const fn");
    while at < bytes.len() {
        match bytes[at] {
            b';' => return at + 1,
            b'{' if body_ends => return matching(bytes, at) + 1,
            b'(' | b'[' | b'{' => at = matching(bytes, at) + 1,
            b')' | b']' | b'}' => return at, // the enclosing block ends first
            _ => at += 1,
        }
    }
    at
}

/// A path, and the name after `as` if there is one.
pub type Leaf = (Vec<String>, Option<String>);

/// All paths that start with the word `head`, groups written out: `head::{a::b, c}` gives `a b` and `c`.
pub fn paths(code: &str, head: &str) -> Vec<(usize, Vec<String>)> {
    let found = words(code, head).flat_map(|start| {
        let leaves = leaves(code, start + head.len()).into_iter();
        leaves.map(move |(path, _)| (start, path))
    });
    found.collect()
}

/// The paths behind the `::` at `at`, each with its new name.
pub fn leaves(code: &str, at: usize) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    if let Some(at) = after_colons(code.as_bytes(), at) {
        leaf_paths(code.as_bytes(), at, &[], &mut leaves);
    }
    leaves
}

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

fn after_colons(bytes: &[u8], at: usize) -> Option<usize> {
    let at = skip_space(bytes, at);
    bytes[at..].starts_with(b"::").then(|| skip_space(bytes, at + 2))
}

/// Reads one path or group at `at`; gives the position after it.
fn leaf_paths(bytes: &[u8], mut at: usize, before: &[String], found: &mut Vec<Leaf>) -> usize {
    if bytes.get(at) == Some(&b'{') {
        let end = matching(bytes, at);
        at = skip_space(bytes, at + 1);
        while at < end {
            at = leaf_paths(bytes, at, before, found);
            // `as other`, the comma
            while at < end && bytes[at] != b',' {
                at += 1;
            }
            at = skip_space(bytes, at + 1);
        }
        return end + 1;
    }
    let length = match bytes.get(at) {
        Some(b'*') => 1,
        _ => bytes[at..].iter().take_while(|b| is_word(**b)).count(),
    };
    if length == 0 {
        found.push((before.to_vec(), None)); // a turbofish: the path ends before it
        return at;
    }
    let name = String::from_utf8_lossy(&bytes[at..at + length]).into_owned();
    let path = [before, &[name]].concat();
    match after_colons(bytes, at + length) {
        Some(next) => leaf_paths(bytes, next, &path, found),
        None => {
            found.push((path, new_name(bytes, at + length)));
            at + length
        }
    }
}

/// The name after `as` at `at`.
fn new_name(bytes: &[u8], at: usize) -> Option<String> {
    let rest = bytes[skip_space(bytes, at)..].strip_prefix(b"as ")?;
    let rest = &rest[skip_space(rest, 0)..];
    let length = rest.iter().take_while(|byte| is_word(**byte)).count();
    Some(String::from_utf8_lossy(&rest[..length]).into_owned())
}

/// How many inline `mod name { … }` blocks are open at `at`.
pub fn inline_depth(code: &str, at: usize) -> usize {
    words(&code[..at], "mod")
        .filter(|start| {
            let rest = &code[*start..];
            match rest.find(['{', ';']) {
                Some(p) if rest.as_bytes()[p] == b'{' => matching(code.as_bytes(), start + p) > at,
                _ => false,
            }
        })
        .count()
}
