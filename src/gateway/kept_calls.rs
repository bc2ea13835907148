//! How many calls are kept for clients that come back, and how much of their results: tasks, and calls that wait for an answer,
//! each for themselves.
//!
//! A call that has ended stays for its client, until one that runs needs its place, or until the results that are kept are too
//! large together.

use std::sync::Arc;

/// The calls of all clients, and of one principal, that are kept at once.
pub const MOST_KEPT_CALLS: usize = 2_000;
pub const MOST_OF_PRINCIPAL: usize = 200;
/// Their results that are kept at once, in bytes.
pub const MOST_KEPT_BYTES: usize = 64 * 1024 * 1024;

pub trait KeptCall {
    type EndedOrder: Ord;

    fn principal(&self) -> &Arc<str>;

    /// Calls with smaller values make room first. `None` while the call is running.
    fn ended(&self) -> Option<Self::EndedOrder>;

    /// The size of its result; 0 while the call is running.
    fn kept_bytes(&self) -> usize;
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

/// The ended calls that have to go so that the results of the others take at most `most_bytes`, the first ones first. The call
/// that `stays` has just ended: its client had no chance to come.
pub fn too_large<'a, K, C>(
    calls: impl Iterator<Item = (&'a K, &'a C)>,
    most_bytes: usize,
    stays: impl Fn(&C) -> bool,
) -> Vec<K>
where
    K: Clone + 'a,
    C: KeptCall + 'a,
{
    let sized = |(id, call): (&'a K, &'a C)| {
        let bytes = call.kept_bytes();
        (bytes > 0).then(|| call.ended().map(|ended| (ended, id, call, bytes))).flatten()
    };
    let mut ended: Vec<_> = calls.filter_map(sized).collect();
    let mut kept: usize = ended.iter().map(|(.., bytes)| bytes).sum();
    if kept <= most_bytes {
        return Vec::new();
    }
    ended.sort_unstable_by(|(one, ..), (other, ..)| one.cmp(other));
    let mut dropped = Vec::new();
    for (_, id, call, bytes) in ended {
        if kept > most_bytes && !stays(call) {
            kept -= bytes;
            dropped.push(id.clone());
        }
    }
    dropped
}

/// The call that ended first, of those that have ended.
fn first_ended<'a, K, C>(calls: impl Iterator<Item = (&'a K, &'a C)>) -> Option<K>
where
    K: Clone + 'a,
    C: KeptCall + 'a,
{
    let ended = calls.filter_map(|(id, call)| Some((call.ended()?, id)));
    ended.min_by(|(one, _), (other, _)| one.cmp(other)).map(|(_, id)| id.clone())
}
