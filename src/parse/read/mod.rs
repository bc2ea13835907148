//! Readers that several dialects share, by how a call is written.

pub(super) mod arguments;
pub(super) mod bare_json;
pub(super) mod common;
pub(super) mod functions;
pub(super) mod invoke;
pub(super) mod json_body;
pub(super) mod section;
