//! One skill in a folder: its front matter at load, its instructions when it is called.

use super::fields::SkillFields;
use super::files::{self, Refused};
use super::{front_matter, scan};
use serde_json::{Value, json};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use toolhub_text::message::Message;

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

/// Modification time and size of a file, to detect changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileStamp(Option<SystemTime>, u64);

impl FileStamp {
    /// The stamp of the `SKILL.md` of a folder.
    pub fn of(folder: &Path) -> Option<FileStamp> {
        let data = fs::metadata(scan::file_of(folder)?).ok()?;
        Some(FileStamp::from(&data))
    }
}

impl From<&Metadata> for FileStamp {
    fn from(data: &Metadata) -> Self {
        FileStamp(data.modified().ok(), data.len())
    }
}

impl FolderSkill {
    /// Reads the front matter, with notes about mistakes; or the reason why it is not a skill.
    pub fn load(folder: &Path) -> Result<(FolderSkill, Vec<String>), String> {
        let unreadable = |error: std::io::Error| format!("it cannot be read: {error}");
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let file = scan::file_of(folder).ok_or("it has no SKILL.md")?;
        let file = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = fs::canonicalize(folder).map_err(unreadable)?;
        let mut notes = Vec::new();
        if file != scan::NAMES[0] {
            notes.push(format!("its file should be called SKILL.md, not {file}"));
        }
        let mut open = files::open(&folder, &file).map_err(|why| format!("its {file} {}", why.why()))?;
        let front = front_matter::read_front(&mut open).map_err(unreadable)?;
        let front = front_matter::text_of(&front).and_then(front_matter::read_leniently);
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
        let (_, body, _) = front_matter::read_leniently(&text).map_err(Refused::Unreadable)?;
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
