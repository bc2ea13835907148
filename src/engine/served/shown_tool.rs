//! A tool as the callers of a view see it. The view makes it; list, search, describe, headers and calls say of the tool what it
//! says, so that none of them can speak of a provider that the view hides.

use super::view::View;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::sync::Arc;
use toolhub_context::search::ToolPart;
use toolhub_registry::{Candidate, NameEntry, Snapshot};
use toolhub_types::model::{Evidence, Safety, Source, ToolSpec};

/// Who uses what is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    Model,
    /// A client that shows the interfaces of tools. It has tools for them, too, and keeps those from its model itself.
    Apps,
}

impl Audience {
    /// Servers hide from models what is for their interfaces; skills that are hidden are for programs of the hub.
    fn may_use<'a>(self, mut providers: impl Iterator<Item = &'a Candidate> + Clone) -> bool {
        providers.clone().any(|one| !one.spec().is_hidden)
            || self == Audience::Apps && providers.all(|one| one.source == Source::Mcps)
    }
}

pub struct ShownTool<'a> {
    pub name: &'a str,
    view: &'a View,
    entry: &'a NameEntry,
    /// The only server whose providers are meant, if the name says so.
    server: Option<&'a str>,
    /// The provider whose definition stands for the tool.
    provider: &'a Candidate,
}

impl View {
    /// The tool of this name. One that the view hides does not exist.
    pub fn tool<'a>(&'a self, snapshot: &'a Snapshot, name: &'a str) -> Option<ShownTool<'a>> {
        self.tool_for(snapshot, name, Audience::Model).map(|tool| tool.named_in(snapshot))
    }

    /// The tool that a caller means by this name. `server__tool` is understood whether it is listed so or not, as in
    /// [`Snapshot::find`].
    pub fn tool_for<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        name: &'a str,
        audience: Audience,
    ) -> Option<ShownTool<'a>> {
        match snapshot.get(name) {
            Some(entry) => self.shown(name, entry, audience),
            None => {
                let (server, entry) = snapshot.address(name)?;
                self.on(Some(server), name, entry, audience)
            }
        }
    }

    /// All tools, in the order of the registry.
    pub fn tools<'a>(&'a self, snapshot: &'a Snapshot) -> impl Iterator<Item = ShownTool<'a>> {
        self.tools_for(snapshot, Audience::Model)
    }

    pub fn tools_for<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        audience: Audience,
    ) -> impl Iterator<Item = ShownTool<'a>> {
        let shown = move |(name, entry)| self.shown(name, entry, audience);
        let listed = snapshot.entries().map(|(name, entry)| (&**name, &**entry));
        listed.filter_map(shown).map(|tool| tool.named_in(snapshot))
    }

    /// `None` for a tool that is not for this audience, or none of whose providers the view admits.
    pub fn shown<'a>(
        &'a self,
        name: &'a str,
        entry: &'a NameEntry,
        audience: Audience,
    ) -> Option<ShownTool<'a>> {
        self.on(None, name, entry, audience)
    }

    fn on<'a>(
        &'a self,
        server: Option<&'a str>,
        name: &'a str,
        entry: &'a NameEntry,
        audience: Audience,
    ) -> Option<ShownTool<'a>> {
        if !audience.may_use(meant(entry, server)) {
            return None;
        }
        let provider = admitted(self, entry, server).min_by_key(|one| (one.priority, one.id))?;
        Some(ShownTool { name, view: self, entry, server, provider })
    }
}

/// The providers of a name, or those of one server.
fn meant<'a>(entry: &'a NameEntry, server: Option<&'a str>) -> impl Iterator<Item = &'a Candidate> + Clone {
    let is_meant = move |one: &&Candidate| server.is_none() || one.server.as_deref() == server;
    entry.candidates.iter().map(|one| &**one).filter(is_meant)
}

/// Those of them that a view admits.
fn admitted<'a>(
    view: &'a View,
    entry: &'a NameEntry,
    server: Option<&'a str>,
) -> impl Iterator<Item = &'a Candidate> {
    meant(entry, server).filter(|one| view.admits(one))
}

/// What a view shows is all that its searches know of.
impl ToolPart for View {
    fn has_entry(&self, entry: &NameEntry) -> bool {
        self.shown("", entry, Audience::Model).is_some()
    }

    fn has_candidate(&self, candidate: &Candidate) -> bool {
        self.admits(candidate)
    }
}

impl<'a> ShownTool<'a> {
    /// A tool that is told apart from namesakes has its own name where the view hides those: a caller learns nothing of them.
    fn named_in(self, snapshot: &'a Snapshot) -> Self {
        let own: &str = &self.provider.spec().name;
        let is_alone = |family: &NameEntry| {
            let mut admitted = family.candidates.iter().filter(|one| self.view.admits(one));
            admitted.all(|one| self.entry.has(one))
        };
        match self.entry.is_apart() && snapshot.family(own).is_some_and(|family| is_alone(family)) {
            true => ShownTool { name: own, ..self },
            false => self,
        }
    }

    pub fn spec(&self) -> &'a ToolSpec {
        self.provider.spec()
    }

    /// The server of its provider.
    pub fn server(&self) -> Option<&'a Arc<str>> {
        self.provider.server.as_ref()
    }

    pub fn changed_at(&self) -> u64 {
        self.entry.changed_at
    }

    /// Members of its definition that the hub passes on as they are.
    pub fn definition_extras(&self) -> Map<String, Value> {
        self.provider.tool.definition_extras()
    }

    /// The label of its only provider. Which of several was called, only the call knows.
    pub fn only_provider(&self) -> Option<String> {
        let mut admitted = self.admitted();
        admitted.next().filter(|_| admitted.next().is_none()).map(Candidate::label)
    }

    fn admitted(&self) -> impl Iterator<Item = &'a Candidate> {
        admitted(self.view, self.entry, self.server)
    }

    /// The annotations with what the hub knows of the effects, so that a client is as careful as the hub itself: what the user
    /// has declared is added, and a claim to be read-only is taken back where the hub does not believe it, or where a call may go
    /// to another provider that is not harmless.
    pub fn annotations(&self) -> Cow<'a, Map<String, Value>> {
        let given = &self.spec().annotations;
        let hint = |key: &str| given.get(key).and_then(Value::as_bool);
        let effects = self.admitted().map(|one| one.spec().effects).max_by_key(|effects| effects.safety);
        let Some(effects) = effects else { return Cow::Borrowed(given) };
        let is_ours = matches!(
            effects.evidence,
            Evidence::Registration | Evidence::ServerOption(_) | Evidence::Instructions
        );
        let (read_only, is_claimed) =
            (effects.safety == Safety::Harmless, hint("readOnlyHint") == Some(true));
        let mut added = Map::new();
        if is_ours && hint("readOnlyHint") != Some(read_only) || is_claimed && !read_only {
            added.insert("readOnlyHint".to_owned(), json!(read_only));
        }
        if is_ours && read_only && hint("destructiveHint") == Some(true) {
            added.insert("destructiveHint".to_owned(), json!(false));
        }
        if hint("idempotentHint").is_none() && self.admitted().all(|one| one.spec().idempotent) {
            added.insert("idempotentHint".to_owned(), json!(true));
        }
        if added.is_empty() {
            return Cow::Borrowed(given);
        }
        let mut all = given.clone();
        all.extend(added);
        Cow::Owned(all)
    }
}
