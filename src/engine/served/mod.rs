//! L4, the hub as its served callers see it: views of its tools, and the servers that stand behind it.
//!
//! The gateway serves this; the catalog answers for the servers. Neither needs the other.

mod shown_tool;
mod upstreams;
mod view;

pub use shown_tool::{Audience, ShownTool};
pub use upstreams::{SubscribedResource, Upstreams};
pub use view::{AUTO_SEARCH_ABOVE, DEFAULT_VIEW, EffectsAllowed, SearchMode, View, Views, core_names};
