//! L0, the words: plain data, no I/O.

mod options;
mod output;
mod source;
mod spec;

pub use options::{CallOptions, Prefer, Shadow, Strategy};
pub use output::{Arguments, Part, ReturnedValue, ToolOutput, reported_failure};
pub use source::Source;
pub use spec::{Effects, ToolSpec, tags};
