//! Recognises short strict JSON of the usual kind in one pass: objects, lists, strings without escapes, whole numbers and words.
//!
//! It only says where an object ends. Whatever it does not know may still be JSON: serde decides that, more slowly.

/// Longer objects are left to serde, which is quicker with long strings.
const LONGEST: usize = 1_000;
/// Deeper values too, because this reader is recursive.
const DEEPEST: usize = 32;

/// An object with more members is left to serde, because each key is compared with those before it.
const MOST_KEYS: usize = 8;

/// The length of the object that a text begins with. None of its strings ends with a brace, which the lenient reader would take
/// for one that opens the next object, and no object in it has a key twice.
pub(super) fn object_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut scan = PlainScan { bytes: &bytes[..bytes.len().min(LONGEST)], at: 0 };
    (scan.next()? == b'{').then(|| scan.value(0))??;
    Some(scan.at)
}

/// The number of bytes before the first one that does not stand for itself in a JSON string: a quote, a backslash or a control
/// character.
#[inline]
pub fn plain_length(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(eight) = bytes[at..].first_chunk::<8>() {
        let special = special_bytes(u64::from_le_bytes(*eight));
        if special != 0 {
            return Some(at + special.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let rest = bytes[at..].iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
    rest.map(|found| at + found)
}

/// The highest bit of each byte that ends a plain part, of the first one at least: a carry may also set later ones.
fn special_bytes(eight: u64) -> u64 {
    const EACH: u64 = u64::MAX / 255;
    let is_less = |bytes: u64, limit: u8| bytes.wrapping_sub(EACH * u64::from(limit)) & !bytes;
    let is_byte = |byte: u8| is_less(eight ^ (EACH * u64::from(byte)), 1);
    (is_less(eight, 0x20) | is_byte(b'"') | is_byte(b'\\')) & (EACH << 7)
}

struct PlainScan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl PlainScan<'_> {
    /// The next byte that is not white space.
    fn next(&mut self) -> Option<u8> {
        loop {
            match *self.bytes.get(self.at)? {
                b' ' | b'\n' | b'\t' | b'\r' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        match self.next()? {
            b'"' => self.string(),
            b'{' if depth < DEEPEST => self.object(depth),
            b'[' if depth < DEEPEST => self.members(b']', |scan| scan.value(depth + 1)),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.whole_number(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<()> {
        let (mut keys, mut count) = ([(0, 0); MOST_KEYS], 0);
        self.members(b'}', |scan| {
            (scan.next()? == b'"').then_some(())?;
            let from = scan.at;
            scan.string()?;
            let key = &scan.bytes[from..scan.at];
            let is_known = |&(from, to): &(usize, usize)| &scan.bytes[from..to] == key;
            if count == MOST_KEYS || keys[..count].iter().any(is_known) {
                return None;
            }
            keys[count] = (from, scan.at);
            count += 1;
            (scan.next()? == b':').then(|| scan.at += 1)?;
            scan.value(depth + 1)
        })
    }

    /// What commas separate, from the opening bracket to the closing one.
    fn members(&mut self, close: u8, mut member: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.at += 1;
        if self.next()? != close {
            loop {
                member(self)?;
                match self.next()? {
                    b',' => self.at += 1,
                    byte if byte == close => break,
                    _ => return None,
                }
            }
        }
        self.at += 1;
        Some(())
    }

    /// The string whose opening quote is here.
    fn string(&mut self) -> Option<()> {
        let rest = self.bytes.get(self.at + 1..)?;
        let length = plain_length(rest)?;
        self.at += length + 2;
        (rest[length] == b'"' && !rest[..length].ends_with(b"{")).then_some(())
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.bytes.get(self.at..)?.starts_with(word).then(|| self.at += word.len())
    }

    fn whole_number(&mut self) -> Option<()> {
        self.at += usize::from(self.bytes.get(self.at) == Some(&b'-'));
        let rest = self.bytes.get(self.at..)?;
        let digits = rest.iter().position(|byte| !byte.is_ascii_digit())?;
        self.at += digits;
        let is_whole = !matches!(rest[digits], b'.' | b'e' | b'E');
        (digits > 0 && is_whole && (digits == 1 || rest[0] != b'0')).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    fn strict_length(text: &str) -> Option<usize> {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
        values.next()?.ok().map(|value| value.get().len())
    }

    #[test]
    fn the_usual_arguments_are_recognised() {
        for json in [
            r#"{}"#,
            r#"{"city": "Paris", "days": 3}"#,
            r#"{"a": [1, {"b": [true, null]}, -20], "é": "北京"}"#,
        ] {
            assert_eq!(object_length(&format!("{json} and more")), Some(json.len()), "{json}");
        }
    }

    #[test]
    fn all_else_is_left_to_serde() {
        let long = format!("{{\"a\": \"{}\"}}", "x".repeat(LONGEST));
        let deep = format!("{{\"a\": {}{}}}", "[".repeat(DEEPEST), "]".repeat(DEEPEST));
        for json in
            [r#"{"a": 1.5}"#, r#"{"a": "\n"}"#, r#"{"arguments {": 1}"#, "[]", r#"{"a": 01}"#, &long, &deep]
        {
            assert_eq!(object_length(json), None, "{json}");
        }
    }

    proptest! {
        #[test]
        fn eight_bytes_together_give_what_each_gives(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let each = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
            prop_assert_eq!(plain_length(&bytes), each);
        }

        #[test]
        fn what_is_recognised_is_strict_json(text in "\\{[\\[\\]{}\":, a-z0-9.e\\\\tn\\-\n]{0,40}") {
            if let Some(length) = object_length(&text) {
                prop_assert_eq!(strict_length(&text), Some(length));
            }
        }

        #[test]
        fn a_changed_byte_is_noticed(at in 0usize..40, byte in "[\\[\\]{}\":, 0-9.a\\\\\\-]") {
            let mut text = String::from(r#"{"a": [1, {"b": -2}, true], "c": "d"}"#);
            let at = at.min(text.len() - 1);
            text.replace_range(at..=at, &byte);
            if let Some(length) = object_length(&text) {
                prop_assert_eq!(strict_length(&text), Some(length));
            }
        }
    }
}
