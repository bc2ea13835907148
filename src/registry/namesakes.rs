//! Namesakes: whether tools of different servers that have one name are one tool. It is decided here, and nowhere else.
//!
//! The first line that fits counts:
//!
//! | fact | verdict |
//! |---|---|
//! | the user does not trust one of the servers (`trust: "none"`) | two tools |
//! | the user says it of both: a pattern of `strategies`, `candidates` in the file | one tool |
//! | one of them does not take an argument that the other requires | two tools |
//! | their descriptions have the same words in the same order, or nearly the same words besides those of the name | one tool |
//! | otherwise, and without a description | two tools |
//!
//! A server's tool joins the first tool whose providers are all one tool with it, in the order of registration; so the verdict
//! depends on the lists, and not on which server answered first. Native tools and skills stand beside the tools of servers as
//! ever: the user put them there. The figures are in `docs/decisions/2026-11-17-namesakes.md`.

use super::candidate::Candidate;
use super::schema::types_in;
use serde_json::Value;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use toolhub_text::{push_stem, tokens};
use toolhub_types::model::Trust;

/// The share of words that two descriptions must have in common. One word in seven names the service, so short texts must agree.
const ALIKE: f64 = 0.85;
/// A description is compared as far as this.
const DESCRIPTION_BYTES: usize = 10_000;

/// Whether the user says of a tool that it is a candidate of every tool of its name.
pub type UsersWord = Arc<dyn Fn(&Candidate) -> bool + Send + Sync>;

/// What the rule looks at, of one tool of a server.
pub(super) struct Portrait {
    pub candidate: Arc<Candidate>,
    is_candidate_by_word: bool,
    /// A digest of all words of the description; `None` without any.
    text: Option<u64>,
    /// Digests of the words that the name does not have, sorted, each once.
    besides: Vec<u64>,
}

impl Portrait {
    fn new(candidate: &Arc<Candidate>, users_word: Option<&UsersWord>) -> Self {
        let spec = candidate.spec();
        let text = stems(&spec.description[..spec.description.floor_char_boundary(DESCRIPTION_BYTES)]);
        let name = stems(&spec.name);
        let mut besides: Vec<u64> = text.iter().filter(|word| !name.contains(word)).map(digest).collect();
        besides.sort_unstable();
        besides.dedup();
        Portrait {
            is_candidate_by_word: spec.strategy.is_some() || users_word.is_some_and(|says| says(candidate)),
            text: (!text.is_empty()).then(|| digest(&text)),
            besides,
            candidate: candidate.clone(),
        }
    }

    fn is_one_with(&self, other: &Portrait) -> bool {
        let (one, two) = (self.candidate.spec(), other.candidate.spec());
        if one.trust == Trust::None || two.trust == Trust::None {
            return false;
        }
        (self.is_candidate_by_word && other.is_candidate_by_word)
            || (self.is_like(other)
                && takes(&one.parameters, &two.parameters)
                && takes(&two.parameters, &one.parameters))
    }

    fn is_like(&self, other: &Portrait) -> bool {
        if self.text.is_none() || self.text == other.text {
            return self.text.is_some();
        }
        let (one, two) = (self.besides.len(), other.besides.len());
        let (few, many) = (one.min(two), one.max(two));
        // Cheaper than to compare the words, and most texts differ in length.
        if many == 0 || (few as f64) < ALIKE * many as f64 {
            return false;
        }
        let both = self.besides.iter().filter(|word| other.besides.binary_search(word).is_ok()).count();
        both as f64 >= ALIKE * (few + many - both) as f64
    }
}

/// Whether a tool with this schema knows every argument that the other one requires, and takes a value of its type.
fn takes(schema: &Value, other: &Value) -> bool {
    let required = other.get("required").and_then(Value::as_array);
    required.into_iter().flatten().filter_map(Value::as_str).all(|name| {
        let asked = property(other, name);
        property(schema, name).is_some_and(|own| asked.is_none_or(|asked| have_a_type_in_common(own, asked)))
    })
}

fn property<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema.get("properties")?.get(name)
}

/// A schema without `type` may take anything.
fn have_a_type_in_common(one: &Value, other: &Value) -> bool {
    let (one, other) = (types_in(one.get("type")), types_in(other.get("type")));
    let is_number = |name: &str| name == "integer" || name == "number";
    let same = |a: &str, b: &str| a == b || (is_number(a) && is_number(b));
    one.is_empty() || other.is_empty() || one.iter().any(|a| other.iter().any(|b| same(a, b)))
}

/// The words of a text without their endings; scripts without spaces by their characters.
fn stems(text: &str) -> Vec<String> {
    let stem = |word: String| {
        let mut stem = String::new();
        push_stem(&mut stem, &word);
        stem
    };
    tokens(text).map(|word| if word.is_ascii() { stem(word) } else { word }).collect()
}

fn digest(what: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// Of the candidates of servers, in the order of registration. Kept, so that a text is read once.
pub(super) type Portraits = Vec<Arc<Portrait>>;

/// Tells the tools of servers apart: the providers of each tool, or nothing when all candidates are one tool. `before` are the
/// portraits of the last time.
pub(super) fn tell_apart(
    candidates: &[Arc<Candidate>],
    before: &Portraits,
    users_word: Option<&UsersWord>,
) -> (Portraits, Vec<Vec<Arc<Candidate>>>) {
    let mut of_servers = candidates.iter().filter(|one| one.is_of_server());
    // Nearly every name has one server at most.
    if of_servers.next().is_none() || of_servers.next().is_none() {
        return Default::default();
    }
    let portrait = |one: &Arc<Candidate>| {
        let known = before.iter().find(|known| Arc::ptr_eq(&known.candidate, one));
        known.cloned().unwrap_or_else(|| Arc::new(Portrait::new(one, users_word)))
    };
    let portraits: Portraits = candidates.iter().filter(|one| one.is_of_server()).map(portrait).collect();
    let mut tools: Vec<Vec<&Arc<Portrait>>> = Vec::new();
    for one in &portraits {
        let is_same_server = |other: &&Arc<Portrait>| other.candidate.is_beside(&one.candidate);
        let fits = |tool: &&mut Vec<&Arc<Portrait>>| {
            tool.iter().any(is_same_server) || tool.iter().all(|other| one.is_one_with(other))
        };
        match tools.iter_mut().find(fits) {
            Some(tool) => tool.push(one),
            None => tools.push(vec![one]),
        }
    }
    let providers = |tool: Vec<&Arc<Portrait>>| tool.iter().map(|one| one.candidate.clone()).collect();
    let tools = if tools.len() > 1 { tools.into_iter().map(providers).collect() } else { Vec::new() };
    (portraits, tools)
}
