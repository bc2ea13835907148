//! Search and recommendation, and the choice of tools that a prompt or a list for an API shows.

use crate::classes::hub::PyHub;
use crate::classes::options::as_text;
use crate::classes::views::{ToolInfo, kept};
use crate::prelude::*;
use crate::runtime::call_scope;
use crate::values::unicode::start_of;
use std::collections::HashSet;
use std::path::PathBuf;
use toolhub::hub::{SearchQuery, ShownTools};
use toolhub::search::Hit as Found;

/// Search reads no more of a query than this, so no more is copied.
const QUERY_CHARS: usize = 8_000;

/// A tool that matches a query: its `name`, its `score` (higher is better; scores of different queries do not compare) and the `tool`.
#[pyclass(frozen, get_all, module = "toolhub", name = "Hit")]
pub struct PyHit {
    /// The name of the tool.
    name: String,
    /// How well it fits: higher is better; scores of different queries do not compare.
    score: f32,
    /// The tool.
    tool: Py<ToolInfo>,
}

#[pymethods]
impl PyHit {
    fn __repr__(&self) -> String {
        format!("<Hit {:?} {:.2}>", self.name, self.score)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.tool)
    }
}

/// The tools that fit the words of a query, and its vector where there is an embedding; `learnt`: weighed with what has worked.
#[pyfunction]
#[pyo3(signature = (hub, query, k, vector=None, learnt=false) -> "list[Hit]")]
pub fn search<'py>(
    hub: &Bound<'py, PyHub>,
    query: &Bound<'_, PyString>,
    k: usize,
    vector: Option<Vec<f32>>,
    learnt: bool,
) -> PyResult<Bound<'py, PyList>> {
    let query = start_of(query, QUERY_CHARS)?;
    let core = hub.get().checked_core()?;
    let principal = call_scope::principal(hub.py())?;
    let caller = principal.as_ref().map(|principal| &*principal.id);
    let asked = SearchQuery { words: &query, vector: vector.as_deref(), caller };
    let found = hub.py().detach(|| if learnt { core.recommend(asked, k) } else { core.search(asked, k) });
    let (hits, snapshot) = (PyList::empty(hub.py()), core.registry.snapshot());
    for Found { name, score } in found {
        // Those whose tools are still registered.
        if let Some(candidates) = snapshot.get(&name).and_then(|entry| kept(entry, |_| true)) {
            let tool = ToolInfo::new(hub, name.clone(), candidates)?;
            hits.append(PyHit { name: name.to_string(), score, tool })?;
        }
    }
    Ok(hits)
}

/// Names the files of the bilingual dictionary and of the word vectors of search.
#[pyfunction]
pub fn use_search_data(dictionary: PathBuf, word_vectors: PathBuf) {
    toolhub::search::DICTIONARY.is_at(dictionary);
    toolhub::search::WORD_VECTORS.is_at(word_vectors);
}

/// Up to `most` tools that have no vector yet: name, state, and the text to embed.
#[pyfunction]
pub fn unembedded(hub: &Bound<'_, PyHub>, most: usize) -> PyResult<Vec<(String, u64, String)>> {
    let core = hub.get().checked_core()?;
    let unseen = hub.py().detach(|| core.unembedded(most));
    Ok(unseen.into_iter().map(|one| (one.name.to_string(), one.changed_at, one.text)).collect())
}

/// Takes the vector of a tool; None when the embedding has no opinion of it.
#[pyfunction]
pub fn embed(hub: &Bound<'_, PyHub>, name: &str, state: u64, vector: Option<Vec<f32>>) -> PyResult<()> {
    hub.get().checked_core()?.embed(name.into(), state, vector);
    Ok(())
}

/// Tools to show: those that come first, and others.
#[pyclass(frozen, module = "toolhub._core")]
pub struct ToolChoice(pub ShownTools);

#[pymethods]
impl ToolChoice {
    /// `first`, then all others by name; with `tools` only those in it.
    #[new]
    #[pyo3(signature = (hub, first, tools=None))]
    fn new(
        hub: &Bound<'_, PyHub>,
        first: Vec<String>,
        tools: Option<Vec<Bound<'_, PyAny>>>,
    ) -> PyResult<Self> {
        let core = hub.get().checked_core()?;
        let name = |given: &Bound<'_, PyAny>| {
            PyResult::Ok(as_text("each name in tools", given)?.to_string_lossy().into_owned())
        };
        let among =
            tools.map(|tools| tools.iter().map(name).collect::<PyResult<HashSet<_>>>()).transpose()?;
        Ok(ToolChoice(hub.py().detach(|| core.shown_tools(&first, among.as_ref()))))
    }

    /// The number of tools after the first ones.
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
            places.extend(self.0.place(hit.cast::<PyHit>()?.get().name.as_str()));
            at += 1;
        }
        let is_enough = places.len() == most || all_of_them;
        let places = if fill { self.0.filled_up(places, most) } else { places };
        Ok(is_enough.then(|| ToolChoice(self.0.followed_by(places))))
    }
}
