//! A whole command line under `command`: `"npx -y some-server"`. The place for arguments is `args`, but many write this.

use super::fields::Fields;
use std::path::Path;

/// Program and arguments, when `command` is a command line and not the name of one file with spaces. There is no shell:
/// words are split at white space, and quotes keep a word together.
pub(super) fn words(fields: &mut Fields<'_, '_>) -> Option<(String, Vec<String>)> {
    let text = fields.value("command")?.as_str()?;
    let mut words = split(text)?.into_iter();
    let (first, rest) = (words.next()?, words.collect::<Vec<_>>());
    if rest.is_empty() {
        return None;
    }
    let expanded =
        |text: &str| fields.variables.expand(text).and_then(|text| fields.variables.expand_home(&text));
    let is_file = |text: &str| expanded(text).is_ok_and(|path| Path::new(&path).is_file());
    let is_bare = !first.contains(['/', '\\']);
    if is_file(text) || !(is_bare || is_file(&first)) {
        return None;
    }
    fields.warn("command", "holds arguments too; they are passed on, but their place is `args`.");
    let program = fields.expand("command", &first)?;
    let args = rest.iter().map(|word| fields.expand("command", word)).collect::<Option<_>>()?;
    Some((program, args))
}

/// The words of a text; `None` when a quote is not closed. A variable `${…}` belongs to one word.
fn split(text: &str) -> Option<Vec<String>> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let (mut quote, mut in_variable) = (None, false);
    let mut before = ' ';
    for c in text.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'') if !in_variable => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, _) if c.is_whitespace() && !in_variable => words.extend(word.take()),
            _ => {
                in_variable = c != '}' && (in_variable || (before == '$' && c == '{'));
                word.get_or_insert_default().push(c);
            }
        }
        before = c;
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::split;
    use proptest::prelude::*;

    #[test]
    fn words_are_split_as_a_reader_expects() {
        for (text, expected) in [
            ("npx -y foo", Some(vec!["npx", "-y", "foo"])),
            ("  npx\t-y  ", Some(vec!["npx", "-y"])),
            (r#"node "my server.js" ''"#, Some(vec!["node", "my server.js", ""])),
            (r"C:\tools\x.exe -v", Some(vec![r"C:\tools\x.exe", "-v"])),
            ("run ${HOME:-a b}/x --k='1 2'", Some(vec!["run", "${HOME:-a b}/x", "--k=1 2"])),
            ("say 'open", None),
            ("", Some(vec![])),
        ] {
            let words = split(text);
            assert_eq!(
                words.as_ref().map(|words| words.iter().map(String::as_str).collect()),
                expected,
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn plain_words_come_back(words in prop::collection::vec("[a-z0-9@/._=-]{1,12}", 0..6)) {
            prop_assert_eq!(split(&words.join(" ")), Some(words));
        }

        #[test]
        fn any_text_can_be_split(text in any::<String>()) {
            split(&text);
        }
    }
}
