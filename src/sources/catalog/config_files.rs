//! The configuration files of the servers: loaded once, and again when they have changed.
//!
//! Files that are loaded again together are one change: all of them are read and checked first, then the program applies what
//! else is in them, and if that fails none of them counts. Those are read again with the next change of any of them.

use super::Servers;
use crate::mcp::config::{
    ConfigStamp, Loaded, Notice, ServerConfig, config_stamp, environment, load_file, load_value,
};
use crate::mcp::server::Server;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toolhub_types::error::HubError;

/// A configuration file as it was loaded last.
struct LoadedConfig {
    stamp: ConfigStamp,
    /// The stamp at the last look, if it differed.
    changed: Option<ConfigStamp>,
    /// It was read since then, and did not count because of an error, perhaps in another file.
    is_waiting: bool,
    /// The servers of the file, so that loading it again can take some away.
    servers: Vec<Arc<str>>,
}

impl LoadedConfig {
    /// Whether the file has changed, and stayed the same since the last look: it may be being written.
    fn is_due(&mut self, now: &ConfigStamp) -> bool {
        let before = self.changed.replace(now.clone());
        self.stamp != *now && before.as_ref() == Some(now)
    }
}

/// A file that was read, and does not count yet.
pub struct ReadConfig {
    pub path: PathBuf,
    stamp: ConfigStamp,
    loaded: Loaded,
}

impl ReadConfig {
    pub fn is_wrong(&self) -> bool {
        !self.loaded.errors.is_empty()
    }

    /// The report of a file that does not count: nothing has changed.
    pub fn left(self) -> (PathBuf, LoadReport) {
        (self.path, LoadReport::of(Vec::new(), Vec::new(), &self.loaded.errors, &self.loaded.warnings))
    }
}

/// What loading has changed, in the form that every loader reports it.
#[derive(Serialize)]
pub struct LoadReport {
    loaded: Vec<Arc<str>>,
    removed: Vec<Arc<str>>,
    skipped: Vec<String>,
    warnings: Vec<String>,
    errors: Vec<String>,
    /// Servers that were removed or replaced, to be closed after their calls.
    #[serde(skip)]
    pub ended: Vec<Arc<Server>>,
}

impl LoadReport {
    fn of(loaded: Vec<Arc<str>>, ended: Vec<Arc<Server>>, errors: &[Notice], warnings: &[Notice]) -> Self {
        let texts = |notices: &[Notice]| notices.iter().map(ToString::to_string).collect();
        let (removed, skipped) = (Vec::new(), Vec::new());
        LoadReport { loaded, removed, skipped, warnings: texts(warnings), errors: texts(errors), ended }
    }
}

/// Why a server of a file is not used.
fn refusal(file: Option<&PathBuf>, server: Arc<str>, error: HubError) -> Notice {
    Notice { file: file.cloned(), server: Some(server), key: None, message: error.message.into_owned() }
}

/// The files that were loaded.
#[derive(Default)]
pub struct ConfigFiles(Mutex<HashMap<PathBuf, LoadedConfig>>);

impl ConfigFiles {
    /// The file counts, with these servers. Gives back those that are not in it any more.
    fn put(
        &self,
        place: PathBuf,
        stamp: ConfigStamp,
        names: &[Arc<str>],
        errors: &[Notice],
    ) -> Vec<Arc<str>> {
        let mut files = self.0.lock();
        let before = files.remove(&place).map(|file| file.servers).unwrap_or_default();
        // A server whose new entry is wrong keeps running as it was; an error of no server is one of the whole file.
        let wrong = |id: &Arc<str>| {
            errors.iter().any(|notice| notice.server.as_ref().is_none_or(|server| server == id))
        };
        let (kept, gone): (Vec<_>, Vec<_>) =
            before.into_iter().filter(|id| !names.contains(id)).partition(wrong);
        let servers = names.iter().cloned().chain(kept).collect();
        files.insert(place, LoadedConfig { stamp, changed: None, is_waiting: false, servers });
        gone
    }
}

impl Servers {
    /// Loads a file: adds what is new, replaces what has changed, removes what is gone, and reports what is wrong.
    pub fn load_file(&self, path: &Path) -> LoadReport {
        let (stamp, loaded) = (config_stamp(path), load_file(path, &environment));
        let place = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        self.take(loaded, Some((place, stamp)))
    }

    /// Adds the servers of a configuration that is not in a file.
    pub fn load_value(&self, value: &Value) -> LoadReport {
        self.take(load_value(value, None, &environment), None)
    }

    /// A file that was read again counts from now on.
    pub fn apply_file(&self, ReadConfig { path, stamp, loaded }: ReadConfig) -> (PathBuf, LoadReport) {
        (path.clone(), self.take(loaded, Some((path, stamp))))
    }

    fn take(
        &self,
        Loaded { servers, mut errors, warnings }: Loaded,
        file: Option<(PathBuf, ConfigStamp)>,
    ) -> LoadReport {
        let (mut names, mut ended) = (Vec::new(), Vec::new());
        for config in servers {
            let id = config.id.clone();
            match self.add(config) {
                Ok(replaced) => {
                    names.push(id);
                    ended.extend(replaced);
                }
                Err(error) => errors.push(refusal(file.as_ref().map(|(place, _)| place), id, error)),
            }
        }
        let gone =
            file.map(|(place, stamp)| self.files.put(place, stamp, &names, &errors)).unwrap_or_default();
        ended.extend(gone.iter().filter_map(|id| self.remove(id)));
        LoadReport { removed: gone, ..LoadReport::of(names, ended, &errors, &warnings) }
    }

    /// Reads all files, or those that have changed and with them those that wait, in a stable order.
    pub fn read_files_again(&self, only_changed: bool) -> Vec<ReadConfig> {
        let mut known: Vec<PathBuf> = self.files.0.lock().keys().cloned().collect();
        known.sort();
        let stamped: Vec<_> = known.into_iter().map(|path| (config_stamp(&path), path)).collect();
        let (mut due, mut has_changed) = (Vec::new(), !only_changed);
        let mut files = self.files.0.lock();
        for (stamp, path) in stamped {
            let Some(file) = files.get_mut(&path) else { continue };
            let is_due = file.is_due(&stamp);
            has_changed |= is_due;
            if is_due || !only_changed || file.is_waiting {
                due.push((path, stamp));
            }
        }
        drop(files);
        due.retain(|_| has_changed);
        let read = due.into_iter().map(|(path, stamp)| {
            let mut loaded = load_file(&path, &environment);
            let refused = |config: &ServerConfig| {
                let error = self.check(config).err()?;
                Some(refusal(Some(&path), config.id.clone(), error))
            };
            loaded.errors.extend(loaded.servers.iter().filter_map(refused));
            ReadConfig { path, stamp, loaded }
        });
        read.collect()
    }

    /// What was read does not count; it is not read again before something changes.
    pub fn leave_files(&self, read: &[ReadConfig]) {
        let mut files = self.files.0.lock();
        for file in read {
            if let Some(known) = files.get_mut(&file.path) {
                known.stamp = file.stamp.clone();
                known.is_waiting = true;
            }
        }
    }
}
