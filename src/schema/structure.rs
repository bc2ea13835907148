//! Which subschemas look at the same value, and how they refer to each other.

use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Longer chains of references could overflow the stack.
const CHAIN: usize = 500;

/// Keywords that refer to another schema.
pub const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Subschemas that look at the same value.
pub fn beside<'a>(root: &'a Value, map: &'a Map<String, Value>) -> Vec<&'a Value> {
    target(root, map).into_iter().chain(inline(map)).collect()
}

/// Those that stand in the schema itself.
fn inline(map: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let lists = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|key| map.get(key)?.as_array()).flatten();
    let single = ["not", "if", "then", "else"].into_iter().filter_map(|key| map.get(key));
    let by_name =
        ["dependentSchemas", "dependencies"].into_iter().filter_map(|key| map.get(key)?.as_object());
    lists.chain(single).chain(by_name.flat_map(|each| each.values()))
}

/// The target of a reference inside the document.
pub fn target<'a>(root: &'a Value, map: &Map<String, Value>) -> Option<&'a Value> {
    let name = map.get("$ref").or_else(|| map.get("$dynamicRef"))?.as_str()?;
    root.pointer(&pointer(name.strip_prefix('#')?)?)
}

/// The JSON pointer that the fragment of a reference holds; `None` if its `%` escapes are broken.
pub fn pointer(fragment: &str) -> Option<Cow<'_, str>> {
    if !fragment.contains('%') {
        return Some(Cow::Borrowed(fragment));
    }
    let (mut bytes, mut rest) = (Vec::with_capacity(fragment.len()), fragment.bytes());
    while let Some(byte) = rest.next() {
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push(if byte == b'%' { u8::try_from(digit()? * 16 + digit()?).ok()? } else { byte });
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// The references of a schema.
pub struct References {
    /// The schemas whose reference leads back to them without a step into the value, or that end a chain that is too long.
    /// Their addresses.
    pub endless: HashSet<*const Value>,
    /// The longest chain of schemas that look at one value.
    pub longest: usize,
    pub are_used: bool,
}

impl References {
    pub fn of(root: &Value) -> Self {
        let found = References { endless: HashSet::new(), longest: 0, are_used: false };
        let mut walk = ReferenceWalk { root, chains: HashMap::new(), found };
        walk.anywhere(root);
        walk.found
    }
}

struct ReferenceWalk<'a> {
    root: &'a Value,
    /// The chain below a schema, by its address; `None` while it is being followed.
    chains: HashMap<*const Value, Option<usize>>,
    found: References,
}

impl<'a> ReferenceWalk<'a> {
    fn anywhere(&mut self, value: &'a Value) {
        match value {
            Value::Object(map) => {
                if REFERENCES.iter().any(|name| map.contains_key(*name)) {
                    self.found.are_used = true;
                }
                let chain = self.chain(value, 0);
                self.found.longest = self.found.longest.max(chain);
                map.values().for_each(|inner| self.anywhere(inner));
            }
            Value::Array(items) => items.iter().for_each(|item| self.anywhere(item)),
            _ => {}
        }
    }

    /// The number of schemas in the longest chain from here. `above` is the number before it.
    fn chain(&mut self, schema: &'a Value, above: usize) -> usize {
        let Some(map) = schema.as_object() else { return 0 };
        let address = std::ptr::from_ref(schema);
        if let Some(known) = self.chains.get(&address) {
            return known.unwrap_or(0);
        }
        self.chains.insert(address, None);
        let mut longest = 0;
        for next in inline(map) {
            longest = longest.max(self.chain(next, above + 1));
        }
        if let Some(next) = target(self.root, map) {
            // None: it is being followed, so it leads back to itself.
            let is_open = self.chains.get(&std::ptr::from_ref(next)) == Some(&None);
            let chain = if is_open || above >= CHAIN { CHAIN } else { self.chain(next, above + 1) };
            if above + chain >= CHAIN {
                self.found.endless.insert(address);
            } else {
                longest = longest.max(chain);
            }
        }
        self.chains.insert(address, Some(longest + 1));
        longest + 1
    }
}
