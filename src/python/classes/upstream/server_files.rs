//! The configuration files of the servers: loaded once, and again when they have changed.
//!
//! Files that are loaded again together are one change: all of them are read and checked first, then the program applies what
//! else is in them, and if that fails none of them counts. Those are read again with the next change of any of them.

use crate::classes::upstream::servers::environment;
use crate::prelude::*;
use std::collections::HashMap;
use std::path::PathBuf;
use toolhub::catalog::Servers;
use toolhub::sources::mcp::config::{ConfigStamp, Loaded, Notice, ServerConfig, config_stamp, load_file};

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
    pub stamp: ConfigStamp,
    pub loaded: Loaded,
}

/// Why a server of a file is not used.
pub fn refusal(file: Option<&PathBuf>, server: Arc<str>, error: HubError) -> Notice {
    Notice { file: file.cloned(), server: Some(server), key: None, message: error.message.into_owned() }
}

/// The files that were loaded.
#[derive(Default)]
pub struct ConfigFiles(Mutex<HashMap<PathBuf, LoadedConfig>>);

impl ConfigFiles {
    /// Reads all files, or those that have changed and with them those that wait, in a stable order.
    pub fn read_again(&self, only_changed: bool, servers: &Servers) -> Vec<ReadConfig> {
        let mut known: Vec<PathBuf> = self.0.lock().keys().cloned().collect();
        known.sort();
        let stamped: Vec<_> = known.into_iter().map(|path| (config_stamp(&path), path)).collect();
        let (mut due, mut has_changed) = (Vec::new(), !only_changed);
        let mut files = self.0.lock();
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
                let error = servers.check(config).err()?;
                Some(refusal(Some(&path), config.id.clone(), error))
            };
            loaded.errors.extend(loaded.servers.iter().filter_map(refused));
            ReadConfig { path, stamp, loaded }
        });
        read.collect()
    }

    /// What was read does not count; it is not read again before something changes.
    pub fn leave(&self, read: &[ReadConfig]) {
        let mut files = self.0.lock();
        for file in read {
            if let Some(known) = files.get_mut(&file.path) {
                known.stamp = file.stamp.clone();
                known.is_waiting = true;
            }
        }
    }

    /// The file counts, with these servers. Gives back those that are not in it any more.
    pub fn put(
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
