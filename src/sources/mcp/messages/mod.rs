//! Messages: how they are written and read, who gets them, and what they prove.

pub mod inbox;
pub mod message;
pub(crate) mod proof;
pub mod protocol;
pub mod wire;
