//! Two stemmers. The result need not be a word ("query" and "queries" both become "queri"); it only has to be the same for
//! the forms of one word.
//!
//! The light one takes off plurals, -ing and -ed only, so that different words stay apart: capabilities must not confuse
//! "news" with "new", or "marketing" with "market". Search ranks and can afford the confusion; there the strong one finds
//! more (`docs/decisions/2026-11-16-one-tokenizer.md` has the figures).

use foldhash::HashSet;
use rust_stemmers::{Algorithm, Stemmer};
use std::borrow::Cow;
use std::sync::LazyLock;

/// Snowball's English stemmer, for words in lower case.
pub fn strong_stem(word: &str) -> Cow<'_, str> {
    Stemmer::create(Algorithm::English).stem(word)
}

/// Words that are not a form of another word, although they look like it.
const WHOLE: &str = "accounting authenticated balanced billing booking building called calling canvas cooking designed driving \
    earning finding followed following funding futures heading holding hosting housing learning linked listing \
    logged macos mapping marketing meeting monitoring news offering onboarding packaging parking placed \
    pricing processing programming recording resumed running savings securities series setting shopping \
    staking standing stored testing toggle tracked tracking trailing training trending united warning windows";

static WHOLE_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| WHOLE.split(' ').collect());

fn is_whole(word: &str) -> bool {
    WHOLE_WORDS.contains(word)
}

/// The light stemmer. Appends the stem of `word` (ASCII, any case) in lower case.
pub fn push_stem(out: &mut String, word: &str) {
    let from = out.len();
    out.push_str(word);
    out[from..].make_ascii_lowercase();
    let bytes = &out.as_bytes()[from..];
    let mut len = bytes.len();
    if len <= 3 {
        return;
    }
    if bytes[len - 1] == b's' && !matches!(bytes[len - 2], b's' | b'u' | b'i') {
        if is_whole(&out[from..]) {
            return;
        }
        len -= 1;
    }
    let shorter = without_ending(bytes, len);
    if shorter < len && !is_whole(&out[from..from + len]) {
        len = shorter;
    }
    let soft = len >= 4 && bytes[len - 1] == b'y' && !is_vowel(bytes[len - 2]);
    out.truncate(from + len);
    if soft {
        out.pop();
        out.push('i');
    }
}

/// The length without -ing, -ed or a final -e.
fn without_ending(bytes: &[u8], len: usize) -> usize {
    let stem = &bytes[..len];
    let cut = if stem.ends_with(b"ing") {
        3
    } else if stem.ends_with(b"ed") {
        2
    } else if stem.ends_with(b"e") && len >= 5 {
        return len - 1;
    } else {
        return len;
    };
    let base = len - cut;
    if base < 4 {
        return len;
    }
    let (a, b) = (bytes[base - 2], bytes[base - 1]);
    // "planning" is "plan", but "calling" is "call".
    let doubled = a == b && !is_vowel(b) && !matches!(b, b'l' | b's' | b'z');
    if doubled { base - 1 } else { base }
}

fn is_vowel(b: u8) -> bool {
    matches!(b, b'a' | b'e' | b'i' | b'o' | b'u')
}
