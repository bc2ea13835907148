//! From a server's list to candidates of the hub.

use super::cache;
use super::pins::Pins;
use crate::hub::Hub;
use crate::limit::Gate;
use crate::model::{Source, ToolSpec};
use crate::registry::{Candidate, Filter};
use crate::select::nature;
use crate::sources::mcp::connection::Peer;
use crate::sources::mcp::listing::{Listed, Listing};
use crate::sources::mcp::server::{Server, Shelf};
use crate::sources::mcp::skills::{Skill, Skills};
use crate::sources::mcp::tool::McpTool;
use crate::stats::CandidateStats;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Weak};

/// What one server has, by its names in the hub.
type ByName<T> = HashMap<Arc<str>, Arc<T>>;

/// Puts tools into the registry of a hub, and takes away what is not listed any more.
pub struct HubShelf {
    hub: Weak<Hub>,
    pub pins: Pins,
    /// The numbers of each server's candidates.
    ids: Mutex<HashMap<Arc<str>, Range<u64>>>,
    /// What is there for each server.
    shown: Mutex<HashMap<Arc<str>, ByName<Listed>>>,
    skills: Mutex<HashMap<Arc<str>, ByName<Skill>>>,
}

impl HubShelf {
    pub fn new(hub: Weak<Hub>, pins: Pins) -> Self {
        HubShelf { hub, pins, ids: Mutex::default(), shown: Mutex::default(), skills: Mutex::default() }
    }

    /// Gives a new server its place among the others: what it lists stands there, whoever lists first.
    pub fn make_room(&self, server: &Arc<str>) {
        if let Some(hub) = self.hub.upgrade() {
            self.ids.lock().insert(server.clone(), hub.registry.reserve_ids());
        }
    }

    /// If it comes back, it comes last.
    pub fn give_room_up(&self, server: &Arc<str>) {
        self.ids.lock().remove(server);
    }

    fn next_id(&self, hub: &Hub, server: &str) -> u64 {
        let reserved = self.ids.lock().get_mut(server).and_then(Iterator::next);
        reserved.unwrap_or_else(|| hub.registry.next_id())
    }

    /// Nothing of the server is shown any more; its place is kept.
    pub fn forget(&self, server: &Arc<str>) {
        self.shown.lock().remove(server);
        if let Some(hub) = self.hub.upgrade() {
            hub.refuse(server, HashMap::new());
        }
        self.skills.lock().remove(server);
    }
}

impl Shelf for HubShelf {
    fn fetched(&self, server: &Server, peer: &Peer, listing: &Listing) {
        if let Some(hub) = self.hub.upgrade()
            && let Some(store) = hub.store()
        {
            cache::keep(store, server, peer, listing);
        }
    }

    fn listed(&self, server: &Arc<Server>, listing: &Arc<Listing>) {
        let Some(hub) = self.hub.upgrade() else { return };
        let options = &server.config().options;
        let prefix = options.prefix.as_deref().unwrap_or_default();
        // Held to the end: two lists of one server must not be put up at the same time.
        let mut shown = self.shown.lock();
        let known = shown.entry(server.id().clone()).or_default();
        let (mut now, mut new, mut refused) = (HashSet::new(), Vec::new(), HashMap::new());
        for listed in &listing.tools {
            let name: Arc<str> = match prefix {
                "" => listed.name.clone(),
                prefix => Arc::from(format!("{prefix}{}", listed.name)),
            };
            if let Some(why) = options.pin.then(|| self.pins.refusal(server.id(), listed)).flatten() {
                refused.insert(name, why);
                continue;
            }
            now.insert(name.clone());
            if known.get(&name).is_some_and(|before| before == listed) {
                continue;
            }
            let spec = spec(&hub, server, listed, name.clone());
            new.push(Candidate {
                id: self.next_id(&hub, server.id()),
                source: Source::Mcps,
                server: Some(server.id().clone()),
                priority: Source::Mcps.default_priority(),
                gate: spec.max_concurrency.map(|places| Gate::new(places, hub.options.max_waiting)),
                tool: Arc::new(McpTool::new(server.clone(), listed.clone(), spec)),
                stats: Arc::new(CandidateStats::default()),
            });
            known.insert(name, listed.clone());
        }
        hub.registry.insert_all(new);
        let filter = Filter { source: Some(Source::Mcps), server: Some(server.id()) };
        known.retain(|name, _| {
            let stays = now.contains(name);
            if !stays {
                hub.registry.remove(name, filter);
            }
            stays
        });
        hub.refuse(server.id(), refused);
    }

    fn has_skills(&self, server: &Arc<Server>, skills: &Arc<Skills>) {
        let Some(hub) = self.hub.upgrade() else { return };
        let mut shown = self.skills.lock();
        let known = shown.entry(server.id().clone()).or_default();
        super::skills::put_up(&hub, server, skills, known, || self.next_id(&hub, server.id()));
    }
}

fn spec(hub: &Hub, server: &Server, listed: &Listed, name: Arc<str>) -> ToolSpec {
    let options = &server.config().options;
    let mut capabilities = hub.capability_rules().extract(&listed.name, &listed.description);
    for tag in &options.capabilities {
        if !capabilities.contains(tag) {
            capabilities.push(tag.clone());
        }
    }
    let hint = |key: &str| listed.annotations.get(key).and_then(Value::as_bool);
    let mut annotations = listed.annotations.clone();
    if let Some(title) = &listed.title {
        annotations.entry("title").or_insert_with(|| Value::String(title.clone()));
    }
    ToolSpec {
        effects: nature::effects(&listed.name, options.effects, None, &listed.annotations),
        idempotent: hint("idempotentHint").unwrap_or(false),
        description: Arc::from(listed.description.as_str()),
        parameters: listed.input_schema.clone(),
        capabilities: capabilities.into_iter().map(Arc::from).collect(),
        annotations,
        timeout: options.timeout,
        ..ToolSpec::named(name)
    }
}
