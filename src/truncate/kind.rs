//! How much of a result a prompt gets, by the kind of tool that gave it.

/// The kinds of tools that have limits of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Calculation,
    Time,
    Search,
    History,
    Other,
}

/// The words that tell a kind, as a capability or as a word of a tool's name. The order decides for a name
/// with words of several kinds: `search_history` gives history, `search_time_zones` hits.
const WORDS: &[(Kind, &[&str])] = &[
    (Kind::History, &["history", "memory", "memories", "conversation", "历史", "记忆", "记录"]),
    (
        Kind::Search,
        &["search", "web", "research", "find", "lookup", "browse", "搜索", "检索", "查找", "搜寻"],
    ),
    (
        Kind::Calculation,
        &["calculate", "calculation", "calculator", "calc", "compute", "math", "arithmetic", "计算", "算术"],
    ),
    (Kind::Time, &["time", "date", "datetime", "clock", "now", "today", "时间", "日期", "时钟"]),
];

impl Kind {
    /// The kind of a tool: the first of its capabilities that tells one, otherwise its name.
    pub fn of(capabilities: &[String], name: &str) -> Self {
        let by_capability =
            capabilities.iter().find_map(|capability| kind_of_word(&capability.to_lowercase()));
        if let Some(kind) = by_capability {
            return kind;
        }
        let words = words(name);
        let holds = |known: &&str| {
            // Chinese names have no spaces between words.
            words.iter().any(|word| word == known || !known.is_ascii() && word.contains(known))
        };
        WORDS.iter().find(|(_, known)| known.iter().any(&holds)).map_or(Kind::Other, |(kind, _)| *kind)
    }
}

fn kind_of_word(word: &str) -> Option<Kind> {
    WORDS.iter().find(|(_, known)| known.contains(&word)).map(|(kind, _)| *kind)
}

/// The words of a name in lower case: `getCurrentTime`, `get_current_time` and `get-current-time` are the
/// same.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && after_lower {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase();
    }
    words
}

/// The limits in characters; each is an option of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    pub calculation: usize,
    pub time: usize,
    pub search: usize,
    pub history: usize,
    pub other: usize,
    /// How many hits of a list of hits are kept.
    pub hits: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { calculation: 100, time: 200, search: 500, history: 1000, other: 500, hits: 3 }
    }
}

impl Limits {
    /// The limit in characters for results of a kind.
    pub fn of(&self, kind: Kind) -> usize {
        match kind {
            Kind::Calculation => self.calculation,
            Kind::Time => self.time,
            Kind::Search => self.search,
            Kind::History => self.history,
            Kind::Other => self.other,
        }
    }

    /// How many elements of a list are kept, for kinds whose results are lists of hits.
    pub fn hits_of(&self, kind: Kind) -> Option<usize> {
        (kind == Kind::Search).then_some(self.hits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_come_before_the_name() {
        let of = |capabilities: &[&str], name| {
            Kind::of(&capabilities.iter().map(|c| c.to_string()).collect::<Vec<_>>(), name)
        };
        assert_eq!(of(&["calculate"], "search_web"), Kind::Calculation);
        assert_eq!(of(&["json", "Search", "time"], "x"), Kind::Search);
        assert_eq!(of(&["weather"], "get_current_time"), Kind::Time);
        assert_eq!(of(&["时间"], ""), Kind::Time);
    }

    #[test]
    fn names_are_read_word_by_word() {
        for (name, kind) in [
            ("calculator", Kind::Calculation),
            ("getCurrentTime", Kind::Time),
            ("brave-web-search", Kind::Search),
            ("search_history", Kind::History),
            ("网页搜索", Kind::Search),
            ("读取历史记录", Kind::History),
            ("科学计算器", Kind::Calculation),
            ("timeout_setter", Kind::Other),
            ("send_email", Kind::Other),
            ("", Kind::Other),
        ] {
            assert_eq!(Kind::of(&[], name), kind, "{name}");
        }
    }

    #[test]
    fn the_limits_of_the_contract() {
        let limits = Limits::default();
        let all = [Kind::Calculation, Kind::Time, Kind::Search, Kind::History, Kind::Other];
        assert_eq!(all.map(|kind| limits.of(kind)), [100, 200, 500, 1000, 500]);
        assert_eq!(all.map(|kind| limits.hits_of(kind)), [None, None, Some(3), None, None]);
    }
}
