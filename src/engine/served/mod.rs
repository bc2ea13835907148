//! L4, the hub as its served callers see it: views of its tools, and the servers that stand behind it.
//!
//! The gateway serves this; the catalog answers for the servers. Neither needs the other.

mod upstreams;
mod view;

pub use upstreams::{SubscribedResource, Upstreams};
pub use view::{
    AUTO_SEARCH_ABOVE, Audience, DEFAULT_VIEW, EffectsAllowed, SearchMode, ShownTool, View, Views, core_names,
};
