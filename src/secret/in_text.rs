//! Secrets inside a text: a header, an address, a command line, a sentence, JSON.
//!
//! Every way of finding them reads a text once, and what was read is not read again, so that the time grows with the length.

use super::commands::after_flags;
use super::literals::read_literal;
use super::markup::{encoded, in_digests, in_elements, in_pairs, in_rows, labelled};
use super::names::{LABELS, NameStrength, is_secret_name, name_strength};
use super::places::{SecretPlace, name_before, word_end};
use super::signs::{SecretSign, signs_in};
use super::values::{
    is_named_secret, is_ordinary, is_placeholder, is_secret_number, looks_random, placeholder_end, quotation,
};

/// Schemes of the header `Authorization`.
const SCHEMES: &[&str] =
    &["bearer", "basic", "token", "digest", "apikey", "negotiate", "hawk", "aws4-hmac-sha256"];
/// What a server says about a cookie; the other parts of the header are values.
const COOKIE_ATTRIBUTES: &[&str] =
    &["path", "domain", "expires", "max-age", "samesite", "priority", "version"];
/// The shortest word before the `@` of an address that is taken for a token and not for a user.
const SHORTEST_URL_TOKEN: usize = 10;
/// So much of a word is read to judge it, and to find a sign inside of it that ends it. What is longer is no word.
const JUDGED: usize = 512;
/// The same for a word that a sentence says to be the password.
const SHORTEST_TOLD: usize = 8;

/// Adds the secrets that it finds.
type SecretReader = fn(&str, &mut Vec<SecretPlace>);

/// The ways of finding secrets, and the sign without which a text has none for it.
const READERS: &[(SecretSign, SecretReader)] = &[
    (SecretSign::Named, named),
    (SecretSign::Told, told),
    (SecretSign::Bearer, after_bearer),
    (SecretSign::Address, in_addresses),
    (SecretSign::Flag, after_flags),
    (SecretSign::Element, in_elements),
    (SecretSign::Label, labelled),
    (SecretSign::Row, in_rows),
    (SecretSign::Encoded, encoded),
    (SecretSign::Digest, in_digests),
    (SecretSign::Pair, in_pairs),
];

/// The secrets in a text, each under the name or in the place that makes it one:
/// `Authorization: Bearer …`, `--password=…`, `?token=…`, `https://user:…@host`.
pub fn secrets_in(text: &str) -> Vec<&str> {
    places_in(text).into_iter().map(|place| &text[place.range]).collect()
}

/// The places of the secrets, in order; no two overlap.
pub(super) fn places_in(text: &str) -> Vec<SecretPlace> {
    let signs = signs_in(text);
    let mut found = Vec::new();
    for (sign, read) in READERS {
        if signs.has(*sign) {
            read(text, &mut found);
        }
    }
    found.retain(|place| !place.range.is_empty() && !is_placeholder(&text[place.range.clone()]));
    // Of two that begin together, the longer one; what begins inside of another is a part of it.
    found.sort_by_key(|place| (place.range.start, std::cmp::Reverse(place.range.end)));
    let mut end = 0;
    found.retain(|place| {
        let is_apart = place.range.start >= end;
        end = end.max(place.range.end);
        is_apart
    });
    found
}

/// A text, and the end of the word that was read last: signs inside of one word do not make it be read again.
struct WordReader<'a> {
    text: &'a str,
    last: std::cell::Cell<(usize, usize)>,
}

impl<'a> WordReader<'a> {
    fn new(text: &'a str) -> Self {
        WordReader { text, last: std::cell::Cell::new((0, 0)) }
    }

    fn word_end(&self, at: usize) -> usize {
        let (start, end) = self.last.get();
        if start <= at && at < end {
            return end;
        }
        let end = word_end(self.text, at);
        self.last.set((at, end));
        end
    }

    /// The start of a word, by which it is judged.
    fn judged(&self, start: usize, end: usize) -> &'a str {
        let word = &self.text[start..end];
        &word[..word.floor_char_boundary(JUDGED)]
    }

    /// Where an unquoted value ends. A part of an address or of a command line ends at other signs than a word of a sentence.
    fn value_end(&self, start: usize, is_equals: bool) -> usize {
        let end = self.word_end(start);
        let signs: &[char] = if is_equals { &['&', ';', ','] } else { &['<', '>'] };
        let end = self.judged(start, end).find(signs).map_or(end, |length| start + length);
        // What belongs to the sentence or the brackets around it.
        let mut word = self.text[start..end].trim_end_matches('\\');
        if let Some(length) = placeholder_end(word) {
            return start + length;
        }
        while let Some(shorter) = word.strip_suffix(['.', ',', ';', ':', ')', ']', '}']) {
            if has_its_bracket(word) {
                break;
            }
            word = shorter;
        }
        start + word.len()
    }
}

/// Whether the bracket at the end of a word was opened in it: `Optional[str]`.
fn has_its_bracket(word: &str) -> bool {
    let opening = match word.chars().next_back() {
        Some(')') => '(',
        Some(']') => '[',
        Some('}') => '{',
        _ => return false,
    };
    let start = word.ceil_char_boundary(word.len().saturating_sub(JUDGED));
    word[start..].contains(opening)
}

/// A name before a sign, and whether it is quoted, as in JSON.
struct NamedSign<'a> {
    name: &'a str,
    is_quoted: bool,
    strength: NameStrength,
    is_equals: bool,
}

/// `name=value` and `name: value`.
fn named(text: &str, found: &mut Vec<SecretPlace>) {
    let words = WordReader::new(text);
    let mut read = 0;
    for (at, sign) in text.match_indices(['=', ':', '：']) {
        if at < read {
            continue;
        }
        let Some((name, is_quoted)) = name_before(text, at) else { continue };
        let Some(strength) = name_strength(name) else { continue };
        let sign_at = NamedSign { name, is_quoted, strength, is_equals: sign == "=" };
        let rest = &text[at + sign.len()..];
        // Also `=>`, `:=` and `==`.
        let start = text.len() - rest.trim_start_matches(['=', '>', ' ', '\t']).len();
        read = read_value(&words, start, &sign_at, found);
    }
}

/// Reads what stands after the sign, and adds it if it is a secret. The end of what needs no second look.
fn read_value(
    words: &WordReader<'_>,
    start: usize,
    sign: &NamedSign<'_>,
    found: &mut Vec<SecretPlace>,
) -> usize {
    let text = words.text;
    let rest = &text[start..];
    if let Some(end) = placeholder_end(rest) {
        return start + end;
    }
    if let Some((inner, end)) = quotation(text, start) {
        let value = &text[inner.clone()];
        let is_sentence = !sign.is_quoted && sign.strength != NameStrength::Strong && value.contains(' ');
        // `<add key="ApiKey" value="…"/>`
        let is_label =
            sign.name.rsplit(' ').next().is_some_and(|word| LABELS.contains(&word)) && is_secret_name(value);
        if !is_sentence && !is_label && is_named_secret(sign.strength, sign.name, value) {
            found.push(SecretPlace { range: inner, quote: None });
            return end;
        }
        return start;
    }
    if let Some((start, end)) = value_below(text, start) {
        found.push(SecretPlace { range: start..end, quote: None });
        return end;
    }
    if rest.starts_with(['[', '{', '(']) {
        return read_literal(text, start, sign.strength, found);
    }
    if !sign.is_equals && sign.name.to_ascii_lowercase().ends_with("cookie") {
        return read_cookies(text, start, found);
    }
    read_word(words, start, sign, found)
}

/// A key that stands alone on the next line, further inside: `password:` or `password: |`.
fn value_below(text: &str, at: usize) -> Option<(usize, usize)> {
    let line = text[at..].trim_start_matches(['|', '>', '-']).strip_prefix('\n')?;
    let word = line.trim_start_matches([' ', '\t']);
    let start = text.len() - word.len();
    let end = word_end(text, start);
    let is_inside = word.len() < line.len();
    let is_alone = text[end..].trim_start_matches([' ', '\t', '\r']).chars().next().is_none_or(|c| c == '\n');
    (is_inside && is_alone && looks_random(&text[start..end])).then_some((start, end))
}

fn read_word(
    words: &WordReader<'_>,
    start: usize,
    sign: &NamedSign<'_>,
    found: &mut Vec<SecretPlace>,
) -> usize {
    let text = words.text;
    let end = words.value_end(start, sign.is_equals);
    let word = words.judged(start, end);
    let next = text.len() - text[end..].trim_start_matches([' ', '\t']).len();
    if SCHEMES.contains(&&*word.to_ascii_lowercase()) && next > end {
        let scheme_end = end;
        let end = words.value_end(next, false);
        let value = words.judged(next, end);
        // `Digest username="bob", response="…"` has the names of its parts.
        if word.eq_ignore_ascii_case("digest") && value.ends_with('=') {
            return scheme_end;
        }
        let is_header = sign.strength == NameStrength::Strong || looks_random(value);
        if is_header && !is_ordinary(value) && placeholder_end(value).is_none() {
            found.push(SecretPlace { range: next..end, quote: None });
            return end;
        }
        return scheme_end;
    }
    if is_value(text, (word, end), sign) {
        let is_json = sign.is_quoted && word.bytes().all(|byte| byte.is_ascii_digit());
        found.push(SecretPlace { range: start..end, quote: is_json.then_some('"') });
        return end;
    }
    start
}

/// Whether the word after a name is the secret.
fn is_value(text: &str, (word, end): (&str, usize), sign: &NamedSign<'_>) -> bool {
    if word.is_empty() || is_ordinary(word) || placeholder_end(word).is_some() {
        return false;
    }
    if word.bytes().all(|byte| byte.is_ascii_digit()) {
        return is_secret_number(sign.strength, word);
    }
    if !is_named_secret(sign.strength, sign.name, word) {
        return false;
    }
    if sign.is_equals || looks_random(word) {
        return true;
    }
    // A token or key of a sentence may be a word: "next token: banana", "sort by key: date".
    let name = sign.name.to_ascii_lowercase();
    let is_told = name.contains(' ') && (name.ends_with("token") || name.ends_with("key"));
    let is_sure = sign.strength == NameStrength::Strong && !is_told;
    is_sure && word.is_ascii() && !word.ends_with('?') && stands_alone(text, end)
}

/// Whether no sentence goes on after a word: it ends, or another name and a sign follow.
fn stands_alone(text: &str, end: usize) -> bool {
    let rest = text[end..].trim_start_matches([' ', '\t']);
    let rest = &rest[..rest.floor_char_boundary(JUDGED)];
    let next = &rest[..word_end(rest, 0)];
    next.is_empty()
        || next.contains(['=', ':'])
        || next.starts_with([',', ';', '.', ')', ']', '}', '<', '\\'])
}

/// `sid=…; theme=…; Path=/`
fn read_cookies(text: &str, start: usize, found: &mut Vec<SecretPlace>) -> usize {
    let mut at = start;
    loop {
        let rest = &text[at..];
        let length = rest.find([';', '\n', '"', '\'']).unwrap_or(rest.len());
        let Some((name, value)) = rest[..length].split_once('=') else { break };
        if name.trim().is_empty() || name.trim().contains([' ', ':']) {
            break;
        }
        let from = at + name.len() + 1;
        let end = from + value.find(char::is_whitespace).unwrap_or(value.len());
        if !COOKIE_ATTRIBUTES.contains(&&*name.trim().to_ascii_lowercase()) {
            found.push(SecretPlace { range: from..end, quote: None });
        }
        at = end;
        if end < from + value.len() || !rest[length..].starts_with(';') {
            break;
        }
        at += 1;
    }
    at
}

/// "The password is …", and `password …` without a verb.
fn told(text: &str, found: &mut Vec<SecretPlace>) {
    let words = WordReader::new(text);
    let is_netrc = text.contains("machine ") && text.contains("login ");
    for (at, _) in text.match_indices("assword ") {
        let at = at + "assword".len();
        let end = words.value_end(at + 1, false);
        let word = words.judged(at + 1, end);
        let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
        let is_told = word.len() >= SHORTEST_TOLD && has_digit && looks_random(word);
        if is_told || is_netrc && !is_ordinary(word) {
            found.push(SecretPlace { range: at + 1..end, quote: None });
        }
    }
    for verb in [" is", " was", " to", "是", "为"] {
        for (at, verb) in text.match_indices(verb) {
            let rest = &text[at + verb.len()..];
            let value = rest.trim_start_matches([' ', '\t', ':', '：']);
            if verb.is_ascii() && value.len() == rest.len() {
                continue;
            }
            let start = text.len() - value.len();
            let (start, end) = match quotation(text, start) {
                Some((inner, _)) => (inner.start, inner.end),
                None => (start, words.value_end(start, false)),
            };
            let word = words.judged(start, end);
            let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
            if word.len() >= SHORTEST_TOLD
                && has_digit
                && looks_random(word)
                && name_before(text, at)
                    .is_some_and(|(name, _)| name_strength(name).is_some_and(|one| one > NameStrength::Bare))
            {
                found.push(SecretPlace { range: start..end, quote: None });
            }
        }
    }
}

fn after_bearer(text: &str, found: &mut Vec<SecretPlace>) {
    let words = WordReader::new(text);
    let is_end = |c: char| matches!(c, ' ' | '"' | '\'' | '\n');
    let (mut at, mut follows) = (0, false);
    for word in text.split(is_end) {
        let start = at;
        at += word.len() + 1;
        if word.is_empty() {
            continue;
        }
        if follows {
            let end = words.value_end(start, false);
            let value = words.judged(start, end);
            let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
            if (has_digit || looks_random(value)) && !is_ordinary(value) {
                found.push(SecretPlace { range: start..end, quote: None });
            }
        }
        follows = word.eq_ignore_ascii_case("bearer");
    }
}

/// The passwords in addresses, and tokens in the place of the user.
fn in_addresses(text: &str, found: &mut Vec<SecretPlace>) {
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
            found.push(SecretPlace { range, quote: None });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::places::is_secret_flag;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn secrets_are_found_by_their_name_or_place() {
        for (text, secrets) in [
            ("Authorization: Bearer abc.def", vec!["abc.def"]),
            ("Authorization: Basic dXNlcjpodW50ZXIycGFzcw== next", vec!["dXNlcjpodW50ZXIycGFzcw=="]),
            ("GET /x X-Api-Key: MqN4FIHVFX1Vm2Yt HTTP/1.1", vec!["MqN4FIHVFX1Vm2Yt"]),
            (
                "curl -H 'X-Api-Key: k1k1k1' --password=p2 http://h?a=1&token=t3&b=2",
                vec!["k1k1k1", "p2", "t3"],
            ),
            ("postgres://ada:p4@host/db and redis://:p5@host", vec!["p4", "p5"]),
            ("https://tok3n123456@github.com/x and https://bob@host", vec!["tok3n123456"]),
            (r#"{"password": "p6", "api_keys": ["a", "b"], "pin": 1234}"#, vec!["p6", "a", "b", "1234"]),
            (r#"{\"password\": \"p6\"}"#, vec!["p6"]),
            ("{'token': {'value': 'hunter2hunter2'}}", vec!["hunter2hunter2"]),
            ("use bearer t7 now", vec!["t7"]),
            ("password: hunter2hunter2 user: bob", vec!["hunter2hunter2"]),
            ("password: swordfish\nuser: bob", vec!["swordfish"]),
            ("The password is hunter2hunter2.", vec!["hunter2hunter2"]),
            ("密码：hunter2hunter2，然后", vec!["hunter2hunter2"]),
            ("curl -u bob:hunter2 https://x", vec!["hunter2"]),
            ("mysql -phunter2 -u root", vec!["hunter2"]),
            ("--api-key hunter2hunter2 --verbose", vec!["hunter2hunter2"]),
            ("docker login -u bob -p hunter2hunter2 host", vec!["hunter2hunter2"]),
            ("Your new API key is: hunter2hunter2", vec!["hunter2hunter2"]),
            (r#"The password is "hunter2hunter2"."#, vec!["hunter2hunter2"]),
            ("您的密钥是 hunter2hunter2，请保管", vec!["hunter2hunter2"]),
            ("Cookie: theme=dark; sid=abc", vec!["dark", "abc"]),
            ("Set-Cookie: sid=abc; Path=/; HttpOnly", vec!["abc"]),
            ("time: 12:30, path=/a, http://host:80/x", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(secrets_in(text), secrets, "{text}");
        }
        assert!(is_secret_flag("--api-key") && !is_secret_flag("--verbose") && !is_secret_flag("token"));
    }

    #[test]
    fn words_about_secrets_are_none() {
        for text in [
            "password: required",
            "token count: 512",
            "max_tokens: 4096",
            "max tokens: 4096",
            "tokens: [1,2]",
            "tokens: 512",
            "secretary: Bob",
            "author: Jane Doe",
            "Session: morning",
            "Signature: Jane",
            "primary key: customer_number_1",
            "Token: the answer is 5",
            "Authorization: Bearer <token>",
            "Authorization: Basic authentication is required",
            "password=${DB_PASSWORD}",
            "token = get_token(user)",
            "a bearer of bad news",
            "use the --token option",
            "密码：不能为空",
            r#""password": {"type": "string", "description": "The password"}"#,
            r#""auth": null, "token": true"#,
            "docker run -u 1000:1000 curl",
            "docker login reg && docker run -p 8080:80 x",
            "sort by key: date",
            "unlock key: Escape",
            "password: n/a",
            "Passwort: falsch",
            "contraseña: incorrecta",
            "Authorization: pending",
            r#"password=os.environ["PW"]"#,
            "api_key = config.api_key",
            "api_key: Optional[str] = None",
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
        fn a_named_value_is_found(before in "[a-z ]{0,20}", value in "[a-z]{3}[!#-%+.-9<-Z^-z~]{1,20}[0-9][a-z]") {
            let text = format!("{before} --client-secret={value}");
            let found = secrets_in(&text);
            prop_assert!(found.iter().any(|one| value.starts_with(one)), "{found:?}");
        }
    }
}
