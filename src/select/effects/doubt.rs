//! Names that may say that something is changed, though no word of them is an acting verb and nothing else. Such a name does
//! not accuse a tool, but it is not evidence of a harmless one.

use super::verbs::{
    ACTING, ACTING_OR_NOUN, ACTING_WHEN_LEADING, AFTER_PARTICLES, BEFORE_PARTICIPLES, IRREGULAR_PARTICIPLES,
    JOINED_AT_THE_END, JOINING, PARTICLES, PREPOSITIONS, PRONOUNS, READING, READING_OR_NOUN, SELDOM_NOUNS,
    TRAILING,
};

/// Words that end in `ed` and are not participles.
const NOT_PARTICIPLES: &[&str] = &["bed", "embed", "feed", "need", "red", "seed", "shed", "speed", "weed"];

/// Whether the words of a name may hold another verb than the first.
pub fn is_doubtful(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    ends_in_a_verb(&words) || joins_a_verb(&words) || is_phrasal(&words) || is_causative(&words)
}

/// `time_set`, `search_push`, `fetch_push`, `get_lock_for_file`.
fn ends_in_a_verb(words: &[&str]) -> bool {
    let [first, .., last] = words else { return false };
    let may_be_noun = !READING.contains(first) || READING_OR_NOUN.contains(first);
    let seldom_noun = (1..words.len()).any(|at| {
        // What follows a preposition is a noun: `get_routes_at_stop`.
        SELDOM_NOUNS.contains(&words[at]) && !PREPOSITIONS.contains(&words[at - 1]) && ends_noun(words, at)
    });
    may_be_noun && TRAILING.contains(last) || seldom_noun || matches!(words, ["get", "set"])
}

/// Whether no noun follows the word: `push` in `fetch_push_notifications` is part of a noun, and `logged_in` in
/// `get_logged_in_users` of another.
fn ends_noun(words: &[&str], at: usize) -> bool {
    match words[at + 1..] {
        [] => true,
        [next] => PREPOSITIONS.contains(&next) || PARTICLES.contains(&next) || matches!(next, "in" | "on"),
        [next, ..] => PREPOSITIONS.contains(&next),
    }
}

/// `find_and_frobnicate`, `calculate_tax_and_file`.
fn joins_a_verb(words: &[&str]) -> bool {
    let at_the_start = words.get(1).is_some_and(|word| JOINING.contains(word))
        && words.get(2).is_some_and(|word| !READING.contains(word));
    let at_the_end =
        matches!(words, [.., join, last] if JOINING.contains(join) && JOINED_AT_THE_END.contains(last));
    at_the_start || at_the_end
}

/// `count_down`, `read_aloud`, `get_off`, `clock_in`. A state is asked for with `is` and `has`; `look up` and `find out` read.
fn is_phrasal(words: &[&str]) -> bool {
    let [verb, rest @ ..] = words else { return false };
    if matches!(words, ["is" | "has", ..] | ["find", "out", ..] | ["look", "up", ..]) {
        return false;
    }
    let is_last = rest.last().is_some_and(|word| PARTICLES.contains(word) || matches!(*word, "in" | "on"));
    if !READING.contains(verb) {
        return is_last;
    }
    let is_second = rest.first().is_some_and(|word| PARTICLES.contains(word))
        && rest.get(1).is_none_or(|next| !AFTER_PARTICLES.contains(next));
    is_last || is_second
}

/// `get_it_sent`, `get_order_shipped`, `get_fired`: the tool sees to it. `get_last_updated` and `list_files_deleted` read.
fn is_causative(words: &[&str]) -> bool {
    let get = words.first() == Some(&"get");
    (1..words.len()).any(|at| {
        let before = words[at - 1];
        let of_pronoun =
            PRONOUNS.contains(&before) && (is_participle(words[at]) || words[at].ends_with("ing"));
        let is_date = BEFORE_PARTICIPLES.contains(&before) || before.ends_with("ly");
        // Several things are described (`get_users_assigned_to_task`), one is worked on.
        let is_described = at > 1 && before.ends_with('s') && at + 1 < words.len();
        let sees_to_it = get && is_acting_participle(words[at]) && ends_noun(words, at);
        of_pronoun || sees_to_it && !is_date && !is_described
    })
}

/// Whether the word looks like a participle of any verb.
fn is_participle(word: &str) -> bool {
    IRREGULAR_PARTICIPLES.contains(&word) || word.ends_with("ed") && !NOT_PARTICIPLES.contains(&word)
}

/// Whether the word is a participle of a verb that changes something: `archived`, `shipped`, `cancelled`, `applied`.
fn is_acting_participle(word: &str) -> bool {
    if IRREGULAR_PARTICIPLES.contains(&word) {
        return !matches!(word, "set");
    }
    let Some(stem) = word.strip_suffix("ed") else { return false };
    let once =
        stem.as_bytes().windows(2).last().filter(|pair| pair[0] == pair[1]).map(|_| &stem[..stem.len() - 1]);
    let with_y = stem.strip_suffix('i').map(|stem| format!("{stem}y"));
    let stems = [Some(stem.to_owned()), Some(format!("{stem}e")), once.map(str::to_owned), with_y];
    stems.iter().flatten().any(|stem| {
        [ACTING, ACTING_OR_NOUN, ACTING_WHEN_LEADING].iter().any(|list| list.contains(&stem.as_str()))
    })
}
