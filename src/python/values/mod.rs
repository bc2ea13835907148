//! Values on their way between Python and the core.

pub mod errors;

// Texts: read where Python keeps them, and cleaned for logs.
pub mod event_text;
pub mod unicode;

// JSON, both ways.
pub mod json;
pub mod json_to_python;

// What a Python tool returned.
pub mod value;

pub mod arguments;
pub mod results;
