//! JSON is shortened from the inside, so that the result still parses.
//!
//! The start of the text is read into a flat list of values ([`tape`]) without recursion, so 10,000 levels do no harm. Then
//! it is written again ([`shrink`]): each container divides its room among its elements, long strings are shortened
//! ([`string`]), and elements that do not fit are counted in a mark: `"… (+7 more)"`. An object keeps the members that tell
//! most ([`telling`]), in their order.

mod shrink;
mod string;
mod tape;
mod telling;

use super::job::{CutJob, Truncated};
use super::notice::Noun;
use shrink::Writer;
use tape::JsonTape;

/// What the first attempt may have beyond the part of the text that fits: white space is removed, marks are added.
const SLACK: usize = 64;

/// True if a text starts like a JSON object, array or string. A quotation in prose ends before the text does, or contains
/// line ends, which JSON strings do not.
pub(super) fn begins(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[', '"'])
}

/// Truncates a text that is JSON as far as it is known; `None` if it is not. A list of hits keeps only `hits` items,
/// even if the text `fits`.
pub(super) fn cut(job: &CutJob<'_>, hits: Option<usize>, fits: bool) -> Option<Truncated> {
    let tape = JsonTape::read(job.window, job.whole, hits, job.lang)?;
    if fits && !tape.capped() {
        return Some(job.unchanged());
    }
    let text = within(job, &tape);
    let kept = job.counter.count(&text);
    Some(job.cut_to(text, kept))
}

/// The text as JSON within the limit. A limit in characters is met at once, one in tokens by bisecting: how many characters a
/// token has differs from part to part, and a text that is a little shorter may lose a whole element.
fn within(job: &CutJob<'_>, tape: &JsonTape<'_>) -> String {
    /// Enough to bisect any window.
    const TRIES: usize = 24;
    /// The first tries go by the size of the one before, which comes close if all parts are alike.
    const GUESSES: usize = 3;
    let write = |chars: usize| Writer::new(tape, job).write(chars);
    if job.noun == Noun::Characters {
        return write(job.limit);
    }
    let first = job.window[..job.counter.prefix(job.window, job.limit)].chars().count() + SLACK;
    // What is known to fit, and what is known not to.
    let (mut low, mut high, mut best) = (1, first + 1, None);
    let mut chars = first;
    for tried in 1..=TRIES {
        let text = write(chars);
        let size = job.counter.count(&text);
        if size <= job.limit {
            (low, best) = (chars, Some(text));
            if chars == first || size * 10 >= job.limit * 9 {
                break;
            }
        } else {
            high = chars;
        }
        if high - low < 2 {
            break;
        }
        let guess = if tried <= GUESSES { chars * job.limit / size.max(1) } else { low + (high - low) / 2 };
        chars = guess.clamp(low + 1, high - 1);
    }
    best.unwrap_or_else(|| {
        let smallest = write(2);
        if job.counter.count(&smallest) <= job.limit { smallest } else { String::new() }
    })
}

#[cfg(test)]
mod tests {
    use crate::truncate::{Options, Truncated, truncate};

    fn cut(text: &str, limit: usize) -> Truncated {
        let cut = truncate(text, limit, &Options::default());
        assert!(cut.text.chars().count() <= limit);
        cut
    }

    #[test]
    fn long_strings_are_shortened_and_short_ones_kept() {
        let text = format!(r#"{{"title":"A page","body":"{}","id":7}}"#, "word ".repeat(200));
        assert_eq!(
            cut(&text, 90).text,
            r#"{"title":"A page","body":"word word word word word word word word… (+961 more)","id":7}"#
        );
    }

    #[test]
    fn long_arrays_say_how_many_are_missing() {
        let text = serde_json::to_string(&(0..200).collect::<Vec<_>>()).unwrap_or_default();
        assert_eq!(cut(&text, 48).text, r#"[0,1,2,3,4,5,6,7,8,9,10,11,12,"… (+187 more)"]"#);
        let members: Vec<_> = (0..50).map(|n| format!(r#""key{n}": {n}"#)).collect();
        let text = format!("{{ {} }}", members.join(", "));
        assert_eq!(cut(&text, 60).text, r#"{"key0":0,"key1":1,"key2":2,"key3":3,"…":"(+46 more)"}"#);
    }

    #[test]
    fn an_object_keeps_what_tells_something() {
        let hit = |n: usize| {
            format!(
                r#"{{"id":"{n:032}","node_id":"MDQ6{n:020}","score":0.5,"title":"Page {n}","url":"https://example.org/{n}","text":"{}"}}"#,
                "word ".repeat(40)
            )
        };
        let text = format!("[{}]", (0..20).map(hit).collect::<Vec<_>>().join(","));
        let shown = cut(&text, 400).text;
        let hits: Vec<serde_json::Value> = serde_json::from_str(&shown).unwrap_or_default();
        let first = hits.first().and_then(|hit| hit.as_object());
        let keys: Vec<&str> = first.map(|hit| hit.keys().map(String::as_str).collect()).unwrap_or_default();
        assert_eq!(keys, ["score", "title", "url", "text", "…"], "{shown}");
        assert!(shown.contains(r#""url":"https://example.org/2""#), "{shown}");
        // In little room, no member says only that something is missing.
        let shown = cut(&text, 120).text;
        assert!(shown.contains("Page 0") && !shown.contains(r#""…":"""#), "{shown}");
    }

    #[test]
    fn a_link_is_whole_or_missing_and_names_come_first() {
        let issue = |n: usize| {
            format!(
                r#"{{"id":{n},"url":"https://api.example.org/repos/x/y/issues/{n}","title":"Crash when opening file {n}","user":{{"login":"user{n}","avatar_url":"https://avatars.example.org/u/{n}?v=4"}},"body":"{}"}}"#,
                "It crashes. ".repeat(20)
            )
        };
        let text = format!("[{}]", (0..40).map(issue).collect::<Vec<_>>().join(","));
        for limit in (40..1_500).step_by(20) {
            let shown = cut(&text, limit).text;
            let hits: Vec<serde_json::Value> = serde_json::from_str(&shown).unwrap_or_default();
            for hit in hits.iter().filter(|hit| hit.is_object()) {
                assert!(hit.get("title").is_some(), "{limit}: {shown}");
                let user = hit.get("user");
                assert!(user.is_none_or(|user| user.get("login").is_some()), "{limit}: {shown}");
                let links = [hit.get("url"), user.and_then(|user| user.get("avatar_url"))];
                let is_cut = |link: &serde_json::Value| link.as_str().is_some_and(|link| link.contains('…'));
                assert!(!links.into_iter().flatten().any(is_cut), "{limit}: {shown}");
            }
        }
        // Without anything else, a part of a link says more than nothing.
        let text = format!("[{{\"url\":\"https://example.org/{}\"}}]", "x".repeat(90));
        assert_eq!(cut(&text, 40).text, r#"[{"url":"https://example.org/xxxxxxx…"}]"#);
    }

    #[test]
    fn words_that_json_lacks_are_null() {
        let text = format!("[{}]", ["NaN", "-Infinity", r#"{"a": Infinity}"#].repeat(20).join(","));
        let shown = cut(&text, 60).text;
        assert!(shown.starts_with(r#"[null,null,{"a":null},null"#), "{shown}");
        for limit in 2..200 {
            let shown = cut(&text, limit).text;
            assert!(serde_json::from_str::<serde_json::Value>(&shown).is_ok(), "{shown}");
        }
    }

    #[test]
    fn white_space_goes_first() {
        let text = "{\n    \"a\": [\n        1,\n        2\n    ],\n    \"b\": null\n}";
        let cut = cut(text, 30);
        assert_eq!(cut.text, r#"{"a":[1,2],"b":null}"#);
        assert_eq!((cut.total, cut.cut, cut.truncated), (text.len(), text.len() - 20, true));
    }

    #[test]
    fn small_limits_give_the_smallest_json() {
        let text = r#"{"a":"long enough to be cut"}"#;
        assert_eq!([0, 1, 2, 3].map(|limit| cut(text, limit).text), ["", "", "{}", "{}"]);
        assert_eq!(cut("[1234567890123]", 5).text, "[]");
        assert_eq!(cut("[\"abcdefghijk\"]", 5).text, "[\"…\"]");
    }

    #[test]
    fn what_is_beyond_the_window_is_counted_in_characters() {
        let text = serde_json::to_string(&vec!["x".repeat(50); 1000]).unwrap_or_default();
        let cut = cut(&text, 200).text;
        assert!(cut.ends_with(r#" of 53,001 characters cut]"]"#), "{cut}");
    }

    #[test]
    fn marks_are_chinese_in_chinese_json() {
        let text = format!(r#"{{"标题":"今天的新闻","正文":"{}"}}"#, "天气很好。".repeat(50));
        assert_eq!(
            cut(&text, 50).text,
            r#"{"标题":"今天的新闻","正文":"天气很好。天气很好。天气很好。…（另有 235）"}"#
        );
    }

    #[test]
    fn ten_thousand_levels() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let text = format!("{}1{}", open.repeat(10_000), close.repeat(10_000));
            for limit in [2, 10, 100, 15_000] {
                let cut = cut(&text, limit).text;
                assert_eq!(cut.matches(&open[..1]).count(), cut.matches(close).count());
                assert!(cut.len() * 4 > limit * 3 || limit < 20, "{limit}: {}", cut.len());
            }
        }
    }

    #[test]
    fn only_the_first_hits() {
        let options = Options { hits: Some(3), ..Options::default() };
        let of = |text: &str| truncate(text, 500, &options).text;
        assert_eq!(of("[1, 2, 3, 4, 5]"), r#"[1,2,3,"… (+2 more)"]"#);
        assert_eq!(of(&of("[1, 2, 3, 4, 5]")), r#"[1,2,3,"… (+2 more)"]"#);
        assert_eq!(of("[1, 2, 3]"), "[1, 2, 3]");
        assert_eq!(of(r#"[1,2,3,[4,"…"]]"#), r#"[1,2,3,"… (+1 more)"]"#);
        let hits = r#"{"q":"x","tags":["a","b","c","d"],"web":{"results":[{"n":1},{"n":2},{"n":3},{"n":[1,2,3,4]}]}}"#;
        assert_eq!(
            of(hits),
            r#"{"q":"x","tags":["a","b","c","d"],"web":{"results":[{"n":1},{"n":2},{"n":3},"… (+1 more)"]}}"#
        );
        assert_eq!(of("[not json, 1, 2, 3, 4]"), "[not json, 1, 2, 3, 4]");
    }

    #[test]
    fn what_only_looks_like_json_is_prose() {
        for text in
            ["[1] Smith, on the nature of things. ", "{see below} ", "[link](url) and more ", "[1, 2,] "]
        {
            let text = text.repeat(20);
            assert!(cut(&text, 100).text.starts_with(&text[..20]), "{text}");
        }
    }

    #[test]
    fn a_text_that_is_one_string_keeps_its_quotes() {
        let text = format!("\"{}\"", "word ".repeat(100));
        assert_eq!(cut(&text, 45).text, r#""word word word word word word… (+471 more)""#);
        // Its end is beyond what is looked at; its length is known even so.
        let text = format!("\"{}\"", "word ".repeat(10_000));
        assert_eq!(cut(&text, 60).text, r#""word word word word word word word word… (+49,961 more)""#);
        assert_eq!([1, 2, 3, 8].map(|limit| cut(&text, limit).text), ["", r#""""#, r#""…""#, r#""word…""#]);
    }

    #[test]
    fn a_quotation_in_prose_is_prose() {
        for text in ["\"Yes\", she said. ".repeat(20), "\"First line.\nSecond line.".repeat(20)] {
            assert!(cut(&text, 100).text.ends_with("characters cut]"), "{text}");
        }
    }

    #[test]
    fn escapes_are_never_broken() {
        let text = format!(r#"["{}"]"#, r"\ud83d\ude00\n\u4e2d".repeat(20));
        for limit in 2..120 {
            let cut = cut(&text, limit).text;
            assert!(serde_json::from_str::<serde_json::Value>(&cut).is_ok(), "{cut}");
        }
    }
}
