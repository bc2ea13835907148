//! What stands under the name of a secret: whether it is the secret, or a word about it.

use super::names::{NameStrength, is_secret_name, last_word};
use std::ops::Range;

/// A member that is called `key` is as often the key of a record. Then a value that is shorter, or has blanks, is kept.
const SHORTEST_BARE_KEY: usize = 16;
/// The same for the members of a list that is called `tokens`.
const SHORTEST_BARE_ITEM: usize = 8;
/// Fewer letters and digits are mixed in ordinary words too.
const SHORTEST_RANDOM: usize = 6;
/// Nobody writes an ordinary word that is longer.
const LONGEST_WORD: usize = 24;
/// More escapes of one quotation mark than this are not a quotation.
const MOST_ESCAPES: usize = 3;

/// Words that are said about secrets under a name that is that of other things, too: `"auth": "none"`.
#[rustfmt::skip]
const ORDINARY: &[&str] = &[
    "a", "above", "accepted", "access", "again", "an", "and", "any", "apikey", "auth", "authentication", "authorization",
    "basic", "bearer", "below", "bool", "boolean", "bytes", "changed", "count", "default", "denied", "digest", "disabled", "empty",
    "enabled", "error", "example", "expired", "failed", "false", "field", "following", "given", "header", "here", "hidden",
    "incorrect", "int", "integer", "invalid", "is", "jwt", "key", "length", "limit", "masked", "missing", "must", "name", "needed", "new",
    "no", "none", "not", "noun", "null", "number", "oauth", "oauth2", "object", "off", "ok", "old", "on", "optional", "or", "password",
    "prompt", "provided", "realm", "redacted", "rejected", "required", "reset", "revoked", "secret", "set", "str", "string",
    "strong", "text", "the", "this", "to", "token", "true", "type", "unchanged", "undefined", "unknown", "unset", "updated", "used", "valid",
    "value", "was", "weak", "wrong", "yes", "your",
    "confirmed", "correct", "created", "deleted", "encrypted", "found", "generated", "granted", "hashed", "n/a", "nil", "pending",
    "removed", "rotated", "saved", "sent", "stored",
];

/// Words of a JSON Schema. An object that has only such members describes a value, and has none.
#[rustfmt::skip]
const SCHEMA_WORDS: &[&str] = &[
    "type", "title", "description", "default", "enum", "const", "format", "pattern", "minLength", "maxLength", "minimum",
    "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "items", "prefixItems", "minItems", "maxItems",
    "uniqueItems", "contains", "properties", "required", "additionalProperties", "patternProperties", "propertyNames",
    "minProperties", "maxProperties", "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "examples", "example",
    "deprecated", "readOnly", "writeOnly", "nullable", "contentEncoding", "contentMediaType", "definitions",
];
const SCHEMA_TYPES: &[&str] = &["string", "number", "integer", "boolean", "array", "object", "null"];

/// Whether an object describes a value: `{"type": "string", "description": "The password of the user"}`.
pub(super) fn is_schema<'a>(names: impl IntoIterator<Item = &'a str>, type_name: Option<&str>) -> bool {
    let (mut is_any, mut describes) = (false, false);
    for name in names {
        is_any = true;
        if !SCHEMA_WORDS.contains(&name) && !name.starts_with('$') && !name.starts_with("x-") {
            return false;
        }
        describes |= matches!(name, "title" | "description" | "anyOf" | "oneOf" | "allOf" | "$ref" | "enum");
    }
    is_any && type_name.map_or(describes, |name| SCHEMA_TYPES.contains(&name))
}

/// Whether a text of data is a secret because of its own name.
pub(super) fn is_named_secret(strength: NameStrength, name: &str, text: &str) -> bool {
    // The example of a body in a description of an interface: `{"password": "string"}`.
    if SCHEMA_TYPES.contains(&text) {
        return false;
    }
    let is_key = strength == NameStrength::Bare && !name.eq_ignore_ascii_case("tokens");
    if text.is_empty() || is_key {
        return is_key && is_inner_secret(NameStrength::Bare, text);
    }
    match &*last_word(name) {
        // `session: Monday morning`: words are the title of a meeting.
        "session" => !is_ordinary(text) && !is_told(text),
        // `auth: none`: a known word says what kind there is.
        "auth" | "authentication" | "signature" | "private" => !is_ordinary(text),
        // `pin: top left`: a PIN has digits.
        "pin" => text.bytes().any(|byte| byte.is_ascii_digit()),
        _ => true,
    }
}

/// Whether a text is words of a language.
fn is_told(text: &str) -> bool {
    text.split_whitespace().all(|word| !looks_random(word) && word.chars().all(char::is_alphabetic))
}

/// Whether a text of data is a secret because something around it has the name of one.
pub(super) fn is_inner_secret(strength: NameStrength, text: &str) -> bool {
    match strength {
        NameStrength::Strong => !text.is_empty(),
        NameStrength::Weak => text.len() >= SHORTEST_BARE_ITEM && looks_random(text),
        NameStrength::Bare => text.len() >= SHORTEST_BARE_KEY && looks_random(text),
    }
}

/// Whether a number is a secret, by how many digits it has. The others are counts and ids.
pub(super) fn is_secret_number(strength: NameStrength, digits: &str) -> bool {
    let digits = digits.bytes().filter(u8::is_ascii_digit).count();
    match strength {
        NameStrength::Strong => digits >= 3,
        NameStrength::Weak => digits >= 6,
        // The key of a record, or a number of tokens.
        NameStrength::Bare => false,
    }
}

/// Whether a word looks like a key and not like a word of a language, a date, a name in code or a path.
pub(super) fn looks_random(word: &str) -> bool {
    let bytes = word.as_bytes();
    if bytes.len() < SHORTEST_RANDOM
        || !bytes.iter().all(u8::is_ascii_graphic)
        || is_date(bytes)
        || is_code(word)
    {
        return false;
    }
    if word.contains("://") || word.starts_with(['/', '<', '{', '[', '(']) {
        return false;
    }
    let has = |kind: fn(&u8) -> bool| bytes.iter().any(kind);
    let letters = has(u8::is_ascii_alphabetic);
    let is_mark = |byte: &u8| matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*');
    if letters && (has(u8::is_ascii_digit) || has(is_mark)) {
        return true;
    }
    // Capitals inside of a word: `getUserName` has few, a random text one at every fourth letter.
    let humps =
        bytes.windows(2).filter(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase()).count();
    letters
        && (humps > 1 && humps * 5 >= bytes.len()
            || bytes.len() >= LONGEST_WORD && !word.contains(['-', '_', '.', '/', ',']))
}

/// `2026-11-17T03:00:00Z`
fn is_date(bytes: &[u8]) -> bool {
    bytes.len() >= 10
        && bytes[..10].iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => matches!(byte, b'-' | b'/' | b'.'),
            _ => byte.is_ascii_digit(),
        })
        && bytes.get(10).is_none_or(|byte| matches!(byte, b'T' | b' '))
}

/// `get_token(…)`, `os.environ["TOKEN"]`, `Optional[str]`, `config.api_key`
fn is_code(word: &str) -> bool {
    if let Some((owner, member)) = word.rsplit_once('.')
        && is_path(owner)
        && is_path(member)
        && is_secret_name(member)
    {
        return true;
    }
    let name = word.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '.'));
    let Some(end) = name.filter(|end| *end > 0 && !word.as_bytes()[0].is_ascii_digit()) else { return false };
    // A word ends before a quotation mark: `os.environ[`.
    word[end..].starts_with('(')
        || word[end..].starts_with('[') && (word[end..].contains(']') || word.len() == end + 1)
}

/// Names of code with points between them.
fn is_path(text: &str) -> bool {
    text.split('.').all(|name| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// Whether a word after a name is said about the secret, or stands in for it: `required`, `<token>`, `${TOKEN}`, `***`.
pub(super) fn is_ordinary(word: &str) -> bool {
    let first = word.chars().next().unwrap_or(' ');
    let is_variable = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    };
    word.is_empty()
        || ORDINARY.contains(&&*word.to_ascii_lowercase())
        || word.chars().all(|c| c == first) && !first.is_ascii_digit()
        || word.chars().all(|c| !c.is_alphanumeric())
        || first == '<'
        || word.starts_with("${")
        || word.starts_with("{{")
        || word.starts_with('{') && word.ends_with('}')
        || word.strip_prefix('$').is_some_and(is_variable)
        || is_code(word)
}

/// Where the placeholder of [`super::scrub`] that a text begins with ends.
pub(super) fn placeholder_end(text: &str) -> Option<usize> {
    let kind = text.strip_prefix('[')?;
    let end = kind.find(|c: char| !c.is_ascii_lowercase() && !matches!(c, '_' | '-' | '0'..='9'))?;
    (kind[..end].ends_with("-secret") && kind[end..].starts_with(']')).then_some(end + 2)
}

/// The inside of the quotation that begins here, and the end of its mark. JSON inside of a text has escaped marks.
pub(super) fn quotation(text: &str, at: usize) -> Option<(Range<usize>, usize)> {
    let bytes = text.as_bytes();
    let escapes = bytes[at..].iter().take(MOST_ESCAPES + 1).take_while(|byte| **byte == b'\\').count();
    let mark = *bytes.get(at + escapes).filter(|byte| matches!(byte, b'"' | b'\'' | b'`'))?;
    if escapes > MOST_ESCAPES {
        return None;
    }
    let start = at + escapes + 1;
    let (mut end, mut slashes) = (start, 0);
    while let Some(byte) = bytes.get(end).filter(|byte| **byte != b'\n') {
        let is_escaped = if escapes == 0 { slashes % 2 == 1 } else { slashes > escapes };
        if *byte == mark && !is_escaped {
            let inner_end = if escapes == 0 { end } else { end - slashes };
            return Some((start..inner_end, end + 1));
        }
        slashes = if *byte == b'\\' { slashes + 1 } else { 0 };
        end += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_words_and_others() {
        for word in [
            "hunter2hunter2",
            "MqN4FIHVFX1Vm2Ytf2Se0FYC",
            "p@ssword",
            "aBcDeFgHiJkL",
            "dXNlcjpodW50ZXIycGFzcw==",
        ] {
            assert!(looks_random(word), "{word}");
        }
        for word in [
            "required",
            "AuthProvider",
            "2026-11-17",
            "2026-11-17T03:00:00Z",
            "get_token2()",
            "a1",
            "12345678",
            "pre-shared",
        ] {
            assert!(!looks_random(word), "{word}");
        }
    }

    #[test]
    fn quotations_end_at_their_own_mark() {
        assert_eq!(quotation(r#""a\"b" c"#, 0), Some((1..5, 6)));
        assert_eq!(quotation(r#"\"ab\", \"c\""#, 0), Some((2..4, 6)));
        assert_eq!(quotation("'ab", 0), None);
        assert_eq!(quotation("ab", 0), None);
    }

    #[test]
    fn schemas_are_known_by_their_words() {
        assert!(is_schema(["type", "description"], Some("string")));
        assert!(is_schema(["title"], None));
        assert!(!is_schema(["type", "value"], Some("string")));
        assert!(!is_schema(["type"], Some("bearer")));
        assert!(!is_schema([], None));
    }
}
