//! The configuration files of the servers: loaded once, and again when they have changed.
//!
//! Files that are loaded again together are one change: all of them are read and checked first, then the program applies what
//! else is in them, and if that fails none of them counts. Those are read again with the next change of any of them.

use super::json;
use super::servers::{PyServers, environment, texts};
use crate::sources::mcp::config::{ConfigStamp, Loaded, Notice, config_stamp, load_file};
use pyo3::prelude::*;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// A configuration file as it was loaded last.
pub struct LoadedConfig {
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
struct ReadConfig {
    path: PathBuf,
    stamp: ConfigStamp,
    loaded: Loaded,
}

impl PyServers {
    /// Loads the files again, or those that have changed, if none of them has an error and `first` does not raise.
    pub(super) fn reload(
        &self,
        py: Python<'_>,
        only_changed: bool,
        first: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<(PathBuf, Py<PyAny>)>> {
        let read: Vec<ReadConfig> =
            self.due(py, only_changed).into_iter().map(|due| self.read(py, due)).collect();
        if read.is_empty() {
            return Ok(Vec::new());
        }
        let is_wrong = read.iter().any(|file| !file.loaded.errors.is_empty());
        let applied = match first.filter(|_| !is_wrong) {
            Some(first) => first.call0().map(drop),
            None => Ok(()),
        };
        if is_wrong || applied.is_err() {
            self.leave(&read);
        }
        applied?;
        let reported = read.into_iter().filter(|file| !is_wrong || !file.loaded.errors.is_empty());
        let reports = reported.map(|ReadConfig { path, stamp, loaded }| {
            let report = match is_wrong {
                true => self.report(py, &[], &[], &loaded.errors, &loaded.warnings)?,
                false => self.take(py, loaded, Some((path.clone(), stamp)))?,
            };
            Ok((path, report))
        });
        reports.collect()
    }

    /// The files to be read, in a stable order: those that have changed, and with them those that wait.
    fn due(&self, py: Python<'_>, only_changed: bool) -> Vec<(PathBuf, ConfigStamp)> {
        let known: Vec<PathBuf> = self.loaded.lock().keys().cloned().collect();
        let stamped =
            py.detach(|| known.into_iter().map(|path| (config_stamp(&path), path)).collect::<Vec<_>>());
        let mut loaded = self.loaded.lock();
        let mut has_changed = !only_changed;
        let mut due = Vec::new();
        for (stamp, path) in stamped {
            let Some(file) = loaded.get_mut(&path) else { continue };
            let is_due = file.is_due(&stamp);
            has_changed |= is_due;
            if is_due || !only_changed || file.is_waiting {
                due.push((path, stamp));
            }
        }
        due.sort_by(|one, other| one.0.cmp(&other.0));
        if has_changed { due } else { Vec::new() }
    }

    fn read(&self, py: Python<'_>, (path, stamp): (PathBuf, ConfigStamp)) -> ReadConfig {
        let mut loaded = py.detach(|| load_file(&path, &environment));
        let refused = loaded.servers.iter().filter_map(|config| {
            let error = self.core.check(config).err()?;
            let (file, server) = (Some(path.clone()), Some(config.id.clone()));
            Some(Notice { file, server, key: None, message: error.message.into_owned() })
        });
        let refused: Vec<Notice> = refused.collect();
        loaded.errors.extend(refused);
        ReadConfig { path, stamp, loaded }
    }

    /// What was read does not count; it is not read again before something changes.
    fn leave(&self, read: &[ReadConfig]) {
        let mut loaded = self.loaded.lock();
        for file in read {
            if let Some(known) = loaded.get_mut(&file.path) {
                known.stamp = file.stamp.clone();
                known.is_waiting = true;
            }
        }
    }

    pub(super) fn take(
        &self,
        py: Python<'_>,
        loaded: Loaded,
        file: Option<(PathBuf, ConfigStamp)>,
    ) -> PyResult<Py<PyAny>> {
        let (mut names, mut errors) = (Vec::new(), loaded.errors);
        for config in loaded.servers {
            let id = config.id.clone();
            match py.detach(|| self.put(config)) {
                Ok(()) => names.push(id),
                Err(error) => errors.push(Notice {
                    file: file.as_ref().map(|(place, _)| place.clone()),
                    server: Some(id),
                    key: None,
                    message: error.message.into_owned(),
                }),
            }
        }
        let mut removed = Vec::new();
        if let Some((place, stamp)) = file {
            let before = self.loaded.lock().remove(&place).map(|file| file.servers).unwrap_or_default();
            // A server whose new entry is wrong keeps running as it was; an error of no server is one of the whole file.
            let wrong = |id: &Arc<str>| {
                errors.iter().any(|notice| notice.server.as_ref().is_none_or(|server| server == id))
            };
            let (kept, gone): (Vec<_>, Vec<_>) =
                before.into_iter().filter(|id| !names.contains(id)).partition(wrong);
            for id in &gone {
                self.remove(py, id)?;
            }
            let servers = names.iter().cloned().chain(kept).collect();
            self.loaded
                .lock()
                .insert(place, LoadedConfig { stamp, changed: None, is_waiting: false, servers });
            removed = gone;
        }
        self.report(py, &names, &removed, &errors, &loaded.warnings)
    }

    fn report(
        &self,
        py: Python<'_>,
        loaded: &[Arc<str>],
        removed: &[Arc<str>],
        errors: &[Notice],
        warnings: &[Notice],
    ) -> PyResult<Py<PyAny>> {
        let lang = self.core.lang();
        let names = |ids: &[Arc<str>]| ids.iter().map(|id| id.to_string()).collect::<Vec<_>>();
        let report = json!({
            "loaded": names(loaded),
            "removed": names(removed),
            "skipped": [],
            "warnings": texts(warnings, lang),
            "errors": texts(errors, lang),
        });
        Ok(json::to_python(py, &report)?.unbind())
    }
}
