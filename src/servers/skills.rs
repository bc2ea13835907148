//! From a server's skills to candidates of the hub.

use crate::hub::Hub;
use crate::model::Source;
use crate::registry::{Candidate, Filter};
use crate::sources::mcp::server::Server;
use crate::sources::mcp::skills::{Skill, SkillTool, Skills};
use crate::stats::CandidateStats;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Puts up what is new, takes away what is not listed any more. The name in the hub is `server/skill`: no skill of a
/// server has the name of a local one, or of one of another server.
pub fn put_up(
    hub: &Hub,
    server: &Arc<Server>,
    skills: &Skills,
    known: &mut HashMap<Arc<str>, Arc<Skill>>,
    next_id: impl Fn() -> u64,
) {
    let mut now = HashSet::new();
    for (label, skill) in skills.labelled() {
        let name: Arc<str> = Arc::from(format!("{}/{label}", server.id()));
        now.insert(name.clone());
        if known.get(&name).is_some_and(|before| before == skill) {
            continue;
        }
        hub.registry.insert(Candidate {
            id: next_id(),
            source: Source::Skills,
            server: Some(server.id().clone()),
            priority: Source::Skills.default_priority(),
            gate: None,
            tool: Arc::new(SkillTool::new(server.clone(), skill.clone(), name.clone())),
            stats: Arc::new(CandidateStats::default()),
        });
        known.insert(name, skill.clone());
    }
    let filter = Filter { source: Some(Source::Skills), server: Some(server.id()) };
    known.retain(|name, _| {
        let stays = now.contains(name);
        if !stays {
            hub.registry.remove(name, filter);
        }
        stays
    });
}
