//! What is wrong with a configuration, as one sentence that says where.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolhub_text::invisible::line;
use toolhub_types::error::clip;

/// A warning or an error. `Display` makes the sentence: *where*, *server*, *key*, *message*.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub file: Option<PathBuf>,
    pub server: Option<Arc<str>>,
    /// The path of the key inside the server, as in `env.PORT`, `args[2]`, `toolhub.timeout`.
    pub key: Option<String>,
    /// A sentence about the key (or the server, or the file), without its subject.
    pub message: String,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{}:", line(&file.to_string_lossy()))?,
            None => f.write_str("MCP configuration:")?,
        }
        if let Some(server) = &self.server {
            write!(f, " server '{}'{}", shown(server), if self.key.is_some() { ":" } else { "" })?;
        }
        if let Some(key) = &self.key {
            write!(f, " `{}`", shown(key))?;
        }
        write!(f, " {}", self.message)
    }
}

/// Ids and keys are foreign text: a terminal must not obey them, and they may be long.
fn shown(text: &str) -> String {
    clip(text)
        .chars()
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
        .collect()
}

/// Collects the notices of one file or of one server.
pub(super) struct Notes {
    file: Option<PathBuf>,
    server: Option<Arc<str>>,
    pub warnings: Vec<Notice>,
    pub errors: Vec<Notice>,
}

impl Notes {
    pub fn new(file: Option<&Path>, server: Option<Arc<str>>) -> Self {
        Self { file: file.map(Path::to_owned), server, warnings: Vec::new(), errors: Vec::new() }
    }

    pub fn warn<'k>(&mut self, key: impl Into<Option<&'k str>>, message: impl Into<String>) {
        let notice = self.notice(key.into(), message.into());
        self.warnings.push(notice);
    }

    pub fn error<'k>(&mut self, key: impl Into<Option<&'k str>>, message: impl Into<String>) {
        let notice = self.notice(key.into(), message.into());
        self.errors.push(notice);
    }

    fn notice(&self, key: Option<&str>, message: String) -> Notice {
        let (file, server, key) = (self.file.clone(), self.server.clone(), key.map(str::to_owned));
        // It may quote what the file says, such as a path.
        Notice { file, server, key, message: line(&message).into_owned() }
    }
}
