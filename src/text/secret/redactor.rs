//! Takes the known secrets out of foreign text, in every usual spelling of them.

use super::Secret;
use super::normalized::{Blanks, FoldedText};
use super::scrub::replaced;
use crate::invisible::one_line;
use aho_corasick::AhoCorasick;
use base64::Engine;
use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};
use std::sync::Arc;

/// How much of a server's text an error message quotes.
const QUOTE_CHARS: usize = 300;
/// Part of a secret is hidden from this length on: at an end of the text, where the rest was cut off.
const SHORTEST_PART: usize = 8;
/// Shorter spellings are only found as they are, without blanks between their characters: by chance they occur everywhere.
const SHORTEST_LOOSE: usize = 8;
/// Shorter ones are not looked for: in Base64 or as hexadecimal digits they could be part of anything.
const SHORTEST_CODE: usize = 6;
/// Encodings inside of encodings.
const LAYERS: usize = 3;
/// A secret is looked for by its first bytes; the rest is compared where they stand.
const HEAD: usize = 256;
/// Long texts are read in pieces, so that their views stay small. The overlap is longer than a secret in any spelling.
const PIECE: usize = 1 << 20;
const OVERLAP: usize = 1 << 16;
/// The most bytes that spell one byte of a secret: `\\u0041`, with its own escape escaped.
const WIDEST: usize = 8;
/// So many marks of omission are looked at, from the end: one is ours, the others are the server's.
const MARKS: usize = 8;

#[derive(Clone, Default)]
pub struct Redactor {
    /// In lower case, without blanks.
    loose: Spellings,
    /// In lower case.
    exact: Spellings,
}

#[derive(Clone, Default)]
struct Spellings {
    /// Each with whether it is spelled in a code.
    words: Vec<(Vec<u8>, bool)>,
    all: Option<Arc<AhoCorasick>>,
}

impl Spellings {
    fn new(mut words: Vec<(Vec<u8>, bool)>) -> Self {
        words.sort_unstable();
        words.dedup();
        let heads = words.iter().map(|(word, _)| &word[..word.len().min(HEAD)]);
        let all = (!words.is_empty()).then(|| AhoCorasick::new(heads).ok()).flatten().map(Arc::new);
        Spellings { words, all }
    }

    /// Adds the places of the text where one of them stands, under any encoding.
    fn find(&self, text: &str, blanks: Blanks, found: &mut Vec<(usize, usize)>) {
        let Some(all) = &self.all else { return };
        let mut view = Some(FoldedText::new(text, blanks));
        for _ in 0..=LAYERS {
            let Some(layer) = view else { return };
            let (mut start, mut whole) = (0, 0);
            for hit in all.find_overlapping_iter(&layer.bytes) {
                let (word, is_code) = &self.words[hit.pattern()];
                // Inside of what was read, only those that begin with it are: each byte is compared a few times at most.
                let rest = match hit.start() == start || hit.start() >= whole {
                    true => same(&word[hit.len()..], &layer.bytes[hit.end()..]),
                    false => 0,
                };
                let end = hit.end() + rest;
                if rest > 0 {
                    (start, whole) = (hit.start(), end.max(whole));
                }
                let place = layer.source(hit.start(), end);
                found.push(if *is_code { whole_code(text, place) } else { place });
            }
            view = layer.decoded();
        }
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Redactor(***)")
    }
}

impl Redactor {
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let (mut loose, mut exact) = (Vec::new(), Vec::new());
        for Secret(secret) in secrets {
            for spelling in plain_spellings(&secret, Blanks::Dropped) {
                match spelling.len() >= SHORTEST_LOOSE {
                    true => loose.push((spelling, false)),
                    false => {
                        let kept = plain_spellings(&secret, Blanks::Kept);
                        exact.extend(kept.into_iter().map(|spelling| (spelling, false)));
                    }
                }
            }
            for code in codes(secret.as_bytes()) {
                if code.len() >= SHORTEST_LOOSE { &mut loose } else { &mut exact }.push((code, true));
            }
        }
        Redactor { loose: Spellings::new(loose), exact: Spellings::new(exact) }
    }

    pub fn is_empty(&self) -> bool {
        self.loose.words.is_empty() && self.exact.words.is_empty()
    }

    /// Whether a secret stands in the text as it is, or in Base64 or hexadecimal digits. Quick, for long texts.
    pub fn finds(&self, text: &str) -> bool {
        let mut automata =
            [&self.loose, &self.exact].into_iter().filter_map(|spellings| spellings.all.as_ref());
        automata.any(|all| all.is_match(&text.to_ascii_lowercase()))
    }

    /// The text with `***` where a secret was, or where an end of the text or a `…` cut one off.
    pub fn hide(&self, text: String) -> String {
        if self.is_empty() || text.is_empty() {
            return text;
        }
        let longest =
            self.loose.words.iter().chain(&self.exact.words).map(|(word, _)| word.len()).max().unwrap_or(0);
        let overlap = OVERLAP.max(longest.saturating_mul(WIDEST));
        let piece = PIECE.max(overlap.saturating_mul(2));
        let mut found = Vec::new();
        let mut start = 0_usize;
        loop {
            let end = text.floor_char_boundary(start.saturating_add(piece).min(text.len()));
            let piece = &text[start..end];
            let in_text = |(from, to): (usize, usize)| (start + from, start + to);
            found.extend(self.found_in(piece).into_iter().map(in_text));
            if end == text.len() {
                break;
            }
            start = text.floor_char_boundary(end - overlap);
        }
        without(&text, found)
    }

    /// Foreign text made fit for an error message: one line, no terminal commands, no secrets, at most
    /// [`QUOTE_CHARS`] characters.
    pub fn quote(&self, text: &str) -> String {
        self.quote_within(text, QUOTE_CHARS)
    }

    /// Secrets are hidden twice: before cleaning, which could take the first character of a secret along with a
    /// terminal command, and after it, because it can join the halves of one. Cutting comes last.
    pub fn quote_within(&self, text: &str, most: usize) -> String {
        let hidden = self.hide(one_line(&self.hide(text.to_owned())));
        match hidden.char_indices().nth(most) {
            Some((end, _)) => format!("{}…", hidden[..end].trim_end()),
            None => hidden,
        }
    }

    fn found_in(&self, text: &str) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        self.exact.find(text, Blanks::Kept, &mut found);
        self.loose.find(text, Blanks::Dropped, &mut found);
        if text.contains('\u{1b}') {
            self.loose.find(text, Blanks::DroppedWithCommands, &mut found);
        }
        if !self.loose.words.is_empty() {
            found.extend(self.cut_off(text));
        }
        found
    }

    /// The beginnings of secrets at the end of the text or before a `…`, and the ends of secrets at its start.
    fn cut_off(&self, text: &str) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let marks = text.rmatch_indices('…').take(MARKS).map(|(at, _)| at);
        for end in marks.chain([text.len()]) {
            let start = text.floor_char_boundary(end.saturating_sub(OVERLAP));
            let view = FoldedText::new(&text[start..end], Blanks::Dropped);
            let lengths = self.loose.words.iter().map(|(word, _)| {
                let head = &word[..word.len().saturating_sub(1).min(HEAD)];
                shared(&view.bytes[view.bytes.len().saturating_sub(head.len())..], head)
            });
            if let Some(length) = lengths.max().filter(|length| *length >= SHORTEST_PART) {
                let (from, to) = view.source(view.bytes.len() - length, view.bytes.len());
                found.push((start + from, start + to));
            }
        }
        let view =
            FoldedText::new(&text[..text.floor_char_boundary(OVERLAP.min(text.len()))], Blanks::Dropped);
        let lengths = self.loose.words.iter().map(|(word, _)| {
            let rest = word.get(1..).unwrap_or_default();
            shared(&rest[rest.len().saturating_sub(view.bytes.len())..], &view.bytes)
        });
        found.extend(
            lengths.max().filter(|length| *length >= SHORTEST_PART).map(|length| view.source(0, length)),
        );
        found
    }
}

/// How many bytes two texts have in common at their starts.
fn same(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}

/// How many bytes at the end of one text are the start of the other, at most. Linear, as by Knuth, Morris and Pratt.
fn shared(end: &[u8], start: &[u8]) -> usize {
    let start = &start[..start.len().min(end.len())];
    let mut borders = vec![0; start.len()];
    let step = |borders: &[usize], mut length: usize, byte: u8| {
        while length > 0 && (length == start.len() || start[length] != byte) {
            length = borders[length - 1];
        }
        length + usize::from(start.get(length) == Some(&byte))
    };
    for at in 1..start.len() {
        borders[at] = step(&borders, borders[at - 1], start[at]);
    }
    end.iter().fold(0, |length, byte| step(&borders, length, *byte))
}

/// The secret in lower case: as it is, with its own encodings undone, and as a form on the web sends it.
fn plain_spellings(secret: &str, blanks: Blanks) -> Vec<Vec<u8>> {
    let mut spellings = Vec::new();
    let mut view = Some(FoldedText::new(secret.trim(), blanks));
    for _ in 0..=LAYERS {
        let Some(layer) = view else { break };
        view = layer.decoded();
        spellings.push(layer.bytes);
    }
    if secret.trim().contains(' ') {
        spellings.push(FoldedText::new(&secret.trim().replace(' ', "+"), blanks).bytes);
    }
    spellings.retain(|bytes| !bytes.is_empty());
    spellings
}

/// The secret in Base64, at each of the three places that it can have in a longer text, and in hexadecimal digits.
fn codes(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut codes = Vec::new();
    for before in 0..3_usize {
        let padded = [&vec![0; before][..], secret].concat();
        // Characters that depend on what stands before or after the secret do not count.
        let (from, to) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
        for engine in [&BASE64_STANDARD_NO_PAD, &BASE64_URL_SAFE_NO_PAD] {
            codes.extend(
                engine.encode(&padded).get(from..to).map(|code| code.to_ascii_lowercase().into_bytes()),
            );
        }
    }
    for between in ["", ":", "-"] {
        let digits: Vec<String> = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        codes.push(digits.join(between).into_bytes());
    }
    codes.retain(|code| code.len() >= SHORTEST_CODE);
    codes
}

/// The characters next to a code that still depend on the secret: up to four at each side.
fn whole_code(text: &str, (start, end): (usize, usize)) -> (usize, usize) {
    let is_code =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=');
    let bytes = text.as_bytes();
    let before = bytes[..start].iter().rev().take(4).take_while(|byte| is_code(byte)).count();
    let after = bytes[end..].iter().take(4).take_while(|byte| is_code(byte)).count();
    (start - before, end + after)
}

/// The text without these places. Those that overlap are one.
fn without(text: &str, mut found: Vec<(usize, usize)>) -> String {
    found.sort_unstable();
    found.dedup_by(|next, known| {
        let overlaps = next.0 < known.1;
        known.1 = if overlaps { known.1.max(next.1) } else { known.1 };
        overlaps
    });
    replaced(text, found.into_iter().map(|(start, end)| (start..end, "***")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_secret_inside_another_leaves_no_rest() {
        let redactor = Redactor::new([Secret::new("sk-1"), Secret::new("sk-1-long")]);
        assert_eq!(redactor.quote("got sk-1-long, sk-1"), "got ***, ***");
    }

    #[test]
    fn terminal_commands_go_and_lines_become_spaces() {
        let redactor = Redactor::default();
        assert_eq!(redactor.quote("a\u{1b}[31m\r\n b\u{202e}c"), "a bc");
    }

    #[test]
    fn a_secret_is_hidden_whatever_stands_in_or_before_it() {
        let redactor = Redactor::new([Secret::new("sk-1234567890")]);
        assert_eq!(redactor.quote("key \u{1b}[sk-1234567890"), "key");
        assert_eq!(redactor.quote("key sk-12345\u{200b}67890"), "key ***");
    }

    #[test]
    fn a_very_long_secret_is_hidden_in_linear_time() {
        let plain: String = (0..300_000_u64).map(|n| char::from(b'a' + (n * n % 23) as u8)).collect();
        for key in [plain, "a".repeat(300_000)] {
            let redactor = Redactor::new([Secret::new(&*key)]);
            assert_eq!(redactor.hide(format!("key {key} end")), "key *** end");
            assert_eq!(
                redactor.hide(format!("{} end", "x".repeat(2 << 20)).replace('x', "é ")).len(),
                (6 << 20) + 4
            );
            assert_eq!(redactor.hide(format!("key {}", &key[..200_000])), "key ***");
            assert_eq!(redactor.hide(format!("{} end", &key[200_000..])), "*** end");
        }
    }

    #[test]
    fn secrets_that_begin_alike_are_hidden_to_their_ends() {
        let begin: String = (0..300_u64).map(|n| char::from(b'a' + (n * n % 23) as u8)).collect();
        let keys = [format!("{begin}.first-claims-0123456789"), format!("{begin}.second-claims-9876543210")];
        let redactor = Redactor::new(keys.iter().map(|key| Secret::new(&**key)));
        for key in &keys {
            assert_eq!(redactor.hide(format!("key {key}, end")), "key ***, end");
        }
    }

    #[test]
    fn the_longest_shared_part_is_found() {
        for (end, start, length) in [
            ("xab", "abc", 2),
            ("aaa", "aab", 2),
            ("abab", "abac", 2),
            ("", "a", 0),
            ("a", "", 0),
            ("abc", "abc", 3),
            ("aabaaab", "aabaab", 3),
        ] {
            assert_eq!(shared(end.as_bytes(), start.as_bytes()), length, "{end} {start}");
        }
    }

    #[test]
    fn a_secret_that_the_end_cuts_off_is_hidden_too() {
        let redactor = Redactor::new([Secret::new("sk-1234567890")]);
        assert_eq!(redactor.quote("bad key sk-1234567"), "bad key ***");
        assert_eq!(redactor.quote("bad key sk-12345"), "bad key ***");
        assert_eq!(redactor.quote("this is sk"), "this is sk");
        assert_eq!(redactor.hide("bad key sk-12345… (code 1)".into()), "bad key ***… (code 1)");
        assert_eq!(redactor.hide("234567890 is bad".into()), "*** is bad");
    }

    proptest! {
        #[test]
        fn a_quote_is_short_printable_and_without_the_key(
            before in ".{0,400}", key in "[!-~]{6,40}", after in ".{0,400}"
        ) {
            let redactor = Redactor::new([Secret::new(&*key)]);
            let quote = redactor.quote(&format!("{before}{key}{after}"));
            prop_assert!(!quote.contains(&key));
            prop_assert!(quote.chars().count() <= QUOTE_CHARS + 1);
            prop_assert!(!quote.chars().any(crate::invisible::is_invisible));
        }
    }

    const KEY: &str = "Tok-5c1e7a90b3/x+Y";

    fn hidden(text: &str) -> String {
        Redactor::new([Secret::new(KEY)]).hide(text.to_owned())
    }

    #[test]
    fn every_usual_spelling_is_the_secret() {
        let hex: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
        let pairs: Vec<String> = KEY.bytes().map(|byte| format!("{byte:02X}")).collect();
        let each = |form: fn(u8) -> String| KEY.bytes().map(form).collect::<String>();
        let url = each(|byte| format!("%{byte:02x}"));
        for spelling in [
            KEY.to_owned(),
            KEY.to_uppercase(),
            KEY.to_lowercase(),
            url.clone(),
            url.to_uppercase(),
            url.replace('%', "%25"),
            KEY.replace('/', "%2F").replace('+', "%2b"),
            KEY.replace('/', "\\/"),
            each(|byte| format!("\\u{byte:04x}")),
            each(|byte| format!("\\x{byte:02X}")),
            each(|byte| format!("&#{byte};")),
            each(|byte| format!("&#x{byte:x};")),
            BASE64_STANDARD_NO_PAD.encode(KEY),
            BASE64_URL_SAFE_NO_PAD.encode(KEY),
            hex.clone(),
            hex.to_uppercase(),
            pairs.join(":"),
            pairs.join(" "),
            format!("{}\r\n  {}", &KEY[..9], &KEY[9..]),
            format!("{}\u{200b}{}\u{200d}{}", &KEY[..3], &KEY[3..9], &KEY[9..]),
            format!("{}\u{1b}[31m{}", &KEY[..9], &KEY[9..]),
        ] {
            assert_eq!(hidden(&format!("key ({spelling}).")), "key (***).", "{spelling}");
        }
    }

    #[test]
    fn a_secret_in_the_base64_of_a_longer_text_is_found() {
        for before in ["", "a", "ab", "abc", "Bearer "] {
            let code = BASE64_STANDARD_NO_PAD.encode(format!("{before}{KEY} and more"));
            let shown = hidden(&code);
            let whole = BASE64_STANDARD_NO_PAD.encode(KEY);
            assert!(
                shown.contains("***") && !shown.contains(&whole[4..whole.len() - 4]),
                "{before}: {shown}"
            );
        }
    }

    #[test]
    fn other_text_stays_as_it_is() {
        for text in [
            "",
            "100% of 5%",
            "a\\b \\u00e9 &amp; &#x; %zz %4",
            "Tok-5c1",
            "東京 \u{1b}",
            "\u{1b}[",
            "\\u",
            "…",
        ] {
            assert_eq!(hidden(text), text);
        }
        let short = Redactor::new([Secret::new("pass")]);
        assert_eq!(short.hide("stop assert: PASS p%61ss".into()), "stop assert: *** ***");
    }

    #[test]
    fn a_long_text_is_read_to_its_end() {
        let long = "x".repeat(PIECE - KEY.len() / 2);
        assert_eq!(hidden(&format!("{long}{KEY}{long}{KEY}.")), format!("{long}***{long}***."));
    }

    proptest! {
        #[test]
        fn any_text_can_be_searched(
            before in "\\PC{0,60}|[%&\\\\#;ux0-9a-f\u{1b}\\[]{0,60}", key in "\\PC{4,30}", after in "\\PC{0,60}"
        ) {
            let redactor = Redactor::new([Secret::new(&*key)]);
            let shown = redactor.hide(format!("{before} {key} {after}"));
            if !key.trim().is_empty() && !"***".contains(key.trim()) {
                prop_assert!(!shown.contains(key.trim()) || before.contains(key.trim()), "{shown}");
            }
        }
    }
}
