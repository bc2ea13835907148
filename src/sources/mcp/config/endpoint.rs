//! Where a server is: a program to start, a URL, or this process.

use super::fields::Fields;
use super::variables::read_env_file;
use crate::mcp::in_process::ServerLink;
use crate::mcp::principal_headers;
use crate::web::{WrongHeader, checked_header, shown_url};
use reqwest::Url;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::env::{split_paths, var_os};
use std::ffi::OsStr;
use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use toolhub_text::secret::{Secret, is_secret_flag, scrubbed_text, shown_path};
use toolhub_types::error::clip;

#[derive(Clone, PartialEq)]
pub enum Endpoint {
    Stdio(Command),
    Http(Remote),
    InProcess(ServerLink),
}

/// A program that speaks on its standard streams.
#[derive(Clone, Default, PartialEq)]
pub struct Command {
    pub program: String,
    pub args: Vec<String>,
    /// What the configuration sets, `envFile` included. Keys and tokens live here.
    pub env: BTreeMap<String, String>,
    /// The folder that it starts in: that of the configuration, or that of this process when it was read. Absolute.
    pub cwd: Option<PathBuf>,
    /// The configuration names the folder.
    pub names_cwd: bool,
    /// The file that a bare name is on the `PATH` of the server, when it was read; see [`ServerConfig::bound_values`](super::ServerConfig::bound_values).
    pub file: Option<PathBuf>,
}

/// A server behind HTTP.
#[derive(Clone, PartialEq)]
pub struct Remote {
    /// Absolute, http or https, with a host and without a fragment. It may hold a password or a key.
    pub url: String,
    /// Valid names and values, in the order of the file.
    pub headers: Vec<(String, Secret)>,
    pub dialect: Dialect,
}

/// Which of the transports over HTTP to speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// To be found out.
    Auto,
    Streamable,
    Sse,
}

impl Endpoint {
    /// What makes it this server and no other: the program with its arguments, its folder and the names of its variables, or
    /// the URL with the names of its headers. People are shown it, so secrets are left out; see [`ServerConfig::bound_values`](super::ServerConfig::bound_values) for those.
    pub fn identity(&self) -> Value {
        match self {
            Endpoint::Stdio(command) => json!({
                "command": command.program,
                "args": command.shown_args(),
                "cwd": command.cwd.as_ref().filter(|_| command.names_cwd),
                "env": command.env.keys().collect::<Vec<_>>(),
            }),
            Endpoint::Http(remote) => json!({
                "url": remote.url_without_secrets(),
                "headers": remote.headers.iter().map(|(name, _)| name.to_lowercase()).collect::<Vec<_>>(),
            }),
            Endpoint::InProcess(_) => Value::Null,
        }
    }
}

impl Command {
    /// The arguments with placeholders for secrets.
    fn shown_args(&self) -> Vec<Cow<'_, str>> {
        let before = std::iter::once("").chain(self.args.iter().map(String::as_str));
        let shown = |(before, arg): (&str, &'_ String)| match is_secret_flag(before) {
            true => Cow::Borrowed("***"),
            false => Cow::Owned(scrubbed_text(arg).into_owned()),
        };
        before.zip(&self.args).map(shown).collect()
    }

    /// Whether not all of the arguments are shown.
    pub(super) fn hides_arguments(&self) -> bool {
        self.shown_args().iter().zip(&self.args).any(|(shown, arg)| *shown != arg.as_str())
    }
}

impl Remote {
    /// The URL with placeholders for secrets; unlike [`shown_url`](Self::shown_url) it keeps what else is in the query.
    fn url_without_secrets(&self) -> String {
        let Ok(mut url) = Url::parse(&self.url) else { return "***".to_owned() };
        let path = shown_path(url.path());
        url.set_path(&path);
        // These fail for URLs without a host only, and such a one was refused.
        let _ = url.set_username("").and_then(|()| url.set_password(None));
        scrubbed_text(url.as_str()).into_owned()
    }

    /// Whether not all of the URL is shown.
    pub(super) fn hides_secrets(&self) -> bool {
        Url::parse(&self.url).is_ok_and(|url| url.as_str() != self.url_without_secrets())
    }

    /// The URL without what may be secret in it: user, password, query and keys in the path.
    pub fn shown_url(&self) -> String {
        Url::parse(&self.url).map_or_else(|_| "***".to_owned(), |url| shown_url(&url))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The query may hold a key.
            Endpoint::Http(remote) => write!(f, "{} {:?}", remote.shown_url(), remote.headers),
            _ => write!(f, "{}", self.identity()),
        }
    }
}

/// The first that is given counts.
pub(super) const URL_KEYS: &[&str] = &["httpUrl", "url", "serverUrl"];
/// All that are given must say the same.
pub(super) const TRANSPORT_KEYS: &[&str] = &["type", "transport", "transportType"];
const STDIO_KEYS: &[&str] = &["command", "args", "env", "envFile", "cwd"];

pub(super) fn read(fields: &mut Fields<'_, '_>) -> Option<Endpoint> {
    fields.ignore(&["headers"]);
    fields.ignore(URL_KEYS);
    fields.ignore(STDIO_KEYS);
    let errors = fields.notes.errors.len();
    let named = transport(fields);
    if fields.notes.errors.len() > errors {
        return None;
    }
    let (has_command, has_url) = (fields.has("command"), fields.first(URL_KEYS).is_some());
    match (named, has_command, has_url) {
        (None, true, false) | (Some((_, None)), true, _) => {
            useless(fields, &[URL_KEYS, &["headers"]].concat(), "a server that is started");
            command(fields).map(Endpoint::Stdio)
        }
        (None, false, true) | (Some((_, Some(_))), _, true) => {
            useless(fields, STDIO_KEYS, "a server at a URL");
            remote(fields, named.and_then(|(_, dialect)| dialect)).map(Endpoint::Http)
        }
        (Some((key, dialect)), ..) => {
            let missing = if dialect.is_none() { "command" } else { "url" };
            fields.error(key, format!("asks for a `{missing}`, but there is none."));
            None
        }
        (None, true, true) => {
            fields.notes.error(None, "has both `command` and a URL; keep one, or say which with `type`.");
            None
        }
        (None, false, false) => {
            fields.notes.error(None, "needs a `command` to start or a `url` to reach.");
            None
        }
    }
}

/// Keys of the other kind of server are left over when a file is edited; empty ones are ignored.
fn useless(fields: &mut Fields<'_, '_>, keys: &[&'static str], server: &str) {
    for key in keys {
        let is_empty = |value: &Value| [json!(""), json!([]), json!({})].contains(value);
        // Configurations are often written for both; variables next to a URL do no harm.
        if fields.value(key).is_some_and(|value| !is_empty(value)) && *key != "env" {
            fields.warn(key, format!("has no effect on {server}."));
        }
    }
}

/// What the entry says of its transport, and with which key; no dialect means a program.
fn transport(fields: &mut Fields<'_, '_>) -> Option<(&'static str, Option<Dialect>)> {
    let mut named: Option<(&'static str, Option<Dialect>)> = None;
    for &key in TRANSPORT_KEYS {
        let Some(text) = fields.text(key) else { continue };
        let plain: String = text.chars().filter(|c| !matches!(c, '-' | '_')).collect();
        let transport = match plain.to_ascii_lowercase().as_str() {
            "stdio" | "local" => None,
            "http" | "streamablehttp" => Some(Dialect::Streamable),
            "sse" => Some(Dialect::Sse),
            "" | "auto" => continue,
            _ => {
                let message = format!(
                    "must be \"stdio\", \"http\" (or \"streamable-http\") or \"sse\", not {:?}.",
                    clip(text)
                );
                fields.error(key, message);
                continue;
            }
        };
        match named {
            Some((first, other)) if other != transport => {
                fields.error(key, format!("contradicts `{first}`; keep one of them."));
            }
            _ => named = Some((key, transport)),
        }
    }
    named
}

fn command(fields: &mut Fields<'_, '_>) -> Option<Command> {
    // Zed has all of it under `command`.
    let (mut args, mut env) = (Vec::new(), variables_of_file(fields));
    let program = match fields.value("command") {
        Some(Value::Object(_)) => fields.inner("command").and_then(|mut inner| {
            let program = inner.expanded("path");
            if !inner.has("path") {
                inner.error("path", "is missing; it names the program.");
            }
            args.extend(inner.expanded_list("args").unwrap_or_default());
            env.extend(inner.expanded_map("env").unwrap_or_default());
            inner.finish();
            program
        }),
        _ => fields.expanded("command"),
    };
    let program = program.and_then(|program| {
        let program = fields.variables.expand_home(&program);
        program.map_err(|message| fields.error("command", message)).ok()
    });
    if program.as_ref().is_some_and(|program| program.trim().is_empty()) {
        fields.error("command", "must not be empty.");
    }
    args.extend(fields.expanded_list("args").unwrap_or_default());
    env.extend(fields.expanded_map("env").unwrap_or_default());
    for name in env.keys().filter(|name| name.is_empty() || name.contains(['=', '\0'])) {
        fields.error(&format!("env.{name}"), "is not a name that a variable can have.");
    }
    let named = fields.path_of("cwd");
    let names_cwd = named.is_some();
    let cwd = named.or_else(|| std::env::current_dir().ok());
    let program = program?;
    let file = find_program(&program, env.get("PATH").map(OsStr::new), cwd.as_deref());
    Some(Command { program, args, env, cwd, names_cwd, file })
}

fn variables_of_file(fields: &mut Fields<'_, '_>) -> BTreeMap<String, String> {
    let Some(path) = fields.path_of("envFile") else { return BTreeMap::new() };
    // The value of a variable may be a secret: its path is shown as it was written.
    let written = fields.value("envFile").and_then(Value::as_str).filter(|written| written.contains('$'));
    let shown = written.map_or_else(|| path.display().to_string(), str::to_owned);
    let read = read_env_file(&path, &shown).map_err(|message| fields.error("envFile", message));
    read.into_iter().flatten().collect()
}

fn remote(fields: &mut Fields<'_, '_>, dialect: Option<Dialect>) -> Option<Remote> {
    let key = fields.first(URL_KEYS)?;
    let url = fields.expanded(key).map(|url| url.trim().to_owned());
    for other in URL_KEYS.iter().filter(|other| **other != key) {
        if fields.has(other) && fields.value(other) != fields.value(key) {
            fields.error(other, format!("contradicts `{key}`; keep one of them."));
        }
    }
    if let Some(problem) = url.as_deref().and_then(problem_of_url) {
        fields.error(key, problem);
    }
    let headers = headers(fields);
    // Gemini's `httpUrl` is for one transport only.
    let default = if key == "httpUrl" { Dialect::Streamable } else { Dialect::Auto };
    Some(Remote { url: url?, headers, dialect: dialect.unwrap_or(default) })
}

/// What is wrong with a URL, without showing it: it may hold a key.
pub(super) fn problem_of_url(url: &str) -> Option<String> {
    let reason = match Url::parse(url) {
        Err(_) if !url.contains("://") => "has no `http://` or `https://`".to_owned(),
        Err(error) => format!("is not one ({error})"),
        Ok(url) if !matches!(url.scheme(), "http" | "https") => {
            format!("starts with `{}:`", clip(url.scheme()))
        }
        Ok(url) if url.host_str().is_none_or(str::is_empty) => "has no host".to_owned(),
        Ok(url) if url.fragment().is_some() => "has a fragment (`#…`)".to_owned(),
        // The parser repairs `http:host` and `http:///host`, but these are mistakes.
        Ok(_) if !url.contains("://") => "has no `//` after the scheme".to_owned(),
        Ok(_) => return None,
    };
    Some(format!("must be a URL such as https://example.com/mcp, but it {reason}."))
}

fn headers(fields: &mut Fields<'_, '_>) -> Vec<(String, Secret)> {
    let mut headers = Vec::new();
    for (name, value) in fields.expanded_map("headers").unwrap_or_default() {
        let key = format!("headers.{name}");
        // A token that was read from a file often brings a line end along.
        let value = value.trim();
        let problem = match checked_header(&name, value) {
            Err(WrongHeader::Name) => Some("is not a name that a header can have.".to_owned()),
            Err(WrongHeader::Value) => {
                Some("has a value with characters that are not allowed in a header.".to_owned())
            }
            Ok(_) => principal_headers::problem(value),
        };
        match problem {
            Some(problem) => fields.error(&key, problem),
            None => headers.push((name, Secret::new(value))),
        }
    }
    headers
}

// Which file a bare name such as `npx` is. Another `PATH` makes it another program, so approvals are bound to the file.

/// Where the C library looks without a `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The file that a server is started from: the first one on its `PATH` that may be executed. `configured` is the `PATH` that
/// the configuration sets; otherwise a server gets that of this process. A name with a folder is not looked up.
fn find_program(program: &str, configured: Option<&OsStr>, folder: Option<&Path>) -> Option<PathBuf> {
    if program.contains(std::path::is_separator) {
        return None;
    }
    let path =
        configured.map(OsStr::to_owned).or_else(|| var_os("PATH")).unwrap_or_else(|| DEFAULT_PATH.into());
    let here = folder.unwrap_or_else(|| Path::new(""));
    // An empty or relative entry counts from the folder of the server.
    let may_run = |data: Metadata| data.is_file() && data.permissions().mode() & 0o111 != 0;
    let mut files = split_paths(&path).map(|entry| here.join(entry).join(program));
    files.find(|file| file.metadata().is_ok_and(may_run))
}

#[cfg(test)]
mod program_file_tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_first_file_that_may_be_executed_counts() {
        let root = std::env::temp_dir().join(format!("toolhub-program-{}", std::process::id()));
        for (name, mode) in [("a", 0o644), ("b", 0o755), ("c", 0o755)] {
            let file = root.join(name).join("server");
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        }
        let found = |program: &str, path: &str| find_program(program, Some(OsStr::new(path)), Some(&root));
        let in_folder = |name: &str| Some(root.join(name).join("server"));
        assert_eq!(found("server", "none:a:b:c"), in_folder("b"));
        assert_eq!(found("server", "c:b"), in_folder("c"));
        assert_eq!(found("server", "a"), None);
        assert_eq!(found("./server", "b"), None);
        assert_eq!(found("b/server", "b"), None);
        assert_eq!(find_program("server", Some(OsStr::new("")), Some(&root.join("b"))), in_folder("b"));
        fs::remove_dir_all(root).unwrap();
    }
}
