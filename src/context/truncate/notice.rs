//! The notice of how much is missing, in the language of the text.

use super::chars::{is_han, is_kana};

/// The language of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    English,
    Chinese,
}

/// The number of characters at the start of a text that decide its language.
const SAMPLE: usize = 256;

impl Language {
    /// Chinese if the start of the text is mainly ideographs and not Japanese.
    pub(super) fn of(text: &str) -> Self {
        if text.as_bytes().iter().take(SAMPLE).all(u8::is_ascii) {
            return Language::English;
        }
        let (mut han, mut kana, mut letters) = (0, 0, 0);
        for c in text.chars().take(SAMPLE) {
            if is_han(c) {
                han += 1;
            } else if is_kana(c) {
                kana += 1;
            } else if c < '\u{2e80}' && c.is_alphabetic() {
                letters += 1;
            }
        }
        // One ideograph carries about as much as three letters.
        if han * 3 > letters && kana * 8 < han { Language::Chinese } else { Language::English }
    }
}

/// The unit of a number in a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Noun {
    Characters,
    Tokens,
}

/// The notice at the end of a text. It never gets shorter with longer numbers, so `cut = total` gives the room to
/// reserve.
pub(super) fn notice(language: Language, noun: Noun, estimated: bool, cut: usize, total: usize) -> String {
    let (cut, total) = (grouped(cut), grouped(total));
    match (language, noun) {
        (Language::English, noun) => {
            let about = if estimated { "about " } else { "" };
            let noun = if noun == Noun::Characters { "characters" } else { "tokens" };
            format!("… [{about}{cut} of {total} {noun} cut]")
        }
        (Language::Chinese, noun) => {
            let about = if estimated { "约 " } else { "" };
            let noun = if noun == Noun::Characters { "字符" } else { "词元" };
            format!("…［已截去 {about}{cut} / {total} {noun}］")
        }
    }
}

/// The mark inside JSON for `count` omitted elements, members or characters.
pub(super) fn more(language: Language, count: usize) -> String {
    match language {
        Language::English => format!("… (+{} more)", grouped(count)),
        Language::Chinese => format!("…（另有 {}）", grouped(count)),
    }
}

/// True for one of the marks above: a list that was cut once is not cut again because of its mark.
pub(super) fn is_mark(text: &str) -> bool {
    const FORMS: [(&str, &str); 4] =
        [("… (+", " more)"), ("…（另有 ", "）"), ("… [", " cut]"), ("…［已截去 ", "］")];
    text == "…" || FORMS.iter().any(|(start, end)| text.starts_with(start) && text.ends_with(end))
}

/// A number with thousands separators: `1,234,567`.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_that_of_the_text() {
        for text in
            ["", "plain", "naïve café", "日本語のテキストです。ひらがなとカタカナ", "שלום", "안녕하세요"]
        {
            assert_eq!(Language::of(text), Language::English, "{text}");
        }
        for text in ["今天天气很好。", "使用 Rust 语言编写的工具库", "「你好」，他说。"]
        {
            assert_eq!(Language::of(text), Language::Chinese, "{text}");
        }
    }

    #[test]
    fn the_words() {
        use Language::{Chinese, English};
        assert_eq!(notice(English, Noun::Characters, false, 1234, 5678), "… [1,234 of 5,678 characters cut]");
        assert_eq!(notice(Chinese, Noun::Characters, false, 1234, 5678), "…［已截去 1,234 / 5,678 字符］");
        assert_eq!(
            notice(English, Noun::Tokens, true, 12, 1_000_000),
            "… [about 12 of 1,000,000 tokens cut]"
        );
        assert_eq!(notice(Chinese, Noun::Tokens, true, 1, 23), "…［已截去 约 1 / 23 词元］");
    }

    #[test]
    fn marks_are_recognised() {
        for language in [Language::English, Language::Chinese] {
            assert!(is_mark(&more(language, 1_234)));
            assert!(is_mark(&notice(language, Noun::Characters, false, 1, 2)));
        }
        for other in ["", "… and so on", "(+3 more)"] {
            assert!(!is_mark(other), "{other}");
        }
    }
}
