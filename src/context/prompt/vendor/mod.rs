//! Tools in the form of each vendor's API, adapted to what it accepts.
//!
//! | vendor | beyond what all take |
//! |---|---|
//! | OpenAI | descriptions of 1,024 characters |
//! | OpenAI, strict | every object closed, every parameter required (optional ones may be null), few keywords |
//! | Anthropic | an object at the top, without alternatives; names of parameters of letters, digits, `_`, `.`, `-` |
//! | Gemini | a part of OpenAPI: no references, one type each, only text in enums, no open objects; names of parameters of letters, digits, `_` |
//!
//! All take a tree without references, so that is built first; keywords that a vendor does not support are put into the
//! description. One bad tool would fail the whole request, so it is left out, with the reason.

mod api;
mod declare;
mod gemini;
mod inline;
mod names;
mod open;
mod plain;
mod restore;
mod strict;
mod words;

pub use api::Vendor;
pub use declare::{ToolDeclaration, VendorNames, declare};
pub use names::{is_vendor_name, original_name, vendor_name};
pub use restore::restore;
