//! How many calls are kept for clients that come back: tasks, and calls that wait for an answer, each for themselves.
//!
//! A call that has ended stays for its client, until one that runs needs its place.

use std::sync::Arc;

/// The calls of all clients, and of one principal, that are kept at once.
pub const MOST_KEPT_CALLS: usize = 2_000;
pub const MOST_OF_PRINCIPAL: usize = 200;

pub trait KeptCall {
    type EndedOrder: Ord;

    fn principal(&self) -> &Arc<str>;

    /// Calls with smaller values make room first. `None` while the call is running.
    fn ended(&self) -> Option<Self::EndedOrder>;
}

/// The ended calls that have to go for one more of this principal, which may have `most_of_principal`. `None` when the
/// principal, or all together, have too many that are running.
pub fn make_room<'a, K, C>(
    calls: impl Iterator<Item = (&'a K, &'a C)> + Clone,
    principal: &str,
    most_of_principal: usize,
) -> Option<Vec<K>>
where
    K: Clone + 'a,
    C: KeptCall + 'a,
{
    let own = calls.clone().filter(|(_, call)| **call.principal() == *principal);
    let mut dropped = Vec::new();
    if own.clone().count() >= most_of_principal {
        dropped.push(first_ended(own)?);
    }
    if calls.clone().count() - dropped.len() >= MOST_KEPT_CALLS {
        dropped.push(first_ended(calls)?);
    }
    Some(dropped)
}

/// The call that ended first, of those that have ended.
pub fn first_ended<'a, K, C>(calls: impl Iterator<Item = (&'a K, &'a C)>) -> Option<K>
where
    K: Clone + 'a,
    C: KeptCall + 'a,
{
    let ended = calls.filter_map(|(id, call)| Some((call.ended()?, id)));
    ended.min_by(|(one, _), (other, _)| one.cmp(other)).map(|(_, id)| id.clone())
}
