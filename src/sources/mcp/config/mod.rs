//! Which MCP servers there are and how to reach them: the `mcpServers` file of Claude Desktop, Cursor and
//! FastMCP, and what other clients made of it.
//!
//! ```text
//! file ─► jsonc (comments, trailing commas) ─► load (where are the servers?) ─► merge ─► entry ─► ServerConfig
//!                                                                                           ├ endpoint, auth, options
//!                                                                                           └ fields + variables
//! ```
//!
//! Nothing is started here and nothing is asked of the network; the only files that are read are the
//! given one, the `.local` one beside it, and an `envFile` that they name. One bad server never loses the others: what is wrong with it
//! is a [`Notice`] that names file, server and key.

mod auth;
mod endpoint;
mod fields;
mod jsonc;
mod load;
mod options;
mod variables;

pub use auth::Auth;
pub use endpoint::{Command, Dialect, Endpoint, Remote};
pub use fields::Notice;
pub use load::{ConfigStamp, Loaded, config_stamp, load_file, load_value, raw_entries, section};
pub use options::{ServerOptions, server_options};
pub use variables::{Environment, environment};

pub(crate) use fields::kind;
use fields::{Fields, Notes};
use options::{is_off, read_foreign};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use toolhub_text::pattern::NATIVE;
use toolhub_text::secret::Secret;
use toolhub_types::model::BoundValue;
use variables::Variables;

/// One server, checked and with all variables replaced. Its `Debug` shows no secret.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerConfig {
    pub id: Arc<str>,
    pub endpoint: Endpoint,
    pub auth: Auth,
    pub options: ServerOptions,
    /// It stays in the list, so that it can be shown and turned on, but nothing connects to it.
    pub disabled: bool,
}

// What an approval of a server's tool is bound to and does not show: the values that the server gets from its configuration, with
// all variables replaced. They decide whose database a program changes, and they may be secret.
//
// A login is bound by whom it is for, not by its tokens: those are renewed every hour.

impl ServerConfig {
    /// The values by their names.
    pub fn bound_values(&self) -> Vec<BoundValue> {
        let endpoint = match &self.endpoint {
            Endpoint::Stdio(command) => of_command(command),
            Endpoint::Http(remote) => of_remote(remote),
            Endpoint::InProcess(_) => Vec::new(),
        };
        endpoint.into_iter().chain(of_login(&self.auth)).collect()
    }
}

fn value(name: impl Into<String>, parts: &[&str]) -> BoundValue {
    BoundValue { name: Some(name.into()), parts: parts.iter().map(|&part| part.to_owned()).collect() }
}

fn of_command(command: &Command) -> Vec<BoundValue> {
    let mut values: Vec<_> = command.env.iter().map(|(name, text)| value(name, &[text])).collect();
    if command.hides_arguments() {
        values.push(value("arguments", &command.args.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    // A folder that is configured is shown, and so is a program with its path.
    let folder = command.cwd.as_ref().filter(|_| !command.names_cwd);
    for (name, path) in [("folder", folder), ("program", command.file.as_ref())] {
        values.extend(path.map(|path| value(name, &[&path.to_string_lossy()])));
    }
    values
}

fn of_remote(remote: &Remote) -> Vec<BoundValue> {
    let of_header =
        |(name, text): &(String, Secret)| value(format!("header {}", name.to_lowercase()), &[text.expose()]);
    let mut values: Vec<_> = remote.headers.iter().map(of_header).collect();
    if remote.hides_secrets() {
        values.push(value("url", &[&remote.url]));
    }
    values
}

fn of_login(auth: &Auth) -> Option<BoundValue> {
    let of_json = |kind, settings: Value| Some(value("auth", &[kind, &settings.to_string()]));
    match auth {
        Auth::None => None,
        Auth::Bearer(token) => Some(value("auth", &["bearer", token.expose()])),
        // Which token a function gives is known when it is called.
        Auth::TokenFunction => Some(value("auth", &["token function"])),
        Auth::HeaderFunction => Some(value("auth", &["header function"])),
        Auth::TokenExchange(options) => of_json("token_exchange", json!(options)),
        Auth::OAuth(settings) => of_json("oauth", json!(settings)),
    }
}

// One entry of a configuration: the object under a server's id.

/// The longest id, in characters.
const LONGEST_ID: usize = 200;

/// What came of an entry. An entry without a config has errors.
struct Entry {
    pub config: Option<ServerConfig>,
    /// It is disabled, so its errors are not urgent.
    pub off: bool,
    pub notes: Notes,
}

/// One server from its id and its entry, with warnings; or all that is wrong with it. `file` is where the
/// entry is from: relative paths are relative to its folder, and notices name it.
///
/// Keyword arguments fit too: `command`, `args`, `env`, `cwd`, `url`, `headers`, `transport` and `auth` as
/// they are, everything else (in seconds) under `toolhub`. For a server whose place is `known`, such as this process, the entry
/// has the options under `toolhub`.
pub fn server_from(
    id: &str,
    entry: &Value,
    file: Option<&Path>,
    env: Environment<'_>,
    known: Option<Endpoint>,
) -> Result<(ServerConfig, Vec<Notice>), Vec<Notice>> {
    let Entry { config, notes, .. } = read_entry(id, entry, file, env, known);
    match config {
        Some(config) => Ok((config, notes.warnings)),
        None => Err(notes.errors),
    }
}

/// Reads an entry; its keys say where the server is, unless `known` does.
fn read_entry(
    id: &str,
    entry: &Value,
    file: Option<&Path>,
    env: Environment<'_>,
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
    let variables = Variables::new(file, env);
    let mut fields = Fields::new(object, &variables, &mut notes);
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
    let why = match endpoint {
        Endpoint::InProcess(_) => return Auth::None,
        Endpoint::Stdio(_) => "has no effect on a server that is started; give it variables in `env`.",
        Endpoint::Http(remote)
            if remote.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) =>
        {
            "has no effect beside the header `Authorization`; keep one of them."
        }
        Endpoint::Http(_) => return auth,
    };
    fields.warn(key, why);
    Auth::None
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

#[cfg(test)]
mod bound_tests {
    use super::*;
    use crate::mcp::auth::{Grant, OAuthSettings};

    fn settings(client: &str, secret: &str, issuer: &str) -> OAuthSettings {
        OAuthSettings {
            client_id: Some(client.to_owned()),
            client_secret: Some(Secret::new(secret)),
            scopes: vec!["read".to_owned()],
            issuer: Some(issuer.to_owned()),
            ..OAuthSettings::default()
        }
    }

    fn oauth(client: &str, secret: &str, issuer: &str) -> Auth {
        Auth::OAuth(settings(client, secret, issuer))
    }

    fn credentials(client: &str, secret: &str, issuer: &str) -> Auth {
        Auth::OAuth(OAuthSettings { grant: Grant::ClientCredentials, ..settings(client, secret, issuer) })
    }

    #[test]
    fn a_login_is_bound_by_whom_it_is_for() {
        for login in [oauth, credentials] {
            let bound = of_login(&login("me", "old", "https://a.example"));
            assert_eq!(bound, of_login(&login("me", "new", "https://a.example")), "a new secret");
            assert_ne!(bound, of_login(&login("you", "old", "https://a.example")));
            assert_ne!(bound, of_login(&login("me", "old", "https://b.example")));
        }
        let token = |token: &str| of_login(&Auth::Bearer(Secret::new(token)));
        assert_ne!(token("one"), token("two"));
    }

    #[test]
    fn no_value_is_shown_by_debug() {
        let value = of_login(&Auth::Bearer(Secret::new("t0p")));
        assert!(!format!("{value:?}").contains("t0p"));
    }
}
