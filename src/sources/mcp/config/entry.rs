//! One entry of a configuration: the object under a server's id.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::auth::{self, Auth};
use super::endpoint::{self, Endpoint};
use super::fields::{Fields, Notes, Notice, kind};
use super::options::{ServerOptions, is_off, read_foreign, server_options};
use super::variables::Variables;
use super::{Environment, ServerConfig};
use crate::mcp::in_process::ServerLink;
use toolhub_text::pattern::NATIVE;

/// The longest id, in characters.
const LONGEST_ID: usize = 200;

/// What came of an entry. An entry without a config has errors.
pub(super) struct Entry {
    pub config: Option<ServerConfig>,
    /// It is disabled, so its errors are not urgent.
    pub off: bool,
    pub notes: Notes,
}

/// One server from its id and its entry, with warnings; or all that is wrong with it. `file` is where the
/// entry is from: relative paths are relative to its folder, and notices name it.
///
/// Keyword arguments fit too: `command`, `args`, `env`, `cwd`, `url`, `headers`, `transport` and `auth` as
/// they are, everything else (in seconds) under `toolhub`.
pub fn server_from(
    id: &str,
    entry: &Value,
    file: Option<&Path>,
    env: Environment<'_>,
) -> Result<(ServerConfig, Vec<Notice>), Vec<Notice>> {
    checked(read(id, entry, file, &Variables::new(file, env)))
}

/// A server in this process from its id and the options under `toolhub`.
pub fn server_in_process(
    id: &str,
    entry: &Value,
    link: ServerLink,
    env: Environment<'_>,
) -> Result<(ServerConfig, Vec<Notice>), Vec<Notice>> {
    checked(read_at(id, entry, None, &Variables::new(None, env), Some(Endpoint::InProcess(link))))
}

fn checked(entry: Entry) -> Result<(ServerConfig, Vec<Notice>), Vec<Notice>> {
    let Entry { config, notes, .. } = entry;
    match config {
        Some(config) => Ok((config, notes.warnings)),
        None => Err(notes.errors),
    }
}

pub(super) fn read(id: &str, entry: &Value, file: Option<&Path>, variables: &Variables<'_>) -> Entry {
    read_at(id, entry, file, variables, None)
}

/// Reads an entry; its keys say where the server is, unless `known` does.
fn read_at(
    id: &str,
    entry: &Value,
    file: Option<&Path>,
    variables: &Variables<'_>,
    known: Option<Endpoint>,
) -> Entry {
    let id: Arc<str> = id.into();
    let mut notes = Notes::new(file, Some(id.clone()));
    if let Some(problem) = problem_of_id(&id) {
        notes.error(None, problem);
    }
    let Value::Object(object) = entry else {
        notes.error(None, format!("must be an object with `command` or `url`, not {}.", kind(entry)));
        return Entry { config: None, off: false, notes };
    };
    let mut fields = Fields::new(object, variables, &mut notes);
    let off = is_off(&mut fields);
    let ours = fields.inner("toolhub").map(|mut ours| {
        let options = ServerOptions::read(&mut ours);
        ours.finish();
        options
    });
    let mut options = ours.unwrap_or_default();
    read_foreign(&mut fields, &mut options);
    let endpoint = known.or_else(|| endpoint::read(&mut fields));
    let auth = auth::read(&mut fields);
    let auth = endpoint.as_ref().map_or(Auth::None, |endpoint| fitting(auth, endpoint, &mut fields));
    fields.finish_beside("toolhub", &server_options());
    let config = endpoint.filter(|_| notes.errors.is_empty()).map(|endpoint| ServerConfig {
        id,
        endpoint,
        auth,
        options,
        disabled: off,
    });
    Entry { config, off, notes }
}

/// The authentication, where it can be used: a child process has its variables, and a header that was
/// written by hand is the more definite word.
fn fitting(auth: Auth, endpoint: &Endpoint, fields: &mut Fields<'_, '_>) -> Auth {
    if auth == Auth::None {
        return auth;
    }
    let key = fields.first(&["auth", "oauth"]).unwrap_or("auth");
    match endpoint {
        Endpoint::Stdio(_) => {
            fields.warn(key, "has no effect on a server that is started; give it variables in `env`.");
            Auth::None
        }
        Endpoint::InProcess(_) => Auth::None,
        Endpoint::Http(remote) => {
            if remote.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
                fields.warn(key, "has no effect beside the header `Authorization`; keep one of them.");
                return Auth::None;
            }
            auth
        }
    }
}

fn problem_of_id(id: &str) -> Option<String> {
    let length = id.chars().count();
    if id.trim().is_empty() {
        Some("must have a name: its id is empty.".to_owned())
    } else if length > LONGEST_ID {
        Some(format!("has an id of {length} characters; {LONGEST_ID} are allowed."))
    } else if id.contains(char::is_control) {
        Some("has a control character in its id; remove it.".to_owned())
    } else if id == NATIVE {
        // A pattern such as `native/*` would let its tools pass for those of the hub.
        Some(format!("must have another id: '{NATIVE}' means the hub itself in patterns and views."))
    } else {
        None
    }
}
