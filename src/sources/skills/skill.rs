//! One skill in a folder: its front matter at load, its instructions when it is called.

use super::fields::SkillFields;
use super::files::{self, Refused};
use super::front_matter;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use toolhub_text::Message;

/// A model cannot follow longer instructions.
pub const MAX_INSTRUCTIONS: u64 = 1024 * 1024;

#[derive(Clone, Debug, PartialEq)]
pub struct FolderSkill {
    /// With all links resolved; every file of the skill is below it.
    pub folder: PathBuf,
    /// The name of its `SKILL.md`.
    pub file: String,
    pub fields: SkillFields,
}

impl FolderSkill {
    /// Reads the front matter, with notes about mistakes; or the reason why it is not a skill.
    pub fn load(folder: &Path) -> Result<(FolderSkill, Vec<String>), String> {
        let unreadable = |error: std::io::Error| format!("it cannot be read: {error}");
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let file = file_of(folder).ok_or("it has no SKILL.md")?;
        let file = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = fs::canonicalize(folder).map_err(unreadable)?;
        let mut notes = Vec::new();
        if file != NAMES[0] {
            notes.push(format!("its file should be called SKILL.md, not {file}"));
        }
        let mut open = files::open(&folder, &file).map_err(|why| format!("its {file} {}", why.why()))?;
        let front = front_matter::read_front(&mut open).map_err(unreadable)?;
        let front = front_matter::text_of(&front).and_then(front_matter::read);
        let (given, _, repaired) = front.map_err(Message::into_owned)?;
        if repaired {
            notes.push("its front matter is not YAML; values with a colon inside need quotes".into());
        }
        let own = name.or_else(|| folder.file_name().map(|name| name.to_string_lossy().into_owned()));
        let fields = SkillFields::read(&given, own.as_deref().unwrap_or_default(), &mut notes)?;
        Ok((FolderSkill { folder, file, fields }, notes))
    }

    /// The Markdown after the front matter, as it is now.
    pub fn instructions(&self) -> Result<String, Refused> {
        let bytes = files::read(&self.folder, &self.file, MAX_INSTRUCTIONS)?;
        // An invalid byte must not cost the rest.
        let text = String::from_utf8_lossy(&bytes);
        let (_, body, _) = front_matter::read(&text).map_err(Refused::Unreadable)?;
        Ok(body.trim().to_owned())
    }

    /// The result of a call.
    pub fn value(&self) -> Result<Value, Refused> {
        let fields = &self.fields;
        let (resources, cut) = files::list(&self.folder, &self.file);
        let mut value = json!({
            "name": fields.name, "instructions": self.instructions()?,
            "folder": self.folder.to_string_lossy(), "resources": resources,
        });
        if cut {
            value["resources_cut"] = json!(true);
        }
        let given = [
            ("license", json!(fields.license)),
            ("compatibility", json!(fields.compatibility)),
            ("metadata", json!(fields.metadata)),
            ("allowed_tools", json!(fields.allowed_tools)),
        ];
        let is_given = |given: &Value| ![json!(null), json!({}), json!([])].contains(given);
        for (key, given) in given.into_iter().filter(|(_, given)| is_given(given)) {
            value[key] = given;
        }
        Ok(value)
    }
}

// Finds the skills below a folder.

const MAX_DEPTH: usize = 6;
const MAX_FOLDERS: usize = 20_000;
/// Large folders without skills. Folders whose name starts with a dot are skipped too.
const SKIPPED: [&str; 4] = ["node_modules", "__pycache__", "venv", "target"];

/// The files that make a folder a skill; the format defines the first, the second is common.
pub const NAMES: [&str; 2] = ["SKILL.md", "skill.md"];

#[derive(Debug, Default, PartialEq)]
pub struct FoundSkills {
    /// Sorted by path.
    pub folders: Vec<PathBuf>,
    /// What was not searched, and why.
    pub notices: Vec<String>,
    /// Folders that look like skills, and why they are not.
    pub broken: Vec<String>,
}

/// The skills in and below `root`. Folders inside a skill belong to it and are not searched. Links are followed, and each
/// folder is visited once.
pub fn find(root: &Path) -> FoundSkills {
    let (mut found, mut seen) = (FoundSkills::default(), HashSet::new());
    let mut next = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = next.pop() {
        // A cycle of links leads to a folder that was already visited.
        if !fs::canonicalize(&folder).is_ok_and(|place| seen.insert(place)) {
            continue;
        }
        if seen.len() > MAX_FOLDERS {
            let note = format!("{}: only the first {MAX_FOLDERS} folders were looked at", folder.display());
            found.notices.push(note);
            break;
        }
        if file_of(&folder).is_some() {
            found.folders.push(folder);
            continue;
        }
        let broken = NAMES.iter().find_map(|name| Some((name, why_no_file(&folder.join(name))?)));
        if let Some((name, why)) = broken {
            found.broken.push(format!("{}: its {name} {why}", folder.display()));
            continue;
        }
        match fs::read_dir(&folder) {
            Ok(entries) if depth < MAX_DEPTH => {
                let mut below: Vec<_> = entries.flatten().filter_map(|entry| searched(&entry)).collect();
                // The first of them comes next.
                below.sort_by(|a, b| b.cmp(a));
                next.extend(below.into_iter().map(|folder| (folder, depth + 1)));
            }
            Ok(_) => {}
            Err(error) => found.notices.push(format!("{}: {error}", folder.display())),
        }
    }
    found.folders.sort();
    found.broken.sort();
    found
}

/// The path of a folder that may have skills.
fn searched(entry: &fs::DirEntry) -> Option<PathBuf> {
    let (name, kind) = (entry.file_name(), entry.file_type().ok()?);
    let is_skipped = name.as_encoded_bytes().starts_with(b".") || SKIPPED.iter().any(|one| name == *one);
    let path = entry.path();
    ((kind.is_dir() || kind.is_symlink()) && !is_skipped && path.is_dir()).then_some(path)
}

/// The `SKILL.md` of a folder.
pub fn file_of(folder: &Path) -> Option<PathBuf> {
    NAMES.iter().map(|name| folder.join(name)).find(|file| file.is_file())
}

/// What is wrong with a `SKILL.md` that is not a file; None if there is none.
fn why_no_file(path: &Path) -> Option<String> {
    fs::symlink_metadata(path).ok()?;
    Some(match fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "is a broken link".to_owned(),
        Err(error) => format!("cannot be read: {error}"),
        Ok(found) if found.is_dir() => "is a folder".to_owned(),
        Ok(_) => "is not a file".to_owned(),
    })
}
