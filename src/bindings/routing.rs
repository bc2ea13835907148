//! Routed calls and explanations, as Python sees them.

use super::execution::prepare;
use super::hub::Hub;
use super::once::intern;
use super::options::PyCallOptions;
use super::views::Candidate;
use crate::catalog::Servers;
use crate::error::HubError;
use crate::hub::explain::Facts;
use crate::model::CallOptions;
use crate::registry::{Candidate as Registered, Snapshot};
use crate::route::{Directory, Route, Rule};
use crate::select::is_shadow;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::Arc;
use std::time::Instant;

/// The name of a rule when there is no route, because nobody knows the source.
const UNKNOWN: &str = "unknown";

/// All servers: those that are configured, and those that registered tools say they belong to.
struct Known {
    /// Held by whoever asks, and not taken here: tools that go with a snapshot may be code of the user, and here a lock is held.
    snapshot: Arc<Snapshot>,
    servers: Option<Arc<Servers>>,
}

impl Directory for Known {
    fn has(&self, id: &str) -> bool {
        let configured = self.servers.as_ref().is_some_and(|servers| servers.get(id).is_some());
        configured || labels(&self.snapshot).any(|label| &**label == id)
    }

    fn ids(&self) -> Vec<Arc<str>> {
        let configured = self.servers.iter().flat_map(|servers| servers.all());
        let mut ids: Vec<Arc<str>> = configured.map(|server| server.id().clone()).collect();
        for label in labels(&self.snapshot) {
            if !ids.contains(label) {
                ids.push(label.clone());
            }
        }
        ids
    }
}

fn labels(snapshot: &Snapshot) -> impl Iterator<Item = &Arc<str>> {
    snapshot
        .entries()
        .flat_map(|(_, entry)| entry.candidates.iter().filter_map(|candidate| candidate.server.as_ref()))
}

fn find_route(hub: &Hub, source: Option<&str>) -> Result<Route, HubError> {
    let known = Known { snapshot: hub.core().registry.snapshot(), servers: hub.servers() };
    hub.core().route(source, &known)
}

/// Why nobody can be called: kind, sentence, suggestions.
type Refusal = (&'static str, String, Vec<String>);

/// The name of the rule, the source and the server that are meant, and why nobody can be called. A tuple, because this is on
/// the way of every routed call.
type Routed<'py> = (Bound<'py, PyString>, Option<&'static str>, Option<String>, Option<Refusal>);

/// Finds the way of a routed call, without calling anybody.
#[pyfunction]
#[pyo3(signature = (hub, name, source))]
pub fn route<'py>(
    hub: &Bound<'py, Hub>,
    name: &Bound<'py, PyString>,
    source: Option<&Bound<'py, PyString>>,
) -> Routed<'py> {
    let py = hub.py();
    let source = source.map(|source| source.to_string_lossy());
    let found = find_route(hub.get(), source.as_deref());
    let rule = match found.as_ref().map(|route| route.rule) {
        Ok(Rule::Auto) => intern!(py, "auto"),
        Ok(Rule::Alias) => intern!(py, "alias"),
        Ok(Rule::Server) => intern!(py, "server"),
        Ok(Rule::Source) => intern!(py, "source"),
        Err(_) => intern!(py, UNKNOWN),
    };
    let wanted = match found {
        Err(error) => return (rule.clone(), None, None, Some(refusal(error))),
        Ok(Route { source, server, .. }) => CallOptions { source, server, ..CallOptions::default() },
    };
    let refused = hub.get().core().offers(&name.to_string_lossy(), &wanted).err().map(refusal);
    let server = wanted.server.map(|server| server.to_string());
    (rule.clone(), wanted.source.map(|source| source.name()), server, refused)
}

fn refusal(error: HubError) -> Refusal {
    let suggestions = error.suggestions.iter().map(|near| near.to_string()).collect();
    (error.kind.name(), error.message.into_owned(), suggestions)
}

/// Adds a word that routed calls may give as their source.
#[pyfunction]
#[pyo3(signature = (hub, label, target))]
pub fn add_alias(hub: &Bound<'_, Hub>, label: &str, target: Option<&str>) -> PyResult<()> {
    hub.get().core().add_alias(label, target).map_err(PyValueError::new_err)
}

/// Rule, candidates in order, strategy, all of it in words, and the servers that would be asked first.
type Explained = (&'static str, Vec<Candidate>, &'static str, String, Vec<String>);

/// Explains a call: a routed one, or one by name. Nobody is called and nothing is connected. Arguments that are not given
/// are not checked.
#[pyfunction]
#[pyo3(signature = (hub, name, args, options, routed, source=None))]
pub fn explain(
    hub: &Bound<'_, Hub>,
    name: &Bound<'_, PyString>,
    args: Option<&Bound<'_, PyAny>>,
    options: &Bound<'_, PyCallOptions>,
    routed: bool,
    source: Option<&Bound<'_, PyString>>,
) -> Explained {
    let (this, given, now) = (hub.get(), options.get(), Instant::now());
    let core = this.core();
    let name = name.to_string_lossy();
    let source = source.map(|source| source.to_string_lossy());
    let route = routed.then(|| find_route(this, source.as_deref())).transpose();
    let mut wanted = given.options.clone();
    let (rule, sentence) = match &route {
        Err(_) => (UNKNOWN, "nobody knows its source".to_owned()),
        Ok(None) => ("name", "it is called by its name".to_owned()),
        Ok(Some(route)) => {
            (wanted.source, wanted.server) = (route.source, route.server.clone());
            let prefer = wanted.prefer.or(core.options.prefer).unwrap_or_default();
            (route.rule.name(), route.sentence(source.as_deref().unwrap_or_default(), prefer))
        }
    };
    let plan = route.and_then(|route| match route {
        Some(_) => core.offers(&name, &wanted).and_then(|()| core.plan_by_name(&name, &wanted, now)),
        None => core.plan_by_name(&name, &wanted, now),
    });
    let servers = this.servers();
    let to_ask = match (&plan, &servers) {
        (Err(_), Some(servers)) if routed && rule != UNKNOWN => {
            let asked = servers.for_a_miss(wanted.source, wanted.server.as_deref());
            asked.iter().map(|server| server.id().clone()).collect()
        }
        _ => Vec::new(),
    };
    let candidates: Vec<_> = plan.iter().flat_map(|plan| plan.candidates.iter().cloned()).collect();
    let check = |candidate: &Arc<Registered>| Some(prepare(candidate, args?, given.checks).err());
    let snapshot = core.registry.load();
    let shadows = snapshot.get(&name).map(|entry| {
        entry.candidates.iter().filter(|candidate| is_shadow(candidate, entry)).cloned().collect()
    });
    let state = |id: &str| servers.as_ref()?.get(id).map(|server| server.info().state);
    let facts = Facts {
        name: &name,
        rule: sentence,
        plan: plan.as_deref(),
        refusals: candidates.iter().filter_map(check).collect(),
        shadows: shadows.unwrap_or_default(),
        shadow: core.options.shadow,
        state: &state,
        to_ask,
        now,
    };
    let strategy = plan.as_ref().map_or("none", |plan| plan.strategy.name());
    let text = facts.tell();
    let asked = facts.to_ask.iter().map(|id| id.to_string()).collect();
    let seen = |inner| Candidate::new(hub.clone().unbind(), inner);
    (rule, candidates.into_iter().map(seen).collect(), strategy, text, asked)
}
