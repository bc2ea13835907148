//! What MCP servers offer in addition to tools.

use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OfferKind {
    Resources,
    ResourceTemplates,
    Prompts,
}

impl OfferKind {
    pub const ALL: [OfferKind; 3] = [OfferKind::Resources, OfferKind::ResourceTemplates, OfferKind::Prompts];

    /// Where a URI is looked up that is read.
    pub const READ: &'static [OfferKind] = &[OfferKind::Resources, OfferKind::ResourceTemplates];

    /// The member of the answer that has the list.
    pub fn name(self) -> &'static str {
        match self {
            OfferKind::Resources => "resources",
            OfferKind::ResourceTemplates => "resourceTemplates",
            OfferKind::Prompts => "prompts",
        }
    }

    pub fn parse(name: &str) -> Option<OfferKind> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The member that tells one offer from another.
    pub fn key(self) -> &'static str {
        match self {
            OfferKind::Resources => "uri",
            OfferKind::ResourceTemplates => "uriTemplate",
            OfferKind::Prompts => "name",
        }
    }

    /// The method that lists them.
    pub fn method(self) -> &'static str {
        match self {
            OfferKind::Resources => "resources/list",
            OfferKind::ResourceTemplates => "resources/templates/list",
            OfferKind::Prompts => "prompts/list",
        }
    }

    /// The capability of a server that has them.
    pub fn capability(self) -> &'static str {
        match self {
            OfferKind::Resources | OfferKind::ResourceTemplates => "resources",
            OfferKind::Prompts => "prompts",
        }
    }
}

/// What has changed on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferChange {
    pub what: ChangedOffer,
    pub server: Arc<str>,
    /// The principal on whose connection it was announced; `None` for everyone.
    pub caller: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangedOffer {
    List(OfferKind),
    /// The content of the resource with this URI, which was subscribed to.
    Content(Arc<str>),
}
