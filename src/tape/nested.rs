//! Calls that were made by the tool of another recorded call.
//!
//! In a replay that tool does not run, so the calls inside it are not made and not missed. Their recordings have the number
//! of the outer call, and wait apart from the others: they answer only if the tool does run, because the replay is of another
//! hub than its own.

use super::lanes::Lane;
use super::line::LineKind;
use super::reading::Recording;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Kind, name and provider.
pub(super) type LaneKey = (LineKind, String, String);

/// The lanes of some recordings.
pub(super) type Lanes = HashMap<LaneKey, Lane>;

pub(super) fn lanes(calls: Vec<Arc<Recording>>, is_ordered: bool) -> Lanes {
    let mut by_key: HashMap<LaneKey, Vec<Arc<Recording>>> = HashMap::new();
    for call in calls {
        let key = (call.kind, call.name.clone(), call.candidate.clone());
        by_key.entry(key).or_default().push(call);
    }
    by_key.into_iter().map(|(key, calls)| (key, Lane::new(calls, is_ordered))).collect()
}

/// The recordings of calls inside others, by the number of the outer call.
#[derive(Default)]
pub(super) struct NestedCalls(BTreeMap<u64, Lanes>);

impl NestedCalls {
    /// Takes the nested ones out of the calls of a cassette.
    pub fn split_off(calls: &mut Vec<Arc<Recording>>) -> Self {
        let mut by_outer: BTreeMap<u64, Vec<Arc<Recording>>> = BTreeMap::new();
        calls.retain(|call| match call.inside {
            Some(outer) => {
                by_outer.entry(outer).or_default().push(call.clone());
                false
            }
            None => true,
        });
        // Tools run side by side, so their calls have no order.
        NestedCalls(by_outer.into_iter().map(|(outer, calls)| (outer, lanes(calls, false))).collect())
    }

    /// The lanes in which a call of this kind is found.
    pub fn lanes_of(&mut self, key: &LaneKey) -> impl Iterator<Item = &mut Lane> {
        self.0.values_mut().filter_map(move |lanes| lanes.get_mut(key))
    }

    /// A recording has answered, so the calls inside it are not made.
    pub fn replayed(&mut self, outer: &Recording) {
        self.0.remove(&outer.began);
    }
}
