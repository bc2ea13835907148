//! One skill in a folder: its front matter at load, its instructions when it is called.

use super::fields::Fields;
use super::files::{self, Refused};
use super::{front_matter, scan};
use serde_json::{Value, json};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// More is no text that a model could follow.
pub const MAX_INSTRUCTIONS: u64 = 1024 * 1024;

#[derive(Clone, Debug, PartialEq)]
pub struct Skill {
    /// With all links followed; every file of the skill is below it.
    pub folder: PathBuf,
    /// The name of its `SKILL.md`.
    pub file: String,
    pub fields: Fields,
}

/// What changes when a file does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark(Option<SystemTime>, u64);

impl Mark {
    /// That of the `SKILL.md` of a folder.
    pub fn of(folder: &Path) -> Option<Mark> {
        let data = fs::metadata(scan::file_of(folder)?).ok()?;
        Some(Mark::from(&data))
    }
}

impl From<&Metadata> for Mark {
    fn from(data: &Metadata) -> Self {
        Mark(data.modified().ok(), data.len())
    }
}

impl Skill {
    /// Reads the front matter, and what is odd about it; or says why it is no skill.
    pub fn load(folder: &Path) -> Result<(Skill, Vec<String>), String> {
        let unreadable = |error: std::io::Error| format!("it cannot be read: {error}");
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let file = scan::file_of(folder).ok_or("it has no SKILL.md")?;
        let file = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = fs::canonicalize(folder).map_err(unreadable)?;
        let mut notes = Vec::new();
        if file != scan::NAMES[0] {
            notes.push(format!("its file should be called SKILL.md, not {file}"));
        }
        let mut open = files::open(&folder, &file).map_err(|why| format!("its {file} {why}"))?;
        let front = front_matter::read_front(&mut open).map_err(unreadable)?;
        let (given, _, repaired) = front_matter::read_leniently(front_matter::text_of(&front)?)?;
        if repaired {
            notes.push("its front matter is no YAML; values with a colon inside need quotes".into());
        }
        let own = name.or_else(|| folder.file_name().map(|name| name.to_string_lossy().into_owned()));
        let fields = Fields::read(&given, own.as_deref().unwrap_or_default(), &mut notes)?;
        Ok((Skill { folder, file, fields }, notes))
    }

    /// The Markdown behind the front matter, as it is now.
    pub fn instructions(&self) -> Result<String, Refused> {
        let bytes = files::read(&self.folder, &self.file, MAX_INSTRUCTIONS)?;
        // One byte that is no letter does not cost the rest.
        let text = String::from_utf8_lossy(&bytes);
        let (_, body, _) = front_matter::read_leniently(&text).map_err(Refused::Unreadable)?;
        Ok(body.trim().to_owned())
    }

    /// What a call gives.
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
        for (key, text) in [("license", &fields.license), ("compatibility", &fields.compatibility)] {
            if let Some(text) = text {
                value[key] = json!(text);
            }
        }
        if !fields.metadata.is_empty() {
            value["metadata"] = json!(fields.metadata);
        }
        if !fields.allowed_tools.is_empty() {
            value["allowed_tools"] = json!(fields.allowed_tools);
        }
        Ok(value)
    }
}
