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

mod list;
mod read;
mod skill;
mod tool;

pub use list::{Skills, fetch};
pub use skill::{Skill, SkillFile};
pub use tool::SkillTool;

use super::connection::Connection;

pub const EXTENSION: &str = "io.modelcontextprotocol/skills";

/// Whether a server says that it has skills.
pub fn offered(connection: &Connection) -> bool {
    let extensions = connection.server().capabilities.get("extensions");
    extensions.and_then(|all| all.get(EXTENSION)).is_some_and(serde_json::Value::is_object)
}
