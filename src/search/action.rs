//! What a query asks to be done, and what the name of a tool promises to do.
//!
//! A query or a name without a known verb has no kind, and agrees with everything. A short query without a verb ("latest
//! orders") asks to see what it names.

use super::stop::is_stop;
use super::verbs::{Role, Sureness, VerbKind, acts, is_plural, kind, other_forms_of_verb, role};

/// Reading verbs that any tool may answer.
const OPEN: [&str; 9] = ["give", "tell", "know", "explain", "look", "see", "check", "watch", "review"];
/// Verbs that mean to read before a thing that is there already.
const SHOWING: [&str; 3] = ["open", "print", "load"];
/// Words before a noun.
const DETERMINERS: [&str; 15] = [
    "the", "a", "an", "my", "our", "your", "his", "her", "their", "this", "that", "these", "those", "any",
    "every",
];
/// Verbs that say nothing without their object: "take a look".
const LIGHT: [&str; 6] = ["take", "have", "get", "make", "give", "do"];
/// Nouns that are such an object.
const LOOKS: [&str; 9] =
    ["look", "peek", "glance", "list", "overview", "summary", "count", "check", "preview"];
const ARTICLES: [&str; 10] = ["a", "an", "the", "me", "us", "another", "some", "quick", "short", "closer"];
/// Verbs of several words.
const PHRASES: [(&[&str], VerbKind); 16] = [
    (&["set", "up"], VerbKind::Create),
    (&["look", "at"], VerbKind::Read),
    (&["look", "up"], VerbKind::Read),
    (&["pull", "up"], VerbKind::Read),
    (&["bring", "up"], VerbKind::Read),
    (&["print", "out"], VerbKind::Read),
    (&["find", "out"], VerbKind::Read),
    (&["get", "rid", "of"], VerbKind::Delete),
    (&["throw", "away"], VerbKind::Delete),
    (&["throw", "out"], VerbKind::Delete),
    (&["clean", "up"], VerbKind::Delete),
    (&["fill", "in"], VerbKind::Change),
    (&["fill", "out"], VerbKind::Change),
    (&["check", "in"], VerbKind::Act),
    (&["check", "out"], VerbKind::Act),
    (&["give", "back"], VerbKind::Act),
];
/// Words before a verb of a question: "how do I delete", "what is the way to delete".
const BEFORE_VERB: [&str; 11] =
    ["to", "i", "we", "you", "should", "can", "could", "must", "would", "will", "let"];
const NEGATIONS: [&str; 6] = ["not", "never", "without", "don", "doesn", "no"];
/// A longer clause without a verb may be about anything.
const NOUN_PHRASE: usize = 4;

/// What the words of one clause of a query ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClauseVerb {
    pub kind: VerbKind,
    /// The number of the word that says so; none in a clause without a verb.
    pub verb: Option<usize>,
    /// A question, or words such as "give me": what answers may do anything.
    pub is_open: bool,
}

/// Reads the words of a clause. The verb comes first, behind polite words only: "I would like to delete …".
pub fn asked(words: &[&str]) -> Option<ClauseVerb> {
    for (at, word) in words.iter().enumerate() {
        let (kind, is_open) = match role(word) {
            Some(Role::Polite) => continue,
            Some(Role::Question | Role::Verb { .. }) if is_look(&words[at..]) => (VerbKind::Read, false),
            Some(Role::Question) => (VerbKind::Read, true),
            Some(Role::Verb { kind, .. }) => phrase(&words[at..]).unwrap_or((kind, OPEN.contains(word))),
            None => match phrase(&words[at..]) {
                Some(found) => found,
                None if is_look(&words[at..]) => (VerbKind::Read, false),
                None if acts(word).is_some() && has_object(&words[at..]) => (VerbKind::Act, false),
                None if acts(word).is_some() => return None,
                None => return noun_phrase(&words[at..]),
            },
        };
        let inner = (kind == VerbKind::Read).then(|| inner_verb(&words[at + 1..], is_open)).flatten();
        let kind = inner.unwrap_or(kind);
        return Some(ClauseVerb { kind, verb: Some(at), is_open: is_open || inner.is_some() });
    }
    None
}

/// Whether a noun follows, which may look like a verb: "is the deploy done".
pub fn is_determiner(word: &str) -> bool {
    DETERMINERS.contains(&word)
}

/// "take a look", "have a quick look".
fn is_look(words: &[&str]) -> bool {
    let mut object = words[1..].iter().skip_while(|word| ARTICLES.contains(word));
    let has_article = words.get(1).is_some_and(|word| ARTICLES.contains(word));
    LIGHT.contains(&words[0]) && has_article && object.next().is_some_and(|word| LOOKS.contains(word))
}

/// Whether the first word is a verb rather than a noun: "archive the channel", "turn off", but not "order status".
fn has_object(words: &[&str]) -> bool {
    words.get(1).is_some_and(|word| is_determiner(word) || ["on", "off", "it", "them"].contains(word))
}

/// A verb of several words, and whether any tool may answer it. Who opens the order looks at it.
fn phrase(words: &[&str]) -> Option<(VerbKind, bool)> {
    if SHOWING.contains(&words[0])
        && words.get(1).is_some_and(|word| is_determiner(word) && !word.starts_with('a'))
    {
        return Some((VerbKind::Read, true));
    }
    PHRASES.iter().find(|(phrase, _)| words.starts_with(phrase)).map(|(_, kind)| (*kind, false))
}

/// The verb that a question is about, or what follows "how": "how do I delete a row", "show me how to delete a row".
fn inner_verb(words: &[&str], is_question: bool) -> Option<VerbKind> {
    let from = if is_question { 0 } else { words.iter().position(|word| *word == "how")? };
    let words = &words[from..];
    (0..words.len()).find_map(|at| {
        let before = at.checked_sub(1).map_or("", |before| words[before]);
        let is_sure = acts(words[at]) == Some(Sureness::Always);
        let is_other = NEGATIONS.contains(&before) || before == "t" || is_determiner(before);
        let is_verb = BEFORE_VERB.contains(&before) || is_sure && !is_other;
        kind(words[at]).filter(|kind| is_verb && !kind.is_harmless())
    })
}

/// "latest orders", "the orders please".
fn noun_phrase(words: &[&str]) -> Option<ClauseVerb> {
    let is_short = words.iter().filter(|word| !is_stop(word)).count() <= NOUN_PHRASE;
    let has_verb = words.iter().any(|word| acts(word) == Some(Sureness::Always));
    (is_short && !has_verb).then_some(ClauseVerb { kind: VerbKind::Read, verb: None, is_open: true })
}

/// The verbs that a clause says not to do: "do not delete anything".
pub fn negated<'w>(words: &'w [&'w str]) -> impl Iterator<Item = usize> {
    let said = words.iter().enumerate().filter(|(_, word)| NEGATIONS.contains(word));
    said.filter_map(|(at, _)| {
        let behind = at + 1 + usize::from(words.get(at + 1) == Some(&"t"));
        let verb = words.get(behind)?;
        let acts = |form: &str| kind(form).is_some_and(|kind| !kind.is_harmless());
        (acts(verb) || other_forms_of_verb(verb).any(|form| acts(&form))).then_some(behind)
    })
}

/// What the words of a name promise, one after the other. A name begins with its verb (`list_rows`) or ends with it
/// (`row_delete`, `deploy_rules_get`); behind a reading verb, other verbs are nouns (`get_update`), except those that delete. Words that may be
/// nouns (`order`) count only where there is no other verb, and not in the name of a thing (`order_status`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promise {
    pub kind: Option<VerbKind>,
    /// It gives several things, as its verb or its last word says.
    pub gives_several: bool,
    /// The kind comes from a word that may be a noun.
    pub is_doubtful: bool,
    has_begun: bool,
    /// The last word was the verb.
    ends_with_verb: bool,
}

/// Last words of names for things that are looked at.
const THINGS: &str = "status state info information detail details history stats statistics data summary report log logs id ids \
price prices tracker checker finder forecast calculator converter rate rates score scores tool planner helper assistant manager \
reader viewer app api service bot guide";

impl Promise {
    /// Takes the next word; true if it is the verb so far.
    pub fn take(&mut self, word: &str) -> bool {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        self.ends_with_verb = false;
        let known = |form: &str| match role(form) {
            Some(Role::Verb { kind, lists, .. }) => Some((kind, lists)),
            _ => None,
        };
        let is_noun = |form: &str| acts(form).is_some_and(|sure| sure != Sureness::Always);
        // "updates" at the start is a verb, "orders" hardly ever.
        let may_be = |form: &str, kind| !is_noun(form) || is_first && kind != VerbKind::Act;
        let found = match known(word).filter(|(kind, _)| *kind != VerbKind::Act || !is_noun(word)) {
            Some(found) => Some((found, is_noun(word) && !is_first)),
            None => other_forms_of_verb(word)
                .find_map(|form| known(&form).filter(|(kind, _)| may_be(&form, *kind)))
                .map(|found| (found, true)),
        };
        if let Some(((kind, lists), is_doubtful)) = found {
            return self.take_verb(kind, lists, is_doubtful);
        }
        self.gives_several |= self.kind == Some(VerbKind::Read) && is_plural(word);
        if self.is_doubtful && THINGS.split(' ').any(|thing| thing == word) {
            (self.kind, self.is_doubtful) = (None, false);
        }
        let may_act = acts(word).is_some_and(|sure| sure == Sureness::OrNoun || is_first);
        may_act && self.kind.is_none() && self.take_verb(VerbKind::Act, false, true)
    }

    fn take_verb(&mut self, kind: VerbKind, lists: bool, is_doubtful: bool) -> bool {
        self.gives_several |= lists;
        let deletes_what_it_reads =
            kind == VerbKind::Delete && !is_doubtful && self.kind == Some(VerbKind::Read);
        let names_what_acts = kind == VerbKind::Read && self.kind == Some(VerbKind::Act);
        let is_verb = self.kind.is_none()
            || self.is_doubtful && !is_doubtful
            || deletes_what_it_reads
            || names_what_acts && !lists;
        if is_verb {
            (self.kind, self.is_doubtful) = (Some(kind), is_doubtful);
        }
        self.ends_with_verb = is_verb;
        is_verb
    }

    /// To be called behind the last word: a verb of a kind of its own is one there (`namespace_update`).
    pub fn end(&mut self) {
        self.is_doubtful &= !self.ends_with_verb || self.kind == Some(VerbKind::Act);
    }

    /// Takes the verb of a name in Chinese.
    pub fn take_chinese(&mut self, kind: VerbKind, lists: bool) {
        if self.kind.is_none() {
            self.take_verb(kind, lists, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promise(name: &str) -> Promise {
        let mut promise = Promise::default();
        for word in name.split('_') {
            promise.take(word);
        }
        promise
    }

    #[test]
    fn a_name_promises_what_its_verb_does() {
        for (name, kind) in [
            ("list_rows", Some(VerbKind::Read)),
            ("rows_delete", Some(VerbKind::Delete)),
            ("get_update", Some(VerbKind::Read)),
            ("find_and_remove", Some(VerbKind::Delete)),
            ("creating_rows", Some(VerbKind::Create)),
            ("updates_row", Some(VerbKind::Change)),
            ("weather", None),
            ("send_mail", Some(VerbKind::Act)),
            ("cancel_order", Some(VerbKind::Act)),
            ("order_pizza", Some(VerbKind::Act)),
            ("order_status", None),
            ("order_list", Some(VerbKind::Read)),
            ("slack_post_message", Some(VerbKind::Act)),
            ("empty_bucket", Some(VerbKind::Delete)),
            ("find_empty_buckets", Some(VerbKind::Read)),
            ("compare_orders", Some(VerbKind::Examine)),
            ("deploy_rules_get", Some(VerbKind::Read)),
            ("news_tool", None),
            ("resume_tool", None),
            ("entropy_change_calculate", Some(VerbKind::Examine)),
            ("building_get_dimensions", Some(VerbKind::Read)),
            ("update_list", Some(VerbKind::Change)),
        ] {
            assert_eq!(promise(name).kind, kind, "{name}");
        }
    }

    #[test]
    fn a_name_promises_one_thing_or_several() {
        let several = ["row_list", "get_rows", "search_row"].map(|name| promise(name).gives_several);
        assert_eq!(several, [true; 3]);
        let one =
            ["get_row", "row_show", "delete_rows", "get_status"].map(|name| promise(name).gives_several);
        assert_eq!(one, [false; 4]);
    }

    #[test]
    fn a_clause_asks_for_what_its_verb_does() {
        for (text, kind, is_open) in [
            ("please show the deleted orders", Some(VerbKind::Read), false),
            ("take a quick look at the orders", Some(VerbKind::Read), false),
            ("have a look", Some(VerbKind::Read), false),
            ("can you pull up the orders", Some(VerbKind::Read), false),
            ("get rid of the orders", Some(VerbKind::Delete), false),
            ("is the bucket empty", Some(VerbKind::Read), true),
            ("how do i delete an order", Some(VerbKind::Delete), true),
            ("show me how to delete an order", Some(VerbKind::Delete), true),
            ("open the orders", Some(VerbKind::Read), true),
            ("open an issue", Some(VerbKind::Act), false),
            ("load data into the table", Some(VerbKind::Act), false),
            ("latest orders", Some(VerbKind::Read), true),
            ("refund the order", Some(VerbKind::Act), false),
            ("turn off lights", Some(VerbKind::Act), false),
            ("is the deploy done", Some(VerbKind::Read), true),
            ("message history", None, false),
            ("verify the order", Some(VerbKind::Examine), false),
            ("my dog has eaten the homework that i wanted to print", None, false),
        ] {
            let words: Vec<&str> = text.split(' ').collect();
            let found = asked(&words);
            assert_eq!(found.map(|found| found.kind), kind, "{text}");
            assert_eq!(found.is_some_and(|found| found.is_open), is_open, "{text}");
        }
    }

    #[test]
    fn what_is_not_to_be_done_is_known() {
        for (text, verbs) in [
            ("read orders but do not delete anything", vec!["delete"]),
            ("don t delete it", vec!["delete"]),
            ("list orders without changing them", vec!["changing"]),
            ("why can i not find it", vec![]),
        ] {
            let words: Vec<&str> = text.split(' ').collect();
            assert_eq!(negated(&words).map(|at| words[at]).collect::<Vec<_>>(), verbs, "{text}");
        }
    }
}
