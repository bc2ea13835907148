//! The notice of how much is missing, in the language of the text.

use super::chars::{is_han, is_kana};
use toolhub_types::model::Lang;

/// The number of characters at the start of a text that decide its language.
const SAMPLE: usize = 256;

/// The language of a notice: Chinese if the start of the text is mainly ideographs and not Japanese.
pub(super) fn language_of(text: &str) -> Lang {
    if text.as_bytes().iter().take(SAMPLE).all(u8::is_ascii) {
        return Lang::En;
    }
    let (mut han, mut kana, mut letters) = (0, 0, 0);
    for c in text.chars().take(SAMPLE) {
        han += usize::from(is_han(c));
        kana += usize::from(is_kana(c));
        letters += usize::from(c < '\u{2e80}' && c.is_alphabetic());
    }
    // One ideograph carries about as much as three letters.
    if han * 3 > letters && kana * 8 < han { Lang::Zh } else { Lang::En }
}

/// The unit of a number in a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Noun {
    Characters,
    Tokens,
}

/// The notice at the end of a text. It never gets shorter with longer numbers, so `cut = total` gives the room to
/// reserve.
pub(super) fn notice(lang: Lang, noun: Noun, estimated: bool, cut: usize, total: usize) -> String {
    let (cut, total) = (grouped(cut), grouped(total));
    let about = if estimated { lang.pick("about ", "约 ") } else { "" };
    let noun = match noun {
        Noun::Characters => lang.pick("characters", "字符"),
        Noun::Tokens => lang.pick("tokens", "词元"),
    };
    match lang {
        Lang::En => format!("… [{about}{cut} of {total} {noun} cut]"),
        Lang::Zh => format!("…［已截去 {about}{cut} / {total} {noun}］"),
    }
}

/// The mark inside JSON for `count` omitted elements, members or characters.
pub(super) fn more(lang: Lang, count: usize) -> String {
    match lang {
        Lang::En => format!("… (+{} more)", grouped(count)),
        Lang::Zh => format!("…（另有 {}）", grouped(count)),
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
            assert_eq!(language_of(text), Lang::En, "{text}");
        }
        for text in ["今天天气很好。", "使用 Rust 语言编写的工具库", "「你好」，他说。"]
        {
            assert_eq!(language_of(text), Lang::Zh, "{text}");
        }
    }

    #[test]
    fn the_words() {
        use Lang::{En, Zh};
        assert_eq!(notice(En, Noun::Characters, false, 1234, 5678), "… [1,234 of 5,678 characters cut]");
        assert_eq!(notice(Zh, Noun::Characters, false, 1234, 5678), "…［已截去 1,234 / 5,678 字符］");
        assert_eq!(notice(En, Noun::Tokens, true, 12, 1_000_000), "… [about 12 of 1,000,000 tokens cut]");
        assert_eq!(notice(Zh, Noun::Tokens, true, 1, 23), "…［已截去 约 1 / 23 词元］");
    }

    #[test]
    fn marks_are_recognised() {
        for language in [Lang::En, Lang::Zh] {
            assert!(is_mark(&more(language, 1_234)));
            assert!(is_mark(&notice(language, Noun::Characters, false, 1, 2)));
        }
        for other in ["", "… and so on", "(+3 more)"] {
            assert!(!is_mark(other), "{other}");
        }
    }
}
