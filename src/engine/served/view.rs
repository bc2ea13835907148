//! What a caller sees: the one rule that `tools/list`, search, `tools/describe` and `tools/call` apply.
//!
//! A tool that a view hides does not exist for the caller: the answers about it are those about an unknown name. A view that
//! a caller must not use does not exist for it either.

use crate::hub::Hub;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use toolhub_registry::Candidate;
use toolhub_text::message;
use toolhub_text::pattern::{BETWEEN, NATIVE, PatternList};
use toolhub_types::error::{ErrorKind, HubError, clip};
use toolhub_types::model::{CallOptions, OfferKind, Safety};
use toolhub_types::principal::Principal;

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
            None => self.tools.is_none() && self.effects == EffectsAllowed::All,
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
    named: BTreeMap<Arc<str>, Arc<View>>,
    /// For callers who name no view, and whose token names none.
    standard: Arc<View>,
}

impl Views {
    /// `standard` is for callers who name no view, unless one of the views is called [`DEFAULT_VIEW`].
    pub fn new(standard: View, views: impl IntoIterator<Item = View>) -> Result<Self, HubError> {
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
        self.allowed(asked, principal)
    }

    /// The view of this name.
    pub fn named(&self, name: &str) -> Option<&Arc<View>> {
        self.named.get(name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(|name| &**name)
    }

    /// What a view is now, after views may have been replaced; `None` if there is no such view any more.
    pub fn renewed(&self, view: &View) -> Option<Arc<View>> {
        match &*view.name {
            "" | DEFAULT_VIEW => Some(self.standard.clone()),
            name => self.named.get(name).cloned(),
        }
    }

    /// The view of callers who name none.
    pub fn standard(&self) -> Arc<View> {
        self.standard.clone()
    }

    fn allowed(&self, asked: Option<&str>, principal: &Principal) -> Option<Arc<View>> {
        match (asked, principal.view.as_deref()) {
            (Some(asked), Some(own)) if asked != own => None,
            (_, Some(own)) => self.named.get(own).cloned(),
            (asked, None) => {
                let open = asked.map_or(Some(&self.standard), |name| self.named.get(name));
                open.filter(|view| !view.has_token).cloned()
            }
        }
    }
}

fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !name.is_empty() && name.len() <= LONGEST_NAME && name.bytes().all(fits)
}

#[cfg(test)]
#[path = "view/tests.rs"]
mod tests;
