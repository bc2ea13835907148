//! What one step of a plan judges by: one snapshot, so that what was permitted is what runs.

use super::servers::ServerSet;
use crate::hub::Hub;
use std::sync::Arc;
use std::time::Instant;
use toolhub_registry::Snapshot;

/// What one step of a plan judges by.
pub struct PlanView<'a> {
    pub hub: &'a Hub,
    pub snapshot: Arc<Snapshot>,
    pub servers: Option<&'a dyn ServerSet>,
    pub now: Instant,
}

impl<'a> PlanView<'a> {
    pub fn new(hub: &'a Hub, servers: Option<&'a dyn ServerSet>, now: Instant) -> Self {
        PlanView { hub, snapshot: hub.registry.snapshot(), servers, now }
    }
}
