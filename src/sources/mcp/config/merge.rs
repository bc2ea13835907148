//! One entry for each server out of several files: what a later file says of it overrides it key by key.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::endpoint::{TRANSPORT_KEYS, URL_KEYS};
use super::notice::Notes;

/// Keys of different clients for the same thing. One of them replaces all of them in the file before.
const SAME: &[&[&str]] = &[&["disabled", "enabled", "isActive"], URL_KEYS, TRANSPORT_KEYS];

/// A server, and what each file says of it.
pub(super) struct Merged<'a> {
    pub id: &'a str,
    pub entry: Value,
    layers: Vec<(Option<&'a Path>, &'a Value)>,
}

impl<'a> Merged<'a> {
    fn new(id: &'a str, entry: &'a Value, file: Option<&'a Path>) -> Self {
        Self { id, entry: entry.clone(), layers: vec![(file, entry)] }
    }

    fn override_with(&mut self, entry: &'a Value, file: Option<&'a Path>) {
        if let (Value::Object(old), Value::Object(new)) = (&mut self.entry, entry) {
            forget_other_words(old, new);
        }
        override_keys(&mut self.entry, entry);
        self.layers.push((file, entry));
    }

    /// The file that names the server first.
    pub fn file(&self) -> Option<&'a Path> {
        self.layers.first().and_then(|(file, _)| *file)
    }

    /// Makes each notice name the file in which its key stands.
    pub fn place(&self, notes: &mut Notes) {
        for notice in notes.warnings.iter_mut().chain(&mut notes.errors) {
            let of_this = |(_, entry): &&(_, &Value)| match &notice.key {
                Some(key) => holds(entry, key),
                None => !entry.is_object(),
            };
            if let Some((file, _)) = self.layers.iter().rev().find(of_this) {
                notice.file = file.map(Path::to_owned);
            }
        }
    }
}

/// Adds one file to those before it. Of two entries for one server the last one counts.
pub(super) fn add_file<'a>(
    servers: &mut Vec<Merged<'a>>,
    entries: Vec<(&'a str, &'a Value)>,
    file: Option<&'a Path>,
) {
    let before = servers.len();
    let mut last: HashMap<&str, &'a Value> = entries.iter().copied().collect();
    for (id, entry) in entries {
        match servers[..before].iter_mut().rfind(|known| known.id == id) {
            Some(known) => last.remove(id).into_iter().for_each(|last| known.override_with(last, file)),
            // Both are read, so that the mistakes of both are reported.
            None => servers.push(Merged::new(id, entry, file)),
        }
    }
}

fn forget_other_words(old: &mut Map<String, Value>, new: &Map<String, Value>) {
    for words in SAME {
        if words.iter().any(|word| new.get(*word).is_some_and(|value| !value.is_null())) {
            old.retain(|key, _| !words.contains(&key.as_str()));
        }
    }
}

/// Objects are overridden key by key, everything else as a whole.
fn override_keys(value: &mut Value, overrides: &Value) {
    match (value, overrides) {
        (Value::Object(map), Value::Object(overrides)) => {
            for (key, new) in overrides {
                match map.get_mut(key) {
                    Some(old) => override_keys(old, new),
                    None => {
                        map.insert(key.clone(), new.clone());
                    }
                }
            }
        }
        (value, overrides) => *value = overrides.clone(),
    }
}

/// Whether something stands at the path of a notice, as in `env.PORT`, `args[2]`, `toolhub.timeout`. Keys may have dots
/// themselves; a list is always of one file as a whole.
fn holds(value: &Value, path: &str) -> bool {
    let Value::Object(object) = value else { return false };
    object.iter().any(|(key, inner)| {
        path.strip_prefix(key.as_str()).is_some_and(|rest| match rest.strip_prefix('.') {
            Some(rest) => holds(inner, rest),
            None => rest.is_empty() || rest.starts_with('['),
        })
    })
}
