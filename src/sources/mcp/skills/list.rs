//! Which skills a server has: `skills/list` with all its pages, read entry by entry.

use super::skill::Skill;
use crate::mcp::connection::Connection;
use crate::mcp::pages::{self, Fetched, PagedList};
use serde_json::Map;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::Arc;
use toolhub_types::error::HubError;

const MAX_SKILLS: usize = 10_000;
const MAX_NOTICES: usize = 100;

/// The skills of a server at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skills {
    pub skills: Vec<Arc<Skill>>,
    /// What was left out, and why.
    pub notices: Vec<String>,
}

/// Fetches all pages.
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
