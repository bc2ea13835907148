//! The page: parts, policy, and data that no tag can begin in.

use super::compare::SpanPair;
use super::events::RunFile;
use super::timeline::Timeline;
use base64::engine::general_purpose::STANDARD;
use base64::prelude::*;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use toolhub_text::wording::page_in_chinese;
use toolhub_types::model::Lang;

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
    (lang == Lang::Zh).then(|| page_in_chinese().collect())
}

/// A page with everything inside.
pub fn recorded(
    timelines: &[Timeline<'_>],
    pairs: Option<&[SpanPair]>,
    files: &[&RunFile],
    lang: Lang,
) -> String {
    let lines: String = files.iter().enumerate().map(|(at, file)| lines_block(at, file)).collect();
    let data = RecordedData { runs: timelines, pairs, words: words(lang) };
    let data = serde_json::to_string(&data).unwrap_or_default();
    html(&policy("'none'"), &data, &lines, lang)
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
mod tests {
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
