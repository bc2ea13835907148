//! Definitions that were accepted: with `pin`, a tool whose definition has changed since is refused until a user has
//! looked at it. The first definition that is seen is accepted; with a store, the first ever. When the pins of a store are
//! lost, nothing is accepted by itself.

use crate::mcp::tool_list::Listed;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use toolhub_store::{Definition, PinChange, Store, StoredPin, cassette};
use toolhub_text::canonical::{canonical, text_digest};
use toolhub_text::{Message, message};
use toolhub_types::error::clip;

/// Server and tool.
type PinName = (Arc<str>, Arc<str>);

pub struct Pins {
    known: Mutex<BTreeMap<PinName, StoredPin>>,
    store: Option<Arc<Store>>,
    are_lost: bool,
    /// Some are not secured yet.
    is_fresh: AtomicBool,
}

impl Pins {
    pub fn new(store: Option<Arc<Store>>, are_lost: bool) -> Self {
        let stored = store.as_ref().map(|store| store.take_pins()).unwrap_or_default();
        let known = stored.into_iter().map(|pin| ((pin.server.clone(), pin.tool.clone()), pin)).collect();
        Pins { known: Mutex::new(known), store, are_lost, is_fresh: AtomicBool::new(false) }
    }

    /// Makes sure that the loss of the pins that [`Pins::refusal`] has made is noticed. Until then they do not count, and
    /// their tools must not be published.
    pub fn secure(&self) {
        if self.is_fresh.swap(false, Ordering::AcqRel)
            && let Some(store) = &self.store
        {
            store.secure_pins();
        }
    }

    /// Why this tool is refused; nothing when its definition is the accepted one.
    pub fn refusal(&self, server: &Arc<str>, listed: &Listed) -> Option<Message> {
        let (now, id) = (definition(listed), (server.clone(), listed.name.clone()));
        let report = |change| {
            if let Some(store) = &self.store {
                store.change_pin(server.clone(), listed.name.clone(), change);
            }
        };
        if cassette::is_replaying() {
            // What a cassette lists was not seen on a server: it is compared, and nothing is accepted or noted.
            let pin = self.known.lock().get(&id).filter(|pin| pin.accepted.hash != now.hash).cloned();
            return pin.and_then(|pin| refusal(&StoredPin { changed: Some(now), ..pin }));
        }
        let mut known = self.known.lock();
        let Some(pin) = known.get_mut(&id) else {
            let (server, tool) = id.clone();
            let pin = if self.are_lost {
                report(PinChange::Unaccepted(now.clone()));
                StoredPin { server, tool, accepted: Definition::default(), changed: Some(now) }
            } else {
                self.is_fresh.store(true, Ordering::Release);
                report(PinChange::First(now.clone()));
                StoredPin { server, tool, accepted: now, changed: None }
            };
            let refusal = refusal(&pin);
            known.insert(id, pin);
            return refusal;
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
        refusal(pin)
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

/// Why a tool with this pin is refused.
fn refusal(pin: &StoredPin) -> Option<Message> {
    pin.changed.as_ref()?;
    let (tool, server) = (clip(&pin.tool), clip(&pin.server));
    let why = match pin.accepted.hash.is_empty() {
        true => "has not been accepted since the store's pins were lost",
        false => "has changed since its definition was accepted",
    };
    let accepting = format!("hub.pins.accept('{server}', '{tool}')");
    Some(message!(
        "Tool '{}' of server '{}' {}, and is refused. Look at it with hub.pins.list(), and accept it with {}.",
        tool,
        server,
        Message::from(why),
        accepting
    ))
}

/// What a model and a caller see of a tool. The order of keys says nothing, so it does not count.
fn definition(listed: &Listed) -> Definition {
    let text = canonical(&listed.to_json());
    Definition { hash: text_digest(&text), text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn tool(schema: Value) -> Listed {
        Listed { input_schema: Arc::new(schema), ..Listed::unlisted("send") }
    }

    #[test]
    fn a_changed_definition_is_refused_until_it_is_accepted() {
        let (pins, server) = (Pins::new(None, false), Arc::from("mail"));
        let first = tool(json!({"type": "object", "title": "a"}));
        let changed = tool(json!({"type": "object", "title": "b"}));
        assert_eq!(pins.refusal(&server, &first), None);
        assert!(
            pins.refusal(&server, &changed).is_some_and(|why| why.contains("pins.accept('mail', 'send')"))
        );
        assert_eq!(pins.refusal(&server, &first), None, "it is what was accepted");
        assert_eq!(pins.accept("mail", None), 0, "nothing is changed now");
        assert!(pins.refusal(&server, &changed).is_some());
        assert_eq!((pins.accept("mail", Some("other")), pins.accept("mail", Some("send"))), (0, 1));
        assert_eq!(pins.refusal(&server, &changed), None);
        assert!(pins.refusal(&server, &first).is_some(), "the way back is a change too");
    }

    #[test]
    fn after_a_loss_nothing_is_accepted_by_itself() {
        let (pins, server): (_, Arc<str>) = (Pins::new(None, true), Arc::from("mail"));
        let first = tool(json!({"type": "object", "title": "a"}));
        let why = pins.refusal(&server, &first).unwrap();
        assert!(why.contains("not been accepted since the store's pins were lost"), "{why}");
        assert!(pins.refusal(&server, &first).is_some());
        assert_eq!(pins.accept("mail", Some("send")), 1);
        assert_eq!(pins.refusal(&server, &first), None);
        let other = Listed { name: Arc::from("other"), ..first.clone() };
        assert!(pins.refusal(&server, &other).is_some());
        assert_eq!(pins.accept("mail", None), 1);
        let third = Listed { name: Arc::from("third"), ..first };
        assert!(pins.refusal(&server, &third).is_some(), "only what was seen is accepted");
    }

    #[test]
    fn the_order_of_keys_is_not_a_change() {
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
