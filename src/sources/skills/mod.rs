//! Skills in folders, in the open Agent Skills format: a folder with a `SKILL.md`, YAML front matter and Markdown after it.
//!
//! ```text
//! scan (which folders) ─► FolderSkill (front matter only) ─► LocalSkill, called ─► instructions, folder, files
//!                           └ front_matter: YAML; fields: its rules              └ files: only from inside
//! ```
//!
//! A skill is text for a model. It grants no permission (`allowed-tools` is shown, not applied), and nothing in it is run
//! here.

pub mod call;
mod fields;
pub mod files;
pub mod front_matter;
mod loaded;
mod skill;

pub use call::LocalSkill;
pub use fields::SkillFields;
pub use loaded::{LoadedFolder, SkillReport};
pub use skill::{FolderSkill, FoundSkills, find};
