//! Deeds in a text: past forms of the verbs by which names are judged before a call, and words that mean the same.

use super::bilingual::bilingual;
use super::stop::is_stop;
use super::synonyms::synonyms;
use super::verbs::VerbKind;
use super::{chinese_verbs, verbs};
use crate::text::{
    ACTING, ACTING_OR_NOUN, ACTING_OR_NOUN_WIDE, ACTING_WHEN_LEADING, ACTING_WIDE, RunKind, first_run, words,
};
use rust_stemmers::{Algorithm, Stemmer};
use std::collections::BTreeSet;

/// Past forms that no rule gives. Verbs whose meaning is in their object ("made sure", "took a look") are left out: they claim
/// nothing.
#[rustfmt::skip]
const IRREGULAR: &[(&str, &str)] = &[
    ("bought", "buy"), ("bound", "bind"), ("broadcast", "broadcast"), ("cut", "cut"), ("forgotten", "forget"), ("froze", "freeze"),
    ("frozen", "freeze"), ("hid", "hide"), ("hidden", "hide"), ("lent", "lend"), ("overwritten", "overwrite"),
    ("overwrote", "overwrite"), ("paid", "pay"), ("quit", "quit"), ("ran", "run"), ("rebuilt", "rebuild"), ("repaid", "repay"),
    ("resent", "resend"), ("reset", "reset"), ("rewritten", "rewrite"), ("rewrote", "rewrite"), ("sent", "send"), ("set", "set"),
    ("shut", "shut"), ("sold", "sell"), ("spent", "spend"), ("undid", "undo"), ("undone", "undo"), ("unset", "unset"),
    ("withdrawn", "withdraw"), ("withdrew", "withdraw"), ("woken", "wake"), ("written", "write"), ("wrote", "write"),
];

/// A verb that changes something, in a form that says that it was done; in Chinese verbs have one form.
#[derive(Debug, PartialEq, Eq)]
pub struct Deed {
    /// Where it stands, in characters.
    pub start: usize,
    pub end: usize,
    pub verb: &'static str,
}

/// The deeds in a text.
pub fn deeds_in(text: &str) -> Vec<Deed> {
    let (mut found, mut rest, mut start) = (Vec::new(), text, 0);
    while let Some((kind, len)) = first_run(rest) {
        let (run, next) = rest.split_at(len);
        let end = start + run.chars().count();
        match kind {
            RunKind::Narrow => found.extend(past_of(run).map(|verb| Deed { start, end, verb })),
            RunKind::Wide => wide_deeds(run, start, &mut found),
            RunKind::Mark => {}
        }
        (rest, start) = (next, end);
    }
    found
}

/// The verb of which a word is a past form.
fn past_of(word: &str) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    if let Some((_, verb)) = IRREGULAR.iter().find(|(form, _)| *form == word) {
        return Some(verb);
    }
    let stem = word.strip_suffix("ed")?;
    let once = stem.char_indices().next_back().map(|(last, _)| stem[..last].to_owned());
    let with_y = stem.strip_suffix('i').map(|stem| format!("{stem}y"));
    [Some(stem.to_owned()), Some(format!("{stem}e")), with_y, once.filter(|once| doubles(once, stem))]
        .into_iter()
        .flatten()
        .find_map(|base| acting(&base))
}

/// Whether the last letter of a stem is there twice: "shipp" for "ship".
fn doubles(once: &str, stem: &str) -> bool {
    once.chars().next_back() == stem.chars().next_back()
}

fn acting(word: &str) -> Option<&'static str> {
    [ACTING, ACTING_OR_NOUN, ACTING_WHEN_LEADING]
        .iter()
        .find_map(|verbs| verbs.iter().find(|verb| **verb == word))
        .copied()
}

/// The longest verbs in a run of Chinese characters, from left to right.
fn wide_deeds(run: &str, from: usize, found: &mut Vec<Deed>) {
    let (mut rest, mut start) = (run, from);
    while let Some(c) = rest.chars().next() {
        let verbs = ACTING_WIDE.iter().chain(ACTING_OR_NOUN_WIDE).filter(|verb| rest.starts_with(**verb));
        let (width, len) = match verbs.max_by_key(|verb| verb.len()) {
            Some(verb) => {
                let width = verb.chars().count();
                found.push(Deed { start, end: start + width, verb });
                (width, verb.len())
            }
            None => (1, c.len_utf8()),
        };
        (rest, start) = (&rest[len..], start + width);
    }
}

/// What all verbs of a kind have in common; those without a kind of their own have nothing.
fn tag(kind: VerbKind) -> Option<String> {
    let name = match kind {
        VerbKind::Create => "=create",
        VerbKind::Change => "=change",
        VerbKind::Delete => "=delete",
        VerbKind::Read | VerbKind::Examine | VerbKind::Act => return None,
    };
    Some(name.to_owned())
}

/// What the words of a name or a verb mean: their stems, those of their synonyms, what they are in the other language, and the
/// kind of verb. Two that mean the same have one in common.
pub fn meanings(text: &str) -> BTreeSet<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut found = BTreeSet::new();
    for word in words(text) {
        if word.is_ascii() {
            found.extend(verbs::kind(&word).and_then(tag));
            found.insert(stemmer.stem(&word).into_owned());
            continue;
        }
        let mut deeds = Vec::new();
        wide_deeds(&word, 0, &mut deeds);
        for deed in deeds {
            found.extend(chinese_verbs::kind(deed.verb).and_then(tag));
            found.insert(deed.verb.to_owned());
        }
        let translated = bilingual().map(|dictionary| dictionary.split(&word)).unwrap_or_default();
        found.extend(
            translated.iter().flat_map(|word| word.english()).map(|word| stemmer.stem(word).into_owned()),
        );
        found.insert(word);
    }
    let same: Vec<String> = found.iter().flat_map(|stem| synonyms(stem)).cloned().collect();
    found.extend(same);
    found
}

/// Whether a text names something that another one does not: an English word other than grammar, or a Chinese character.
pub fn names_more(said: &str, known: &str) -> bool {
    let stemmer = Stemmer::create(Algorithm::English);
    let means = meanings(known);
    words(said).iter().any(|word| match word.is_ascii() {
        true => !is_stop(word) && !means.contains(&*stemmer.stem(word)),
        false => word.chars().any(|c| !known.contains(c)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verbs(text: &str) -> Vec<&'static str> {
        deeds_in(text).iter().map(|deed| deed.verb).collect()
    }

    #[test]
    fn past_forms_are_deeds() {
        assert_eq!(
            verbs("I sent it, shipped, cancelled, applied, archived and wrote."),
            ["send", "ship", "cancel", "apply", "archive", "write"]
        );
        assert_eq!(verbs("Send it, read it, need it, seed it, made sure, and run."), [""; 0]);
    }

    #[test]
    fn chinese_verbs_are_deeds_where_they_stand() {
        let found = deeds_in("邮件已发送，并更新了 x");
        assert_eq!(
            found.iter().map(|deed| (deed.start, deed.verb)).collect::<Vec<_>>(),
            [(3, "发送"), (7, "更新")]
        );
    }

    #[test]
    fn both_languages_mean_the_same() {
        assert!(!meanings("发送").is_disjoint(&meanings("send_mail")));
        assert!(!meanings("删除").is_disjoint(&meanings("removeFile")));
        assert!(!meanings("清空").is_disjoint(&meanings("wipe_disk")));
        assert!(meanings("delete").is_disjoint(&meanings("send_mail")));
    }
}
