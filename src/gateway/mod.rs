//! L5, the hub as one MCP server.
//!
//! | file | holds |
//! |---|---|
//! | [`principal`] | who calls |
//! | [`session`] | signed session ids, so that any replica serves any request |
//! | [`view`] | what a caller sees |

mod principal;
mod session;
mod view;

pub use principal::Principal;
pub use session::{
    KEY_GRACE, SESSION_LIFETIME, SHORTEST_SECRET, STATE_LIFETIME, SessionClaims, SessionKeys, SessionRefusal,
    Sessions,
};
pub use view::{AUTO_SEARCH_ABOVE, EffectsAllowed, SearchMode, View};
