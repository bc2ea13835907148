//! L5, the hub as one MCP server.
//!
//! | file | holds |
//! |---|---|
//! | [`authenticator`] | finds out who calls |
//! | [`jwt`], [`jwks`] | signed tokens, and the keys of their issuer |
//! | [`principal`] | who calls |
//! | [`session`] | signed session ids, so that any replica serves any request |
//! | [`view`] | what a caller sees |

mod authenticator;
mod jwks;
mod jwt;
mod principal;
mod session;
mod view;

pub use authenticator::{
    AuthenticationOptions, AuthenticationRefusal, Authenticator, PrincipalFunction, RequestCredentials,
    StaticToken,
};
pub use jwks::{JwksSource, JwtAlgorithm};
pub use jwt::JwtOptions;
pub use principal::Principal;
pub use session::{
    KEY_GRACE, SESSION_LIFETIME, SHORTEST_SECRET, STATE_LIFETIME, SessionClaims, SessionKeys, SessionRefusal,
    Sessions,
};
pub use view::{AUTO_SEARCH_ABOVE, EffectsAllowed, SearchMode, View};
