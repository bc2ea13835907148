//! Verbs, by what they do: the kinds that tell `delete_rows` from `read_rows`, whose object is the same.
//!
//! Verbs that act and have no kind of their own here come from the lists by which names are judged before a call.

use crate::text::{ACTING, ACTING_OR_NOUN, ACTING_WHEN_LEADING};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::LazyLock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerbKind {
    Read,
    /// Works something out, and changes nothing: `compare`, `translate`.
    Examine,
    Create,
    Change,
    Delete,
    /// Does something else: `send`, `cancel`, `refund`.
    Act,
}

impl VerbKind {
    /// The verbs for it, if it is one of the three that change something. Those that read are too common to tell anything, and
    /// the others have nothing in common.
    pub fn verbs(self) -> impl Iterator<Item = &'static str> {
        let verbs = match self {
            VerbKind::Read | VerbKind::Examine | VerbKind::Act => "",
            VerbKind::Create => CREATING,
            VerbKind::Change => CHANGING,
            VerbKind::Delete => DELETING,
        };
        verbs.split_whitespace()
    }

    pub fn is_harmless(self) -> bool {
        matches!(self, VerbKind::Read | VerbKind::Examine)
    }

    /// Whether a tool of kind `done` does something else than a query of this kind asks for. Who examines may do so by
    /// reading; verbs without a kind of their own are compared with those that read only.
    pub fn is_against(self, done: VerbKind) -> bool {
        match (self, done) {
            (VerbKind::Read | VerbKind::Examine, done) => !done.is_harmless(),
            (VerbKind::Act, _) | (_, VerbKind::Act | VerbKind::Examine) => false,
            (asked, done) => asked != done,
        }
    }
}

/// Reading verbs of tools that give several things; the other ones give one.
const LISTING: &str = "list search find query browse enumerate count";
const READING: &str = "get show read fetch retrieve view display describe lookup look check tell see inspect monitor give \
know explain download summarize preview review examine explore peek watch";
const EXAMINING: &str = "calculate compute convert translate analyze analyse compare recommend suggest track plan solve predict \
estimate determine evaluate verify validate test plot transcribe recognize detect extract parse";
const CREATING: &str = "create add insert generate build register provision new append";
const CHANGING: &str = "update modify edit change set rename patch alter configure enable disable adjust resize replace \
upgrade move lock unlock";
const DELETING: &str =
    "delete remove drop erase purge destroy clear uninstall wipe unregister empty prune discard trash kill";
/// Verbs of no such kind that are nouns or mean little: a name with one promises nothing by it.
const OTHER: &str = "send play order buy make write run execute start stop restart open close share post publish upload export import \
book reserve draw cancel notify remind invite call pay transfer use perform provide save store format compress encrypt deploy \
install schedule design load print";

/// Words that begin a question, which asks to read.
const QUESTIONS: &str =
    "what which who whom whose when where how why is are was were does do did has have any";
/// Words before a verb, which say nothing about it.
const POLITE: &str = "please can could would will you we i me us to want need like d help kindly let lets just also then now \
next finally first additionally and after that";

/// What a word is at the place of a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A common one begins a clause behind "and".
    Verb {
        kind: VerbKind,
        lists: bool,
        is_common: bool,
    },
    Question,
    Polite,
}

static ROLES: LazyLock<HashMap<&'static str, Role, RandomState>> = LazyLock::new(|| {
    let verb = |kind, lists| Role::Verb { kind, lists, is_common: true };
    let all = [
        (OTHER, verb(VerbKind::Act, false)),
        (POLITE, Role::Polite),
        (QUESTIONS, Role::Question),
        (EXAMINING, verb(VerbKind::Examine, false)),
        (LISTING, verb(VerbKind::Read, true)),
        (READING, verb(VerbKind::Read, false)),
        (CREATING, verb(VerbKind::Create, false)),
        (CHANGING, verb(VerbKind::Change, false)),
        (DELETING, verb(VerbKind::Delete, false)),
    ];
    let other = Role::Verb { kind: VerbKind::Act, lists: false, is_common: false };
    let acting = ACTING.iter().map(|word| (*word, other));
    let ours = all.iter().flat_map(|(words, role)| words.split_whitespace().map(move |word| (word, *role)));
    acting.chain(ours).collect()
});

/// How sure a word is a verb that acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sureness {
    /// `delete` is nothing else.
    Always,
    /// `order` is a noun as well.
    OrNoun,
    /// `open` is one at the start only.
    Leading,
}

static ACTS: LazyLock<HashMap<&'static str, Sureness, RandomState>> = LazyLock::new(|| {
    let lists = [
        (ACTING_WHEN_LEADING, Sureness::Leading),
        (ACTING_OR_NOUN, Sureness::OrNoun),
        (ACTING, Sureness::Always),
    ];
    lists.iter().flat_map(|(words, sure)| words.iter().map(|word| (*word, *sure))).collect()
});

/// The role of a word in its first form, where a query has its verb.
pub fn role(word: &str) -> Option<Role> {
    ROLES.get(word).copied()
}

/// The kind of a verb in its first form.
pub fn kind(word: &str) -> Option<VerbKind> {
    match role(word)? {
        Role::Verb { kind, .. } => Some(kind),
        Role::Question | Role::Polite => None,
    }
}

pub fn is_common_verb(word: &str) -> bool {
    matches!(role(word), Some(Role::Verb { is_common: true, .. }))
}

pub fn is_polite(word: &str) -> bool {
    role(word) == Some(Role::Polite)
}

/// Whether a word acts, in its first form.
pub fn acts(word: &str) -> Option<Sureness> {
    ACTS.get(word).copied()
}

/// The first forms of a verb that is not in its own: "creates" and "creating" are "create". News is nothing new.
pub fn other_forms_of_verb(word: &str) -> impl Iterator<Item = String> {
    let without = |ending: &str| word.strip_suffix(ending).filter(|base| base.len() >= 3 && *base != "new");
    let base = without("ing");
    [without("s").map(str::to_owned), base.map(str::to_owned), base.map(|base| format!("{base}e"))]
        .into_iter()
        .flatten()
}

/// Whether a word of a query can only be a verb that acts, and not say which things are meant ("deleted") or be one ("orders").
pub fn is_sure_verb(word: &str) -> bool {
    let is_sure = |word: &str| acts(word) == Some(Sureness::Always);
    is_sure(word) || word.ends_with("ing") && other_forms_of_verb(word).any(|form| is_sure(&form))
}

/// Whether a word says what was done to a thing: "deleted", "cancelled".
pub fn is_participle(word: &str) -> bool {
    let Some(base) = word.strip_suffix("ed") else { return false };
    let once = base.char_indices().next_back().map_or("", |(last, _)| &base[..last]);
    acts(base).is_some() || acts(&word[..word.len() - 1]).is_some() || acts(once).is_some()
}

/// Whether a noun means several things.
pub fn is_plural(word: &str) -> bool {
    word.len() > 3 && word.ends_with('s') && !["ss", "us", "is", "as"].iter().any(|end| word.ends_with(end))
}
