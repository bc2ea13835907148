//! L0, reading text: the rules about words and scripts that several rooms share.

mod words;

pub use words::{fold_width, humps, is_wide, name_words, words};
