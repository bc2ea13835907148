//! Names and values that no sign connects: an element of XML, attributes, a row of a table, an encoded form.

use super::names::{LABELS, NameStrength, name_strength};
use super::places::{LONGEST_NAME, SecretPlace, name_before, word_end};
use super::values::{is_named_secret, is_ordinary, is_placeholder, looks_random, quotation};

fn add(text: &str, start: usize, end: usize, found: &mut Vec<SecretPlace>) {
    let value = &text[start..end];
    if !is_ordinary(value) && !is_placeholder(value) {
        found.push(SecretPlace { range: start..end, quote: None });
    }
}

/// The end of a text, of which no more than the longest name is read.
fn tail(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(LONGEST_NAME))..]
}

/// `<password>…</password>`
pub(super) fn in_elements(text: &str, found: &mut Vec<SecretPlace>) {
    for (at, _) in text.match_indices("</") {
        let rest = &text[at + 2..];
        let name = &rest[..rest.floor_char_boundary(LONGEST_NAME)];
        let Some((name, _)) = name.split_once('>') else { continue };
        let Some(start) = text[..at].rfind(['<', '>', '\n']).map(|start| start + 1) else { continue };
        let is_opened = tail(&text[..start]).strip_suffix('>').is_some_and(|tag| tag.ends_with(name));
        let strength = name_strength(name).filter(|one| *one > NameStrength::Bare && is_opened);
        if strength.is_some_and(|strength| is_named_secret(strength, name, &text[start..at])) {
            add(text, start, at, found);
        }
    }
}

/// `key="ApiKey" value="…"`, and the same as JSON.
pub(super) fn labelled(text: &str, found: &mut Vec<SecretPlace>) {
    for (at, word) in text.match_indices("value") {
        let rest = text[at + word.len()..].trim_start_matches(['\\', '"', '\'']);
        let Some(rest) = rest.trim_start_matches([' ', '\t']).strip_prefix(['=', ':']) else { continue };
        let start = text.len() - rest.trim_start_matches([' ', '\t']).len();
        let Some((inner, _)) = quotation(text, start) else { continue };
        let is_between = |c: char| matches!(c, ' ' | '\t' | '\\' | '"' | '\'' | ',');
        let before = tail(text[..at].trim_end_matches(is_between));
        let Some(open) = before.rfind(['"', '\'']) else { continue };
        let name = &before[open + 1..];
        let label = before[..open].trim_end_matches([' ', '\\']).strip_suffix(['=', ':']);
        let label = label.map(|label| label.trim_end_matches([' ', '\\', '"', '\'']));
        let is_label = label.is_some_and(|label| LABELS.iter().any(|known| label.ends_with(known)));
        let strength = name_strength(name).filter(|_| is_label);
        if strength.is_some_and(|strength| is_named_secret(strength, name, &text[inner.clone()])) {
            add(text, inner.start, inner.end, found);
        }
    }
}

/// `| password | … |`
pub(super) fn in_rows(text: &str, found: &mut Vec<SecretPlace>) {
    let (mut at, mut is_secret) = (0, false);
    for cell in text.split_inclusive(['|', '\n']) {
        let inner = cell.trim_end_matches(['|', '\n']);
        let value = inner.trim();
        if is_secret && looks_random(value) {
            let start = at + inner.len() - inner.trim_start().len();
            add(text, start, start + value.len(), found);
        }
        is_secret = cell.ends_with('|') && value.len() <= LONGEST_NAME && name_strength(value).is_some();
        at += cell.len();
    }
}

/// Blanks and quotation marks around an encoded name or value.
const ENCODED_AROUND: &[&str] = &["%22", "%27", "%20", "+"];

/// `password%3D…%26user%3Dbob`, `%7B%22password%22%3A%22…%22%7D`
pub(super) fn encoded(text: &str, found: &mut Vec<SecretPlace>) {
    for sign in ["%3D", "%3d", "%3A", "%3a"] {
        for (at, sign) in text.match_indices(sign) {
            let mut name_end = at;
            while let Some(around) = ENCODED_AROUND.iter().find(|one| text[..name_end].ends_with(**one)) {
                name_end -= around.len();
            }
            let mut start = at + sign.len();
            while let Some(around) = ENCODED_AROUND.iter().find(|one| text[start..].starts_with(**one)) {
                start += around.len();
            }
            let rest = &text[start..];
            let length = rest.find(['%', '&', ';', ',', ' ', '"', '\'', '\n']).unwrap_or(rest.len());
            let end = start + word_end(&rest[..length], 0);
            let Some((name, _)) = name_before(text, name_end) else { continue };
            let strength = name_strength(name).filter(|one| *one > NameStrength::Bare);
            let value = &text[start..end];
            // As in a sentence, what stands after a colon may be a word.
            let is_value = sign.ends_with(['D', 'd']) || looks_random(value);
            if is_value && strength.is_some_and(|strength| is_named_secret(strength, name, value)) {
                add(text, start, end, found);
            }
        }
    }
}

/// A name and a value that are all there is in brackets: `define('DB_PASSWORD', '…')`, `["Authorization", "Bearer …"]`.
pub(super) fn in_pairs(text: &str, found: &mut Vec<SecretPlace>) {
    let quoted = |at: usize| {
        let start = text.len() - text[at..].trim_start_matches([' ', '\t']).len();
        quotation(text, start)
    };
    let mut read = 0;
    for (at, _) in
        text.match_indices(['(', '[']).filter(|(at, _)| text[at + 1..].starts_with(['"', '\'', '\\']))
    {
        if at < read {
            continue;
        }
        let Some((name, end)) = quoted(at + 1) else { continue };
        read = end;
        let name = &text[name];
        if name.len() > LONGEST_NAME || name_strength(name).is_none() {
            continue;
        }
        let Some(rest) = text[end..].trim_start_matches([' ', '\t']).strip_prefix(',') else { continue };
        let Some((value, end)) = quoted(text.len() - rest.len()) else { continue };
        let is_all = text[end..].trim_start_matches([' ', '\t']).starts_with([')', ']']);
        let inner = &text[value.clone()];
        let secret = inner.rfind(' ').map_or(inner, |blank| &inner[blank + 1..]);
        if is_all && looks_random(secret) {
            add(text, value.end - secret.len(), value.end, found);
            read = end;
        }
    }
}

/// `Authorization: Digest username="bob", response="…"`
pub(super) fn in_digests(text: &str, found: &mut Vec<SecretPlace>) {
    let Some(first) = text.find("Digest ") else { return };
    for (at, name) in text[first..].match_indices("response=") {
        let start = first + at + name.len();
        if let Some((inner, _)) = quotation(text, start) {
            add(text, inner.start, inner.end, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::in_text::secrets_in;

    #[test]
    fn values_beside_their_names_are_found() {
        for (text, secret) in [
            ("<db><password>swordfish</password></db>", "swordfish"),
            (r#"<add key="ApiKey" value="swordfish"/>"#, "swordfish"),
            (r#"{"name": "password", "value": "swordfish"}"#, "swordfish"),
            ("| user | bob |\n| password | hunter2hunter2 |", "hunter2hunter2"),
            ("user%3Dbob%26password%3Dhunter2%26x", "hunter2"),
            (r#"Authorization: Digest username="a", response="6629fae49393a053""#, "6629fae49393a053"),
            ("machine h login bob password swordfish", "swordfish"),
            ("set password to hunter2hunter2", "hunter2hunter2"),
            ("password:\n  hunter2hunter2\n", "hunter2hunter2"),
            (r#"["-u", "bob:hunter2hunter2"]"#, "hunter2hunter2"),
            ("%7B%22password%22%3A%22hunter2hunter2%22%7D", "hunter2hunter2"),
            ("define('DB_PASSWORD', 'hunter2hunter2');", "hunter2hunter2"),
            (r#"headers.set("Authorization", "Bearer hunter2hunter2")"#, "hunter2hunter2"),
        ] {
            assert_eq!(secrets_in(text), [secret], "{text}");
        }
        for text in [
            "<password/><b>x</b>",
            "<title>password</title>",
            r#"key="name" value="bob""#,
            "| password | string | required |",
            "page%3D2",
            "token%3A%20missing",
            "select('password', 'address1', 'city')",
            "translate('password', 'Passwort')",
        ] {
            assert_eq!(secrets_in(text), Vec::<&str>::new(), "{text}");
        }
    }
}
