//! Secrets inside a text that a call carries: a header, an address, a command line.

use super::names::is_secret_name;

/// The secrets in a text, each under the name or in the place that makes it one:
/// `Authorization: Bearer …`, `--password=…`, `?token=…`, `https://user:…@host`.
pub fn secrets_in(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = named(text).collect();
    found.extend(after_bearer(text));
    found.extend(passwords(text));
    found
}

/// Whether this is the flag whose value is the next word of a command line: `--token`.
pub fn is_secret_flag(word: &str) -> bool {
    word.starts_with('-') && !word.contains(['=', ' ']) && is_secret_name(word.trim_start_matches('-'))
}

/// `name=value` and `name: value`.
fn named(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(['=', ':']).filter_map(|(at, sign)| {
        let before = text[..at].trim_end_matches(['"', '\'', ' ']);
        let start = before.rfind(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.'));
        let name =
            &before[start.map_or(0, |at| at + before[at..].chars().next().map_or(0, char::len_utf8))..];
        if !is_secret_name(name) {
            return None;
        }
        let value = text[at + 1..].trim_start_matches(['"', '\'', ' ']);
        // A header has its whole line, a part of an address or a command line ends with its word.
        let ends: &[char] =
            if sign == ":" { &['\n', '"', '\''] } else { &[' ', '\n', '\t', '&', ';', ',', '"', '\''] };
        Some(value.split(ends).next().unwrap_or(value)).filter(|value| !value.is_empty())
    })
}

fn after_bearer(text: &str) -> impl Iterator<Item = &str> {
    let is_scheme = |word: &&str| word.eq_ignore_ascii_case("bearer");
    let mut words = text.split([' ', '"', '\'', '\n']).filter(|word| !word.is_empty());
    std::iter::from_fn(move || words.find(is_scheme).and_then(|_| words.next()))
}

/// The passwords in addresses.
fn passwords(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("://").filter_map(|(at, scheme)| {
        let rest = &text[at + scheme.len()..];
        let host = rest.split(['/', '?', '#', ' ', '"', '\'', '\n']).next()?;
        let (_, password) = host.rsplit_once('@')?.0.split_once(':')?;
        Some(password).filter(|password| !password.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn secrets_are_found_by_their_name_or_place() {
        for (text, secrets) in [
            ("Authorization: Bearer abc.def", vec!["Bearer abc.def", "abc.def"]),
            ("curl -H 'X-Api-Key: k1' --password=p2 http://h?a=1&token=t3&b=2", vec!["k1", "p2", "t3"]),
            ("postgres://ada:p4@host/db and redis://:p5@host", vec!["p4", "p5"]),
            (r#"{"password": "p6"}"#, vec!["p6"]),
            ("use bearer t7 now", vec!["t7"]),
            ("time: 12:30, path=/a, http://host:80/x", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(secrets_in(text), secrets, "{text}");
        }
        assert!(is_secret_flag("--api-key") && !is_secret_flag("--verbose") && !is_secret_flag("token"));
    }

    proptest! {
        #[test]
        fn any_text_can_be_searched(text in "\\PC{0,200}") {
            for secret in secrets_in(&text) {
                prop_assert!(text.contains(secret));
            }
        }

        #[test]
        fn a_named_value_is_found(before in "[a-z ]{0,20}", value in "[!#-%+-9<-~]{1,20}") {
            let text = format!("{before} --client-secret={value}");
            let found = secrets_in(&text);
            prop_assert!(value.starts_with([';', ',', '&']) || found.iter().any(|one| value.starts_with(one)), "{found:?}");
        }
    }
}
