//! Skills in folders, in the open Agent Skills format: a folder with a `SKILL.md`, YAML in front and Markdown behind.
//!
//! ```text
//! scan (which folders) ─► Skill (front matter, nothing else is read) ─► LocalSkill, called ─► instructions, folder, files
//!                           └ fields: the rules of the format, strict where it matters          └ files: only from inside
//! ```
//!
//! A skill is text for a model. Nothing in it grants a permission (`allowed-tools` is told, not obeyed) and nothing of it
//! is run here.

pub mod call;
mod fields;
pub mod files;
pub mod front_matter;
mod scan;
mod skill;
mod tool;

pub use fields::Fields;
pub use scan::{Found, find};
pub use skill::{Mark, Skill};
pub use tool::LocalSkill;
