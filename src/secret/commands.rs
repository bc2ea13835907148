//! Secrets on a command line: `--token VALUE`, `curl -u user:VALUE`, `mysql -pVALUE`.

use super::places::{SecretPlace, is_secret_flag, word_end};
use super::values::{is_ordinary, is_placeholder, looks_random, quotation};

/// How a flag is followed by a secret.
#[derive(Clone, Copy)]
enum FlagForm {
    /// `-u user:VALUE`
    Pair,
    /// `-pVALUE`
    Joined,
    /// `-p VALUE` and `-pVALUE`
    Either,
    /// The same, for a flag that is another one of other commands of the program: `docker run -p 80:80`.
    Random,
}

/// Flags whose names do not say that they take a secret, and a program that has them.
const FLAGS: &[(&str, &str, FlagForm)] = &[
    ("curl", "-u", FlagForm::Pair),
    ("curl", "-U", FlagForm::Pair),
    ("curl", "--user", FlagForm::Pair),
    ("curl", "--proxy-user", FlagForm::Pair),
    ("http", "-a", FlagForm::Pair),
    ("mysql", "-p", FlagForm::Joined),
    ("mariadb", "-p", FlagForm::Joined),
    ("sshpass", "-p", FlagForm::Either),
    ("redis-cli", "-a", FlagForm::Either),
    ("docker login", "-p", FlagForm::Random),
    ("podman login", "-p", FlagForm::Random),
    ("registry login", "-p", FlagForm::Random),
    ("az login", "-p", FlagForm::Random),
    ("az acr login", "-p", FlagForm::Random),
    ("oc login", "-p", FlagForm::Random),
];

/// Adds the secrets that stand after flags.
pub(super) fn after_flags(text: &str, found: &mut Vec<SecretPlace>) {
    let programs: Vec<bool> = FLAGS.iter().map(|(program, _, _)| text.contains(program)).collect();
    for (at, _) in text.match_indices('-') {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| !c.is_whitespace() && !matches!(c, '"' | '\'' | '`')) {
            continue;
        }
        let end = word_end(text, at);
        let word = &text[at..end];
        if is_secret_flag(word) {
            // A sentence about a flag goes on with a word, a command line with a value.
            let value = next_word(text, end).filter(|(start, end)| looks_random(&text[*start..*end]));
            found.extend(value.map(|(start, end)| SecretPlace { range: start..end, quote: None }));
            continue;
        }
        if is_user_flag(word.trim_end_matches('\\'))
            && let Some(range) = after_listed_flag(text, end)
        {
            found.push(SecretPlace { range, quote: None });
            continue;
        }
        for ((_, flag, form), is_there) in FLAGS.iter().zip(&programs) {
            if let Some(range) = is_there.then(|| after_flag(text, (at, end), flag, *form)).flatten() {
                found.push(SecretPlace { range, quote: None });
                break;
            }
        }
    }
}

/// Whether `user:password` follows this flag of some programs.
pub(super) fn is_user_flag(word: &str) -> bool {
    matches!(word, "-u" | "-U" | "--user" | "--proxy-user")
}

/// Where the password of `user:password` begins, if it looks like one.
pub(super) fn password_of_pair(pair: &str) -> Option<usize> {
    let (user, password) = pair.split_once(':')?;
    (looks_random(password) && !is_placeholder(password)).then_some(user.len() + 1)
}

/// The place of the password in a list: `"-u", "bob:…"`.
fn after_listed_flag(text: &str, end: usize) -> Option<std::ops::Range<usize>> {
    let rest = text[end..].trim_start_matches('\\').strip_prefix(['"', '\''])?;
    let rest = rest.trim_start().strip_prefix(',')?.trim_start();
    let (inner, _) = quotation(text, text.len() - rest.len())?;
    let start = password_of_pair(&text[inner.clone()])?;
    Some(inner.start + start..inner.end)
}

fn after_flag(
    text: &str,
    (at, end): (usize, usize),
    flag: &str,
    form: FlagForm,
) -> Option<std::ops::Range<usize>> {
    let rest = text[at..end].strip_prefix(flag)?;
    let joined = (at + flag.len() + usize::from(rest.starts_with('=')), end);
    let (start, end) = match form {
        _ if !rest.is_empty() && flag.starts_with("--") && !rest.starts_with('=') => return None,
        FlagForm::Joined if rest.is_empty() => return None,
        _ if rest.is_empty() => next_word(text, end)?,
        _ => joined,
    };
    let start = match form {
        // `docker run -u 1000:1000` is a user and a group.
        FlagForm::Pair => {
            let value = &text[start..end];
            let (user, password) = value.split_once(':')?;
            let is_id = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            if password.is_empty() || is_id(user) && is_id(password) && !user.is_empty() {
                return None;
            }
            start + user.len() + 1
        }
        FlagForm::Random if !looks_random(&text[start..end]) => return None,
        FlagForm::Joined | FlagForm::Either | FlagForm::Random => start,
    };
    let value = &text[start..end];
    (!is_ordinary(value) && !is_placeholder(value)).then_some(start..end)
}

/// The word after a flag on the same line, without its quotation marks.
fn next_word(text: &str, at: usize) -> Option<(usize, usize)> {
    let rest = &text[at..];
    let start = at + rest.len() - rest.trim_start_matches([' ', '\t']).len();
    if start == at || text[start..].starts_with(['-', '\n']) {
        return None;
    }
    match quotation(text, start) {
        Some((inner, _)) => Some((inner.start, inner.end)),
        None => Some((start, word_end(text, start))),
    }
}
