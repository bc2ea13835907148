//! Readers that several dialects share, one for each way to write a call.

pub(super) mod arg_pairs;
pub(super) mod arguments;
pub(super) mod common;
pub(super) mod invoke;
pub(super) mod json_body;
pub(super) mod python;
pub(super) mod section;
