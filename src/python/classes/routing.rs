//! Routed calls and explanations, as Python sees them.

use crate::classes::hub::PyHub;
use crate::classes::options::PyCallOptions;
use crate::classes::views::PyCandidate;
use crate::prelude::*;
use crate::values::arguments::argument_checks::CheckPass;
use crate::values::arguments::given::prepare;
use toolhub::hub::explain::Facts;
use toolhub::model::Prefer;
use toolhub::plan::{KnownServers, ServerSet, UNKNOWN_SOURCE};
use toolhub::registry::Candidate;
use toolhub::select::{configured, is_shadow};

/// Adds a word that routed calls may give as their source.
#[pyfunction]
pub fn add_alias(hub: &Bound<'_, PyHub>, label: &str, target: Option<&str>) -> PyResult<()> {
    hub.get().checked_core()?.add_alias(label, target).map_err(PyValueError::new_err)
}

/// Rule, candidates in order, strategy, all of it in words, and the servers that would be asked first.
type Explained = (&'static str, Vec<Py<PyCandidate>>, &'static str, String, Vec<String>);

/// Explains a call: a routed one, or one by name. Nothing is called or connected. Arguments that are not given are not
/// checked.
#[pyfunction]
#[pyo3(signature = (hub, name, args, options, routed, source=None, approvers=None))]
pub fn explain(
    hub: &Bound<'_, PyHub>,
    name: &Bound<'_, PyString>,
    args: Option<&Bound<'_, PyAny>>,
    options: &Bound<'_, PyCallOptions>,
    routed: bool,
    source: Option<&Bound<'_, PyString>>,
    approvers: Option<Vec<String>>,
) -> PyResult<Explained> {
    hub.get().check_process()?;
    let (this, given, now) = (hub.get(), options.get(), Instant::now());
    let core = this.core();
    let name = name.to_string_lossy();
    let source = source.map(|source| source.to_string_lossy());
    let (servers, snapshot) = (this.servers(), core.registry.snapshot());
    let set = servers.as_deref().map(|servers| servers as &dyn ServerSet);
    let known = KnownServers::new(snapshot.clone(), set);
    let route = routed.then(|| core.route(source.as_deref(), &known)).transpose();
    let mut wanted = given.options.clone();
    let (rule, sentence) = match &route {
        Err(_) => (UNKNOWN_SOURCE, message!("its source is unknown")),
        Ok(None) => ("name", message!("it is called by its name")),
        Ok(Some(route)) => {
            (wanted.source, wanted.server) = (route.source, route.server.clone());
            wanted.is_routed = true;
            let prefer = wanted.prefer.or(core.options.prefer).unwrap_or(Prefer::Mcps);
            wanted.prefer = Some(prefer);
            (route.rule.name(), route.sentence(source.as_deref().unwrap_or_default(), prefer))
        }
    };
    // A name that is missing is compared with many others.
    let plan = hub.py().detach(|| {
        let route = route?;
        if route.is_some() {
            core.offers(&snapshot, &name, &wanted)?;
        }
        core.plan_by_name(&snapshot, &name, &wanted, now)
    });
    let (mut to_ask, mut never_listed) = (Vec::new(), Vec::new());
    if let (Err(error), Some(servers), true) = (&plan, &servers, rule != UNKNOWN_SOURCE) {
        let asked = servers.for_a_miss(wanted.source, wanted.server.as_deref());
        to_ask = asked.iter().map(|server| server.id().clone()).collect();
        if error.kind == ErrorKind::NotFound {
            never_listed = servers.never_listed(wanted.source, wanted.server.as_deref());
        }
    }
    let candidates: Vec<_> = plan.iter().flat_map(|plan| plan.candidates.iter().cloned()).collect();
    let check =
        |candidate: &Arc<Candidate>| Some(prepare(candidate, args?, &mut CheckPass::new(given.checks)).err());
    let entry = snapshot.find(&name);
    let shadows = entry.iter().flat_map(|entry| entry.candidates.iter().filter(|one| is_shadow(one, entry)));
    let namesakes = entry.as_ref().and_then(|entry| {
        let meant = entry.meant(&candidates)?;
        let others = entry.tools.iter().filter(|tool| tool.is_apart() && tool.name != meant.name);
        Some((meant.name.clone(), others.map(|tool| tool.name.clone()).collect()))
    });
    let state = |id: &str| servers.as_ref()?.get(id).map(|server| server.info().state);
    let facts = Facts {
        name: &name,
        rule: sentence,
        plan: plan.as_deref(),
        approvers,
        configured: configured(&candidates, &core.options.strategies, false),
        refusals: candidates.iter().filter_map(check).collect(),
        shadows: shadows.cloned().collect(),
        namesakes,
        shadow: core.options.shadow,
        state: &state,
        never_listed,
        to_ask,
        now,
    };
    let strategy = plan.as_ref().map_or("none", |plan| plan.strategy.name());
    let text = facts.tell(core.options.lang);
    let asked = facts.to_ask.iter().map(|id| id.to_string()).collect();
    let candidates = candidates.into_iter().map(|candidate| PyCandidate::new(hub, candidate));
    Ok((rule, candidates.collect::<PyResult<_>>()?, strategy, text, asked))
}
