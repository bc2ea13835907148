//! Which skills a server has: `skills/list` with all its pages, read entry by entry.

use super::skill::Skill;
use crate::error::HubError;
use crate::sources::mcp::connection::{Connection, RequestExtras};
use crate::sources::mcp::convert::protocol;
use crate::sources::mcp::message::Params;
use crate::sources::mcp::wire::clean;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

const MAX_PAGES: usize = 400;
const MAX_SKILLS: usize = 10_000;
const MAX_NOTICES: usize = 100;

/// The skills of a server at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skills {
    pub skills: Vec<Arc<Skill>>,
    /// What was left out, and why.
    pub notices: Vec<String>,
}

#[derive(Deserialize)]
struct SkillPage {
    #[serde(default)]
    skills: Option<Box<RawValue>>,
    #[serde(default, rename = "nextCursor")]
    next_cursor: Value,
}

/// Fetches all pages. A list that does not end is cut; a cursor that comes again ends it.
pub async fn fetch(connection: &Connection) -> Result<Skills, HubError> {
    let mut found = Skills::default();
    let (mut uris, mut cursors) = (HashSet::new(), HashSet::new());
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let params = match &cursor {
            Some(cursor) => Params::new().with("cursor", cursor),
            None => Params::new(),
        };
        let raw = connection.request("skills/list", params, RequestExtras::default()).await?;
        let page: SkillPage =
            serde_json::from_str(raw.get()).map_err(|error| protocol(format!("skills/list: {error}")))?;
        let entries: Vec<&RawValue> = match &page.skills {
            None => Vec::new(),
            Some(skills) => serde_json::from_str(skills.get())
                .map_err(|_| protocol("skills/list: 'skills' is not a list".into()))?,
        };
        for entry in entries.iter().take(MAX_SKILLS - found.skills.len()) {
            match Skill::read(entry) {
                Ok(skill) if uris.insert(skill.uri.clone()) => found.skills.push(Arc::new(skill)),
                Ok(skill) => found.note(format!("a second skill at '{}'", clean(&skill.uri, 100))),
                Err(reason) => found.note(reason),
            }
        }
        match page.next_cursor {
            Value::String(next) if cursors.insert(next.clone()) && found.skills.len() < MAX_SKILLS => {
                cursor = Some(next);
            }
            _ => return Ok(found),
        }
    }
    found.note(format!("the list of skills did not end after {MAX_PAGES} pages"));
    Ok(found)
}

impl Skills {
    /// The known skills, with a notice that they could not be listed again.
    pub fn not_listed(known: Option<&Skills>, why: &str) -> Skills {
        let mut skills = Skills { notices: Vec::new(), ..known.cloned().unwrap_or_default() };
        skills.note(format!("the skills could not be listed: {why}"));
        skills
    }

    pub fn note(&mut self, what: String) {
        if self.notices.len() < MAX_NOTICES {
            self.notices.push(what);
        }
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
