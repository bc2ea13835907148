//! L0, reading text: the rules about words and scripts that several rooms share.

mod near;
mod words;

pub use near::{NearName, near_names, nearest};
pub use words::{fold_width, humps, is_wide, name_words, words};
