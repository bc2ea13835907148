//! Truncation: what is cut fits its limit, and cutting it again changes nothing.

use super::{INPUTS, text_of};
use toolhub::truncate::{Options, truncate};

const PIECES: &[&str] = &[
    " ",
    "\n",
    "\n\n",
    ". ",
    "。",
    "word ",
    "Dr. ",
    "3.14",
    "https://example.com/a?b=c.d ",
    "中文句子。",
    "e\u{301}",
    "👩‍👩‍👧‍👦",
    "🇩🇪",
    "```\n",
    "| a | b |\n",
    "# h\n",
    "- item\n",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "{\"title\": \"a\", \"url\": \"b\"}",
    "[1, 2, 3]",
    "null",
    "\u{0}",
    "\r\n",
    "\u{feff}",
];

#[test]
fn a_cut_text_fits_and_stays_as_it_is() {
    bolero::check!().with_type::<(u16, bool, Vec<u8>)>().with_iterations(INPUTS).for_each(
        |(limit, is_json, bytes)| {
            let inner = text_of(bytes, PIECES);
            let text = if *is_json {
                serde_json::json!({"hits": [inner, inner], "n": 1}).to_string()
            } else {
                inner
            };
            let (limit, options) = (usize::from(*limit % 400), Options::default());
            let cut = truncate(&text, limit, &options);
            let length = text.chars().count();
            assert_eq!(cut.total, length, "{text:?}");
            if length <= limit {
                assert!(!cut.truncated && cut.text == text, "{text:?}");
                return;
            }
            assert!(
                cut.truncated && cut.text.chars().count() <= limit,
                "{text:?} to {limit}: {:?}",
                cut.text
            );
            let again = truncate(&cut.text, limit, &options);
            assert!(!again.truncated && again.text == cut.text, "{text:?} to {limit}");
        },
    );
}
