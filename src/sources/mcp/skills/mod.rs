//! Skills over MCP, the extension `io.modelcontextprotocol/skills`.
//!
//! ```text
//! skills/list ─► Skill (what it says of itself, and a manifest of its files)      nothing is read ahead of need
//!                  │
//!               SkillTool, called ─► resources/read ─► size, digest, front matter as listed? ─► instructions
//! ```
//!
//! What a server serves is not trusted for being what its list says: that only shows that the two fit together. A skill is
//! text for a model, under the label of its server; nothing in it grants a permission (`allowed-tools` is ignored) and
//! nothing of it is run.

mod skill;
mod tool;

pub use skill::{Skill, SkillFile};
pub use tool::SkillTool;

use super::connection::Connection;
use super::pages::{self, Fetched, PagedList};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;
use toolhub_types::error::HubError;

pub const EXTENSION: &str = "io.modelcontextprotocol/skills";
const MAX_SKILLS: usize = 10_000;
const MAX_NOTICES: usize = 100;

/// Whether a server says that it has skills.
pub fn offered(connection: &Connection) -> bool {
    let extensions = connection.server().capabilities.get("extensions");
    extensions.and_then(|all| all.get(EXTENSION)).is_some_and(Value::is_object)
}

/// The skills of a server at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skills {
    pub skills: Vec<Arc<Skill>>,
    /// What was left out, and why.
    pub notices: Vec<String>,
}

/// Fetches all pages of `skills/list`, read entry by entry.
pub async fn fetch(connection: &Connection) -> Result<Skills, HubError> {
    let list = PagedList {
        method: "skills/list",
        member: "skills",
        meta: Map::new(),
        most: MAX_SKILLS,
        words: ["the list of skills", "a second skill at"],
    };
    let read =
        |entry: &RawValue| Skill::read(entry).map(|skill| (skill.uri.clone(), Arc::new(skill), Vec::new()));
    let Fetched { entries: skills, mut notices, .. } = pages::fetch(connection, list, read).await?;
    notices.truncate(MAX_NOTICES);
    Ok(Skills { skills, notices })
}

impl Skills {
    /// The known skills, with a notice that they could not be listed again.
    pub fn not_listed(known: Option<&Skills>, why: &str) -> Skills {
        let notices = vec![format!("the skills could not be listed: {why}")];
        Skills { notices, ..known.cloned().unwrap_or_default() }
    }

    /// Each skill with a label that no other skill of this server has: its name, or where that is not enough its path, or
    /// else its whole address.
    pub fn labelled(&self) -> impl Iterator<Item = (&str, &Arc<Skill>)> {
        let (mut names, mut paths) = (HashMap::new(), HashMap::new());
        for skill in &self.skills {
            *names.entry(skill.name.clone()).or_insert(0) += 1;
            *paths.entry(path(skill)).or_insert(0) += 1;
        }
        self.skills.iter().map(move |skill| {
            let label = match (names.get(&skill.name), paths.get(path(skill))) {
                (Some(1), _) => &*skill.name,
                (_, Some(1)) => path(skill),
                _ => skill.folder(),
            };
            (label, skill)
        })
    }
}

fn path(skill: &Skill) -> &str {
    let folder = skill.folder();
    folder.split_once("://").map_or(folder, |(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn labels_are_short_where_they_can_be_and_always_different() {
        let skill = |uri: &str| {
            let name = uri.trim_end_matches("/SKILL.md").rsplit('/').next();
            let entry = json!({"uri": uri, "frontmatter": {"name": name, "description": "d"}, "resources": "dynamic"});
            Arc::new(Skill::read(&serde_json::value::to_raw_value(&entry).unwrap()).unwrap())
        };
        let uris = [
            "skill://a/refunds/SKILL.md",
            "skill://b/refunds/SKILL.md",
            "skill://pdf/SKILL.md",
            "x://c/tax/SKILL.md",
            "y://c/tax/SKILL.md",
        ];
        let skills = Skills { skills: uris.into_iter().map(skill).collect(), notices: Vec::new() };
        let labels: Vec<&str> = skills.labelled().map(|(label, _)| label).collect();
        assert_eq!(labels, ["a/refunds", "b/refunds", "pdf", "x://c/tax", "y://c/tax"]);
    }
}
