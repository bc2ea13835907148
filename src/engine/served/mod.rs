//! L4, the hub as its served callers see it: views of its tools, and the servers that stand behind it.
//!
//! The gateway serves this; the catalog answers for the servers. Neither needs the other.

use crate::hub::Hub;
use crate::offers::OfferQuery;
use crate::plan::CallSources;
use serde_json::{Map, Value, json};
use std::any::Any;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use toolhub_context::search::ToolPart;
use toolhub_registry::{Candidate, NameEntry, Snapshot};
use toolhub_text::message;
use toolhub_text::pattern::{BETWEEN, NATIVE, PatternList};
use toolhub_types::error::{ErrorKind, HubError, Result, clip};
use toolhub_types::model::{CallOptions, Evidence, OfferKind, Safety, Source, ToolSpec};
use toolhub_types::principal::Principal;
use toolhub_types::tool::{AskCaller, BoxFuture, CallContextExtras};

// What the gateway needs from the sources of tools, as a trait: the room knows no MCP client and no Python.

/// The servers behind a gateway.
pub trait Upstreams: CallSources {
    /// Waits until every server has listed its tools once, or has failed to: for at most `patience`, or the hub's
    /// `lookup_timeout`, or longer while the view shows nothing. Returns the servers that are still starting.
    fn listed<'a>(&'a self, view: &'a View, patience: Option<Duration>) -> BoxFuture<'a, Vec<Arc<str>>>;

    /// How much servers shall log for requests: the lowest level that a client has set; `None` if none has.
    fn want_log_level(&self, level: Option<&'static str>) -> BoxFuture<'_, ()>;

    /// The hub has one client only, whose roots are those of all connections to servers; `None`: it has left.
    fn set_only_client(&self, client: Option<AskCaller>);

    /// The roots of that client have changed.
    fn roots_changed(&self) -> BoxFuture<'_, ()>;

    /// Writes a line about a server, or the gateway, into the log of the operator.
    fn log(&self, server: &str, level: &str, text: &str);

    /// The state of each server, for the operator: id, state, era, version, transport, tools, age, error, pid, notices, stderr.
    fn server_states(&self) -> Vec<Value>;

    /// What a server says of its use, bounded and safe to show; `None` if it says nothing, or was never connected.
    fn instructions(&self, server: &str) -> Option<String>;

    /// The extensions of the protocol that the servers of the view have declared, without those that end at the hub.
    fn extensions(&self, view: &View) -> Map<String, Value>;

    /// Whether a server that the view shows has this capability, such as `prompts` or `resources.subscribe`. A server that was
    /// never connected may have it.
    fn may_have(&self, view: &View, capability: &str) -> bool;

    /// The resources, templates or prompts of the servers that the view shows, each as its server lists it for this caller. Keys
    /// that several servers have are told apart. `again`: what was listed a moment ago is good enough.
    fn offers<'a>(
        &'a self,
        view: &'a View,
        caller: &'a Arc<Principal>,
        kind: OfferKind,
        again: bool,
    ) -> BoxFuture<'a, Vec<Value>>;

    /// The result of a request about one of them, as its server gives it.
    fn ask_offer<'a>(
        &'a self,
        view: &'a View,
        query: &'a OfferQuery,
        extras: &'a CallContextExtras,
    ) -> BoxFuture<'a, Result<Map<String, Value>>>;

    /// Subscribes to the changes of a resource, which then are among the signals of the hub's own offers.
    fn subscribe<'a>(
        &'a self,
        view: &'a View,
        caller: &'a Arc<Principal>,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<SubscribedResource>>;
}

/// A subscription to a resource. Dropping it ends the subscription.
pub struct SubscribedResource {
    pub server: Arc<str>,
    /// Its URI there.
    pub uri: String,
    _guard: Box<dyn Any + Send + Sync>,
}

impl SubscribedResource {
    pub fn new(server: Arc<str>, uri: String, guard: impl Send + Sync + 'static) -> Self {
        SubscribedResource { server, uri, _guard: Box::new(guard) }
    }
}

/// The highest number of tools that `SearchMode::Auto` lists one by one.
pub const AUTO_SEARCH_ABOVE: usize = 100;

/// The view of this name is that of callers who name none.
pub const DEFAULT_VIEW: &str = "default";
const LONGEST_NAME: usize = 64;

toolhub_types::named! {
    /// Whether tools are listed one by one, or found by `search_tools`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum SearchMode {
        /// Search mode as soon as a view shows more than [`AUTO_SEARCH_ABOVE`] tools.
        #[default]
        Auto = "auto",
        On = "on",
        Off = "off",
    }
}

toolhub_types::named! {
    /// How much a view lets its callers do.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum EffectsAllowed {
        /// All tools.
        #[default]
        All = "all",
        /// Tools that are not known to act.
        NotActing = "not_acting",
        /// Tools that are known to be harmless.
        Harmless = "harmless",
    }
}

impl EffectsAllowed {
    /// How careful a caller may have to be with a tool at most.
    fn most(self) -> Option<Safety> {
        match self {
            EffectsAllowed::All => None,
            EffectsAllowed::NotActing => Some(Safety::Unknown),
            EffectsAllowed::Harmless => Some(Safety::Harmless),
        }
    }
}

/// The names of core tools that a user wrote, as callers have them. With a scope, as patterns have it: `wiki/search` is the tool
/// `wiki__search`, or the skill of this name.
pub fn core_names(written: &[String]) -> Vec<Arc<str>> {
    let tool = |name: &String| match name.split_once('/')? {
        (NATIVE, tool) => Some(Arc::from(tool)),
        (server, tool) => Some(Arc::from([server, BETWEEN, tool].concat())),
    };
    let mut seen = HashSet::new();
    let all = written.iter().flat_map(|name| [Some(Arc::from(&**name)), tool(name)]).flatten();
    all.filter(|name: &Arc<str>| seen.insert(name.clone())).collect()
}

/// One view of the hub.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Empty for the one that shows everything.
    pub name: Arc<str>,
    /// The tools that it shows; `None` shows all.
    pub tools: Option<Arc<PatternList>>,
    pub effects: EffectsAllowed,
    /// The servers whose resources it shows. `None`: all, unless the view is limited to some tools.
    pub resources: Option<Arc<PatternList>>,
    /// The servers whose prompts it shows, likewise.
    pub prompts: Option<Arc<PatternList>>,
    /// The calls that one principal may make within a minute.
    pub calls_per_minute: Option<u32>,
    /// Listed beside the tools of search mode, in this order.
    pub core: Vec<Arc<str>>,
    pub search_mode: SearchMode,
    /// The instructions of the server, in this view.
    pub instructions: Option<Arc<str>>,
    /// It is for the callers whose token names it.
    pub has_token: bool,
}

impl View {
    /// The view that shows the whole hub.
    pub fn everything() -> Self {
        View::default()
    }

    /// Whether the view shows all tools that are for models.
    pub fn shows_everything(&self) -> bool {
        self.tools.is_none() && self.effects == EffectsAllowed::All
    }

    /// Whether callers may reach this provider of a tool. What reads on in a result shows its reader nothing else.
    pub fn admits(&self, candidate: &Candidate) -> bool {
        let (name, server) = (&candidate.spec().name, candidate.server.as_deref());
        if Hub::reads_more(candidate) {
            return true;
        }
        self.effects.most().is_none_or(|most| candidate.spec().effects.safety <= most)
            && self.tools.as_ref().is_none_or(|tools| tools.allows(name, server))
    }

    /// Whether callers see the resources or prompts of this server. A view that is limited to some tools shows those of the
    /// servers that it names, and no others.
    pub fn shows(&self, kind: OfferKind, server: &str) -> bool {
        let named = match kind {
            OfferKind::Resources | OfferKind::ResourceTemplates => &self.resources,
            OfferKind::Prompts => &self.prompts,
        };
        match named {
            Some(servers) => servers.allows(server, None),
            None => self.shows_everything(),
        }
    }

    /// The options of a call in this view: only providers that the view admits, and no result of another principal or of other
    /// rights.
    pub fn call_options(&self, principal: &Principal) -> CallOptions {
        CallOptions {
            allowed: self.tools.clone(),
            safety: self.effects.most(),
            principal: Some(principal.id.clone()),
            rights: Some(principal.rights.clone()),
            ..CallOptions::default()
        }
    }
}

/// The views of a gateway by name.
#[derive(Clone, Debug)]
pub struct Views {
    pub named: BTreeMap<Arc<str>, Arc<View>>,
    /// For callers who name no view, and whose token names none.
    pub standard: Arc<View>,
}

impl Views {
    /// `standard` is for callers who name no view, unless one of the views is called [`DEFAULT_VIEW`].
    pub fn new(standard: View, views: impl IntoIterator<Item = View>) -> Result<Self> {
        let mut named = BTreeMap::new();
        for view in views {
            if !is_name(&view.name) {
                let text = message!(
                    "'{}' cannot be the name of a view; use up to {} letters, digits, '_' and '-'.",
                    clip(&view.name),
                    LONGEST_NAME
                );
                return Err(HubError::new(ErrorKind::InvalidArguments, text));
            }
            named.insert(view.name.clone(), Arc::new(view));
        }
        let standard = named.get(DEFAULT_VIEW).cloned().unwrap_or_else(|| Arc::new(standard));
        Ok(Views { named, standard })
    }

    /// A token is for this view, so only callers of it may use the view. False if there is no such view.
    pub fn reserve(&mut self, name: &str) -> bool {
        let Some(view) = self.named.get_mut(name) else { return false };
        Arc::make_mut(view).has_token = true;
        if name == DEFAULT_VIEW {
            self.standard = view.clone();
        }
        true
    }

    /// The view that the path of a request names and this principal may use: `base` or `base/<view>`. `None` is 404, whatever
    /// the reason. Names have no escapes, so a path is compared as it is: one with `%`, `..` or `//` names nothing.
    pub fn of_path(&self, path: &str, base: &str, principal: &Principal) -> Option<Arc<View>> {
        let rest = path.strip_prefix(base.trim_end_matches('/'))?;
        let asked = match rest {
            "" => None,
            "/" if base.ends_with('/') => None,
            rest => Some(rest.strip_prefix('/').filter(|name| is_name(name))?),
        };
        match (asked, principal.view.as_deref()) {
            (Some(asked), Some(own)) if asked != own => None,
            (_, Some(own)) => self.named.get(own).cloned(),
            (asked, None) => {
                let open = asked.map_or(Some(&self.standard), |name| self.named.get(name));
                open.filter(|view| !view.has_token).cloned()
            }
        }
    }

    /// What a view is now, after views may have been replaced; `None` if there is no such view any more.
    pub fn renewed(&self, view: &View) -> Option<Arc<View>> {
        match &*view.name {
            "" | DEFAULT_VIEW => Some(self.standard.clone()),
            name => self.named.get(name).cloned(),
        }
    }
}

fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !name.is_empty() && name.len() <= LONGEST_NAME && name.bytes().all(fits)
}

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

/// A tool as the callers of a view see it. List, search, describe, headers and calls say of the tool what it says, so that none of
/// them can speak of a provider that the view hides.
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
        let (server, entry) = match snapshot.get(name) {
            Some(entry) => (None, entry),
            None => snapshot.address(name).map(|(server, entry)| (Some(server), entry))?,
        };
        self.shown(server, name, entry, audience)
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
        let shown = move |(name, entry)| self.shown(None, name, entry, audience);
        let listed = snapshot.entries().map(|(name, entry)| (&**name, &**entry));
        listed.filter_map(shown).map(|tool| tool.named_in(snapshot))
    }

    /// `None` for a tool that is not for this audience, or none of whose providers (those of one server) the view admits.
    fn shown<'a>(
        &'a self,
        server: Option<&'a str>,
        name: &'a str,
        entry: &'a NameEntry,
        audience: Audience,
    ) -> Option<ShownTool<'a>> {
        if !audience.may_use(meant(entry, server)) {
            return None;
        }
        let provider =
            meant(entry, server).filter(|one| self.admits(one)).min_by_key(|one| (one.priority, one.id))?;
        Some(ShownTool { name, view: self, entry, server, provider })
    }
}

/// The providers of a name, or those of one server.
fn meant<'a>(entry: &'a NameEntry, server: Option<&'a str>) -> impl Iterator<Item = &'a Candidate> + Clone {
    let is_meant = move |one: &&Candidate| server.is_none() || one.server.as_deref() == server;
    entry.candidates.iter().map(|one| &**one).filter(is_meant)
}

/// What a view shows is all that its searches know of.
impl ToolPart for View {
    fn has_entry(&self, entry: &NameEntry) -> bool {
        self.shown(None, "", entry, Audience::Model).is_some()
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
        meant(self.entry, self.server).filter(|one| self.view.admits(one))
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

#[cfg(test)]
mod tests;
