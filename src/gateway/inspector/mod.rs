//! L2, what calls did, as one page for a browser.
//!
//! ```text
//! events     a file of events (`docs/reference/events.md`), line by line
//!   ─► timeline   lanes by candidate and server, rows in them, who won, was cancelled, came late
//!   ─► compare    two runs: which calls are the same, which differ and where, which are in one only
//! ─► page       HTML with the script, the style and the data inside
//! ```
//!
//! The page (`page/`) is plain JavaScript that shows what it is given; it decides nothing about calls. The timeline is written as
//! columns, so that a browser reads 100,000 spans in a moment. The lines themselves come last in the file, and are read when
//! somebody looks at one. A served hub gives the same page without data; what it shows comes from the gateway. Its calls are in
//! `live`, which gives the last ones as a timeline, also those that run.
//!
//! A page loads nothing from elsewhere: its policy (CSP) allows the one script by its hash. Text of tools and servers gets into
//! it as JSON only, in which no tag can begin, and from there as text, never as HTML.

mod compare;
mod events;
mod live;
mod timeline;

pub use live::{LiveCall, LiveTimeline};

use base64::engine::general_purpose::STANDARD;
use base64::prelude::*;
use compare::{SpanPair, compare};
use events::RunFile;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;
use timeline::Timeline;
use toolhub_text::wording::PAGE;
use toolhub_types::model::Lang;

/// The page of a recorded run, or of two that are compared. The error is a sentence in the language of the page.
pub fn recorded_page(run: &Path, other: Option<&Path>, lang: Lang) -> Result<String, String> {
    let read = |path| RunFile::read(path).map_err(|error| error.text(lang).into_owned());
    let (run, other) = (read(run)?, other.map(read).transpose()?);
    let mut pairs = other.as_ref().map(|other| compare(&run, other));
    for pair in pairs.iter_mut().flatten().filter(|_| lang == Lang::Zh) {
        pair.note = pair.note.take().map(|note| note.text(lang).into_owned().into());
    }
    let files: Vec<&RunFile> = std::iter::once(&run).chain(&other).collect();
    let timelines: Vec<Timeline<'_>> = files.iter().map(|file| Timeline::of(file)).collect();
    let lines: String = files.iter().enumerate().map(|(at, file)| lines_block(at, file)).collect();
    let data = RecordedData { runs: &timelines, pairs: pairs.as_deref(), words: words(lang) };
    let data = serde_json::to_string(&data).unwrap_or_default();
    Ok(html(&policy("'none'"), &data, &lines, lang))
}

// The page: parts, policy, and data that no tag can begin in.

const STYLE: &str = include_str!("page/style.css");
const BODY: &str = include_str!("page/body.html");
/// One function, so that nothing of it is global.
const SCRIPT: &str = concat!(
    "(() => {\n\"use strict\";\n",
    include_str!("page/json.js"),
    include_str!("page/dom.js"),
    include_str!("page/filter.js"),
    include_str!("page/chart.js"),
    include_str!("page/timeline.js"),
    include_str!("page/diff.js"),
    include_str!("page/forms.js"),
    include_str!("page/assertions.js"),
    include_str!("page/mcp.js"),
    include_str!("page/tools.js"),
    include_str!("page/operator.js"),
    include_str!("page/live.js"),
    include_str!("page/start.js"),
    "})();\n"
);

/// The page of a served hub, and the policy that goes with it as a header.
pub struct ServedPage {
    pub html: String,
    pub policy: String,
}

/// A page that reads what it shows from the gateway it comes from; `mcp` is the path of its MCP endpoint.
pub fn served_page(name: &str, mcp: &str, lang: Lang) -> ServedPage {
    let policy = policy("'self'");
    let data = json!({"served": {"name": name, "mcp": mcp}, "words": words(lang)});
    ServedPage {
        html: html(&policy, &data.to_string(), "", lang),
        policy: format!("{policy}; frame-ancestors 'none'"),
    }
}

#[derive(Serialize)]
struct RecordedData<'a> {
    runs: &'a [Timeline<'a>],
    pairs: Option<&'a [SpanPair]>,
    words: Option<BTreeMap<&'static str, &'static str>>,
}

/// The words of the page in another language than English, by the English ones.
fn words(lang: Lang) -> Option<BTreeMap<&'static str, &'static str>> {
    (lang == Lang::Zh).then(|| PAGE.iter().copied().collect())
}

fn lines_block(at: usize, file: &RunFile) -> String {
    let lines: String = file.lines.iter().map(|line| embedded(line) + "\n").collect();
    format!("<script type=\"application/x-ndjson\" id=\"lines-{at}\">{lines}</script>\n")
}

fn html(policy: &str, data: &str, after: &str, lang: Lang) -> String {
    let (data, lang) = (embedded(data), lang.name());
    format!(
        "<!doctype html>\n<html lang=\"{lang}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>toolhub inspector</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{BODY}\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n<script>{SCRIPT}</script>\n{after}</body>\n</html>\n"
    )
}

/// Nothing may be loaded, and only this script and this style count.
fn policy(connect: &str) -> String {
    static HASHES: LazyLock<(String, String)> = LazyLock::new(|| (hash(SCRIPT), hash(STYLE)));
    let (script, style) = &*HASHES;
    format!(
        "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data:; connect-src {connect}; \
         base-uri 'none'; form-action 'none'"
    )
}

fn hash(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    format!("sha256-{}", STANDARD.encode(digest))
}

/// JSON as it may stand in an element `script`: `<` occurs in strings only, so that it can be written as an escape, and neither
/// an end tag nor a comment can begin.
fn embedded(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod page_tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    /// What was promised, without data.
    #[test]
    fn the_page_is_small_and_asks_for_nothing() {
        let page = served_page("toolhub", "/mcp", Lang::Zh).html;
        assert!(page.len() <= 150_000, "{} bytes", page.len());
        for foreign in ["http://", "https://", "//cdn", "@import", "url(", "innerHTML", "insertAdjacentHTML"]
        {
            assert!(!page.contains(foreign), "the page has {foreign}");
        }
        assert_eq!(page.matches("</script").count(), 2);
    }

    proptest! {
        #[test]
        fn no_text_ends_the_data(text in "(</script|<!--|<script|\\]\\]>|-->|\\u{2028}|\\PC){0,12}") {
            let data = json!({ text.clone(): [text.clone()] });
            let page = html("", &data.to_string(), "", Lang::En);
            let (_, rest) = page.split_once("id=\"data\">").unwrap();
            let (block, _) = rest.split_once("</script>").unwrap();
            prop_assert!(!block.contains('<'));
            prop_assert_eq!(serde_json::from_str::<Value>(block).unwrap(), data);
        }
    }
}
