//! Folders of skills for Python.

use crate::classes::hub::PyHub;
use crate::prelude::*;
use crate::values::json::JsonValue;
use pyo3::exceptions::PyPermissionError;
use std::path::{Path, PathBuf};
use toolhub::sources::skills::{LoadedFolder, files};

/// A folder of skills, and which of them are in the hub.
#[pyclass(frozen, module = "toolhub._core")]
pub struct SkillFolder(LoadedFolder);

#[pymethods]
impl SkillFolder {
    #[new]
    fn new(root: PathBuf) -> Self {
        SkillFolder(LoadedFolder::new(root))
    }

    /// Applies what has changed in the folder since it was read last.
    fn load(&self, hub: &Bound<'_, PyHub>) -> JsonValue {
        let core = hub.get().core.clone();
        let report = hub.py().detach(|| self.0.load(&core.registry));
        JsonValue(serde_json::to_value(&report).unwrap_or_default())
    }
}

/// The real path of a skill's file; raises `PermissionError` if that is outside the skill's folder.
#[pyfunction]
pub fn skill_file(folder: PathBuf, path: &str) -> PyResult<PathBuf> {
    let refused = |why: String| PyPermissionError::new_err(format!("{path:?} {why}"));
    let folder: &Path = &folder.canonicalize().map_err(|error| refused(error.to_string()))?;
    // Opened and closed again: that is where links are refused.
    let found = files::open(folder, path).and_then(|_| files::resolve(folder, path));
    found.map_err(|why| refused(why.why().to_string()))
}
