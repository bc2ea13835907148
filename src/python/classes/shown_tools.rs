//! The choice of tools that a prompt or a list for an API shows, made without the GIL.

use crate::classes::hub::PyHub;
use crate::classes::search::PyHit;
use crate::values::unicode::as_text;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::collections::HashSet;
use toolhub::hub::ShownTools;

/// Tools to show: those that come first, and others.
#[pyclass(frozen, module = "toolhub._core")]
pub struct ToolChoice(ShownTools);

impl ToolChoice {
    pub fn shown(&self) -> &ShownTools {
        &self.0
    }
}

#[pymethods]
impl ToolChoice {
    /// `first`, then all others by name; with `tools` only those in it.
    #[new]
    #[pyo3(signature = (hub, first, tools=None))]
    fn new(
        hub: &Bound<'_, PyHub>,
        first: Vec<String>,
        #[pyo3(from_py_with = names)] tools: Option<Vec<String>>,
    ) -> PyResult<Self> {
        hub.get().check_process()?;
        let core = hub.get().core();
        Ok(hub.py().detach(|| {
            let among: Option<HashSet<String>> = tools.map(|tools| tools.into_iter().collect());
            ToolChoice(core.shown_tools(&first, among.as_ref()))
        }))
    }

    /// The number of tools behind the first ones.
    fn __len__(&self) -> usize {
        self.0.others()
    }

    /// The first ones, and after them the best `most` of the hits that were to choose from; None if there are fewer and these
    /// were not `all_of_them`. With `fill`, other tools follow until there are `most`.
    #[pyo3(signature = (hits, most, all_of_them, fill=false))]
    fn best(
        &self,
        hits: &Bound<'_, PyList>,
        most: usize,
        all_of_them: bool,
        fill: bool,
    ) -> PyResult<Option<ToolChoice>> {
        let (mut places, mut at) = (Vec::new(), 0);
        while places.len() < most
            && let Ok(hit) = hits.get_item(at)
        {
            places.extend(self.0.place(hit.cast::<PyHit>()?.get().name()));
            at += 1;
        }
        let is_enough = places.len() == most || all_of_them;
        let places = if fill { self.0.filled_up(places, most) } else { places };
        Ok(is_enough.then(|| ToolChoice(self.0.followed_by(places))))
    }
}

/// The names in a list that may be long.
fn names(given: &Bound<'_, PyAny>) -> PyResult<Option<Vec<String>>> {
    if given.is_none() {
        return Ok(None);
    }
    let list = given.cast::<PyList>()?;
    let mut names = Vec::with_capacity(list.len());
    while let Ok(name) = list.get_item(names.len()) {
        names.push(as_text("each name in tools", &name)?.to_string_lossy().into_owned());
    }
    Ok(Some(names))
}
