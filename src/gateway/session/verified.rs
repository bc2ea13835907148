//! Session ids that were verified lately, so that the requests of a session do not verify its signature again and again.
//!
//! Only what does not change is kept: that the signature is ours, and what the id carries. Whether the session has expired,
//! was ended, or belongs to the caller is checked with each request. Another change of keys makes all of it void.

use super::claims::SessionClaims;
use foldhash::quality::RandomState;
use std::collections::HashMap;
use toolhub_types::sync::{Arc, Mutex};

/// The first half of a signature.
pub(super) type SessionMark = [u8; 16];

/// Twice as many ids are kept at most, mostly of a few hundred bytes.
const MOST: usize = 500;

/// What an id with a valid signature carries.
#[derive(Debug, PartialEq)]
pub struct OpenSession {
    pub id: Arc<str>,
    pub claims: SessionClaims,
    pub(super) mark: SessionMark,
    /// Until when its key is accepted, in seconds since 1970; `None` while the key is in use.
    pub(super) accepted_until: Option<u64>,
    /// The keys with which it was verified.
    pub(super) generation: u64,
}

/// Two halves: when the newer one is full, it becomes the older one, which is forgotten.
#[derive(Default)]
pub(super) struct VerifiedSessions(Mutex<(Half, Half)>);

type Half = HashMap<Arc<str>, Arc<OpenSession>, RandomState>;

impl VerifiedSessions {
    /// A session that was verified with these keys, one of which still accepts it.
    pub(super) fn get(&self, id: &str, generation: u64, now: u64) -> Option<Arc<OpenSession>> {
        let mut halves = self.0.lock();
        let (newer, older) = &mut *halves;
        let found = match newer.get(id) {
            Some(found) => found.clone(),
            None => {
                let found = older.remove(id)?;
                keep(&mut halves, found.clone());
                found
            }
        };
        let is_accepted = found.accepted_until.is_none_or(|until| until > now);
        (found.generation == generation && is_accepted).then_some(found)
    }

    pub(super) fn keep(&self, session: Arc<OpenSession>) {
        keep(&mut self.0.lock(), session);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let halves = self.0.lock();
        halves.0.len() + halves.1.len()
    }
}

fn keep(halves: &mut (Half, Half), session: Arc<OpenSession>) {
    if halves.0.len() >= MOST {
        halves.1 = std::mem::take(&mut halves.0);
    }
    halves.0.insert(session.id.clone(), session);
}
