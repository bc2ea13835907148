//! A whole configuration: where the servers are in it, and what each of them became.

use super::endpoint::{TRANSPORT_KEYS, URL_KEYS};
use super::fields::{Notes, Notice, kind};
use super::variables::Variables;
use super::{Environment, ServerConfig, jsonc, read_entry};
use crate::skills::files::FileStamp;
use serde_json::{Map, Value};
use std::io;
use std::path::{Path, PathBuf};
use toolhub_types::error::clip;

/// Where clients keep their servers. An inner key after a dot.
const TABLES: &[&str] = &[
    // Claude Desktop, Claude Code, Cursor, FastMCP, Gemini, Cline, Roo, Windsurf, Copilot.
    "mcpServers",
    // VS Code, in `mcp.json` and in `settings.json`.
    "servers",
    "mcp.servers",
    // Zed.
    "context_servers",
];

/// What came of a configuration: the servers that can be used, and what there is to say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    pub servers: Vec<ServerConfig>,
    pub warnings: Vec<Notice>,
    /// Each is about one server that was left out, or about the whole file.
    pub errors: Vec<Notice>,
}

impl Loaded {
    fn add(&mut self, notes: Notes) {
        self.warnings.extend(notes.warnings);
        self.errors.extend(notes.errors);
    }
}

/// Reads a file: JSON, also with comments and trailing commas, in any of the dialects. What a `.local` file beside it says
/// (`mcp.local.json` for `mcp.json`), in its own dialect, overrides it server by server and key by key; if it cannot be read, no
/// server is loaded.
pub fn load_file(path: &Path, env: Environment<'_>) -> Loaded {
    let mut loaded = Loaded::default();
    let local = local_file(path);
    let mut read = |path: &Path| {
        let mut notes = Notes::new(Some(path), None);
        let value = read(path, &mut notes);
        loaded.add(notes);
        value
    };
    let value = read(path);
    // A link that leads nowhere is there, and cannot be read.
    let overrides = local.symlink_metadata().is_ok().then(|| read(&local)).flatten();
    if let Some(value) = value {
        let overrides = overrides.as_ref().map(|overrides| (Some(&*local), overrides));
        let files: Vec<_> = [(Some(path), &value)].into_iter().chain(overrides).collect();
        load_values(&mut loaded, &files, env);
    }
    // Without its overrides, a server could start that they turn off.
    let is_of_local = |error: &Notice| error.server.is_none() && error.file.as_deref() == Some(&*local);
    if loaded.errors.iter().any(is_of_local) {
        loaded.servers.clear();
    }
    loaded
}

/// The entries of a file by id, as they are written there: variables are not replaced, and nothing is checked. The error is a
/// sentence about the file.
pub fn raw_entries(path: &Path) -> Result<Map<String, Value>, String> {
    let mut notes = Notes::new(Some(path), None);
    let root = read(path, &mut notes);
    let found = root.iter().flat_map(|root| entries(root, &[], &mut notes));
    let found = found.map(|(id, entry)| (id.to_owned(), entry.clone())).collect();
    match notes.errors.first() {
        Some(error) => Err(error.to_string()),
        None => Ok(found),
    }
}

/// Tells one content of a configuration file, and of the `.local` file beside it, from another.
pub type ConfigStamp = [Option<FileStamp>; 2];

/// Take it before the file is read: what changes meanwhile differs then.
pub fn config_stamp(path: &Path) -> ConfigStamp {
    [FileStamp::of(path), FileStamp::of(&local_file(path))]
}

/// `mcp.json` → `mcp.local.json`
fn local_file(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let end = path.extension().map(|end| format!(".{}", end.to_string_lossy())).unwrap_or_default();
    path.with_file_name(format!("{stem}.local{end}"))
}

fn parsed(path: &Path) -> Result<Option<Value>, String> {
    jsonc::parse(&std::fs::read(path).map_err(|error| unreadable(&error))?)
}

fn read(path: &Path, notes: &mut Notes) -> Option<Value> {
    let value = parsed(path).map_err(|message| notes.error(None, message)).ok()?;
    if value.is_none() {
        notes.warn(None, "is empty; it configures no servers.");
    }
    value
}

fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "does not exist.".to_owned(),
        io::ErrorKind::IsADirectory => "is a folder; give the path of a file.".to_owned(),
        _ => format!("cannot be read: {error}."),
    }
}

/// Reads a configuration that is there already. `file` is where it is from, if anywhere.
pub fn load_value(value: &Value, file: Option<&Path>, env: Environment<'_>) -> Loaded {
    let mut loaded = Loaded::default();
    load_values(&mut loaded, &[(file, value)], env);
    loaded
}

/// The same for several at once, of one folder; a later one overrides those before it.
fn load_values(loaded: &mut Loaded, files: &[(Option<&Path>, &Value)], env: Environment<'_>) {
    let mut servers: Vec<Merged<'_>> = Vec::new();
    for (file, root) in files {
        let mut notes = Notes::new(*file, None);
        for (id, entry) in entries(root, &servers, &mut notes) {
            match servers.iter_mut().find(|known| known.id == id) {
                Some(known) => known.override_with(entry, *file),
                None => servers.push(Merged { id, entry: entry.clone(), layers: vec![(*file, entry)] }),
            }
        }
        loaded.add(notes);
    }
    for server in servers {
        // The first file that names the server.
        let (file, _) = server.layers[0];
        let mut entry = read_entry(server.id, &server.entry, file, env, None);
        server.place(&mut entry.notes);
        loaded.servers.extend(entry.config);
        loaded.warnings.extend(entry.notes.warnings);
        // A server that is turned off may well lack a variable; that must not spoil the day.
        if entry.off { &mut loaded.warnings } else { &mut loaded.errors }.extend(entry.notes.errors);
    }
    obey_gemini(files, &mut loaded.servers);
}

/// All entries with their ids, from every table that there is, or from the root itself; of two with one id the last. `known` are
/// the servers of the files before: of them a file may say a single key.
fn entries<'a>(root: &'a Value, known: &[Merged<'_>], notes: &mut Notes) -> Vec<(&'a str, &'a Value)> {
    let Value::Object(members) = root else {
        notes.error(None, format!("must be an object with `mcpServers`, not {}.", kind(root)));
        return Vec::new();
    };
    let mut found: Vec<(&str, &Value)> = Vec::new();
    let mut tables = 0;
    for name in TABLES {
        let inside = |value: &'a Value, key| value.get(key).filter(|inner| !is_server(inner));
        let Some(table) = name.split('.').try_fold(root, inside) else { continue };
        tables += 1;
        match table {
            Value::Object(servers) => {
                for (id, entry) in servers {
                    match found.iter_mut().find(|(known, _)| *known == id.as_str()) {
                        Some(known) => {
                            let key = format!("{name}.{id}");
                            notes.warn(&*key, "is given more than once; the last one counts.");
                            known.1 = entry;
                        }
                        None => found.push((id, entry)),
                    }
                }
            }
            Value::Null => {}
            other => {
                let kind = kind(other);
                notes.error(*name, format!("must be an object with one entry for each server, not {kind}."));
            }
        }
    }
    if tables == 0 {
        let is_known = |id: &String| known.iter().any(|server| server.id == id);
        if members.iter().any(|(id, entry)| is_server(entry) || is_known(id)) {
            let all = members.iter().map(|(id, entry)| (id.as_str(), entry));
            return all.filter(|(id, _)| !is_remark(id)).collect();
        }
        let chooses = |mcp: &Value| mcp.get("allowed").or(mcp.get("excluded")).is_some();
        let chooses = !known.is_empty() && root.get("mcp").is_some_and(chooses);
        if !chooses && !members.keys().all(|key| is_remark(key)) {
            notes.error(
                None,
                "names no servers; put them under `mcpServers` (or `servers`, `mcp.servers`, `context_servers`).",
            );
        }
    }
    found
}

/// Keys of a root that are never servers.
fn is_remark(key: &str) -> bool {
    key.starts_with(['$', '_', '/']) || matches!(key, "inputs" | "description" | "version" | "serve")
}

fn is_server(value: &Value) -> bool {
    let is_text = |key| value.get(key).is_some_and(Value::is_string);
    ["command", "url", "httpUrl", "serverUrl"].into_iter().any(is_text)
}

/// Gemini keeps lists of the servers to use and not to use apart from the servers.
fn obey_gemini(files: &[(Option<&Path>, &Value)], servers: &mut [ServerConfig]) {
    let list = |key: &str| files.iter().rev().find_map(|(_, root)| root.get("mcp")?.get(key))?.as_array();
    let (allowed, excluded) = (list("allowed"), list("excluded"));
    for server in servers {
        let named = |list: &Vec<Value>| list.iter().any(|id| id.as_str() == Some(&server.id));
        server.disabled |= excluded.is_some_and(named) || allowed.is_some_and(|list| !named(list));
    }
}

/// The member `key` of the root, with all variables replaced; `None` if the file has none. The error is a sentence without
/// any value, because a value may be a secret.
pub fn section(path: &Path, key: &str, env: Environment<'_>) -> Result<Option<Value>, String> {
    let failed = |why: String| format!("'{}': {why}", clip(&path.display().to_string()));
    let root = parsed(path).map_err(failed)?;
    let Some(mut value) = root.and_then(|mut root| Some(root.get_mut(key)?.take())) else { return Ok(None) };
    expand(&mut value, key, &Variables::new(Some(path), env)).map_err(failed)?;
    Ok(Some(value))
}

fn expand(value: &mut Value, at: &str, variables: &Variables<'_>) -> Result<(), String> {
    match value {
        Value::String(text) => {
            *text = variables.expand(text).map_err(|why| format!("`{}` {why}", clip(at)))?;
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| expand(item, at, variables)),
        Value::Object(members) => {
            members.iter_mut().try_for_each(|(key, member)| expand(member, &format!("{at}.{key}"), variables))
        }
        _ => Ok(()),
    }
}

// One entry for each server out of several files: what a later file says of it overrides it key by key.

/// Keys of different clients for the same thing. One of them replaces all of them in the file before.
const SAME: &[&[&str]] = &[&["disabled", "enabled", "isActive"], URL_KEYS, TRANSPORT_KEYS];

/// A server, and what each file says of it.
struct Merged<'a> {
    id: &'a str,
    entry: Value,
    layers: Vec<(Option<&'a Path>, &'a Value)>,
}

impl<'a> Merged<'a> {
    fn override_with(&mut self, entry: &'a Value, file: Option<&'a Path>) {
        if let (Value::Object(old), Value::Object(new)) = (&mut self.entry, entry) {
            for words in SAME {
                if words.iter().any(|word| new.get(*word).is_some_and(|value| !value.is_null())) {
                    old.retain(|key, _| !words.contains(&key.as_str()));
                }
            }
        }
        override_keys(&mut self.entry, entry);
        self.layers.push((file, entry));
    }

    /// Makes each notice name the file in which its key stands.
    fn place(&self, notes: &mut Notes) {
        for notice in notes.warnings.iter_mut().chain(&mut notes.errors) {
            let of_this = |(_, entry): &&(_, &Value)| match &notice.key {
                Some(key) => holds(entry, key),
                None => !entry.is_object(),
            };
            if let Some((file, _)) = self.layers.iter().rev().find(of_this) {
                notice.file = file.map(Path::to_owned);
            }
        }
    }
}

/// Objects are overridden key by key, everything else as a whole.
fn override_keys(value: &mut Value, overrides: &Value) {
    match (value, overrides) {
        (Value::Object(map), Value::Object(overrides)) => {
            for (key, new) in overrides {
                match map.get_mut(key) {
                    Some(old) => override_keys(old, new),
                    None => {
                        map.insert(key.clone(), new.clone());
                    }
                }
            }
        }
        (value, overrides) => *value = overrides.clone(),
    }
}

/// Whether something stands at the path of a notice, as in `env.PORT`, `args[2]`, `toolhub.timeout`. Keys may have dots
/// themselves; a list is always of one file as a whole.
fn holds(value: &Value, path: &str) -> bool {
    let Value::Object(object) = value else { return false };
    object.iter().any(|(key, inner)| {
        path.strip_prefix(key.as_str()).is_some_and(|rest| match rest.strip_prefix('.') {
            Some(rest) => holds(inner, rest),
            None => rest.is_empty() || rest.starts_with('['),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_section_has_its_variables_replaced_and_errors_show_no_value() {
        let folder = std::env::temp_dir().join(format!("toolhub-section-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("mcp.json");
        let env = |name: &str| (name == "TOKEN").then(|| "s3cret".to_owned());
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            section(&path, "serve", &env)
        };
        let text = r#"{"mcpServers": {}, /* who may call */ "serve": {"token": {"ann": "${TOKEN}"}, "port": 1, "core": ["$TOKEN"]},}"#;
        let expected = json!({"token": {"ann": "s3cret"}, "port": 1, "core": ["s3cret"]});
        assert_eq!(read(text), Ok(Some(expected)));
        assert_eq!(read(r#"{"mcpServers": {}}"#), Ok(None));
        assert_eq!(read(""), Ok(None));
        let missing = read(r#"{"serve": {"token": "hunter2${NONE}"}}"#).unwrap_err();
        assert!(
            missing.contains("`serve.token`") && missing.contains("NONE") && !missing.contains("hunter2")
        );
        assert!(read("{").is_err());
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(section(&path, "serve", &env).is_err());
    }
}
