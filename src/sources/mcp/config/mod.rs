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
mod entry;
mod fields;
mod jsonc;
mod load;
mod options;
mod variables;

pub use auth::Auth;
pub use endpoint::{Command, Dialect, Endpoint, Remote};
pub use entry::{server_from, server_in_process};
pub use fields::Notice;
pub use load::{ConfigStamp, Loaded, config_stamp, load_file, load_value, raw_entries, section};
pub use options::{ServerOptions, server_options};
pub use variables::Environment;

use serde_json::{Value, json};
use std::sync::Arc;
use toolhub_text::secret::Secret;
use toolhub_types::model::BoundValue;

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
