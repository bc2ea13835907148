//! Finds the skills below a folder.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

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
    let mut walk = Walk::default();
    walk.visit(root, 0);
    walk.found.folders.sort();
    walk.found.broken.sort();
    walk.found
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

#[derive(Default)]
struct Walk {
    found: FoundSkills,
    seen: HashSet<PathBuf>,
    full: bool,
}

impl Walk {
    fn visit(&mut self, folder: &Path, depth: usize) {
        // A cycle of links leads to a folder that was already visited.
        let Ok(place) = fs::canonicalize(folder) else { return };
        if !self.seen.insert(place) || self.full {
            return;
        }
        if self.seen.len() > MAX_FOLDERS {
            self.full = true;
            let note = format!("{}: only the first {MAX_FOLDERS} folders were looked at", folder.display());
            self.found.notices.push(note);
            return;
        }
        if file_of(folder).is_some() {
            self.found.folders.push(folder.to_owned());
            return;
        }
        if let Some((name, why)) =
            NAMES.iter().find_map(|name| Some((name, why_no_file(&folder.join(name))?)))
        {
            self.found.broken.push(format!("{}: its {name} {why}", folder.display()));
            return;
        }
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => {
                self.found.notices.push(format!("{}: {error}", folder.display()));
                return;
            }
        };
        if depth == MAX_DEPTH {
            return;
        }
        let mut below: Vec<PathBuf> = entries
            .flatten()
            .filter(|entry| {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                let maybe = entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink());
                maybe && !name.starts_with('.') && !SKIPPED.contains(&&*name)
            })
            .map(|entry| entry.path())
            .filter(|path| path.is_dir())
            .collect();
        below.sort();
        for folder in below {
            self.visit(&folder, depth + 1);
        }
    }
}
