//! Words: where a name breaks into words, and which scripts have no spaces between them.

/// Only the start of a very long name is read.
const NAME_BYTES: usize = 1_000;

/// Ideographs, kana and hangul: scripts that are written without spaces between words.
pub fn is_wide(c: char) -> bool {
    let script = matches!(
        c,
        '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}'
    );
    script && c.is_alphanumeric()
}

/// Maps full-width digits and Latin letters, as Chinese input methods produce them, to ASCII.
pub fn fold_width(c: char) -> char {
    match c {
        '\u{ff10}'..='\u{ff19}' | '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}' => {
            char::from_u32(c as u32 - 0xfee0).unwrap_or(c)
        }
        _ => c,
    }
}

/// Where the parts of a camelCase word begin: at aB, at the last capital of an acronym (`PDFReader`, but not at the plural
/// s of `PDFs`), and between letters and digits.
pub fn humps(run: &str) -> impl Iterator<Item = usize> {
    let bytes = run.as_bytes();
    (1..bytes.len()).filter(|&at| {
        let (before, here) = (bytes[at - 1], bytes[at]);
        if !here.is_ascii() || !before.is_ascii() {
            return false;
        }
        if before.is_ascii_digit() != here.is_ascii_digit() {
            return true;
        }
        if !here.is_ascii_uppercase() || !before.is_ascii_uppercase() {
            return here.is_ascii_uppercase();
        }
        match bytes.get(at + 1) {
            Some(b's') => bytes.get(at + 2).is_some_and(u8::is_ascii_lowercase),
            Some(next) => next.is_ascii_lowercase(),
            None => false,
        }
    })
}

/// The words of a name, read up to a limit.
pub fn name_words(name: &str) -> Vec<String> {
    words(&name[..name.floor_char_boundary(NAME_BYTES)])
}

/// The words of a text in lower case. `getCurrentTime`, `get_current_time` and `get-current-time` have the same words; a
/// run of Chinese characters is one word.
pub fn words(text: &str) -> Vec<String> {
    let folded: String = text.chars().map(fold_width).collect();
    let mut words = Vec::new();
    let mut rest = folded.as_str();
    while let Some(c) = rest.chars().next() {
        let wide = is_wide(c);
        let ends = |next: char| !next.is_alphanumeric() || is_wide(next) != wide;
        let len = if c.is_alphanumeric() { rest.find(ends).unwrap_or(rest.len()) } else { c.len_utf8() };
        let run = &rest[..len];
        rest = &rest[len..];
        if wide {
            words.push(run.to_owned());
        } else if c.is_alphanumeric() {
            let mut begin = 0;
            for end in humps(run).chain([run.len()]) {
                words.push(run[begin..end].to_lowercase());
                begin = end;
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_of_any_style_come_apart() {
        for (name, words) in [
            ("get_current_time", vec!["get", "current", "time"]),
            ("getCurrentTime", vec!["get", "current", "time"]),
            ("get-current-time", vec!["get", "current", "time"]),
            ("files.read/all", vec!["files", "read", "all"]),
            ("readPDFFile", vec!["read", "pdf", "file"]),
            ("HTTPDelete", vec!["http", "delete"]),
            ("exportPDFs", vec!["export", "pdfs"]),
            ("send2fa", vec!["send", "2", "fa"]),
            ("DELETE_USER", vec!["delete", "user"]),
            ("ｓｅｎｄ_Ｍａｉｌ", vec!["send", "mail"]),
            ("查询order状态", vec!["查询", "order", "状态"]),
            ("", vec![]),
            ("__", vec![]),
        ] {
            assert_eq!(name_words(name), words, "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_name_can_be_read(name in "\\PC{0,40}") {
            for word in name_words(&name) {
                prop_assert!(!word.is_empty());
                prop_assert!(!word.contains(['_', '-', ' ']));
            }
        }

        #[test]
        fn the_style_does_not_matter(words in proptest::collection::vec("[a-z]{2,8}", 1..5)) {
            let camel: String = words.iter().map(|word| word[..1].to_uppercase() + &word[1..]).collect();
            prop_assert_eq!(&name_words(&words.join("_")), &words);
            prop_assert_eq!(&name_words(&words.join("-")), &words);
            prop_assert_eq!(&name_words(&camel), &words);
        }
    }
}
