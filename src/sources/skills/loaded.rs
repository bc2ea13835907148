//! A folder of skills in a hub. Loading it again applies what has changed in it.

use super::call::{self, LocalSkill};
use super::files::FileStamp;
use super::skill::{FolderSkill, file_of, find};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use toolhub_registry::{Candidate, Registry};
use toolhub_types::model::Source;

/// Added to the error of a skill that could be read before. Instructions are read by each call, so no old ones are kept.
const STAYS: &str = "; the skill stays listed as it was, but a call reads the file as it is";

/// A folder of skills, and which of them are in the hub.
pub struct LoadedFolder {
    root: PathBuf,
    schema: Arc<Value>,
    known: Mutex<BTreeMap<PathBuf, LoadedSkill>>,
}

/// A skill as it was read last.
#[derive(Clone)]
struct LoadedSkill {
    mark: Option<FileStamp>,
    skill: FolderSkill,
    notes: Vec<String>,
    /// None when another skill has the name.
    candidate: Option<Arc<Candidate>>,
}

/// What loading a folder has changed.
#[derive(Default, Serialize)]
pub struct SkillReport {
    pub loaded: Vec<String>,
    pub changed: Vec<String>,
    pub removed: Vec<String>,
    pub skipped: Vec<String>,
    pub warnings: Vec<String>,
    pub errors: Vec<String>,
}

impl LoadedFolder {
    pub fn new(root: PathBuf) -> Self {
        LoadedFolder { root, schema: call::parameters(), known: Mutex::default() }
    }

    /// Reads the folder: adds new skills, replaces changed ones and removes missing ones. A skill that cannot be read any
    /// more stays listed as it was.
    pub fn load(&self, registry: &Registry) -> SkillReport {
        let found = find(&self.root);
        let mut report =
            SkillReport { skipped: found.notices, errors: found.broken, ..SkillReport::default() };
        let mut known = self.known.lock();
        let mut before = std::mem::take(&mut *known);
        for folder in found.folders {
            let mark = file_of(&folder).as_deref().and_then(FileStamp::of);
            let old = before.remove(&folder);
            let shown = folder.display();
            let now = match old {
                Some(old) if old.mark.is_some() && old.mark == mark => Some(old),
                old => match FolderSkill::load(&folder) {
                    Ok((skill, notes)) => {
                        let candidate = old.as_ref().and_then(|old| old.candidate.clone());
                        Some(LoadedSkill { mark, skill, notes, candidate })
                    }
                    Err(why) => {
                        let stays = if old.is_some() { STAYS } else { "" };
                        report.errors.push(format!("{shown}: {why}{stays}"));
                        old
                    }
                },
            };
            if let Some(now) = now {
                report.warnings.extend(now.notes.iter().map(|note| format!("{shown}: {note}")));
                known.insert(folder, now);
            }
        }
        for gone in before.into_values() {
            report.removed.extend(unregister(registry, gone.candidate.as_ref()));
        }
        self.register(registry, &mut known, &mut report);
        report
    }

    /// Of two skills with one name, the one that is registered keeps it; of two new ones, the first in order of folders.
    fn register(
        &self,
        registry: &Registry,
        known: &mut BTreeMap<PathBuf, LoadedSkill>,
        report: &mut SkillReport,
    ) {
        for one in known.values_mut() {
            let renamed = one.candidate.take_if(|old| *old.spec().name != *one.skill.fields.name);
            report.removed.extend(unregister(registry, renamed.as_ref()));
        }
        let mut names: HashMap<String, PathBuf> = HashMap::new();
        for (folder, one) in &mut *known {
            let name = one.skill.fields.name.clone();
            let old = one.candidate.take();
            let taken = names.get(&name).map(|other| format!("the skill in {}", other.display()));
            let taken = taken.or_else(|| other_owner(registry, &name, old.as_ref()));
            if let Some(other) = taken {
                report.skipped.push(format!("{}: its name '{name}' is taken by {other}", folder.display()));
                continue;
            }
            // Both are then candidates of it.
            if candidates(registry, &name).iter().any(|one| one.source != Source::Skills) {
                report.warnings.push(format!("{}: a tool has its name '{name}' too", folder.display()));
            }
            names.insert(name.clone(), folder.clone());
            let same = old.as_ref().is_some_and(|old| is_registered(registry, old) && is_of(old, &one.skill));
            if !same {
                report.changed.push(name.clone());
            }
            one.candidate = if same { old } else { Some(self.insert(registry, one.skill.clone())) };
            report.loaded.push(name);
        }
    }

    fn insert(&self, registry: &Registry, skill: FolderSkill) -> Arc<Candidate> {
        let tool = Arc::new(LocalSkill::local(skill, &self.schema));
        registry.insert(Candidate::new(registry.next_id(), Source::Skills, None, tool))
    }
}

/// The candidates of a name, those that a longer name tells apart included.
fn candidates(registry: &Registry, name: &str) -> Vec<Arc<Candidate>> {
    registry.load().family(name).map(|entry| entry.candidates.to_vec()).unwrap_or_default()
}

fn is_registered(registry: &Registry, candidate: &Arc<Candidate>) -> bool {
    candidates(registry, &candidate.spec().name).iter().any(|now| Arc::ptr_eq(&now.tool, &candidate.tool))
}

fn is_of(candidate: &Candidate, skill: &FolderSkill) -> bool {
    let tool: &dyn Any = &*candidate.tool;
    tool.downcast_ref::<LocalSkill>().is_some_and(|tool| *tool.source == *skill)
}

/// The other owner of the name, if there is one: a skill of another folder, or one that was registered by hand.
fn other_owner(registry: &Registry, name: &str, ours: Option<&Arc<Candidate>>) -> Option<String> {
    let is_local = |one: &Arc<Candidate>| one.source == Source::Skills && one.server.is_none();
    let other = candidates(registry, name).into_iter().find(is_local)?;
    if ours.is_some_and(|ours| Arc::ptr_eq(&ours.tool, &other.tool)) {
        return None;
    }
    Some(match &other.spec().location {
        Some(location) => format!("the skill in {location}"),
        None => "another skill".into(),
    })
}

/// Removes a candidate if it is still registered, and returns its name.
fn unregister(registry: &Registry, candidate: Option<&Arc<Candidate>>) -> Option<String> {
    let candidate = candidate.filter(|candidate| is_registered(registry, candidate))?;
    let name = candidate.spec().name.to_string();
    let is_meant = |one: &Candidate| Arc::ptr_eq(&one.tool, &candidate.tool);
    (registry.remove_where(&name, is_meant) > 0).then_some(name)
}
