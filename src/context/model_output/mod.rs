//! L2, results as a model reads them.
//!
//! ```text
//! content blocks ─► content: text and notes, images
//! search hits    ─► hits: one line each          ─► (cut by the hub) ─► messages: the form of each vendor's API
//! skills         ─► skill: a tagged block
//! ```

pub mod content;
pub mod hits;
pub mod messages;
pub mod skill;
