//! L2, several answers → one text.

mod simple;

pub use simple::{PART_LIMIT, Part, simple};
