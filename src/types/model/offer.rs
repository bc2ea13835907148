//! What MCP servers offer in addition to tools.

use std::sync::Arc;

crate::named! {
    /// By the member of the answer that has the list.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum OfferKind {
        Resources = "resources",
        ResourceTemplates = "resourceTemplates",
        Prompts = "prompts",
    }
}

impl OfferKind {
    /// Where a URI is looked up that is read.
    pub const READ: &'static [OfferKind] = &[OfferKind::Resources, OfferKind::ResourceTemplates];

    /// The member that tells one offer from another.
    pub fn key(self) -> &'static str {
        match self {
            OfferKind::Resources => "uri",
            OfferKind::ResourceTemplates => "uriTemplate",
            OfferKind::Prompts => "name",
        }
    }

    /// How an error names one.
    pub fn noun(self) -> &'static str {
        if self == OfferKind::Prompts { "prompt" } else { "resource" }
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
