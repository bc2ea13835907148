//! Secrets inside a text, by the places that are [published](super): a member of JSON, `name=value`, a header, the user of an
//! address. A text is read once for each, and what was read is not read again, so that the time grows with the length.

use super::names::{NameStrength, name_strength};
use super::value_rules::{is_named_secret, looks_random, placeholder_end, quotation};
use std::ops::Range;

/// Headers whose names are those of other things, too, so they count only with their own spelling.
const HEADERS: &[&str] = &["authorization", "cookie"];
/// Schemes of the header `Authorization`.
const SCHEMES: &[&str] =
    &["bearer", "basic", "token", "digest", "apikey", "negotiate", "hawk", "aws4-hmac-sha256"];
/// The shortest word before the `@` of an address that is taken for a token and not for a user.
const SHORTEST_URL_TOKEN: usize = 10;
/// A name is not longer.
const LONGEST_NAME: usize = 100;
/// What follows the name of a secret and begins so stands in for it: `<token>`, `${TOKEN}`, `***`.
const STAND_INS: [char; 6] = ['<', '$', '{', '[', '(', '*'];

/// The secrets in a text, each under the name or in the place that makes it one:
/// `Authorization: Bearer …`, `--password=…`, `?token=…`, `https://user:…@host`.
pub fn secrets_in(text: &str) -> Vec<&str> {
    places_in(text).into_iter().map(|place| &text[place]).collect()
}

/// The places of the secrets, in order; no two overlap.
pub(super) fn places_in(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    named(text, &mut found);
    in_addresses(text, &mut found);
    found.retain(|place| !place.is_empty() && placeholder_end(&text[place.clone()]) != Some(place.len()));
    // Of two that begin together, the longer one; what begins inside of another is a part of it.
    found.sort_by_key(|place| (place.start, std::cmp::Reverse(place.end)));
    let mut end = 0;
    found.retain(|place| {
        let is_apart = place.start >= end;
        end = end.max(place.end);
        is_apart
    });
    found
}

/// `name=value`, `"name": "value"` and `Header: value`.
fn named(text: &str, found: &mut Vec<Range<usize>>) {
    let mut read = 0;
    for at in memchr::memchr2_iter(b'=', b':', text.as_bytes()) {
        if at < read {
            continue;
        }
        let Some((name, is_quoted)) = name_before(text, at) else { continue };
        let is_header = text.as_bytes()[at] == b':' && !is_quoted;
        if is_header && !is_header_name(name) {
            continue;
        }
        let Some(strength) = name_strength(name) else { continue };
        let rest = &text[at + 1..];
        // Also `:=` and `==`.
        let start = text.len() - rest.trim_start_matches(['=', ' ', '\t']).len();
        let is_tight = start == at + 1;
        let place = match quotation(text, start) {
            Some((inner, _)) => is_named_secret(strength, name, &text[inner.clone()]).then_some(inner),
            None if is_header => header_value(text, start, name),
            None if is_quoted => None,
            None => pair_value(text, start, is_tight, (strength, name)),
        };
        if let Some(place) = place {
            read = place.end;
            found.push(place);
        }
    }
}

/// The name that ends here: in quotation marks, or a word.
fn name_before(text: &str, at: usize) -> Option<(&str, bool)> {
    let before = text[..at].trim_end_matches([' ', '\t', ':']);
    let inner = before.trim_end_matches(['"', '\'', '`']);
    let window = inner.ceil_char_boundary(inner.len().saturating_sub(LONGEST_NAME));
    if inner.len() < before.len() {
        let mark = before.as_bytes()[inner.len()];
        let inner = inner.trim_end_matches('\\');
        let window = window.min(inner.len());
        let opening = inner.as_bytes()[window..].iter().rposition(|byte| *byte == mark)?;
        return Some((&inner[window + opening + 1..], true)).filter(|(name, _)| !name.contains('\n'));
    }
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let name = &inner[window + inner[window..].trim_end_matches(is_name).len()..];
    (!name.is_empty()).then_some((name, false))
}

fn is_header_name(name: &str) -> bool {
    name.contains('-') || HEADERS.iter().any(|header| name.eq_ignore_ascii_case(header))
}

/// The end of the word that begins here.
fn word_end(text: &str, at: usize) -> usize {
    let is_end =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | '，' | '。' | '；' | '、');
    text[at..].find(is_end).map_or(text.len(), |end| at + end)
}

/// What a header holds: cookies to the end of the line, otherwise one word, after the scheme if there is one.
fn header_value(text: &str, start: usize, name: &str) -> Option<Range<usize>> {
    if name.to_ascii_lowercase().ends_with("cookie") {
        let end = text[start..].find(['\n', '\r', '"', '\'']).map_or(text.len(), |end| start + end);
        return Some(start..end);
    }
    let end = word_end(text, start);
    let next = text.len() - text[end..].trim_start_matches([' ', '\t']).len();
    let has_scheme = next > end && SCHEMES.contains(&&*text[start..end].to_ascii_lowercase());
    let (start, end) = if has_scheme { (next, word_end(text, next)) } else { (start, end) };
    let word = text[start..end].trim_end_matches(['.', ';', ')', ']', '}', '\\']);
    // A word of a language is said about the header (`Authorization: pending`), but not if it is all that follows a scheme.
    let ends = end == text.len() || text[end..].trim_start().starts_with(['"', '\'']);
    let is_all = has_scheme && ends;
    let is_word = !is_all && word.chars().all(char::is_alphabetic) && !looks_random(word);
    (!is_word && !word.starts_with(STAND_INS)).then_some(start..start + word.len())
}

/// The value of a pair. With blanks around the sign it may be code, and counts if it looks random.
fn pair_value(
    text: &str,
    start: usize,
    is_tight: bool,
    (strength, name): (NameStrength, &str),
) -> Option<Range<usize>> {
    let word = &text[start..word_end(text, start)];
    if word.starts_with(STAND_INS) || placeholder_end(word).is_some() {
        return None;
    }
    let word = word.find(['&', ';', '#', '<', '>']).map_or(word, |end| &word[..end]);
    let word = word.trim_end_matches(['.', ')', ']', '}', '\\']);
    let is_sure = is_tight && is_named_secret(strength, name, word);
    let counts = !word.contains(['(', '[']) && (is_sure || looks_random(word));
    (counts && !word.is_empty()).then_some(start..start + word.len())
}

/// The passwords in addresses, and tokens in the place of the user.
fn in_addresses(text: &str, found: &mut Vec<Range<usize>>) {
    for (at, scheme) in text.match_indices("://") {
        let start = at + scheme.len();
        let rest = &text[start..];
        let host = rest.find(['/', '?', '#', ' ', '"', '\'', '\n']).map_or(rest, |end| &rest[..end]);
        let Some((user, _)) = host.rsplit_once('@') else { continue };
        let range = match user.split_once(':') {
            Some((name, _)) => start + name.len() + 1..start + user.len(),
            None if text[..at].ends_with("http") || text[..at].ends_with("https") => {
                start..start + user.len()
            }
            None => continue,
        };
        let is_token = range.start > start
            || user.len() >= SHORTEST_URL_TOKEN
                && user.bytes().any(|byte| byte.is_ascii_digit())
                && looks_random(user);
        if is_token {
            found.push(range);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::names::is_secret_flag;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn secrets_are_found_in_the_published_places() {
        for (text, secrets) in [
            ("Authorization: Bearer abc.def", vec!["abc.def"]),
            ("Authorization: Basic dXNlcjpodW50ZXIycGFzcw== next", vec!["dXNlcjpodW50ZXIycGFzcw=="]),
            ("GET /x X-Api-Key: MqN4FIHVFX1Vm2Yt HTTP/1.1", vec!["MqN4FIHVFX1Vm2Yt"]),
            (
                "curl -H 'X-Api-Key: k1k1k1' --password=p2 http://h?a=1&token=t3t3t3t3&b=2",
                vec!["k1k1k1", "p2", "t3t3t3t3"],
            ),
            ("postgres://ada:p4@host/db and redis://:p5@host", vec!["p4", "p5"]),
            ("https://tok3n123456@github.com/x and https://bob@host", vec!["tok3n123456"]),
            (r#"see {"password": "p6"}"#, vec!["p6"]),
            (r#"{\"password\": \"p6\"}"#, vec!["p6"]),
            ("Cookie: theme=dark; sid=abc", vec!["theme=dark; sid=abc"]),
            ("time: 12:30, path=/a, http://host:80/x", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(secrets_in(text), secrets, "{text}");
        }
        assert!(is_secret_flag("--api-key") && !is_secret_flag("--verbose") && !is_secret_flag("token"));
    }

    #[test]
    fn no_other_place_counts() {
        for text in [
            "password: swordfish",
            "password: required",
            "The password is hunter2hunter2.",
            "max_tokens: 4096",
            "Authorization: Bearer <token>",
            "Authorization: Basic authentication is required",
            "Authorization: pending",
            "password=${DB_PASSWORD}",
            "token = get_token(user)",
            "api_key = config.api_key",
            "api_key: Optional[str] = None",
            r#"password=os.environ["PW"]"#,
            r#""auth": null, "token": true"#,
            r#""password": "string""#,
        ] {
            assert_eq!(secrets_in(text), Vec::<&str>::new(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_searched(text in "\\PC{0,200}|([\"'{}\\[\\]:=, \\\\]|password|token|bearer|://|@|-u |curl |[a-z0-9]{1,9}){0,60}") {
            for secret in secrets_in(&text) {
                prop_assert!(text.contains(secret));
            }
        }

        #[test]
        fn a_named_value_is_found(before in "[a-z ]{0,20}", value in "[a-z]{3}[!#-%+.-9=-Z^-z~]{1,20}[0-9][a-z]") {
            let text = format!("{before} --client-secret={value}");
            let found = secrets_in(&text);
            prop_assert!(found.iter().any(|one| value.starts_with(one)), "{found:?}");
        }
    }
}
