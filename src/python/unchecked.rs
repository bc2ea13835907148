//! The log line for a rule of a schema that is not checked. Each is logged once.

use super::imported::Imported;
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::collections::HashSet;
use std::sync::LazyLock;
use toolhub::model::Unchecked;

/// More lines than this are not remembered, and not logged.
const MAX_LINES: usize = 1_000;

static LOGGED: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);

pub fn report(py: Python<'_>, tool: &str, rules: &[Unchecked]) {
    static WARNING: Imported = Imported::new("toolhub._plain", "log_unchecked");
    for rule in rules {
        let line = format!("{tool}: {rule}");
        let is_new = {
            let mut logged = LOGGED.lock();
            logged.len() < MAX_LINES && logged.insert(line.clone())
        };
        if is_new && let Err(error) = WARNING.get(py).and_then(|warning| warning.call1((line,))) {
            // A handler of the user's must not break the call.
            error.write_unraisable(py, None);
        }
    }
}
