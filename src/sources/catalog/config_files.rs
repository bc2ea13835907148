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
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A configuration file as it was loaded last.
struct LoadedConfig {
    path: PathBuf,
    stamp: ConfigStamp,
    /// The stamp at the last look, if it differed.
    changed: Option<ConfigStamp>,
    /// It was read since then, and did not count because of an error, perhaps in another file.
    is_waiting: bool,
    /// The servers of the file, so that loading it again can take some away, and another file can leave one to it.
    servers: Vec<ServerConfig>,
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
        (self.path, LoadReport { loaded: Vec::new(), ..LoadReport::of(&self.loaded) })
    }
}

/// What loading has changed, in the form that every loader reports it.
#[derive(Default, Serialize)]
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
    fn of(Loaded { servers, errors, warnings }: &Loaded) -> Self {
        let texts = |notices: &[Notice]| notices.iter().map(ToString::to_string).collect();
        let loaded = servers.iter().map(|config| config.id.clone()).collect();
        LoadReport { loaded, warnings: texts(warnings), errors: texts(errors), ..LoadReport::default() }
    }
}

/// The files that were loaded, in this order: of a server that stands in several, the entry of the last one counts.
#[derive(Default)]
pub struct ConfigFiles(Mutex<Vec<LoadedConfig>>);

impl ConfigFiles {
    /// A file counts as it was read. Gives back the servers that are not in it any more.
    fn put(&self, ReadConfig { path, stamp, loaded }: ReadConfig) -> Vec<Arc<str>> {
        let Loaded { mut servers, errors, .. } = loaded;
        let mut files = self.0.lock();
        let at = files.iter().position(|file| file.path == path).unwrap_or(files.len());
        let before = files.extract_if(.., |file| file.path == path).flat_map(|file| file.servers);
        // A server whose new entry is wrong keeps running as it was; an error of no server is one of the whole file.
        let wrong = |config: &ServerConfig| {
            errors.iter().any(|notice| notice.server.as_ref().is_none_or(|server| *server == config.id))
        };
        let (kept, gone): (Vec<_>, Vec<_>) =
            before.filter(|old| servers.iter().all(|new| new.id != old.id)).partition(wrong);
        servers.extend(kept);
        files.insert(at, LoadedConfig { path, stamp, changed: None, is_waiting: false, servers });
        gone.into_iter().map(|config| config.id).collect()
    }

    /// The entry that counts for a server.
    fn entry(&self, id: &str) -> Option<ServerConfig> {
        let files = self.0.lock();
        let mut entries = files.iter().rev().flat_map(|file| &file.servers);
        entries.find(|config| *config.id == *id).cloned()
    }
}

impl Servers {
    /// Loads a file: adds what is new, replaces what has changed, removes what is gone, and reports what is wrong.
    pub fn load_file(&self, path: &Path) -> LoadReport {
        let (stamp, loaded) = (config_stamp(path), self.checked(load_file(path, &environment), Some(path)));
        let place = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        // From now on it is the last one.
        self.files.0.lock().sort_by_key(|file| file.path == place);
        self.apply_file(ReadConfig { path: place, stamp, loaded }).1
    }

    /// Adds the servers of a configuration that is not in a file.
    pub fn load_value(&self, value: &Value) -> LoadReport {
        let loaded = self.checked(load_value(value, None, &environment), None);
        let mut report = LoadReport::of(&loaded);
        report.ended.extend(loaded.servers.into_iter().filter_map(|config| self.add(config).ok().flatten()));
        report
    }

    /// A file that was read counts from now on.
    pub fn apply_file(&self, read: ReadConfig) -> (PathBuf, LoadReport) {
        let (path, mut report) = (read.path.clone(), LoadReport::of(&read.loaded));
        let gone = self.files.put(read);
        for id in [report.loaded.clone(), gone].concat() {
            match self.files.entry(&id) {
                // It was checked.
                Some(config) => report.ended.extend(self.add(config).ok().flatten()),
                None => {
                    report.ended.extend(self.remove(&id));
                    report.removed.push(id);
                }
            }
        }
        (path, report)
    }

    /// What was read, with the servers that cannot be added among its errors.
    fn checked(&self, mut loaded: Loaded, path: Option<&Path>) -> Loaded {
        let refusal = |config: &ServerConfig| {
            let is_known = self.get(&config.id).is_some_and(|known| known.config() == config);
            let error = if is_known { None } else { (self.credentials)(config).err() };
            let (file, server) = (path.map(Path::to_owned), Some(config.id.clone()));
            Some(Notice { file, server, key: None, message: error?.message.into_owned() })
        };
        loaded.errors.extend(loaded.servers.iter().filter_map(refusal));
        loaded.servers.retain(|one| loaded.errors.iter().all(|error| error.server.as_ref() != Some(&one.id)));
        loaded
    }

    /// Reads all files, or those that have changed and with them those that wait, in the order of loading.
    pub fn read_files_again(&self, only_changed: bool) -> Vec<ReadConfig> {
        let known: Vec<PathBuf> = self.files.0.lock().iter().map(|file| file.path.clone()).collect();
        let stamped: Vec<_> = known.into_iter().map(|path| (config_stamp(&path), path)).collect();
        let (mut due, mut has_changed) = (Vec::new(), !only_changed);
        let mut files = self.files.0.lock();
        for (stamp, path) in stamped {
            let Some(file) = files.iter_mut().find(|file| file.path == path) else { continue };
            let is_due = file.is_due(&stamp);
            has_changed |= is_due;
            if is_due || !only_changed || file.is_waiting {
                due.push((path, stamp));
            }
        }
        drop(files);
        due.retain(|_| has_changed);
        let read = due.into_iter().map(|(path, stamp)| {
            let loaded = self.checked(load_file(&path, &environment), Some(&path));
            ReadConfig { path, stamp, loaded }
        });
        read.collect()
    }

    /// What was read does not count; it is not read again before something changes.
    pub fn leave_files(&self, read: &[ReadConfig]) {
        let mut files = self.files.0.lock();
        for file in read {
            if let Some(known) = files.iter_mut().find(|known| known.path == file.path) {
                known.stamp = file.stamp.clone();
                known.is_waiting = true;
            }
        }
    }
}
