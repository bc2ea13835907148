//! Which tags answer when one is asked for by another word.
//!
//! Orchestrators ask for a fixed set of words, in English or Chinese; tools have the tags of the table, or those that their
//! authors declared. A word that no tool has is read as the tag it stands for, then as one that is close to it.

/// A tag, and the words that ask for it. A word may ask for several tags; the first row comes first.
const WORDS: &[(&str, &[&str])] = &[
    ("search", &["搜索", "检索", "查找", "搜寻", "query", "find", "lookup", "searching"]),
    ("web", &["网页", "网络", "网站", "联网", "上网", "internet", "website", "browse"]),
    ("research", &["研究", "调研", "学术", "论文", "academic", "paper", "papers"]),
    (
        "calculate",
        &["计算", "算", "运算", "算术", "calc", "calculator", "calculation", "compute", "arithmetic"],
    ),
    ("math", &["数学", "mathematics", "maths"]),
    ("time", &["时间", "日期", "时钟", "now", "date", "datetime", "clock"]),
    ("weather", &["天气", "气象", "天气预报", "forecast"]),
    ("document", &["文档", "doc", "docs", "documents", "word"]),
    ("pdf", &["pdfs", "pdf文档", "pdf文件"]),
    ("extract", &["提取", "抽取", "抓取", "extraction", "scrape", "ocr"]),
    ("summarize", &["总结", "摘要", "summary", "summarise", "summarization"]),
    ("analyze", &["分析", "总结", "analysis", "analyse", "analytics", "summary"]),
    ("test", &["测试", "单元测试", "testing", "tests"]),
    ("webapp", &["web应用", "网页应用", "web app", "web_app", "web-app", "web application"]),
    ("map", &["地图", "位置", "地理", "导航", "location", "maps", "geo", "geocode", "places"]),
    ("history", &["历史", "对话", "历史记录", "聊天记录", "conversation", "chat history"]),
    ("memory", &["记忆", "memories"]),
    ("translate", &["翻译", "translation"]),
    ("convert", &["转换", "换算", "conversion"]),
    ("spreadsheet", &["表格", "电子表格", "excel"]),
    ("file", &["文件", "files", "filesystem"]),
    ("code", &["代码", "programming"]),
    ("news", &["新闻", "资讯", "headlines"]),
    ("email", &["邮件", "mail"]),
    ("image", &["图片", "图像", "images", "picture"]),
    ("finance", &["金融", "股票", "stocks"]),
];

/// Tags close enough to answer for each other, the closest first. Only tags whose tools do the same to other things: a call
/// by capability runs what it finds.
const CLOSE: &[(&str, &[&str])] = &[
    ("search", &["web", "research"]),
    // Not `search`: what searches users or files is not asked for the web.
    ("web", &["browser", "research"]),
    ("research", &["web"]),
    ("calculate", &["math"]),
    ("math", &["calculate"]),
    ("time", &["calendar"]),
    ("document", &["pdf", "spreadsheet"]),
    ("pdf", &["document"]),
    ("spreadsheet", &["document"]),
    ("analyze", &["summarize"]),
    ("summarize", &["analyze"]),
    ("webapp", &["browser"]),
    ("history", &["memory"]),
    ("memory", &["history"]),
];

/// Groups of tags that answer for a word, the most precise first. `asked` is in lower case.
pub fn answering(asked: &str) -> Vec<Vec<&str>> {
    let mut groups = vec![vec![asked]];
    let asked_for = WORDS.iter().filter(|(tag, words)| *tag == asked || words.contains(&asked));
    let tags: Vec<&str> = asked_for.clone().map(|(tag, _)| *tag).collect();
    groups.extend(asked_for.map(|(tag, words)| [&[*tag], *words].concat()));
    let close = |tag: &str| CLOSE.iter().find(|(of, _)| *of == tag).map_or(&[][..], |(_, close)| *close);
    let tags = if tags.is_empty() { vec![asked] } else { tags };
    groups.extend(tags.into_iter().flat_map(close).map(|tag| vec![*tag]));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_word_asks_for_its_tag_and_then_for_close_ones() {
        assert_eq!(answering("tides"), [["tides"]]);
        let groups = answering("计算");
        assert_eq!((groups[0][0], groups[1][0], groups[2][0]), ("计算", "calculate", "math"));
        let tags: Vec<&str> = answering("summary").iter().map(|group| group[0]).collect();
        assert_eq!(tags, ["summary", "summarize", "analyze", "analyze", "summarize"]);
        let tags: Vec<&str> = answering("document").iter().map(|group| group[0]).collect();
        assert_eq!(tags, ["document", "document", "pdf", "spreadsheet"]);
    }

    #[test]
    fn every_tag_named_here_is_one_of_the_table() {
        let table = super::super::CapabilityRules::default().tags();
        let known: Vec<&str> = table.iter().map(|(tag, _)| tag.as_str()).collect();
        for (tag, close) in CLOSE {
            assert!(close.iter().chain([tag]).all(|tag| known.contains(tag)), "{tag}");
        }
        for (tag, _) in WORDS {
            assert!(known.contains(tag), "{tag}");
        }
    }

    proptest! {
        #[test]
        fn the_word_itself_always_comes_first(asked in "\\PC{0,20}") {
            let groups = answering(&asked);
            prop_assert_eq!(&groups[0], &[asked.as_str()]);
        }
    }
}
