//! Where tokens live between calls and between runs.

use super::super::{Secret, denied};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use toolhub_text::message;
use toolhub_types::error::{HubError, Result};

/// Keeps one token for each server, issuer and client, in a JSON file that only its owner can read; without a file, for as long
/// as the process lives. Called from a thread that may block.
///
/// The file has mode 0600 and its folder, when we make it, 0700. It is replaced as a whole, so that a crash leaves the old
/// one or the new one. Several processes may share it: a lock file beside it lets one write at a time.
#[derive(Debug, Default)]
pub struct TokenStore {
    path: Option<PathBuf>,
    /// Those of a store without a file.
    in_memory: Mutex<Vec<StoredToken>>,
}

#[derive(Default, Serialize, Deserialize)]
struct TokenFileContent {
    tokens: Vec<StoredToken>,
}

impl TokenStore {
    pub fn new(path: Option<PathBuf>) -> Self {
        TokenStore { path, ..TokenStore::default() }
    }

    /// `toolhub/tokens.json` in the user's folder for such data, when there is one.
    pub fn default_path() -> Option<PathBuf> {
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let data = folder("XDG_DATA_HOME").or_else(|| Some(folder("HOME")?.join(".local/share")));
        Some(data?.join("toolhub").join("tokens.json"))
    }

    /// The tokens for a server, the newest last.
    pub fn load(&self, server: &str) -> Result<Vec<StoredToken>> {
        let mut tokens = match &self.path {
            Some(path) => read(path)?.tokens,
            None => self.in_memory.lock().clone(),
        };
        tokens.retain(|token| token.server == server);
        Ok(tokens)
    }

    pub fn save(&self, new: &StoredToken) -> Result<()> {
        let Some(path) = &self.path else {
            put(&mut self.in_memory.lock(), new);
            return Ok(());
        };
        let failed = |error: io::Error| failed(path, "written", &error);
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::DirBuilder::new().mode(0o700).recursive(true).create(folder).map_err(failed)?;
        }
        let lock = private_file(&beside(path, "lock"), OpenOptions::new().create(true)).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut content = read(path)?;
        put(&mut content.tokens, new);
        replace(path, &content).map_err(failed)
    }
}

/// A client that we registered ourselves is replaced by the next one: the old one is not needed any more.
fn put(tokens: &mut Vec<StoredToken>, new: &StoredToken) {
    let registered = |token: &StoredToken| token.client.redirect.is_some();
    tokens.retain(|old| {
        let is_of_issuer = old.server == new.server && old.issuer == new.issuer;
        let is_successor = registered(old) && registered(new);
        !(is_of_issuer && (is_successor || old.client.id == new.client.id))
    });
    tokens.push(new.clone());
}

fn read(path: &Path) -> Result<TokenFileContent> {
    match fs::read(path) {
        Ok(text) => serde_json::from_slice(&text).map_err(|error| set_aside(path, error.line())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(TokenFileContent::default()),
        Err(error) => Err(failed(path, "read", &error)),
    }
}

/// A file that cannot be understood is kept for its owner, out of the way of the next login. The reason that the parser
/// gives is not shown: it may quote the file.
fn set_aside(path: &Path, line: usize) -> HubError {
    let aside = beside(path, &format!("broken-{}", now()));
    match fs::rename(path, &aside) {
        Ok(()) => denied(message!(
            "The token file '{}' is damaged (line {}) and was moved to '{}'; sign in again.",
            path.display(),
            line,
            aside.display()
        )),
        Err(error) => failed(path, "moved away, although it is damaged,", &error),
    }
}

fn replace(path: &Path, content: &TokenFileContent) -> io::Result<()> {
    let draft = beside(path, "new");
    // Only the holder of the lock makes this file: one that is there is left from a crash, or a trap.
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = private_file(&draft, OpenOptions::new().create_new(true))?;
    file.write_all(&serde_json::to_vec_pretty(content)?)?;
    file.sync_all()?;
    fs::rename(&draft, path)
}

fn failed(path: &Path, what: &str, error: &io::Error) -> HubError {
    denied(format!("The token file '{}' cannot be {what}: {error}.", path.display()))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

fn private_file(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.mode(0o600).write(true).open(path)
}

// A token and its client, as they are stored.

/// Seconds since 1970, as tokens have the time.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// A client as one authorization server knows it. It is never shown to another one.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Client {
    pub id: String,
    pub secret: Option<Secret>,
    /// How the authorization server wants the secret to be sent, from its registration.
    pub method: Option<String>,
    /// Of a client that we registered ourselves: the redirect that it was registered with.
    pub redirect: Option<String>,
    /// When the secret ends, in seconds since 1970.
    pub ends_at: Option<u64>,
}

/// A token with all that it is bound to: it is only ever sent to `server`, and only ever renewed at `issuer`, by `client`,
/// for `resource`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct StoredToken {
    pub server: String,
    pub issuer: String,
    pub resource: String,
    pub client: Client,
    pub access_token: Secret,
    pub refresh_token: Option<Secret>,
    /// The granted scopes.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The requested scopes; requesting them again would change nothing.
    #[serde(default)]
    pub asked_scopes: Vec<String>,
    /// When to get the next one, and when this one ends, in seconds since 1970.
    pub renew_at: Option<u64>,
    pub expires_at: Option<u64>,
}

impl StoredToken {
    pub(super) fn is_due(&self) -> bool {
        self.renew_at.is_some_and(|at| at <= now())
    }

    pub(super) fn is_over(&self) -> bool {
        self.expires_at.is_some_and(|at| at <= now())
    }
}
