//! L0, kinds of tools: what the answers of a tool are like. The kind decides which strategy fits, how much of a result a
//! prompt gets, and how much of each answer a synthesis sees.

use toolhub_text::name_words;

crate::named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum ToolKind {
        Calculation = "calculation",
        Time = "time",
        Search = "search",
        Extraction = "extraction",
        History = "history",
        Other = "other",
    }
}

/// The capabilities that tell a kind, and more words that tell it in a tool's name. The order decides between several kinds:
/// `search_history` gives history, `search_time_zones` hits, and a clock that can calculate with times is a clock.
type Row = (ToolKind, &'static [&'static str], &'static [&'static str]);
const WORDS: &[Row] = &[
    (
        ToolKind::History,
        &["history", "memory", "memories", "conversation", "历史", "记忆", "记录", "对话"],
        &[],
    ),
    (
        ToolKind::Search,
        &["search", "搜索", "检索", "查找", "搜寻"],
        &["web", "research", "find", "lookup", "browse"],
    ),
    (ToolKind::Time, &["time", "date", "datetime", "时间", "日期"], &["clock", "now", "today", "时钟"]),
    (
        ToolKind::Calculation,
        &["calculate", "calculation", "calculator", "calc", "math", "计算", "数学"],
        &["compute", "arithmetic", "算术"],
    ),
    (ToolKind::Extraction, &["extract", "extraction", "提取", "抽取"], &[]),
];

impl ToolKind {
    /// The kind that a capability tells.
    pub fn of_capability(capability: &str) -> Option<Self> {
        let is_it = |known: &&str| known.eq_ignore_ascii_case(capability);
        WORDS.iter().find(|(_, tags, _)| tags.iter().any(is_it)).map(|(kind, ..)| *kind)
    }

    /// Whether one of these capabilities tells this kind.
    pub fn is_in<'a>(self, capabilities: impl IntoIterator<Item = &'a str>) -> bool {
        capabilities.into_iter().any(|capability| Self::of_capability(capability) == Some(self))
    }

    /// The kind of one tool: by its name, otherwise by its capabilities.
    pub fn of(capabilities: &[String], name: &str) -> Self {
        let words = name_words(name);
        // Chinese names have no spaces between words.
        let holds = |known: &&str| {
            words.iter().any(|word| word == known || !known.is_ascii() && word.contains(known))
        };
        let named = WORDS.iter().find(|(_, tags, more)| tags.iter().chain(*more).any(&holds));
        let tells = |(kind, ..): &&Row| kind.is_in(capabilities.iter().map(String::as_str));
        named.or_else(|| WORDS.iter().find(tells)).map_or(ToolKind::Other, |(kind, ..)| *kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(capabilities: &[&str], name: &str) -> ToolKind {
        ToolKind::of(&capabilities.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>(), name)
    }

    #[test]
    fn the_name_comes_before_the_capabilities() {
        assert_eq!(of(&["calculate"], "search_web"), ToolKind::Search);
        assert_eq!(of(&["calculate", "time"], "get_time"), ToolKind::Time);
        assert_eq!(of(&["calculate", "time"], "x"), ToolKind::Time);
        assert_eq!(of(&["json", "time", "Search"], "x"), ToolKind::Search);
        assert_eq!(of(&["weather"], "get_current_time"), ToolKind::Time);
        assert_eq!(of(&["时间"], ""), ToolKind::Time);
        assert_eq!(of(&["extract", "search"], "x"), ToolKind::Search);
        assert_eq!(of(&["extract", "web"], "x"), ToolKind::Extraction);
    }

    #[test]
    fn names_are_read_word_by_word() {
        for (name, kind) in [
            ("calculator", ToolKind::Calculation),
            ("getCurrentTime", ToolKind::Time),
            ("brave-web-search", ToolKind::Search),
            ("search_history", ToolKind::History),
            ("网页搜索", ToolKind::Search),
            ("读取历史记录", ToolKind::History),
            ("科学计算器", ToolKind::Calculation),
            ("extract_text", ToolKind::Extraction),
            ("timeout_setter", ToolKind::Other),
            ("send_email", ToolKind::Other),
            ("", ToolKind::Other),
        ] {
            assert_eq!(of(&[], name), kind, "{name}");
        }
    }

    #[test]
    fn a_kind_is_found_among_the_capabilities_of_several_tools() {
        assert!(ToolKind::Calculation.is_in(["web", "math"]));
        assert!(ToolKind::Search.is_in(["搜索"]));
        assert!(!ToolKind::Search.is_in(["web", "research"]));
        assert!(!ToolKind::Time.is_in([]));
    }
}
