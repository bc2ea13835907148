//! Definitions that were accepted: with `pin`, a tool whose definition has changed since is refused until a user has
//! looked at it. The first definition that is seen is accepted; with a store, the first ever.

use crate::error::clip;
use crate::sources::mcp::listing::Listed;
use crate::store::{Definition, PinChange, Store, StoredPin};
use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

pub struct Pins {
    known: Mutex<BTreeMap<PinId, StoredPin>>,
    store: Option<Arc<Store>>,
}

/// Server and tool.
type PinId = (Arc<str>, Arc<str>);

impl Pins {
    pub fn new(store: Option<Arc<Store>>) -> Self {
        let stored = store.as_ref().map(|store| store.take_pins()).unwrap_or_default();
        let known = stored.into_iter().map(|pin| ((pin.server.clone(), pin.tool.clone()), pin));
        let known = known.collect();
        Pins { known: Mutex::new(known), store }
    }

    /// Why this tool is refused; nothing when its definition is the accepted one.
    pub fn refusal(&self, server: &Arc<str>, listed: &Listed) -> Option<String> {
        let (now, id) = (definition(listed), (server.clone(), listed.name.clone()));
        let report = |change| {
            if let Some(store) = &self.store {
                store.change_pin(server.clone(), listed.name.clone(), change);
            }
        };
        let mut known = self.known.lock();
        let Some(pin) = known.get_mut(&id) else {
            report(PinChange::First(now.clone()));
            let (server, tool) = id.clone();
            known.insert(id, StoredPin { server, tool, accepted: now, changed: None });
            return None;
        };
        if pin.accepted.hash == now.hash {
            pin.changed = None;
            return None;
        }
        drop(known);
        // Another process may have accepted it. Not under the lock: reading the store may take a while.
        let stored = self.store.as_ref().and_then(|store| store.pin(server, &listed.name));
        let mut known = self.known.lock();
        let pin = known.get_mut(&id)?;
        if stored.is_some_and(|stored| stored.accepted.hash == now.hash) {
            (pin.accepted, pin.changed) = (now, None);
            return None;
        }
        if pin.changed.as_ref() != Some(&now) {
            report(PinChange::Changed(now.clone()));
            pin.changed = Some(now);
        }
        let (tool, server) = (clip(&listed.name), clip(server));
        Some(format!(
            "Tool '{tool}' of server '{server}' has changed since its definition was accepted, and is refused. Look at it \
             with hub.pins(), and accept it with hub.accept_pin('{server}', '{tool}')."
        ))
    }

    /// All pins, by server and tool.
    pub fn all(&self) -> Vec<StoredPin> {
        self.known.lock().values().cloned().collect()
    }

    /// Accepts the changed definitions of a server, or of one tool of it; says how many there were.
    pub fn accept(&self, server: &str, tool: Option<&str>) -> usize {
        let mut accepted = 0;
        for pin in self.known.lock().values_mut() {
            if &*pin.server != server || tool.is_some_and(|tool| &*pin.tool != tool) {
                continue;
            }
            let Some(now) = pin.changed.take() else { continue };
            if let Some(store) = &self.store {
                store.change_pin(pin.server.clone(), pin.tool.clone(), PinChange::Accepted(now.clone()));
            }
            pin.accepted = now;
            accepted += 1;
        }
        accepted
    }
}

/// What a model and a caller see of a tool. The order of keys says nothing, so it does not count.
fn definition(listed: &Listed) -> Definition {
    let mut text = String::new();
    write_sorted(&listed.to_json(), &mut text);
    let mut hash = String::from("sha256:");
    for byte in digest(&SHA256, text.as_bytes()).as_ref() {
        // Writing to a String cannot fail.
        let _ = write!(hash, "{byte:02x}");
    }
    Definition { hash, text }
}

fn write_sorted(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            text.push('{');
            for (number, key) in keys.into_iter().enumerate() {
                let comma = if number > 0 { "," } else { "" };
                let _ = write!(text, "{comma}{}:", Value::String(key.clone()));
                write_sorted(&map[key], text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (number, item) in items.iter().enumerate() {
                text.push_str(if number > 0 { "," } else { "" });
                write_sorted(item, text);
            }
            text.push(']');
        }
        plain => {
            let _ = write!(text, "{plain}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(schema: Value) -> Listed {
        Listed { input_schema: Arc::new(schema), ..Listed::unlisted("send") }
    }

    #[test]
    fn a_changed_definition_is_refused_until_it_is_accepted() {
        let (pins, server) = (Pins::new(None), Arc::from("mail"));
        let first = tool(json!({"type": "object", "title": "a"}));
        let changed = tool(json!({"type": "object", "title": "b"}));
        assert_eq!(pins.refusal(&server, &first), None);
        assert!(
            pins.refusal(&server, &changed).is_some_and(|why| why.contains("accept_pin('mail', 'send')"))
        );
        assert_eq!(pins.refusal(&server, &first), None, "it is what was accepted");
        assert_eq!(pins.accept("mail", None), 0, "nothing is changed now");
        assert!(pins.refusal(&server, &changed).is_some());
        assert_eq!((pins.accept("mail", Some("other")), pins.accept("mail", Some("send"))), (0, 1));
        assert_eq!(pins.refusal(&server, &changed), None);
        assert!(pins.refusal(&server, &first).is_some(), "the way back is a change too");
    }

    #[test]
    fn the_order_of_keys_is_no_change() {
        let (a, b) = (
            tool(json!({"type": "object", "x": [1, {"p": 1, "q": 2}]})),
            tool(json!({"x": [1, {"q": 2, "p": 1}], "type": "object"})),
        );
        assert_eq!(definition(&a), definition(&b));
        assert_ne!(definition(&a), definition(&tool(json!({"type": "object", "x": [{"p": 1, "q": 2}, 1]}))));
        let parsed: Option<Value> = serde_json::from_str(&definition(&a).text).ok();
        assert_eq!(parsed, Some(a.to_json()));
    }
}
