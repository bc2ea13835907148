//! Verbs in a name that is written without separators, such as `deleteuser` and `turnofflights`.

use super::verbs::{ACTING, ACTING_OR_NOUN, ACTING_WHEN_LEADING, JOINING, READING, Verb};

/// A longer word is not split: names are not written like that.
const WORD_BYTES: usize = 40;

/// Steps for one word, so that a word of many small pieces costs no more than others.
const STEPS: usize = 400;

/// An acting verb shorter than this counts only where a verb is expected: `ban` is also a part of `urbandata`.
const SURE_BYTES: usize = 4;

/// Verbs that are found inside a word too, as in `deleteuser` and `findanddelete`.
#[rustfmt::skip]
pub const GLUED: &[&str] = &[
    "create", "delete", "destroy", "disable", "execute", "insert", "install", "overwrite", "publish",
    "purchase", "reboot", "remove", "rename", "restart", "revoke", "shutdown", "terminate", "transfer",
    "truncate", "unlock", "update", "upload", "withdraw",
];

/// Endings that make a noun or an adjective of a verb in [`GLUED`] (`deleted`, `publisher`, `installation`).
#[rustfmt::skip]
pub const ENDINGS: &[&str] = &[
    "able", "al", "ation", "ations", "d", "ed", "er", "ers", "ing", "ion", "ions", "ment", "ments", "or", "ors",
    "r", "red", "ring", "rs", "s",
];

/// Objects that follow a verb directly in a name without separators (`sendmail`, `turnofflights`). No word that makes a common
/// noun of a verb before it: `runtime`, `payload`, `postcode` and `callback` are not actions.
#[rustfmt::skip]
pub const OBJECTS: &[&str] = &[
    "access", "account", "accounts", "address", "alarm", "all", "app", "apps", "bin", "booking", "branch",
    "bucket", "cache", "card", "cart", "cash", "cell", "channel", "client", "cluster", "cmd", "coin",
    "coins", "column", "command", "comment", "config", "contact", "container", "customer", "data", "database",
    "db", "device", "dir", "directory", "disk", "doc", "document", "documents", "door", "email", "emails",
    "env", "event", "events", "field", "file", "files", "flight", "folder", "form", "funds", "group", "host",
    "image", "index", "instance", "invite", "invoice", "invoices", "issue", "item", "items", "job", "jobs",
    "key", "keys", "label", "lease", "license", "light", "lights", "link", "mail", "mails", "meeting", "member",
    "members", "message", "messages", "money", "node", "note", "notes", "number", "object", "objects", "order",
    "orders", "package", "page", "parcel", "password", "payment", "permission", "phone", "photo", "pod",
    "policy", "post", "posts", "pr", "process", "product", "profile", "queue", "record", "records", "repo",
    "request", "requests", "reservation", "role", "room", "row", "rows", "rule", "script", "secret", "secrets",
    "server", "service", "session", "shares", "sheet", "shipment", "site", "sms", "stock", "stocks",
    "subscription", "table", "tables", "task", "tasks", "team", "text", "ticket", "tickets", "token", "tokens",
    "trash", "tweet", "url", "user", "users", "value", "values", "valve", "var", "video", "vm", "volume",
    "webhook", "window",
];

/// Words between a verb and its object.
#[rustfmt::skip]
const PARTICLES: &[&str] = &[
    "as", "by", "down", "for", "from", "in", "into", "new", "of", "off", "on", "out", "the", "to", "up",
];

/// The verb in a word that is written without separators. `leads`: a verb is expected where the word stands.
pub fn glued(word: &str, leads: bool) -> Option<Verb> {
    let inside = GLUED
        .iter()
        .filter(|verb| word != **verb)
        .find(|verb| word.match_indices(**verb).any(|(at, _)| !ENDINGS.contains(&&word[at + verb.len()..])));
    inside.copied().or_else(|| taken_apart(word, leads))
}

/// The acting verb in a word that consists of known verbs and objects and nothing else.
fn taken_apart(word: &str, leads: bool) -> Option<Verb> {
    if word.len() > WORD_BYTES || !word.is_ascii() {
        return None;
    }
    Pieces { steps: STEPS }.read(word, leads, 0, None)
}

struct Pieces {
    steps: usize,
}

impl Pieces {
    /// Reads the rest of a word; `found` is the acting verb before it, if there is one.
    fn read(&mut self, rest: &str, leads: bool, pieces: usize, found: Option<Verb>) -> Option<Verb> {
        if rest.is_empty() {
            return found.filter(|_| pieces > 1);
        }
        if self.steps == 0 {
            return None;
        }
        self.steps -= 1;
        let starts =
            |list: &'static [Verb]| list.iter().copied().filter(move |piece| rest.starts_with(*piece));
        for verb in starts(ACTING) {
            let counts = leads || verb.len() >= SURE_BYTES;
            let found = found.or(counts.then_some(verb));
            if let Some(verb) = self.read(&rest[verb.len()..], false, pieces + 1, found) {
                return Some(verb);
            }
        }
        for verb in starts(ACTING_OR_NOUN).chain(starts(ACTING_WHEN_LEADING)) {
            // A list of what the verb is about: `playlist`, `blocklist`.
            let is_list = &rest[verb.len()..] == "list";
            let found = found.or((leads && !is_list).then_some(verb));
            if let Some(verb) = self.read(&rest[verb.len()..], false, pieces + 1, found) {
                return Some(verb);
            }
        }
        for piece in starts(OBJECTS).chain(starts(READING)) {
            if let Some(verb) = self.read(&rest[piece.len()..], false, pieces + 1, found) {
                return Some(verb);
            }
        }
        // A particle does not end a word: `addons` and `markup` are nouns.
        for piece in starts(PARTICLES).filter(|piece| pieces > 0 && piece.len() < rest.len()) {
            if let Some(verb) = self.read(&rest[piece.len()..], false, pieces + 1, found) {
                return Some(verb);
            }
        }
        for piece in starts(JOINING).filter(|piece| pieces > 0 && piece.len() > 1) {
            if let Some(verb) = self.read(&rest[piece.len()..], true, pieces + 1, found) {
                return Some(verb);
            }
        }
        None
    }
}
