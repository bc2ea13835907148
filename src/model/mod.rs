//! L0, the words: plain data, no I/O.

mod effects;
mod options;
mod output;
mod source;
mod spec;

pub use effects::{Effects, Evidence, Safety};
pub use options::{CallOptions, Prefer, Shadow, Strategy};
pub use output::{Arguments, Part, ReturnedValue, ToolOutput, reported_failure};
pub use source::Source;
pub use spec::{ToolSpec, tags};
