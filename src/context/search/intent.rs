//! The one rule of the ranking that is about safety: a tool that may act does not come first for a query that asks to read.
//!
//! A query asks to read if no verb of it acts, and it has a word that reads or asks, or is short: "latest orders". The verbs that
//! act are those by which names are judged before a call (`text/acting.rs`).

use super::tables::is_stop;
use super::words::{WordKind, each_wide_run, each_word};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::LazyLock;
use toolhub_text::{ACTING, ACTING_OR_NOUN, ACTING_OR_NOUN_WIDE, ACTING_WHEN_LEADING, ACTING_WIDE};

/// Reading verbs, and words that begin a question.
const READING: &[&str] = &[
    "get", "list", "read", "search", "find", "fetch", "describe", "show", "count", "lookup", "what", "which",
    "who", "when", "where", "why", "how", "is", "are",
];
/// A query with more words, besides grammar, may be about anything.
const SHORT: usize = 4;
/// After these words a verb follows; after others, a word that may be a noun is one: "the order", "latest report".
const BEFORE_VERB: &[&str] = &[
    "to", "and", "or", "then", "also", "please", "i", "we", "you", "can", "could", "should", "must", "will",
    "would", "me", "now", "just", "let", "s",
];
/// Words that say not to do what follows.
const NEGATIONS: &[&str] = &["not", "never", "without", "don", "t"];
const NEGATIONS_WIDE: &[&str] = &["不要", "不用", "不必", "无需", "别", "勿", "不"];
/// Around a Chinese verb: it tells which things are meant, as 已删除的 does.
const DONE_BEFORE: &[&str] = &["已经", "已", "被"];
const DONE_AFTER: &[&str] = &["的", "了的", "过的"];

/// Whether a query asks to read. In Chinese, where questions have many forms, one without a verb that acts does.
pub fn asks_to_read(text: &str) -> bool {
    let (mut acts, mut reads, mut content) = (false, false, 0);
    let (mut before, mut sentence) = (String::new(), u32::MAX);
    each_word(text, |word| {
        if word.kind != WordKind::Word || word.quoted {
            return;
        }
        let leads = word.sentence != sentence || BEFORE_VERB.contains(&&*before);
        acts |= !NEGATIONS.contains(&&*before) && is_acting(word.text, leads);
        reads |= READING.contains(&word.text);
        content += usize::from(!is_stop(word.text));
        word.text.clone_into(&mut before);
        sentence = word.sentence;
    });
    each_wide_run(text, |run, _| {
        acts |= acts_in_chinese(run);
        reads = true;
    });
    !acts && (reads || content <= SHORT)
}

/// The English verbs that act, and whether each is one wherever it stands.
pub static VERBS: LazyLock<HashMap<&'static str, bool, RandomState>> = LazyLock::new(|| {
    let or_noun = ACTING_OR_NOUN.iter().chain(ACTING_WHEN_LEADING).map(|verb| (*verb, false));
    or_noun.chain(ACTING.iter().map(|verb| (*verb, true))).collect()
});

/// The Chinese ones, by their first character.
pub static WIDE_VERBS: LazyLock<HashMap<char, Vec<&'static str>, RandomState>> = LazyLock::new(|| {
    let mut verbs: HashMap<char, Vec<_>, _> = HashMap::default();
    for verb in ACTING_WIDE.iter().chain(ACTING_OR_NOUN_WIDE) {
        verbs.entry(verb.chars().next().unwrap_or_default()).or_default().push(*verb);
    }
    verbs
});

/// The longest Chinese verb at the beginning of a text.
pub fn wide_verb(text: &str) -> Option<&'static str> {
    let verbs = WIDE_VERBS.get(&text.chars().next()?)?.iter().copied();
    verbs.filter(|verb| text.starts_with(verb)).max_by_key(|verb| verb.len())
}

/// Whether a word is a verb that acts, in its first form or in -ing; other forms say which things are meant ("deleted").
fn is_acting(word: &str, leads: bool) -> bool {
    let is_verb = |word: &str| VERBS.get(word).is_some_and(|is_sure| *is_sure || leads);
    let base = word.strip_suffix("ing");
    is_verb(word) || base.is_some_and(|base| is_verb(base) || is_verb(&format!("{base}e")))
}

fn acts_in_chinese(run: &str) -> bool {
    run.char_indices().any(|(at, _)| {
        let (before, rest) = run.split_at(at);
        let ends = |words: &[&str]| words.iter().any(|word| before.ends_with(word));
        let done = |after: &str| ends(DONE_BEFORE) || DONE_AFTER.iter().any(|word| after.starts_with(word));
        wide_verb(rest).is_some_and(|verb| !ends(NEGATIONS_WIDE) && !done(&rest[verb.len()..]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_reads_unless_a_verb_of_it_acts() {
        for text in [
            "show the deleted orders",
            "read orders but do not delete anything",
            "list the orders, don't cancel them",
            "where is the order that I placed last week with the new card",
            "latest orders",
            "列出订单，不要删除",
            "查看已删除的订单",
            "我的订单在哪",
        ] {
            assert!(asks_to_read(text), "{text}");
        }
        for text in [
            "delete the orders",
            "how do I delete orders",
            "show me how to cancel an order",
            "find the order and refund it",
            "book a table",
            "怎么取消订单",
            "把订单取消",
            "my dog has eaten all of the homework that my sister wrote yesterday",
        ] {
            assert!(!asks_to_read(text), "{text}");
        }
    }
}
