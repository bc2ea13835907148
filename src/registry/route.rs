//! L2, call → request: what the `source` of a routed call means.
//!
//! | `source` | goes to | rule |
//! |---|---|---|
//! | none, empty | every source, MCP servers first | `auto` |
//! | `tools`, `skills`, `mcps` | that source only | `source` |
//! | a label with a target | that target: a source, or a server | `alias` |
//! | the id of a server, also as `mcps:id` | that server only | `server` |
//! | a label without a target | every source, MCP servers first: models mislabel | `alias` |
//!
//! The first line that fits counts, so a server wins over a label without a target, and a server named like a source is
//! reached as `mcps:tools`. Spaces around a source and its case do not matter, unless two servers differ only in them.
//! The core has no labels of its own: which words models use is data, and comes from the user.

use std::collections::HashMap;
use std::sync::Arc;
use toolhub_text::{Message, message, near_names};
use toolhub_types::error::{ErrorKind, HubError, Result, clip};
use toolhub_types::model::{Prefer, Source};

/// How an explanation names a server, and how a model may name it back.
const SERVER_LABEL: &str = "mcps:";
/// More ids than these only lengthen an error.
const SHOWN: usize = 30;

toolhub_types::named! {
    /// Why a call goes where it goes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RouteRule {
        Auto = "auto",
        Alias = "alias",
        Server = "server",
        Source = "source",
    }
}

/// Where a call goes: `None` means everywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub rule: RouteRule,
    pub source: Option<Source>,
    pub server: Option<Arc<str>>,
}

impl Route {
    fn everywhere(rule: RouteRule) -> Self {
        Route { rule, source: None, server: None }
    }

    /// The rule in plain words; `given` is the source as it was written.
    pub fn sentence(&self, given: &str, prefer: Prefer) -> Message {
        let given = clip(given.trim());
        let why = match self.rule {
            RouteRule::Auto => message!("the call names no source"),
            RouteRule::Alias => message!("'{}' is a label", given),
            RouteRule::Server => message!("'{}' is an MCP server", given),
            RouteRule::Source => message!("'{}' is a source", given),
        };
        match (&self.server, self.source, prefer) {
            (Some(server), ..) => message!("{}: only server '{}' is asked", why, clip(server)),
            (None, Some(source), _) => message!("{}: only '{}' is asked", why, source),
            (None, None, Prefer::Mcps) => message!("{}: every source is asked, MCP servers first", why),
            (None, None, Prefer::Priority) => message!("{}: every source is asked, by priority", why),
        }
    }
}

/// The MCP servers that there are.
pub trait Directory {
    fn has(&self, id: &str) -> bool;
    fn ids(&self) -> Vec<Arc<str>>;
}

/// What the source of a call means.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// Where those go that were added, by their folded form.
    added: HashMap<String, Route>,
}

impl Labels {
    /// A label stands for everything, for a source, or for the server of that id, which may be added later.
    pub fn add(&mut self, label: &str, target: Option<&str>) -> Result<(), String> {
        let folded = fold(label);
        if folded.is_empty() {
            return Err("an alias must be a word, got an empty text".into());
        }
        if Source::parse(&folded).is_some() {
            return Err(format!("an alias must not be the name of a source, got '{folded}'"));
        }
        let mut route = Route::everywhere(RouteRule::Alias);
        if let Some(target) = target {
            match (target.trim(), Source::parse(&fold(target))) {
                ("", _) => return Err(format!("the alias '{folded}' must stand for something, or for None")),
                (_, Some(source)) => route.source = Some(source),
                (server, None) => route.server = Some(Arc::from(server)),
            }
        }
        self.added.insert(folded, route);
        Ok(())
    }

    /// Where a call with this source goes.
    pub fn route(&self, source: Option<&str>, servers: &impl Directory) -> Result<Route> {
        let Some(given) = source.filter(|given| !given.trim().is_empty()) else {
            return Ok(Route::everywhere(RouteRule::Auto));
        };
        let folded = fold(given);
        if let Some(source) = Source::parse(&folded) {
            return Ok(Route { rule: RouteRule::Source, source: Some(source), server: None });
        }
        let label = self.added.get(&folded);
        if let Some(target) = label.filter(|label| label.source.is_some() || label.server.is_some()) {
            return self.aliased(given, target, servers);
        }
        if let Some(server) = find(given, servers) {
            return Ok(Route { rule: RouteRule::Server, source: None, server: Some(server) });
        }
        let unknown = || self.unknown(message!("There is no source '{}'.", clip(given)), &folded, servers);
        label.cloned().ok_or_else(unknown)
    }

    fn aliased(&self, given: &str, target: &Route, servers: &impl Directory) -> Result<Route> {
        let Some(id) = &target.server else { return Ok(target.clone()) };
        if let server @ Some(_) = find(id, servers) {
            return Ok(Route { server, ..target.clone() });
        }
        let (given, server) = (clip(given), clip(id));
        let what = message!("The label '{}' refers to server '{}', which does not exist.", given, server);
        Err(self.unknown(what, &fold(id), servers))
    }

    fn unknown(&self, what: Message, folded: &str, servers: &impl Directory) -> HubError {
        let ids = servers.ids();
        let known: Vec<String> = ids.iter().take(SHOWN).map(|id| format!("'{}'", clip(id))).collect();
        let known = match ids.len().saturating_sub(SHOWN) {
            _ if known.is_empty() => message!("none"),
            0 => known.join(", ").into(),
            more => message!("{}, and {} more", known.join(", "), more),
        };
        let suggestions = self.near(folded, ids);
        let mut message = message!("{} Known servers: {}. Known sources: tools, skills, mcps.", what, known);
        if let Some(near) = suggestions.first() {
            message = message!("{} Did you mean '{}'?", message, clip(near));
        }
        HubError { suggestions, ..HubError::new(ErrorKind::NotFound, message) }
    }

    /// Up to three servers, sources or labels that were probably meant, the most alike first.
    fn near(&self, folded: &str, ids: Vec<Arc<str>>) -> Vec<Arc<str>> {
        let wanted = folded.strip_prefix(SERVER_LABEL).unwrap_or(folded);
        let words = Source::ALL.map(Source::name).into_iter();
        let words = words.chain(self.added.keys().map(String::as_str)).map(Arc::from);
        let mut known: Vec<Arc<str>> = ids.into_iter().chain(words).collect();
        // Sorted, so that a map's order is never seen in equally near names.
        known.sort_unstable();
        known.dedup();
        near_names(wanted, known.iter().map(|name| (&**name, name)), 3).into_iter().cloned().collect()
    }
}

fn fold(label: &str) -> String {
    label.trim().to_lowercase()
}

/// The id that is meant: the very one, or else the only one that differs in nothing but case and spaces around it.
fn find(given: &str, servers: &impl Directory) -> Option<Arc<str>> {
    let trimmed = given.trim();
    let unlabelled =
        trimmed.get(..SERVER_LABEL.len()).filter(|start| start.eq_ignore_ascii_case(SERVER_LABEL));
    let unlabelled = unlabelled.map(|start| trimmed[start.len()..].trim());
    let names = [Some(given), Some(trimmed), unlabelled];
    if let Some(id) = names.iter().flatten().find(|name| servers.has(name)) {
        return Some(Arc::from(*id));
    }
    let ids = servers.ids();
    let only = |name: &str| {
        let folded = fold(name);
        let mut alike = ids.iter().filter(|id| fold(id) == folded);
        alike.next().filter(|_| alike.next().is_none()).cloned()
    };
    only(trimmed).or_else(|| unlabelled.and_then(only))
}

#[cfg(test)]
#[path = "route/tests.rs"]
mod tests;
