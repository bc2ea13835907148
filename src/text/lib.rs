//! L0, reading text: the rules about words and scripts that several rooms share.

pub mod canonical;
pub mod invisible;
pub mod message;
pub mod pattern;
pub mod secret;
pub mod wording;

mod acting;
mod near;
mod numerals;
mod phrases;
mod repeated_key;
mod stem;
mod units;
mod words;

pub use acting::{ACTING, ACTING_OR_NOUN, ACTING_OR_NOUN_WIDE, ACTING_WHEN_LEADING, ACTING_WIDE};
pub use message::Message;
pub use near::{LetterSet, near_by_letters, near_names, nearest};
pub use numerals::in_digits;
pub use phrases::PhraseSet;
pub use repeated_key::{check_keys, repeats_key};
pub use stem::{push_stem, strong_stem};
pub use units::units;
pub use words::{
    NAME_BYTES, RunKind, first_run, fold_width, has_word, humps, is_hump, is_wide, name_words, similarity,
    tokens, words,
};
