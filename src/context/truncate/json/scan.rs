//! The ends of strings, numbers and words in JSON.
//!
//! The text may be cut off: a value that reaches its end is `open`.

/// The end of a string, number or word, and whether the text ended before it did.
pub(super) struct Scalar {
    pub(super) end: usize,
    pub(super) open: bool,
}

/// The string whose opening quote is at `start`; `None` if it is invalid.
pub(super) fn string(text: &str, start: usize) -> Option<Scalar> {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    loop {
        let special = |byte: &u8| *byte == b'"' || *byte == b'\\' || *byte < 0x20;
        let Some(offset) = bytes[at..].iter().position(special) else {
            return Some(Scalar { end: bytes.len(), open: true });
        };
        at += offset;
        match bytes[at] {
            b'"' => return Some(Scalar { end: at + 1, open: false }),
            b'\\' => match escape_len(&bytes[at..])? {
                0 => return Some(Scalar { end: at, open: true }),
                len => at += len,
            },
            _ => return None,
        }
    }
}

/// The length of the escape at the start; 0 if the text ends inside it, `None` if it is invalid.
fn escape_len(bytes: &[u8]) -> Option<usize> {
    match bytes.get(1) {
        None => Some(0),
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Some(2),
        Some(b'u') => {
            let hex = &bytes[2..bytes.len().min(6)];
            hex.iter().all(u8::is_ascii_hexdigit).then_some(if hex.len() == 4 { 6 } else { 0 })
        }
        Some(_) => None,
    }
}

/// Python's words for floats that JSON lacks.
pub(super) const ODD: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// The number or word at `start`; `None` if it is neither.
pub(super) fn atom(text: &str, start: usize, whole: bool) -> Option<Scalar> {
    const WORDS: [&str; 3] = ["true", "false", "null"];
    let rest = &text[start..];
    let belongs = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let len = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
    let (word, end) = (&rest[..len], start + len);
    if len == rest.len() && !whole && len > 0 {
        let begun = is_number_start(word) || WORDS.iter().chain(&ODD).any(|known| known.starts_with(word));
        return begun.then_some(Scalar { end, open: true });
    }
    (is_number(word) || WORDS.contains(&word) || ODD.contains(&word)).then_some(Scalar { end, open: false })
}

fn is_number(word: &str) -> bool {
    serde_json::from_str::<serde_json::Number>(word).is_ok()
}

/// True if a number may start like this.
fn is_number_start(word: &str) -> bool {
    is_number(word) || is_number(&format!("{word}0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_their_starts() {
        for number in ["0", "-0", "12", "0.5", "-1.25e10", "1E-7", "1e+3"] {
            assert!(is_number(number), "{number}");
            for end in 1..number.len() {
                assert!(is_number_start(&number[..end]), "{}", &number[..end]);
            }
        }
        for other in ["", "-", "01", "1.", ".5", "1e", "+1", "1.2.3", "0x1", "1e5.5", "--1"] {
            assert!(!is_number(other), "{other}");
        }
        assert!(!is_number_start("1.2."));
    }

    #[test]
    fn strings_end_at_their_quote() {
        let end = |text| string(text, 0).map(|scalar| (scalar.end, scalar.open));
        assert_eq!(end(r#""a\"b" rest"#), Some((6, false)));
        assert_eq!(end(r#""\\" rest"#), Some((4, false)));
        assert_eq!(end(r#""ab"#), Some((3, true)));
        // An incomplete escape is not part of the known text.
        assert_eq!([end(r#""ab\"#), end(r#""ab\u"#), end(r#""ab\u00e"#)], [Some((3, true)); 3]);
        assert_eq!([end(r#""\x""#), end(r#""\u00g0""#), end("\"a\nb\"")], [None; 3]);
    }
}
