//! From a server's lists to candidates of the hub.
//!
//! Only the server that was added last under an id may publish: a list of one that was replaced or removed meanwhile is
//! dropped. Each server has a lock of its own, so a slow store delays no other server.

use super::pins::Pins;
use super::resources;
use crate::mcp::config::{Command, Endpoint, ServerConfig};
use crate::mcp::connection::ServerIdentity;
use crate::mcp::protocol::{Era, NegotiatedProtocol, version};
use crate::mcp::server::{ListingSink, Server};
use crate::mcp::skills::{Skill, Skills};
use crate::mcp::tool::McpTool;
use crate::mcp::tool_list::{Listed, ListedBy, Listing};
use crate::skills::call::SkillTool;
use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::SystemTime;
use toolhub_engine::hub::Hub;
use toolhub_registry::select::effects::{self, Declaration, EffectsInput};
use toolhub_registry::{Candidate, Filter, Snapshot};
use toolhub_store::{ListKey, Store, StoredList};
use toolhub_text::pattern::BETWEEN;
use toolhub_text::{Message, message};
use toolhub_types::error::clip;
use toolhub_types::limit::Gate;
use toolhub_types::model::{Effects, Source, ToolSpec, Trust};
use toolhub_types::tool::Tool;

/// What one server offers, by its names in the hub.
type ByName<T> = HashMap<Arc<str>, Arc<T>>;

/// Registers the tools and skills of servers in a hub, and removes what is no longer listed.
pub struct ToolPublisher {
    hub: Weak<Hub>,
    pub pins: Pins,
    servers: Mutex<HashMap<Arc<str>, Arc<Mutex<Publication>>>>,
}

/// What of one server is in the registry.
#[derive(Default)]
struct Publication {
    /// The server that may publish under this id.
    owner: Weak<Server>,
    /// Reserved for its candidates, so that servers keep their order, whichever lists first.
    ids: Range<u64>,
    tools: ByName<Listed>,
    /// The version of the program that listed the tools.
    program_version: Option<Arc<str>>,
    skills: ByName<Skill>,
}

impl Publication {
    fn candidate(&mut self, hub: &Hub, server: &Server, source: Source, tool: Arc<dyn Tool>) -> Candidate {
        let gate = tool.spec().max_concurrency.map(|slots| Gate::new(slots, hub.options.max_waiting));
        let id = self.ids.next().unwrap_or_else(|| hub.registry.next_id());
        Candidate { gate, ..Candidate::new(id, source, Some(server.id().clone()), tool) }
    }
}

impl ToolPublisher {
    pub fn new(hub: Weak<Hub>, pins: Pins) -> Self {
        ToolPublisher { hub, pins, servers: Mutex::default() }
    }

    /// From now on this server publishes under its id. What one before it has published is removed; its place stays.
    pub fn admit(&self, server: &Arc<Server>) {
        let Some(hub) = self.hub.upgrade() else { return };
        let publication = self
            .servers
            .lock()
            .entry(server.id().clone())
            .or_insert_with(|| {
                let ids = hub.registry.reserve_ids();
                Arc::new(Mutex::new(Publication { ids, ..Publication::default() }))
            })
            .clone();
        let mut publication = publication.lock();
        publication.owner = Arc::downgrade(server);
        withdraw(&hub, server.id(), &mut publication);
    }

    /// Removes what a server has published. If the id comes back, it comes last.
    pub fn dismiss(&self, server: &Server) {
        let Some(publication) = self.servers.lock().remove(server.id()) else { return };
        let mut publication = publication.lock();
        publication.owner = Weak::new();
        if let Some(hub) = self.hub.upgrade() {
            withdraw(&hub, server.id(), &mut publication);
        }
    }

    /// What the hub has removed by itself counts as never published, so that it is published with the next list.
    pub fn forget_removed(&self, server: &Arc<Server>) {
        self.publish(server, |hub, publication| {
            let snapshot = hub.registry.snapshot();
            let own = Filter { source: Some(Source::Mcps), server: Some(server.id()) };
            publication.tools.retain(|name, _| {
                snapshot
                    .family(name)
                    .is_some_and(|family| family.candidates.iter().any(|one| own.matches(one)))
            });
        });
    }

    /// The other server in whose name space a name is: `server__…` means a tool of that server, whoever lists it.
    fn owner_of(&self, name: &str, server: &Arc<str>) -> Option<Arc<str>> {
        let others = |at: usize| self.servers.lock().get_key_value(&name[..at]).map(|(id, _)| id.clone());
        name.match_indices(BETWEEN).filter_map(|(at, _)| others(at)).find(|id| id != server)
    }

    fn spec(&self, hub: &Hub, server: &Server, listed: &Listed, name: Arc<str>) -> ToolSpec {
        let options = &server.config().options;
        let (effects, idempotent) = self.effects(server, listed);
        let rules = hub.capability_rules();
        let capabilities = rules.of_tool(&listed.name, &listed.description);
        let added = options.capabilities.iter().filter(|tag| !capabilities.contains(tag));
        let mut annotations = listed.annotations.clone();
        if let Some(title) = &listed.title {
            annotations.entry("title").or_insert_with(|| Value::String(title.clone()));
        }
        ToolSpec {
            effects,
            trust: options.trust,
            idempotent,
            description: Arc::from(listed.description.as_str()),
            parameters: listed.input_schema.clone(),
            capabilities: capabilities.iter().chain(added).map(|tag| Arc::from(tag.as_str())).collect(),
            kinds: rules.kinds(&listed.name, &options.capabilities).into_iter().map(Arc::from).collect(),
            annotations,
            timeout: options.timeout,
            is_candidate: options.is_candidate(&listed.name),
            is_hidden: !resources::is_for_models(listed),
            ..ToolSpec::named(name)
        }
    }

    /// Runs `publish` if this server may publish; meanwhile no other list of this id is published.
    fn publish(&self, server: &Arc<Server>, publish: impl FnOnce(&Hub, &mut Publication)) {
        let Some(hub) = self.hub.upgrade() else { return };
        let Some(publication) = self.servers.lock().get(server.id()).cloned() else { return };
        let mut publication = publication.lock();
        if std::ptr::eq(publication.owner.as_ptr(), Arc::as_ptr(server)) {
            publish(&hub, &mut publication);
        }
    }
}

fn withdraw(hub: &Hub, id: &Arc<str>, publication: &mut Publication) {
    remove_missing(hub, id, Source::Mcps, &mut publication.tools, &HashSet::new());
    remove_missing(hub, id, Source::Skills, &mut publication.skills, &HashSet::new());
    hub.refusals.replace(id, HashMap::new());
}

impl ListingSink for ToolPublisher {
    fn fetched(&self, server: &Arc<Server>, identity: &ServerIdentity, listing: &Listing) {
        self.publish(server, |hub, _| {
            if let Some(store) = hub.store() {
                keep(store, server, identity, listing);
            }
        });
    }

    fn publish_tools(&self, server: &Arc<Server>, listing: &Arc<Listing>) {
        let options = &server.config().options;
        let prefix = options.prefix.as_deref().unwrap_or_default();
        self.publish(server, |hub, publication| {
            let before = hub.registry.snapshot();
            let is_same_program = publication.program_version == listing.program_version;
            publication.program_version = listing.program_version.clone();
            let (mut now, mut new, mut refused) = (HashSet::new(), Vec::new(), HashMap::new());
            let mut names: HashSet<Arc<str>> = publication.tools.keys().cloned().collect();
            for listed in &listing.tools {
                let name: Arc<str> = match prefix {
                    "" => listed.name.clone(),
                    prefix => Arc::from(format!("{prefix}{}", listed.name)),
                };
                let owner = self.owner_of(&name, server.id());
                let trespasses = owner.map(|owner| in_space_of(&name, server.id(), &owner));
                let has_changed = || options.pin.then(|| self.pins.refusal(server.id(), listed)).flatten();
                if let Some(why) = trespasses.or_else(has_changed) {
                    refused.insert(name, why);
                    continue;
                }
                now.insert(name.clone());
                if is_same_program && publication.tools.get(&name).is_some_and(|before| before == listed) {
                    continue;
                }
                let spec = self.spec(hub, server, listed, name.clone());
                let shown = resources::listed(server.id(), listed);
                let as_listed =
                    ListedBy { tool: listed.clone(), program_version: listing.program_version.clone() };
                let tool = Arc::new(McpTool::new(server.clone(), as_listed, shown, spec));
                new.push(publication.candidate(hub, server, Source::Mcps, tool));
                publication.tools.insert(name, listed.clone());
            }
            self.pins.secure();
            names.extend(new.iter().map(|one: &Candidate| one.spec().name.clone()));
            hub.registry.insert_all(new);
            remove_missing(hub, server.id(), Source::Mcps, &mut publication.tools, &now);
            log_namesakes(server, &names, &before, &hub.registry.snapshot());
            hub.refusals.replace(server.id(), refused);
        });
    }

    /// The name in the hub is `server/skill`: no skill of a server has the name of a local one, or of another server's.
    fn publish_skills(&self, server: &Arc<Server>, skills: &Arc<Skills>) {
        self.publish(server, |hub, publication| {
            let mut now = HashSet::new();
            for (label, skill) in skills.labelled() {
                let name: Arc<str> = Arc::from(format!("{}/{label}", server.id()));
                now.insert(name.clone());
                if publication.skills.get(&name).is_some_and(|before| before == skill) {
                    continue;
                }
                let tool = Arc::new(SkillTool::of_server(server.clone(), skill.clone(), name.clone()));
                hub.registry.insert(publication.candidate(hub, server, Source::Skills, tool));
                publication.skills.insert(name, skill.clone());
            }
            remove_missing(hub, server.id(), Source::Skills, &mut publication.skills, &now);
        });
    }

    fn effects(&self, server: &Server, listed: &Listed) -> (Effects, bool) {
        let options = &server.config().options;
        let effects = effects::assess(&EffectsInput {
            name: &listed.name,
            description: &listed.description,
            parameters: &listed.input_schema,
            annotations: &listed.annotations,
            declaration: Declaration::Server {
                effects: options.effects,
                assume_read_only: options.assume_read_only,
                trust: options.trust,
            },
        });
        let hint = listed.annotations.get("idempotentHint").and_then(Value::as_bool);
        (effects, options.trust != Trust::None && hint == Some(true))
    }
}

fn in_space_of(tool: &str, server: &str, owner: &str) -> Message {
    let (tool, server, owner) = (clip(tool), clip(server), clip(owner));
    message!(
        "Tool '{}' of server '{}' has a name that belongs to server '{}', and is refused. Give server '{}' the option `prefix`.",
        tool,
        server,
        owner,
        server
    )
}

/// Logs for which names the list has changed whether the tools of servers are one tool.
fn log_namesakes(server: &Server, names: &HashSet<Arc<str>>, before: &Snapshot, now: &Snapshot) {
    let tools = |snapshot: &Snapshot, name: &str| -> Vec<Arc<str>> {
        let family = snapshot.family(name);
        family.iter().flat_map(|family| &family.tools).map(|tool| tool.name.clone()).collect()
    };
    for name in names {
        let (before, now) = (tools(before, name), tools(now, name));
        match now.as_slice() {
            now if now == before => {}
            [] => server.log("info", &format!("tools named '{}' are one tool now", clip(name))),
            now => {
                let listed = now.iter().map(|name| clip(name)).collect::<Vec<_>>().join(", ");
                server
                    .log("info", &format!("different tools are named '{}', listed as: {listed}", clip(name)));
            }
        }
    }
}

/// Removes from the registry what is known and not listed now.
fn remove_missing<T>(hub: &Hub, server: &str, source: Source, old: &mut ByName<T>, now: &HashSet<Arc<str>>) {
    let filter = Filter { source: Some(source), server: Some(server) };
    old.retain(|name, _| {
        let stays = now.contains(name);
        if !stays {
            hub.registry.remove(name, filter);
        }
        stays
    });
}

// Tool lists over restarts: what a server has listed, and what it has said of itself with the list, goes into the store, and is
// there before it is connected again.

/// What is kept as the text of a list.
#[derive(Serialize, Deserialize)]
struct KeptList<'a> {
    #[serde(borrow)]
    tools: &'a RawValue,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    extensions: Map<String, Value>,
}

pub fn keep(store: &Store, server: &Server, identity: &ServerIdentity, listing: &Listing) {
    let Ok(tools) = RawValue::from_string(listing.to_json()) else { return };
    let kept = KeptList {
        tools: &tools,
        instructions: server.shown_instructions(),
        extensions: server.callbacks().extensions.lock().clone(),
    };
    let Ok(text) = serde_json::to_string(&kept) else { return };
    let list = StoredList {
        era: identity.era.name().to_owned(),
        protocol: identity.version.to_owned(),
        version: identity.program_version(),
        listed_at: SystemTime::now(),
        ttl_ms: listing.ttl_ms,
        tools: text,
    };
    store.save_list(key(server.config()), list);
}

/// What the server listed in an earlier process. Nothing is started for it; the first call connects and lists again.
pub fn restore_list(store: &Store, server: &Arc<Server>) {
    let Some(list) = store.list(&key(server.config())) else { return };
    let Some(era) = Era::parse(&list.era) else { return };
    let age = list.listed_at.elapsed().unwrap_or_default();
    let Ok(kept) = serde_json::from_str::<KeptList<'_>>(&list.tools) else { return };
    if let Ok(mut listing) = Listing::from_json(kept.tools.get(), era, list.ttl_ms) {
        listing.program_version = list.version.map(Arc::from);
        server.callbacks().set_instructions(kept.instructions);
        *server.callbacks().extensions.lock() = kept.extensions;
        server.restore(listing, NegotiatedProtocol { era, version: version(&list.protocol) }, age);
    }
}

fn key(config: &ServerConfig) -> ListKey {
    ListKey { server: config.id.clone(), config: place(config) }
}

/// A short checksum of where the server is, so that the list of another one under the same id is not taken for its own.
/// Headers and environment, where secrets are, have no part in it, and 32 bits do not give away an argument.
pub fn place(config: &ServerConfig) -> u32 {
    let place = match &config.endpoint {
        Endpoint::Stdio(Command { program, args, cwd, names_cwd, .. }) => {
            let named = cwd.as_deref().filter(|_| *names_cwd).map(Path::to_string_lossy);
            json!(["stdio", program, args, named])
        }
        Endpoint::Http(remote) => json!(["http", remote.url]),
        Endpoint::InProcess(_) => json!("in process"),
    };
    let sum = digest(&SHA256, place.to_string().as_bytes());
    sum.as_ref().iter().take(4).fold(0, |number, byte| number << 8 | u32::from(*byte))
}
