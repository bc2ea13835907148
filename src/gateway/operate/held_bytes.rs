//! The bytes that are held for callers: bodies that arrive, and answers that are not read yet.
//!
//! A caller may have half of what all together may. Whoever holds nothing else may hold one message of any size that the other
//! limits allow, so that a small limit makes nothing impossible.

use bytes::Bytes;
use std::collections::HashMap;
use std::time::Duration;
use toolhub_types::sync::{Arc, Mutex};

/// Smaller messages are not counted: the limits of requests and connections are enough for them.
pub const SMALL: usize = 16 * 1024;
/// When this much was let go, memory is given back to the system, soon.
const MUCH: usize = 16 * 1024 * 1024;
const SOON: Duration = Duration::from_millis(500);

/// Whose limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRoom {
    OfCaller,
    OfAll,
}

impl NoRoom {
    /// What there is too much of.
    pub fn what(self) -> &'static str {
        match self {
            NoRoom::OfCaller => "your requests and unread answers is",
            NoRoom::OfAll => "the requests and unread answers of all callers is",
        }
    }
}

#[derive(Default)]
struct HeldTable {
    all: usize,
    /// Of callers who hold something, by the id of the principal.
    of_callers: HashMap<Arc<str>, usize>,
    let_go: usize,
}

/// What all callers hold.
#[derive(Clone)]
pub struct HeldTotal {
    table: Arc<Mutex<HeldTable>>,
    /// Gives memory that is free back to the system.
    give_back: fn(),
}

impl HeldTotal {
    pub fn new(give_back: fn()) -> Self {
        HeldTotal { table: Arc::default(), give_back }
    }

    /// Nothing yet.
    pub fn of(&self, caller: &Arc<str>) -> HeldBytes {
        HeldBytes { total: self.clone(), caller: caller.clone(), bytes: 0 }
    }

    /// A large message is dropped. When there were many, memory is given back.
    pub fn let_go(&self, bytes: usize) {
        let mut table = self.table.lock();
        table.let_go += bytes;
        if table.let_go < MUCH {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        table.let_go = 0;
        let give_back = self.give_back;
        runtime.spawn(async move {
            tokio::time::sleep(SOON).await;
            // Not on a thread that serves: it takes milliseconds.
            let _ = tokio::task::spawn_blocking(give_back).await;
        });
    }

    /// Whether the caller, or all together, hold so much that nothing more is begun for it.
    pub fn is_full(&self, caller: &str, most: usize) -> Option<NoRoom> {
        let table = self.table.lock();
        if table.of_callers.get(caller).is_some_and(|own| *own >= most / 2) {
            return Some(NoRoom::OfCaller);
        }
        (table.all >= most).then_some(NoRoom::OfAll)
    }
}

/// Dropping it lets go.
pub struct HeldBytes {
    total: HeldTotal,
    caller: Arc<str>,
    bytes: usize,
}

impl HeldBytes {
    /// Holds more, if all callers together then hold `most` bytes at most, and this one half of them.
    pub fn grow(&mut self, more: usize, most: usize) -> Result<(), NoRoom> {
        if more == 0 {
            return Ok(());
        }
        let mut table = self.total.table.lock();
        let own = table.of_callers.get(&self.caller).copied().unwrap_or(0);
        if own > self.bytes && own + more > most / 2 {
            return Err(NoRoom::OfCaller);
        }
        if table.all > self.bytes && table.all + more > most {
            return Err(NoRoom::OfAll);
        }
        table.all += more;
        table.of_callers.insert(self.caller.clone(), own + more);
        self.bytes += more;
        Ok(())
    }
}

/// A message for a client, and its place among what is held; small ones have none. It lets go when its bytes are written, or
/// when nobody is left to read them.
pub struct HeldMessage {
    pub text: String,
    pub held: Option<HeldBytes>,
}

impl HeldMessage {
    /// Several messages as one.
    pub fn join(messages: Vec<HeldMessage>, form: impl FnOnce(&[String]) -> String) -> Self {
        let mut held: Option<HeldBytes> = None;
        let mut texts = Vec::with_capacity(messages.len());
        for message in messages {
            texts.push(message.text);
            match (&mut held, message.held) {
                // They are of one caller.
                (Some(all), Some(mut one)) => all.bytes += std::mem::take(&mut one.bytes),
                (None, one) => held = one,
                (Some(_), None) => {}
            }
        }
        HeldMessage { text: form(&texts), held }
    }

    pub fn into_bytes(self) -> Bytes {
        match self.held {
            Some(_) => Bytes::from_owner(self),
            None => Bytes::from(self.text),
        }
    }
}

impl From<String> for HeldMessage {
    fn from(text: String) -> Self {
        HeldMessage { text, held: None }
    }
}

impl AsRef<[u8]> for HeldMessage {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let mut table = self.total.table.lock();
        table.all -= self.bytes;
        if let Some(own) = table.of_callers.get_mut(&self.caller) {
            *own -= self.bytes;
            if *own == 0 {
                table.of_callers.remove(&self.caller);
            }
        }
        drop(table);
        self.total.let_go(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn held(total: &HeldTotal, caller: &str) -> HeldBytes {
        total.of(&Arc::from(caller))
    }

    #[test]
    fn a_caller_has_half_and_all_have_a_limit() {
        let total = HeldTotal::new(|| ());
        let (mut first, mut second) = (held(&total, "ann"), held(&total, "ann"));
        first.grow(40, 100).unwrap();
        second.grow(10, 100).unwrap();
        assert_eq!(second.grow(1, 100), Err(NoRoom::OfCaller));
        assert_eq!(total.is_full("ann", 100), Some(NoRoom::OfCaller));
        let (mut third, mut fourth) = (held(&total, "bob"), held(&total, "cid"));
        third.grow(45, 100).unwrap();
        assert_eq!(total.is_full("cid", 100), None);
        assert_eq!(fourth.grow(6, 100), Err(NoRoom::OfAll));
        drop((first, second, third));
        fourth.grow(500, 100).unwrap();
        assert_eq!(total.is_full("dan", 100), Some(NoRoom::OfAll));
        drop(fourth);
        assert!(total.table.lock().of_callers.is_empty());
    }

    proptest! {
        #[test]
        fn nothing_is_held_in_the_end(steps in proptest::collection::vec((0..4u8, 0..80usize), 0..60)) {
            let total = HeldTotal::new(|| ());
            let mut all: Vec<HeldBytes> = Vec::new();
            for (caller, bytes) in steps {
                if bytes % 5 == 0 && !all.is_empty() {
                    all.swap_remove(bytes % all.len());
                    continue;
                }
                let mut one = held(&total, &caller.to_string());
                let others = all.len();
                if one.grow(bytes, 100).is_ok() {
                    all.push(one);
                }
                let sum: usize = all.iter().map(|one| one.bytes).sum();
                prop_assert_eq!(total.table.lock().all, sum);
                prop_assert!(sum <= 100 || others == 0);
            }
            drop(all);
            prop_assert_eq!(total.table.lock().all, 0);
            prop_assert!(total.table.lock().of_callers.is_empty());
        }
    }
}
