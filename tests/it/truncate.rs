//! Truncation on free input: whatever the text and the limit, the output fits, is whole where it must be, and
//! says what is missing.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;
use toolhub::truncate::tokens::Estimate;
use toolhub::truncate::{Options, TokenCounter, Truncated, Unit, truncate, truncate_window, window_chars};
use unicode_segmentation::UnicodeSegmentation;

/// Pieces of text that are hard to cut: scripts, emoji, marks, abbreviations, addresses, Markdown.
const PIECES: &[&str] = &[
    " ",
    "  ",
    "\n",
    "\r\n",
    "\n\n",
    "\t",
    "\u{3000}",
    ".",
    "!",
    "?",
    "...",
    "…",
    "……",
    "。",
    "！",
    "？",
    "；",
    "，",
    "word",
    "Word",
    "longerword",
    "Dr.",
    "e.g.",
    "U.S.",
    "3.14",
    "v1.2.3",
    "No. 5",
    "https://example.com/a?b=c.d",
    "me@example.org",
    "file.tar.gz",
    "\"",
    "'",
    "”",
    "」",
    "）",
    ")",
    "中",
    "文字",
    "中文句子。",
    "日本語です。",
    "한국어",
    "مرحبا",
    "؟",
    "\u{202b}",
    "\u{200f}",
    "שלום",
    "नमस्ते",
    "क्षि",
    "।",
    "e\u{301}",
    "\u{301}",
    "\u{fe0f}",
    "\u{200d}",
    "👩‍👩‍👧‍👦",
    "🇩🇪",
    "🇫",
    "👍🏽",
    "葛\u{e0100}",
    "\u{600}",
    "\u{0}",
    "\u{feff}",
    "```",
    "```rust\n",
    "~~~\n",
    "`",
    "**",
    "[",
    "](",
    ")",
    "| a | b |\n",
    "|---|---|\n",
    "| 1 | 2 |\n",
    "- ",
    "1. ",
    "# ",
    "{",
    "}",
    "\\",
    "<b>",
];

fn text() -> impl Strategy<Value = String> {
    let pieces = vec(proptest::sample::select(PIECES), 0..80).prop_map(|pieces| pieces.concat());
    let any = proptest::collection::vec(any::<char>(), 0..120).prop_map(String::from_iter);
    let long = (proptest::sample::select(PIECES), 1usize..300).prop_map(|(piece, count)| piece.repeat(count));
    prop_oneof![6 => pieces, 2 => any, 1 => long]
}

/// A text for a value or a key of JSON.
fn short_text() -> impl Strategy<Value = String> {
    let pieces = vec(proptest::sample::select(PIECES), 0..12).prop_map(|pieces| pieces.concat());
    prop_oneof![8 => pieces, 1 => text()]
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        short_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 8, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..8).prop_map(Value::from),
            vec((short_text(), inner), 0..8).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A JSON object or array as text: compact or with white space, plain or with escapes.
fn json_text() -> impl Strategy<Value = String> {
    let container =
        json().prop_map(
            |value| if value.is_array() || value.is_object() { value } else { Value::from(vec![value]) },
        );
    (container, any::<bool>(), any::<bool>()).prop_map(|(value, pretty, ascii)| {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        let text = text.unwrap_or_default();
        if ascii { escaped(&text) } else { text }
    })
}

/// All that is not ASCII as `\u` escapes, the way `json.dumps` writes it.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if c.is_ascii() {
            escaped.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    escaped
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

fn in_chars(text: &str, limit: usize) -> Truncated {
    truncate(text, limit, &Options::default())
}

/// What the output has of the text: all before the notice and the end of a code block.
fn common_prefix<'a>(text: &'a str, output: &str) -> &'a str {
    let same = text.chars().zip(output.chars()).take_while(|(a, b)| a == b);
    &text[..same.map(|(c, _)| c.len_utf8()).sum()]
}

/// Whether what follows the kept text is only the end of a code block, a gap and a notice.
fn is_tail(tail: &str) -> bool {
    let tail = tail.trim_start_matches(['\n', ' ', '\t', '>', '`', '~']);
    let notice = tail.strip_prefix('…').unwrap_or(tail).trim_start();
    notice.is_empty()
        || notice.starts_with('[') && notice.ends_with(" cut]")
        || notice.starts_with("［已截去 ") && notice.ends_with('］')
}

fn is_cluster_boundary(text: &str, at: usize) -> bool {
    at == text.len() || text.grapheme_indices(true).any(|(start, _)| start == at)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn prose_is_a_prefix_within_the_limit(text in text(), limit in 0usize..200) {
        let cut = in_chars(&text, limit);
        prop_assert!(chars(&cut.text) <= limit);
        prop_assert_eq!(cut.total, chars(&text));
        prop_assert_eq!(cut.truncated, chars(&text) > limit);
        if !cut.truncated {
            prop_assert_eq!((&cut.text, cut.cut), (&text, 0));
        } else if !text.trim_start().starts_with(['{', '[']) {
            // The kept part is known by its length; what follows it is only closers and a notice.
            let kept = chars(&text) - cut.cut;
            let end = text.char_indices().nth(kept).map_or(text.len(), |(at, _)| at);
            prop_assert!(common_prefix(&text, &cut.text).len() >= end, "{:?}", cut.text);
            prop_assert!(is_tail(&cut.text[end..]), "{:?}", &cut.text[end..]);
            prop_assert!(is_cluster_boundary(&text, end), "{:?}", &text[..end]);
            prop_assert_eq!(text[..end].trim_end().len(), end);
        }
    }

    #[test]
    fn cutting_again_changes_nothing(text in prop_oneof![text(), json_text()], limit in 0usize..200, hits in proptest::option::of(0usize..4)) {
        let options = Options { hits, ..Options::default() };
        let once = truncate(&text, limit, &options);
        let twice = truncate(&once.text, limit, &options);
        prop_assert_eq!(&twice.text, &once.text);
        prop_assert!(!twice.truncated && twice.cut == 0);
    }

    #[test]
    fn json_stays_json(text in json_text(), limit in 0usize..200, hits in proptest::option::of(0usize..4)) {
        let cut = truncate(&text, limit, &Options { hits, ..Options::default() });
        prop_assert!(chars(&cut.text) <= limit);
        let before: Value = serde_json::from_str(&text).unwrap_or_default();
        match serde_json::from_str::<Value>(&cut.text) {
            Ok(after) => {
                prop_assert_eq!(before.is_array(), after.is_array());
                keeps_order(&before, &after)?;
            }
            Err(error) => prop_assert!(limit < 2 && cut.text.is_empty(), "{}: {}", error, cut.text),
        }
    }

    #[test]
    fn a_window_is_as_good_as_the_whole(
        text in prop_oneof![text(), json_text()], times in 1usize..50, limit in 0usize..100, more in 0usize..1000
    ) {
        let text = text.repeat(times);
        let options = Options::default();
        let window: String = text.chars().take(window_chars(limit, &text, &options) + more).collect();
        prop_assert_eq!(truncate_window(&window, chars(&text), limit, &options), in_chars(&text, limit));
    }

    #[test]
    fn a_code_block_is_closed(lines in vec("[a-z ]{0,20}", 0..20), limit in 0usize..200) {
        let text = format!("Intro.\n```rust\n{}\n```\nThe end of it.", lines.join("\n"));
        let cut = in_chars(&text, limit).text;
        prop_assert_eq!(cut.matches("```").count() % 2, 0, "{}", cut);
    }

    #[test]
    fn tokens_are_within_the_limit(text in prop_oneof![text(), json_text()], limit in 0usize..60) {
        let options = Options { unit: Unit::Tokens(&Estimate), ..Options::default() };
        let cut = truncate(&text, limit, &options);
        prop_assert!(Estimate.count(&cut.text) <= limit);
        prop_assert!(cut.estimated);
        if chars(&text) <= 16_384 {
            prop_assert_eq!(cut.total, Estimate.count(&text));
            prop_assert_eq!(cut.truncated, cut.total > limit);
        }
        let twice = truncate(&cut.text, limit, &options);
        prop_assert_eq!(&twice.text, &cut.text);
        if serde_json::from_str::<Value>(&text).is_ok_and(|value| value.is_array() || value.is_object()) {
            prop_assert!(cut.text.is_empty() || serde_json::from_str::<Value>(&cut.text).is_ok());
        }
    }
}

/// Values that were kept are where they were: same keys in the same order, same elements, strings shortened.
fn keeps_order(before: &Value, after: &Value) -> Result<(), TestCaseError> {
    match (before, after) {
        (Value::Array(before), Value::Array(after)) => {
            for (before, after) in before.iter().zip(after) {
                keeps_order(before, after)?;
            }
        }
        (Value::Object(before), Value::Object(after)) => {
            let mut keys = before.keys();
            // The key of the mark, which may stand in for a member of that name.
            for (key, value) in after.iter().filter(|(key, _)| *key != "…") {
                prop_assert!(keys.any(|known| known == key), "{:?} in {:?}", key, before);
                keeps_order(&before[key], value)?;
            }
        }
        (Value::String(before), Value::String(after)) => {
            let (kept, _) = after.rsplit_once('…').unwrap_or((after, ""));
            prop_assert!(before.starts_with(kept), "{:?} of {:?}", after, before);
        }
        // A mark may stand where an element was.
        (_, Value::String(mark)) => prop_assert!(mark.contains('…'), "{}", mark),
        _ => prop_assert_eq!(before, after),
    }
    Ok(())
}

#[test]
fn ten_megabytes_without_a_space() {
    for unit in ["a", "中", "e\u{301}", "👩‍👩‍👧‍👦", "."] {
        let text = unit.repeat(10_000_000 / unit.len());
        let cut = in_chars(&text, 1000);
        assert!(chars(&cut.text) <= 1000 && chars(&cut.text) > 900, "{unit}");
        assert_eq!(cut.total, chars(&text));
        let kept = chars(&text) - cut.cut;
        assert_eq!(kept % chars(unit), 0, "{unit}");
    }
}

/// Long runs of what means something to the cutter, and JSON that never ends.
#[test]
fn long_runs_of_signs() {
    for unit in [
        ".",
        "。",
        "…\"",
        "\n",
        " ",
        "`",
        "```\n",
        "~~~~\n````\n",
        "**",
        "[",
        "](",
        "|",
        "| a\n",
        "1. ",
        "\u{600} ",
        "🇩",
    ] {
        let text = unit.repeat(100_000 / unit.len());
        let limit = 50_000;
        assert!(chars(&in_chars(&text, limit).text) <= limit, "{unit}");
    }
    for unit in ["[", "{\"a\":", "[1,", "[[],", "\"a\\n\",", "1,"] {
        let text = format!("[{}", unit.repeat(100_000 / unit.len()));
        let cut = truncate_window(&text, 10_000_000, 25_000, &Options::default()).text;
        assert!(chars(&cut) <= 25_000 && cut.ends_with(']'), "{unit}: {:.99}", cut);
    }
}

#[test]
fn one_cluster_that_is_longer_than_the_limit_is_left_out() {
    let text = format!("e{}", "\u{301}".repeat(5000));
    assert_eq!(in_chars(&text, 100).text, "… [5,001 of 5,001 characters cut]");
    assert_eq!(in_chars(&text, 5).text, "");
}

#[test]
fn ten_thousand_levels_of_json() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let mixed = format!("{}null{}", "{\"key\": [".repeat(10_000), "]}".repeat(10_000));
    let options = Options::default();
    for limit in [0, 1, 2, 3, 50, 1000, 14_000] {
        let of_start = truncate_window(&deep[..15_000], chars(&deep), limit, &options);
        for cut in [in_chars(&deep, limit), in_chars(&mixed, limit), of_start] {
            assert!(chars(&cut.text) <= limit);
            assert_eq!(cut.text.matches('[').count(), cut.text.matches(']').count());
            assert_eq!(cut.text.matches('{').count(), cut.text.matches('}').count());
        }
    }
}

#[test]
fn small_limits() {
    let prose = "Some words that are too long for their limit.";
    assert_eq!([0, 1, 3, 5].map(|limit| in_chars(prose, limit).text), ["", "S", "Som", "Some"]);
    assert_eq!(in_chars(prose, 20).text, "Some words that are…");
    assert_eq!(in_chars("一个没有空格的中文句子，比限制要长。", 9).text, "一个没有空格的中…");
}

#[test]
fn the_notice_speaks_the_language_of_the_text() {
    let english = in_chars(&"It is a fine day. ".repeat(20), 80);
    assert_eq!(english.text, "It is a fine day. It is a fine day. … [325 of 360 characters cut]");
    assert_eq!((english.cut, english.total), (325, 360));
    let chinese = in_chars(&"今天天气很好。".repeat(20), 50);
    assert_eq!(
        chinese.text,
        "今天天气很好。今天天气很好。今天天气很好。今天天气很好。…［已截去 112 / 140 字符］"
    );
}

#[test]
fn a_notice_after_a_line_stands_on_its_own() {
    let text = "2024-01-01 INFO started\n".repeat(20);
    let cut = in_chars(&text, 80).text;
    assert_eq!(cut, "2024-01-01 INFO started\n2024-01-01 INFO started\n… [433 of 480 characters cut]");
}

#[test]
fn tokens_of_a_long_text_are_extrapolated() {
    let text = "one two three four ".repeat(10_000);
    let cut = truncate(&text, 100, &Options { unit: Unit::Tokens(&Estimate), ..Options::default() });
    assert!(cut.total.abs_diff(40_000) < 400, "{}", cut.total);
    assert!(cut.estimated && cut.text.contains("about "), "{}", cut.text);
}
